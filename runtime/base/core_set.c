/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/core_set.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>
#include "runtime/base/system_call.h"

#define CORES_MOST (1 << 20) /* of a set; Linux has far fewer */

/* ---- sets ---------------------------------------------------------------- */

/* The kernel answers EINVAL while the set is smaller than its own sets. */
int peali_core_set_read(pid_t thread, struct peali_core_set *out)
{
	int cores, error = ENOMEM;

	(void)thread; /* the simulator has one set */
	memset(out, 0, sizeof(*out));
	for (cores = CPU_SETSIZE; cores <= CORES_MOST; cores *= 2) {
		size_t bytes = CPU_ALLOC_SIZE(cores);
		cpu_set_t *bits = CPU_ALLOC((size_t)cores);

		if (!bits)
			break;
		memset(bits, 0, bytes);
		if (!sched_getaffinity(thread, bytes, bits)) {
			out->bits = bits;
			out->bytes = bytes;
			out->n = CPU_COUNT_S(bytes, bits);
			return 0;
		}
		error = errno;
		CPU_FREE(bits);
		if (error != EINVAL)
			break;
	}
	errno = error;
	return -1;
}

void peali_core_set_free(struct peali_core_set *set)
{
	if (set->bits)
		CPU_FREE(set->bits);
	memset(set, 0, sizeof(*set));
}

int peali_core_set_next(const struct peali_core_set *set, int after)
{
	int core;

	for (core = after + 1; (size_t)core < set->bytes * 8; core++)
		if (CPU_ISSET_S((size_t)core, set->bytes, set->bits))
			return core;
	return -1;
}

/* ---- quota --------------------------------------------------------------- */

/* Reads a short file, whatever size the system reports. Returns its text. */
static char *read_text(const char *path, char *text, size_t size)
{
	int fd = peali_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? -1 : peali_read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? NULL : text;
}

static uint32_t in_thousandths(long long quota, long long period)
{
	if (quota <= 0 || period <= 0)
		return 0; /* "max", or -1: no quota */
	if (quota / period >= UINT32_MAX / 1000)
		return 0;
	quota = (long long)((double)quota / (double)period * 1000);
	return quota ? (uint32_t)quota : 1;
}

/* Reads the quota of one folder of cgroup version 2, then of version 1. */
static uint32_t quota_of(const char *root, const char *group)
{
	long long quota = 0, period = 0;
	char path[1200], text[64];

	snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s/cpu.max", root, group);
	if (read_text(path, text, sizeof(text)))
		return sscanf(text, "%lld %lld", &quota, &period) == 2 ?
			       in_thousandths(quota, period) :
			       0;
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us",
		 root, group);
	if (!read_text(path, text, sizeof(text)))
		return 0;
	quota = atoll(text);
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cpu%s/cpu.cfs_period_us",
		 root, group);
	if (!read_text(path, text, sizeof(text)))
		return 0;
	return in_thousandths(quota, atoll(text));
}

/* Returns the least quota of a group and its parents. Changes `group`. */
static uint32_t least_quota(const char *root, char *group)
{
	uint32_t least = 0, quota;
	char *end;

	for (;;) {
		if (!strcmp(group, "/"))
			*group = '\0';
		quota = quota_of(root, group);
		if (quota && (!least || quota < least))
			least = quota;
		end = strrchr(group, '/');
		if (!end)
			return least;
		*end = '\0';
	}
}

/* Returns 1 if a line of /proc/self/cgroup is about the controller `cpu`. */
static int is_cpu_line(const char *line, const char *group)
{
	const char *name = strchr(line, ':');

	if (!name)
		return 0;
	if (name + 1 == group - 1)
		return 1; /* "0::/group": version 2 */
	for (name++; name < group; name += strcspn(name, ",:") + 1)
		if (!strncmp(name, "cpu", 3) && strcspn(name, ",:") == 3)
			return 1;
	return 0;
}

uint32_t peali_core_quota(const char *root)
{
	char path[256], text[8192], *line, *group, *rest = NULL;
	uint32_t least = 0, quota;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (PEAL_SIM || !read_text(path, text, sizeof(text)))
		return 0;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		group = strchr(line, '/');
		if (!group || strlen(group) > 1000 || !is_cpu_line(line, group))
			continue;
		quota = least_quota(root, group);
		if (quota && (!least || quota < least))
			least = quota;
	}
	return least;
}

/* ---- this process -------------------------------------------------------- */

const char *peali_core_quota_root = "";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct peali_core_set cores;
static int usable, has_quota;

static void set_up(void)
{
	uint32_t quota = peali_core_quota(peali_core_quota_root);
	long online;

	if (!peali_core_set_read(0, &cores)) {
		usable = cores.n;
	} else {
		online = sysconf(_SC_NPROCESSORS_ONLN);
		usable = online > 0 ? (int)online : 1;
	}
	has_quota = quota && quota < (uint32_t)usable * 1000;
	/* Threads beyond the whole cores of a quota would only use it up. */
	if (has_quota)
		usable = quota < 1000 ? 1 : (int)(quota / 1000);
}

const struct peali_core_set *peali_process_cores(void)
{
	pthread_once(&once, set_up);
	return &cores;
}

int peali_usable_cores(void)
{
	pthread_once(&once, set_up);
	return usable;
}

int peali_cores_have_quota(void)
{
	pthread_once(&once, set_up);
	return has_quota;
}

/* Binds to a core of a set of the same size. */
static int bind_to_one(const struct peali_core_set *all, int core)
{
	cpu_set_t *one = malloc(all->bytes);
	int error = ENOMEM;

	if (one) {
		memset(one, 0, all->bytes);
		CPU_SET_S((size_t)core, all->bytes, one);
		error = pthread_setaffinity_np(pthread_self(), all->bytes, one);
	}
	free(one);
	return error;
}

int peali_thread_bind(int core)
{
	const struct peali_core_set *all = peali_process_cores();

	if (!all->n)
		return core < 0 ? 0 : ENOTSUP;
	if (core >= 0)
		return bind_to_one(all, core);
	return pthread_setaffinity_np(pthread_self(), all->bytes, all->bits);
}
