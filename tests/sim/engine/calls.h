/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SIM_CALLS_H
#define PEALI_SIM_CALLS_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>

/*
 * The calls that intercept.h substitutes for system calls. Each works as the
 * system call in its name. Arguments without effect are left out.
 */

int peali_sim_create(pthread_t *out, void *(*run)(void *), void *argument);
int peali_sim_join(pthread_t task, void **result_out);
int peali_sim_set_name(const char *name);
int peali_sim_lock(pthread_mutex_t *mutex);
int peali_sim_trylock(pthread_mutex_t *mutex);
int peali_sim_unlock(pthread_mutex_t *mutex);
int peali_sim_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
		   const struct timespec *until);
int peali_sim_signal(pthread_cond_t *cond, int n);
int peali_sim_once(pthread_once_t *once, void (*run)(void));
int peali_sim_clock(struct timespec *out);
int peali_sim_sleep(const struct timespec *t);
int peali_sim_poll(struct pollfd *fds, nfds_t n, const struct timespec *t);
int peali_sim_event_write(int fd, eventfd_t value);
int peali_sim_accept(int fd, int flags);
int peali_sim_shutdown(int fd, int how);
int peali_sim_cores(cpu_set_t *out);
int peali_sim_yield(void);
int peali_sim_bind(size_t bytes);
/* Returns an error: without io_uring the caller uses ppoll. */
int peali_sim_no_ring(unsigned entries, unsigned flags);
long peali_sim_syscall(long number, ...);

#endif
