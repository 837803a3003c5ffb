/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's versions of system calls for threads, locks, sleep and time
 * (see intercept.h). A mutex is a real pthread mutex, but only tried: all tasks
 * are one thread. Its state only tells if it is taken.
 */
#include "tests/sim/engine/schedule.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <peal/device/atomic.h>
#include "runtime/base/env.h"
#include "tests/sim/engine/calls.h"

#define CORES 2 /* cores of the simulated machine */

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* ---- threads ------------------------------------------------------------- */

/* Begins a run with the environment's seed. */
static void begin_by_itself(void)
{
	struct peali_sim_options o;

	memset(&o, 0, sizeof(o));
	if (peali_env_number(PEALI_ENV_SIM_SEED, &o.seed))
		peali_sim_fail("PEAL_SIM_SEED is not a number");
	peali_sim_begin(&o);
}

int peali_sim_create(pthread_t *out, void *(*run)(void *), void *argument)
{
	if (!peali_sim.active)
		begin_by_itself();
	*out = (pthread_t)peali_task_make(run, argument);
	peali_sim_point(PEALI_SIM_SITE);
	return 0;
}

int peali_sim_join(pthread_t task, void **result_out)
{
	void *result;

	result = peali_task_join((struct peali_task *)task, PEALI_SIM_SITE);
	if (result_out)
		*result_out = result;
	return 0;
}

int peali_sim_set_name(const char *name)
{
	if (peali_sim.now)
		snprintf(peali_sim.now->name, sizeof(peali_sim.now->name),
			 "%.15s", name);
	return 0;
}

/* ---- locks --------------------------------------------------------------- */

int peali_sim_lock(pthread_mutex_t *mutex)
{
	int error;

	peali_sim_point(PEALI_SIM_SITE);
	while ((error = pthread_mutex_trylock(mutex)) == EBUSY)
		peali_sim_block(mutex, PEALI_SIM_FOREVER, "lock",
				PEALI_SIM_SITE);
	return error;
}

int peali_sim_trylock(pthread_mutex_t *mutex)
{
	peali_sim_point(PEALI_SIM_SITE);
	return pthread_mutex_trylock(mutex);
}

int peali_sim_unlock(pthread_mutex_t *mutex)
{
	int error = pthread_mutex_unlock(mutex);

	peali_sim_wake(mutex, 1 << 30);
	peali_sim_point(PEALI_SIM_SITE);
	return error;
}

int peali_sim_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
		   const struct timespec *until)
{
	uint64_t ns = until ? ns_of(until) : PEALI_SIM_FOREVER;
	int late;

	pthread_mutex_unlock(mutex);
	peali_sim_wake(mutex, 1 << 30);
	late = peali_sim_block(cond, ns, "condition", PEALI_SIM_SITE);
	while (pthread_mutex_trylock(mutex) == EBUSY)
		peali_sim_block(mutex, PEALI_SIM_FOREVER, "lock",
				PEALI_SIM_SITE);
	return late ? ETIMEDOUT : 0;
}

int peali_sim_signal(pthread_cond_t *cond, int n)
{
	peali_sim_wake(cond, n);
	peali_sim_point(PEALI_SIM_SITE);
	return 0;
}

int peali_sim_once(pthread_once_t *once, void (*run)(void))
{
	int error;

	/* a second task would block in the system's pthread_once */
	peali_sim.calm++;
	error = pthread_once(once, run);
	peali_sim.calm--;
	return error;
}

/* ---- time ---------------------------------------------------------------- */

int peali_sim_clock(struct timespec *out)
{
	uint64_t now = peali_sim_now_ns();

	out->tv_sec = (time_t)(now / 1000000000);
	out->tv_nsec = (long)(now % 1000000000);
	return 0;
}

int peali_sim_sleep(const struct timespec *t)
{
	if (peali_sim.active)
		peali_sim_block(NULL, peali_sim_now_ns() + ns_of(t), "sleep",
				PEALI_SIM_SITE);
	else
		peali_sim.jumped_ns += ns_of(t);
	return 0;
}

/* ---- bells --------------------------------------------------------------- */

/* Returns the key that represents a descriptor in a wait. */
static const void *key_of(int fd)
{
	static const char keys[4096];

	return &keys[fd & 4095];
}

int peali_sim_poll(struct pollfd *fds, nfds_t n, const struct timespec *t)
{
	uint64_t until = t ? peali_sim_now_ns() + ns_of(t) : PEALI_SIM_FOREVER;
	int ready;

	if (n != 1)
		peali_sim_fail("ppoll of %u descriptors is not simulated",
			       (unsigned)n);
	for (;;) {
		ready = poll(fds, n, 0);
		if (ready || peali_sim_now_ns() >= until)
			return ready;
		peali_sim_block(key_of(fds->fd), until, "poll", PEALI_SIM_SITE);
	}
}

int peali_sim_event_write(int fd, eventfd_t value)
{
	int result = eventfd_write(fd, value);

	peali_sim_wake(key_of(fd), 1 << 30);
	peali_sim_point(PEALI_SIM_SITE);
	return result;
}

/*
 * Waits until shutdown. Clients of other processes are never accepted: their
 * timing is not repeatable.
 */
int peali_sim_accept(int fd, int flags)
{
	struct pollfd p = { fd, 0, 0 };

	poll(&p, 1, 0);
	if (!(p.revents & POLLHUP)) /* else it was shut down before */
		peali_sim_block(key_of(fd), PEALI_SIM_FOREVER, "accept",
				PEALI_SIM_SITE);
	return accept4(fd, NULL, NULL, flags);
}

int peali_sim_shutdown(int fd, int how)
{
	int result = shutdown(fd, how);

	peali_sim_wake(key_of(fd), 1 << 30);
	peali_sim_point(PEALI_SIM_SITE);
	return result;
}

static long futex(const uint32_t *word, int operation, uint32_t value,
		  const struct timespec *t)
{
	uint64_t until = t ? peali_sim_now_ns() + ns_of(t) : PEALI_SIM_FOREVER;

	if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE)
		return peali_sim_wake(word, (int)value);
	if ((operation & FUTEX_CMD_MASK) != FUTEX_WAIT)
		peali_sim_fail("futex operation %d is not simulated",
			       operation);
	errno = EAGAIN;
	if (*(const volatile uint32_t *)word != value)
		return -1;
	if (!peali_sim_block(word, until, "bell", PEALI_SIM_SITE))
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

long peali_sim_syscall(long number, ...)
{
	const uint32_t *word;
	const struct timespec *t;
	uint32_t value;
	int operation;
	va_list list;

	peali_sim_point(PEALI_SIM_SITE);
	/* all tasks are one thread, so all stores are visible */
	if (number == SYS_membarrier)
		return 0;
	if (number != SYS_futex)
		peali_sim_fail("system call %ld is not simulated", number);
	va_start(list, number);
	word = va_arg(list, const uint32_t *);
	operation = va_arg(list, int);
	value = (uint32_t)va_arg(list, int);
	t = va_arg(list, const struct timespec *);
	va_end(list);
	return futex(word, operation, value, t);
}

int peali_sim_cores(cpu_set_t *out)
{
	int i;

	CPU_ZERO(out);
	for (i = 0; i < CORES; i++)
		CPU_SET(i, out);
	return 0;
}

int peali_sim_yield(void)
{
	peal_sim_pause();
	return 0;
}

int peali_sim_bind(size_t bytes)
{
	(void)bytes;
	return 0;
}

int peali_sim_no_ring(unsigned entries, unsigned flags)
{
	(void)entries;
	(void)flags;
	return -ENOSYS;
}
