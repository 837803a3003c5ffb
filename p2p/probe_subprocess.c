/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the child process of the probe: see probe_subprocess.h. */
#include "p2p/probe_subprocess.h"
#include "runtime/base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/env.h"
#include "runtime/base/system_call.h"

extern char **environ;

/* To open GPUs takes seconds; a pair takes milliseconds. */
uint64_t peali_probe_subprocess_ms = 10000;
#define LIMIT_MS_A_PAIR 200

/*
 * Finds the command relative to the folder of the file with this code: libpeal
 * or the program. An install may change the prefix, so the path of the build
 * can be wrong.
 */
static int find_by_library(char *out, size_t bytes)
{
	Dl_info info;
	char *slash;
	size_t n;

	if (!dladdr((void *)(uintptr_t)peali_probe_command, &info) ||
	    *info.dli_fname != '/')
		return 0;
	snprintf(out, bytes, "%s", info.dli_fname);
	slash = strrchr(out, '/');
	n = (size_t)(slash + 1 - out);
	snprintf(out + n, bytes - n, "%s", PEALI_COMMAND_FROM_LIBRARY);
	return !access(out, X_OK);
}

/* Finds the command in the absolute folders of PATH. */
static int find_in_path(char *out, size_t bytes)
{
	const char *at = getenv("PATH");
	size_t n;

	for (; at && *at; at += n + (at[n] == ':')) {
		n = strcspn(at, ":");
		snprintf(out, bytes, "%.*s/peal", (int)n, at);
		if (*at == '/' && !access(out, X_OK))
			return 1;
	}
	return 0;
}

int peali_probe_command(char *out, size_t bytes)
{
	if (peali_env_given(PEALI_ENV_COMMAND))
		return !peali_env_path(PEALI_ENV_COMMAND, out, bytes) &&
		       !access(out, X_OK);
	snprintf(out, bytes, "%s", PEALI_INSTALLED_COMMAND);
	return !access(out, X_OK) || find_by_library(out, bytes) ||
	       find_in_path(out, bytes);
}

/*
 * Returns the child's environment: one backend, and little memory, because this
 * process uses the rest. The caller frees the list. The list points to the
 * caller's strings.
 */
static char **environment_for(char *backends)
{
	static char memory[] = "PEAL_GPU_MEMORY=32M";
	static char pinned[] = "PEAL_PINNED_MEMORY=64M";
	char *own[] = { backends, memory, pinned };
	size_t n = 0, kept = 0, i, k;
	char **list;

	while (environ[n])
		n++;
	list = calloc(n + 4, sizeof(*list));
	for (i = 0; list && i < n; i++) {
		for (k = 0; k < 3; k++)
			if (!strncmp(environ[i], own[k],
				     strcspn(own[k], "=") + 1))
				break;
		if (k == 3)
			list[kept++] = environ[i];
	}
	for (k = 0; list && k < 3; k++)
		list[kept++] = own[k];
	return list;
}

/*
 * Starts the child with /dev/null as its standard streams. Returns 0 or errno.
 */
static int start(char *command, const char *backend, pid_t *child_out)
{
	char backends[40], probe[] = "probe";
	char *arguments[] = { command, probe, NULL }, **environment;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int fd, error;

	snprintf(backends, sizeof(backends), "PEAL_BACKENDS=%s", backend);
	environment = environment_for(backends);
	if (!environment)
		return ENOMEM;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&files);
	for (fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null",
						 O_RDWR, 0);
	error = posix_spawn(child_out, command, &files, &attributes, arguments,
			    environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	free(environment);
	return error;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * Waits for the child. Returns its status, or 0 if another thread has reaped
 * the child. Returns -1 after the limit, with the child killed.
 */
static int await(pid_t child, uint64_t limit_ms)
{
	const struct timespec nap = { 0, 2000000 };
	uint64_t began = now_ms();
	int status = 0;
	pid_t r;

	for (;;) {
		r = peali_waitpid(child, &status, WNOHANG);
		if (r == child)
			return status;
		if (r < 0)
			return 0;
		if (now_ms() - began > limit_ms)
			break;
		nanosleep(&nap, NULL);
	}
	kill(child, SIGKILL);
	peali_waitpid(child, &status, 0);
	return -1;
}

int peali_probe_in_subprocess(const char *backend, int n_pairs, char *why,
			      size_t why_bytes)
{
	uint64_t limit =
		peali_probe_subprocess_ms + (uint64_t)n_pairs * LIMIT_MS_A_PAIR;
	char command[4096];
	pid_t child = 0;
	int error, status;

	if (!peali_probe_command(command, sizeof(command)))
		return PEAL_ENOENT;
	error = start(command, backend, &child);
	if (error) {
		peali_log(1, "%s does not start: %s", command, strerror(error));
		return PEAL_ENOENT;
	}
	status = await(child, limit);
	if (!status)
		return 0;
	if (status == -1)
		snprintf(why, why_bytes,
			 "the probe process did not end within %llu ms",
			 (unsigned long long)limit);
	else if (WIFSIGNALED(status))
		snprintf(why, why_bytes,
			 "the probe process was ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else { /* a clean failure, for example: no devices */
		peali_log(1, "%s probe failed: this process probes the pairs",
			  command);
		return PEAL_ENOENT;
	}
	peali_log(1, "%s", why);
	return PEAL_EIO;
}
