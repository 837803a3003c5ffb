/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <peal/device/platform.h>

/* ---- texts --------------------------------------------------------------- */

struct limit {
	int resource;
	const char *name, *option; /* of ulimit */
};

static const struct limit file_size = { RLIMIT_FSIZE, "RLIMIT_FSIZE", "-f" };
static const struct limit files = { RLIMIT_NOFILE, "RLIMIT_NOFILE", "-n" };
static const struct limit memory[] = {
	{ RLIMIT_AS, "RLIMIT_AS", "-v" },
	{ RLIMIT_DATA, "RLIMIT_DATA", "-d" },
};
/* A new thread needs a process of the user, and memory for its stack. */
static const struct limit thread[] = {
	{ RLIMIT_NPROC, "RLIMIT_NPROC", "-u" },
	{ RLIMIT_AS, "RLIMIT_AS", "-v" },
	{ RLIMIT_DATA, "RLIMIT_DATA", "-d" },
};

/* Adds the limits that are set. */
static void add(const struct limit *limit, size_t n, char *out, size_t bytes)
{
	struct rlimit is;
	size_t used = 0;

	for (; n-- && used < bytes; limit++) {
		if (getrlimit((__rlimit_resource_t)limit->resource, &is) ||
		    is.rlim_cur == RLIM_INFINITY)
			continue;
		used += (size_t)snprintf(out + used, bytes - used,
					 "; %s is %llu, raise it by ulimit %s",
					 limit->name,
					 (unsigned long long)is.rlim_cur,
					 limit->option);
	}
}

void peali_limits_text(int error, char *out, size_t bytes)
{
	*out = '\0';
	if (error == EFBIG)
		add(&file_size, 1, out, bytes);
	else if (error == EMFILE)
		add(&files, 1, out, bytes);
	else if (error == ENOMEM)
		add(memory, sizeof(memory) / sizeof(*memory), out, bytes);
	else if (error == EAGAIN)
		add(thread, sizeof(thread) / sizeof(*thread), out, bytes);
}

int peali_limits_exhausted(int error)
{
	return error == EFBIG || error == EMFILE || error == ENFILE ||
	       error == ENOMEM || error == EAGAIN || error == ENOSPC;
}

/* ---- writes -------------------------------------------------------------- */

static const int write_signals[] = { SIGXFSZ, SIGPIPE };
#define WRITE_SIGNALS (sizeof(write_signals) / sizeof(*write_signals))

void peali_write_guard_begin(struct peali_write_guard *guard)
{
	int error = errno;
	sigset_t pending;
	size_t i;

	sigpending(&pending);
	sigemptyset(&guard->signals);
	for (i = 0; i < WRITE_SIGNALS; i++)
		if (!sigismember(&pending, write_signals[i]))
			sigaddset(&guard->signals, write_signals[i]);
	pthread_sigmask(SIG_BLOCK, &guard->signals, &guard->before);
	errno = error;
}

void peali_write_guard_end(const struct peali_write_guard *guard)
{
	static const struct timespec now = { 0, 0 };
	int error = errno, taken;

	do
		taken = sigtimedwait(&guard->signals, NULL, &now);
	while (taken > 0 || errno == EINTR);
	pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
	errno = error;
}
