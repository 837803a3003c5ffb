/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_HOST_SUPPORT_H
#define PEAL_DEVICE_HOST_SUPPORT_H

#include <peal/device/atomic.h>

/*
 * What the host build of the dialect needs from the library: sleeping and
 * waking, the clock, and lanes as fibers. Not for use in handlers.
 */

#if PEAL_ON_HOST
PEAL_BEGIN_C

/**
 * A waiter's doorbell, in host memory. The waiter stores 1 and makes every
 * other thread's stores visible to itself (membarrier) before it looks at its
 * queues a last time; so a sender needs no fence between its store to a slot
 * and its load of the bell.
 */
struct peal_bell {
	uint32_t asleep; /* waiter stores 1; whoever wakes it stores 0 */
	int32_t event_fd; /* above 0: an eventfd that wakes the waiter */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
	/* private to the waiter, who writes here at each idle turn: a line of
	 * its own, so that a sender's look at `asleep` stays in its cache */
	uint32_t steps; /* idle turns so far */
	uint32_t max_sleep_us; /* 0: the default of 50,000 */
	uint8_t private_reserved[PEAL_SHARED_LINE - 8];
};

/** Wakes the waiter of a bell. Thread-safe; one system call. */
void peal_host_wake(struct peal_bell *bell);

/**
 * One idle turn of a waiter: spins, then yields, then announces sleep (and
 * returns, so that the caller looks once more), then sleeps until woken or
 * for max_sleep_us. Only the bell's owner calls it.
 *
 * @param bell  the owner's
 * @param looks at its queues since the last turn: so much of the spinning is
 *              done already; at least 1
 */
void peal_host_idle(struct peal_bell *bell, uint32_t looks);

/**
 * Announces that the bell's owner is about to sleep, for owners that sleep in
 * their own way. The owner looks at its queues once more after it, then sleeps
 * and stores 0 to `asleep` when it wakes.
 *
 * @return 1: no message will be overlooked; 0: the system cannot do that, sleep
 *         for a millisecond at most.
 */
int peal_host_announce(struct peal_bell *bell);

/**
 * Sleeps until woken, after peal_host_announce and a last look at the queues.
 * For bells without an eventfd.
 *
 * @param bell    the owner's
 * @param most_us and no longer than this
 */
void peal_host_sleep(struct peal_bell *bell, uint32_t most_us);

/** Monotonic time in ns, the same on all threads and processes. */
uint64_t peal_host_clock_ns(void);

/**
 * The memory of a worker of the calling worker's cluster; 0: no cluster. Only
 * driver doubles have some.
 *
 * @param rank of that worker in the cluster, from 0
 */
uint8_t *peal_host_cluster_memory(uint32_t rank);

/** Waits until all workers of the calling worker's cluster call it. */
void peal_host_cluster_meet(void);

/** Switches to the next lane of the calling worker; returns at its turn. */
void peal_host_sync_lanes(void);

PEAL_END_C

/** Wakes the waiter if it sleeps; 0 is no bell. Wait-free when it does not. */
static PEAL_INLINE void peal_bell_ring(uint64_t bell)
{
	struct peal_bell *b = (struct peal_bell *)(uintptr_t)bell;

	peal_compiler_barrier();
	if (b && PEAL_UNLIKELY(peal_load_relaxed_sys_u32(&b->asleep)))
		peal_host_wake(b);
}

/** After an idle turn that found something: the next idle turn spins again. */
static PEAL_INLINE void peal_bell_reset(struct peal_bell *bell)
{
	if (PEAL_UNLIKELY(bell->steps)) {
		bell->steps = 0;
		if (peal_load_relaxed_sys_u32(&bell->asleep))
			peal_store_relaxed_sys_u32(&bell->asleep, 0);
	}
}

/** Monotonic time in ns. Thread-safe. */
static PEAL_INLINE uint64_t peal_clock_ns(void)
{
	return peal_host_clock_ns();
}
#endif

#endif
