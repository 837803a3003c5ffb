/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns devices and cores to the processes of `peal spawn`. */
#include "runtime/cli/spawn_device.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <peal/peal.h>

#include "runtime/base/env.h"
#include "runtime/base/system_call.h"
#include "runtime/base/wait.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"

#define NODES_MOST 1024 /* of Linux */
#define MS 1000000
/* Drivers list devices within so many times PEAL_CONTROL_TIMEOUT_MS. */
#define LIST_TIMEOUTS 12
#define KILL_NS 1000000000
#define KILL_LOOK_NS 1000000

int peali_bind_parse(const char *text, enum peali_bind *out)
{
	static const char *const names[] = { "none", "device", "numa" };
	int i;

	for (i = 0; i < 3; i++)
		if (!strcmp(text, names[i])) {
			*out = (enum peali_bind)i;
			return 0;
		}
	return -1;
}

/* ---- devices ------------------------------------------------------------- */

static int number_in_backend(struct peal_runtime *runtime, int device,
			     const char *backend)
{
	struct peal_device_info info;
	int i, number = 0;

	for (i = 0; i < device; i++)
		number += !peal_device_info(runtime, i, &info) &&
			  !strcmp(info.backend, backend);
	return number;
}

static int send_one(struct peal_runtime *runtime, int device, int to)
{
	struct peali_spawn_device one = { .numa_node = -1 };
	struct peal_device_info info;

	if (peal_device_info(runtime, device, &info))
		return peali_say_error(NULL);
	memcpy(one.backend, info.backend, sizeof(one.backend));
	one.local = number_in_backend(runtime, device, info.backend);
	one.numa_node = info.numa_node;
	return peali_write_all(to, &one, sizeof(one));
}

/* Runs in the child. It writes one record for each device. */
static void list_devices(int to, pid_t parent)
{
	struct peal_runtime *runtime;
	int device, n, failed = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(PEALI_EXIT_FAILED);
	/* the smallest heaps: it only reads properties */
	setenv("PEAL_GPU_MEMORY", "8M", 1);
	setenv("PEAL_PINNED_MEMORY", "16M", 1);
	failed = peal_runtime_open(NULL, &runtime);
	if (failed) {
		peali_say_error(NULL);
		_exit(failed == PEAL_ENODEV ? PEALI_EXIT_OK :
					      PEALI_EXIT_FAILED);
	}
	n = peal_device_count(runtime);
	for (device = 0; device < n && !failed; device++)
		failed = send_one(runtime, device, to);
	if (peal_runtime_shutdown(runtime))
		failed = peali_say_error(NULL);
	_exit(failed ? PEALI_EXIT_FAILED : PEALI_EXIT_OK);
}

/* Receives records until the child has ended. Returns their number, or -1 at
 * the deadline. */
static int receive(int from, uint64_t deadline, struct peali_spawn_device *out,
		   int most)
{
	struct pollfd fd = { .fd = from, .events = POLLIN };
	struct peali_spawn_device one;
	int n = 0;

	for (;;) {
		if (peali_poll(&fd, 1, deadline) == 0)
			return -1;
		if (peali_read(from, &one, sizeof(one)) != (ssize_t)sizeof(one))
			return n;
		if (n < most)
			out[n] = one;
		n++;
	}
}

/* Waits for the end of a child. Returns 0 at the deadline. A child that cannot be
 * waited for counts as failed. */
static int has_ended(pid_t child, uint64_t deadline, int *status_out)
{
	pid_t ended;

	for (;;) {
		ended = peali_waitpid(child, status_out, WNOHANG);
		if (ended < 0)
			*status_out = PEALI_EXIT_FAILED << 8;
		if (ended || peali_late(deadline))
			return ended != 0;
		peali_sleep_ns(KILL_LOOK_NS);
	}
}

/* Ends a child that hangs. A driver may keep it until the driver goes on, so the
 * wait for its end is short. */
static void end_hung(pid_t child, uint64_t waited_ms)
{
	int status;

	peali_say("cannot list devices: a driver has not answered for %g s; "
		  "exclude its backend (PEAL_BACKENDS), repair the driver, or "
		  "raise PEAL_CONTROL_TIMEOUT_MS",
		  (double)waited_ms / 1000);
	kill(child, SIGKILL);
	has_ended(child, peali_deadline(KILL_NS), &status);
}

/* Returns the time that drivers have to list their devices, or -1. */
static int64_t patience_ms(void)
{
	uint64_t ms;

	if (!peali_env_number(PEALI_ENV_CONTROL_TIMEOUT_MS, &ms))
		return (int64_t)(ms * LIST_TIMEOUTS);
	peali_say_error(NULL);
	return -1;
}

int peali_spawn_devices(struct peali_spawn_device *out, int most)
{
	pid_t parent = getpid(), child = -1;
	int64_t ms = patience_ms();
	uint64_t deadline;
	int ends[2], n, status = 0;

	if (ms < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC)) {
		peali_say("cannot list devices: no pipe: %m");
		return -1;
	}
	child = fork();
	if (!child)
		list_devices(ends[1], parent);
	if (child < 0)
		peali_say("cannot list devices: no process: %m");
	close(ends[1]);
	deadline = peali_deadline(ms * MS);
	n = receive(ends[0], deadline, out, most);
	close(ends[0]);
	if (n >= 0 && child > 0 && !has_ended(child, deadline, &status))
		n = -1; /* the driver hangs while the process ends */
	if (n < 0)
		end_hung(child, (uint64_t)ms);
	if (child < 0 || n < 0)
		return -1;
	if (WIFSIGNALED(status))
		peali_say("cannot list devices: signal %d has ended the "
			  "process that opened them",
			  WTERMSIG(status));
	return status ? -1 : n;
}

/* ---- the environment of a process ---------------------------------------- */

/* Sets a variable to the element of a list with a number. A list that does not
 * exist, or is shorter, has the number itself. */
static void select_of_list(const char *name, const char *list, int number)
{
	char value[128];
	int i;

	snprintf(value, sizeof(value), "%d", number);
	for (i = 0; list && i < number; i++) {
		list = strchr(list, ',');
		list += list != NULL;
	}
	if (list && *list)
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(list, ","),
			 list);
	setenv(name, value, 1);
}

/* HIP reads the variable of CUDA if its own one is not set. */
static void select_gpu(const struct peali_spawn_device *device)
{
	const char *cuda = getenv("CUDA_VISIBLE_DEVICES");
	const char *hip = getenv("HIP_VISIBLE_DEVICES");

	if (!strcmp(device->backend, "hip"))
		select_of_list("HIP_VISIBLE_DEVICES", hip && *hip ? hip : cuda,
			       device->local);
	else
		select_of_list("CUDA_VISIBLE_DEVICES", cuda, device->local);
}

/*
 * Keeps the entries `DEVICE:REST` of one emulated device in a variable. The
 * device becomes device 0.
 */
static void keep_entries(const char *name, int device)
{
	const char *at = getenv(name);
	char kept[4096] = "", *rest;
	size_t used = 0, bytes;

	for (; at && *at; at += bytes, at += *at == ',') {
		bytes = strcspn(at, ",");
		if (strtol(at, &rest, 10) != device || *rest != ':')
			continue;
		used += (size_t)snprintf(kept + used, sizeof(kept) - used,
					 "%s0%.*s", used ? "," : "",
					 (int)(at + bytes - rest), rest);
		if (used >= sizeof(kept))
			break;
	}
	if (used && used < sizeof(kept))
		setenv(name, kept, 1);
	else
		unsetenv(name);
}

void peali_spawn_see_only(const struct peali_spawn_device *device)
{
	setenv("PEAL_BACKENDS", device->backend, 1);
	if (strcmp(device->backend, "host") != 0) {
		select_gpu(device);
		return;
	}
	setenv("PEAL_HOST_DEVICES", "1", 1);
	unsetenv("PEAL_HOST_LINKS"); /* one device has no pair */
	keep_entries("PEAL_HOST_CLOCKS", device->local);
	keep_entries("PEAL_HOST_DISABLE", device->local);
}

/* ---- cores --------------------------------------------------------------- */

/* Puts cores of a list such as "0-3,8" into a set, if `among` has them. */
static void add_list(const char *at, const struct peali_core_set *among,
		     struct peali_core_set *out)
{
	long first, last, core;
	char *end;

	for (;; at = end + 1) {
		first = last = strtol(at, &end, 10);
		if (end == at)
			return;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (core = first; core >= 0 && core <= last &&
				   (size_t)core < among->bytes * 8;
		     core++)
			if (CPU_ISSET_S((size_t)core, among->bytes,
					among->bits))
				CPU_SET_S((size_t)core, out->bytes, out->bits);
		if (*end != ',')
			return;
	}
}

int peali_node_cores(const char *root, int node,
		     const struct peali_core_set *among,
		     struct peali_core_set *out)
{
	char path[256], text[8192] = "";
	FILE *file;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path),
		 "%s/sys/devices/system/node/node%d/cpulist", root, node);
	file = among->bits ? fopen(path, "r") : NULL;
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	out->bits = calloc(1, among->bytes);
	if (!out->bits)
		return -1;
	out->bytes = among->bytes;
	add_list(text, among, out);
	out->n = CPU_COUNT_S(out->bytes, out->bits);
	return 0;
}

int peali_numa_nodes(const char *root, const struct peali_core_set *among,
		     int *out, int most)
{
	struct peali_core_set cores;
	int node, n = 0;

	for (node = 0; node < NODES_MOST && n < most; node++) {
		if (peali_node_cores(root, node, among, &cores))
			return -1;
		if (cores.n)
			out[n++] = node;
		free(cores.bits);
	}
	return n;
}
