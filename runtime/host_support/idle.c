/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host_support/idle.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>

/*
 * Idle turns, counted in bell->steps. While the caller spins, a step is one
 * check of its queues, some 25 to 50 ns. Later, a step is one turn.
 */
enum {
#if PEAL_SIM /* where turns that find nothing only take time */
	TURNS_HOT = 1,
	TURNS_CROWDED = 2,
	TURNS_SPIN = 4,
	TURNS_YIELD = TURNS_SPIN + 1,
#else
	TURNS_HOT = 16, /* without a pause between two looks */
	TURNS_CROWDED = 32, /* then yield, if there are too few cores */
	TURNS_SPIN = 256,
	TURNS_YIELD = TURNS_SPIN + 48,
#endif
	TURNS_ANNOUNCE = TURNS_YIELD, /* the turn that announces sleep */
	TURNS_RESPIN =
		TURNS_SPIN - TURNS_SPIN / 4 /* where a woken waiter goes on */
};

/*
 * A yield of at least YIELD_NS_LONG shows that other programs use the cores.
 * For the next NO_YIELD_NS, waiters sleep without a yield. The scheduler runs a
 * woken thread sooner than a thread that has yielded. Simulated time shows no
 * load.
 */
#define YIELD_NS_LONG (PEAL_SIM ? UINT64_MAX : UINT64_C(1000000))
#define NO_YIELD_NS UINT64_C(100000000)

/* The first sleep of an unrung worker, and the sleeps of each length. */
#define NAP_NS 50000
#define NAPS 16

#define SLEEP_US_DEFAULT 50000
/* The longest sleep where a sender could overlook the announcement. */
#define SLEEP_US_UNSAFE 1000

static atomic_int awake; /* workers that are not asleep */
static atomic_ullong n_sleeps, n_timeouts, n_wakes;
static atomic_ullong no_yield_before; /* a time of peal_host_clock_ns */
static _Thread_local int is_worker, is_unrung;
/* The longest sleep of an unrung worker is NAP_NS << nap_shift. */
static _Thread_local uint32_t nap_shift;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int n_cores; /* that workers may use */

static void set_up(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		0);
}

/*
 * Makes all stores of all running threads of this process visible to the
 * caller. A sender may have missed the announcement of sleep. Then the waiter's
 * last check finds the message of this sender. Returns 0 if the system has no
 * such barrier.
 */
static int barrier_everywhere(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

void peali_wait_enter(int cores)
{
	atomic_store_explicit(&n_cores, cores, memory_order_relaxed);
	is_worker = 1;
	atomic_fetch_add_explicit(&awake, 1, memory_order_relaxed);
}

void peali_wait_leave(void)
{
	is_worker = 0;
	atomic_fetch_sub_explicit(&awake, 1, memory_order_relaxed);
}

void peali_wait_forget(void)
{
	is_worker = 0;
	atomic_store_explicit(&awake, 0, memory_order_relaxed);
}

void peali_wait_unrung(void)
{
	is_unrung = 1;
}

void peali_wait_unrung_long(void)
{
	is_unrung = 1;
	nap_shift = 4;
}

void peali_wait_counts(struct peali_wait_counts *out)
{
	out->sleeps = atomic_load_explicit(&n_sleeps, memory_order_relaxed);
	out->timeouts = atomic_load_explicit(&n_timeouts, memory_order_relaxed);
	out->wakes = atomic_load_explicit(&n_wakes, memory_order_relaxed);
}

static void count(atomic_ullong *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/*
 * Returns 1 if more threads are awake than workers have cores. The calling
 * thread counts. Threads that are not workers count only beside workers.
 */
static int crowded(void)
{
	int others = is_worker ? 0 : 1;
	int workers = atomic_load_explicit(&awake, memory_order_relaxed);

	return workers &&
	       workers + others >
		       atomic_load_explicit(&n_cores, memory_order_relaxed);
}

void peal_host_wake(struct peal_bell *bell)
{
	/*
	 * Two wakers may both pass this check, or a late waker may revoke a
	 * newer announcement. The waiter then only checks once more than
	 * necessary.
	 */
	if (!peal_load_relaxed_sys_u32(&bell->asleep))
		return;
	peal_store_relaxed_sys_u32(&bell->asleep, 0);
	if (bell->event_fd > 0)
		eventfd_write(bell->event_fd, 1);
	else
		syscall(SYS_futex, &bell->asleep, FUTEX_WAKE_PRIVATE, INT_MAX,
			NULL, NULL, 0);
	count(&n_wakes);
}

/* Sleeps until woken; 1 if it was the time that ended it. */
static int sleep_on(struct peal_bell *bell, uint32_t most_us)
{
	struct timespec t;
	int by_time;

	t.tv_sec = most_us / 1000000;
	t.tv_nsec = (long)(most_us % 1000000) * 1000;
	count(&n_sleeps);
	if (is_worker)
		atomic_fetch_sub_explicit(&awake, 1, memory_order_relaxed);
	by_time = syscall(SYS_futex, &bell->asleep, FUTEX_WAIT_PRIVATE, 1, &t,
			  NULL, 0) < 0 &&
		  errno == ETIMEDOUT;
	if (is_worker)
		atomic_fetch_add_explicit(&awake, 1, memory_order_relaxed);
	if (by_time)
		count(&n_timeouts);
	return by_time;
}

void peal_host_sleep(struct peal_bell *bell, uint32_t most_us)
{
	sleep_on(bell, most_us);
	peal_store_relaxed_sys_u32(&bell->asleep, 0);
}

/*
 * The last look has found nothing. Whether the announcement was safe is kept in
 * the step count: TURNS_ANNOUNCE + 1 if so, + 2 if not.
 */
static void sleep_now(struct peal_bell *bell)
{
	uint32_t most = bell->max_sleep_us ? bell->max_sleep_us :
					     SLEEP_US_DEFAULT;

	if (bell->steps > TURNS_ANNOUNCE + 1 && most > SLEEP_US_UNSAFE)
		most = SLEEP_US_UNSAFE;
	bell->steps = sleep_on(bell, most) ? TURNS_ANNOUNCE : TURNS_RESPIN;
	peal_store_relaxed_sys_u32(&bell->asleep, 0);
}

/* Yields, unless other programs use the cores; the step of the next turn. */
static uint32_t yield_step(uint32_t turn)
{
	uint64_t begin = peal_host_clock_ns(), end;

	if (begin <
	    atomic_load_explicit(&no_yield_before, memory_order_relaxed))
		return TURNS_ANNOUNCE;
	sched_yield();
	end = peal_host_clock_ns();
	if (end - begin < YIELD_NS_LONG)
		return turn + 1;
	atomic_store_explicit(&no_yield_before, end + NO_YIELD_NS,
			      memory_order_relaxed);
	return TURNS_ANNOUNCE;
}

/* Sleeps a little. Later sleeps are longer, up to the limit of the worker. */
static void nap(struct peal_bell *bell)
{
	uint32_t naps = bell->steps - TURNS_YIELD;
	struct timespec t = { 0, (long)NAP_NS << naps / NAPS };

	nanosleep(&t, NULL);
	if (naps < nap_shift * NAPS)
		bell->steps++;
}

int peal_host_announce(struct peal_bell *bell)
{
	pthread_once(&once, set_up);
	peal_store_relaxed_sys_u32(&bell->asleep, 1);
	return barrier_everywhere();
}

int peali_wait_spins(const struct peal_bell *bell)
{
	return bell->steps < TURNS_SPIN;
}

void peal_host_idle(struct peal_bell *bell, uint32_t looks)
{
	uint32_t turn = bell->steps;

	if (PEAL_UNLIKELY(turn == 0))
		pthread_once(&once, set_up);
	if (turn < TURNS_SPIN) {
		uint32_t next = turn + looks;

		if (next > TURNS_SPIN || (turn < TURNS_CROWDED &&
					  next >= TURNS_CROWDED && crowded()))
			next = TURNS_SPIN;
		bell->steps = next;
		if (turn >= TURNS_HOT)
			peal_pause();
	} else if (turn < TURNS_YIELD) {
		bell->steps = yield_step(turn);
	} else if (is_unrung) {
		nap(bell);
	} else if (turn == TURNS_ANNOUNCE) {
		bell->steps =
			TURNS_ANNOUNCE + (peal_host_announce(bell) ? 1 : 2);
		if (PEALI_SIM_FAULT(DEAF_SLEEP))
			sleep_now(bell);
	} else {
		sleep_now(bell);
	}
}
