/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SYSTEM_CALL_H
#define PEALI_SYSTEM_CALL_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * System calls that a signal can interrupt. The caller's handlers may run at
 * any time, with or without SA_RESTART. A stop and a SIGCONT interrupt some
 * calls even without a handler. These functions repeat the call, so EINTR never
 * reaches their callers. Each waits no longer than without the signal.
 *
 * Calls on sockets are in socket.h. Other files make such a call themselves only
 * if it never waits, or if a loop repeats it.
 */

/* Work as open, read, waitpid and ftruncate. */
int peali_open(const char *path, int flags, mode_t mode);
ssize_t peali_read(int fd, void *to, size_t bytes);
pid_t peali_waitpid(pid_t child, int *status_out, int flags);
int peali_ftruncate(int fd, off_t bytes);

/* Writes all bytes. Returns 0, or -1 with errno. RLIMIT_FSIZE gives EFBIG and no
 * SIGXFSZ, as in peali_ftruncate. */
int peali_write_all(int fd, const void *from, size_t bytes);

/* Waits until a descriptor is ready or the deadline (wait.h) has passed.
 * Returns the number of ready descriptors, 0 at the deadline, or -1. */
int peali_poll(struct pollfd *fds, nfds_t n, uint64_t deadline);

/* Sleeps for the whole time. */
void peali_sleep_ns(uint64_t ns);

#endif
