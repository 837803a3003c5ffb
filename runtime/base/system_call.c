/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that a signal can interrupt. See system_call.h. */
#include "runtime/base/system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/limits.h"
#include "runtime/base/wait.h"

int peali_open(const char *path, int flags, mode_t mode)
{
	int fd;

	do { /* a FIFO waits for its other end */
		fd = open(path, flags, mode);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

ssize_t peali_read(int fd, void *to, size_t bytes)
{
	ssize_t n;

	do {
		n = read(fd, to, bytes);
	} while (n < 0 && errno == EINTR);
	return n;
}

pid_t peali_waitpid(pid_t child, int *status_out, int flags)
{
	pid_t ended;

	do {
		ended = waitpid(child, status_out, flags);
	} while (ended < 0 && errno == EINTR);
	return ended;
}

int peali_ftruncate(int fd, off_t bytes)
{
	struct peali_write_guard guard;
	int result;

	peali_write_guard_begin(&guard);
	do {
		result = ftruncate(fd, bytes);
	} while (result < 0 && errno == EINTR);
	peali_write_guard_end(&guard);
	return result;
}

/* As peali_write_all, but SIGXFSZ may end the process. */
static int write_all(int fd, const char *at, size_t bytes)
{
	ssize_t n;

	for (; bytes; at += n, bytes -= (size_t)n) {
		n = write(fd, at, bytes);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0) {
			errno = EIO;
			return -1;
		}
		if (n < 0)
			n = 0;
	}
	return 0;
}

int peali_write_all(int fd, const void *from, size_t bytes)
{
	struct peali_write_guard guard;
	int result;

	peali_write_guard_begin(&guard);
	result = write_all(fd, from, bytes);
	peali_write_guard_end(&guard);
	return result;
}

/* Returns the ms until a deadline, rounded up; -1: none. */
static int ms_until(uint64_t deadline)
{
	uint64_t now = peali_now_ns(), ms;

	if (deadline == UINT64_MAX)
		return -1;
	if (now >= deadline)
		return 0;
	ms = (deadline - now + 999999) / 1000000;
	return ms < 1000000 ? (int)ms : 1000000;
}

int peali_poll(struct pollfd *fds, nfds_t n, uint64_t deadline)
{
	int ready;

	do {
		ready = poll(fds, n, ms_until(deadline));
	} while ((ready < 0 && errno == EINTR) ||
		 (ready == 0 && !peali_late(deadline)));
	return ready;
}

void peali_sleep_ns(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / 1000000000),
				 (long)(ns % 1000000000) };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}
