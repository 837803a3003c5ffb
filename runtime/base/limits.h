/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LIMITS_H
#define PEALI_LIMITS_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Resource limits of the process (setrlimit). An exceeded limit is an error
 * with a text that names the limit. It never ends the process.
 */

/*
 * Writes the limits that may have caused a system error. Each has its value and
 * a remedy: "; RLIMIT_NOFILE is 64, raise it by ulimit -n". Writes "" for other
 * errors, and if the limit is not set.
 */
void peali_limits_text(int error, char *out, size_t bytes);

/* Returns 1 if a system error means that a limit or the memory is used up. */
int peali_limits_exhausted(int error);

/*
 * Between begin and end, a write beyond RLIMIT_FSIZE gives EFBIG and no SIGXFSZ. A
 * write without a reader gives EPIPE and no SIGPIPE. Only the calling thread
 * changes. Both keep errno.
 */
struct peali_write_guard {
	sigset_t before;
	sigset_t signals; /* those of writes that were not pending before */
};

void peali_write_guard_begin(struct peali_write_guard *guard);
void peali_write_guard_end(const struct peali_write_guard *guard);

#endif
