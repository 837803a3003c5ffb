/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_HOST_SUPPORT_H
#define PEAL_DEVICE_HOST_SUPPORT_H

#include <peal/device/atomic.h>

/*
 * Functions of the library for the host build of the dialect: sleep and wake,
 * the clock, and lanes as fibers. Handlers must not use them.
 */

#if PEAL_ON_HOST
PEAL_BEGIN_C

/**
 * A waiter's doorbell, in host memory.
 *
 * The waiter stores 1 to `asleep`. It then makes the stores of all other
 * threads visible to itself (membarrier). After that it looks at its queues a
 * last time. So a sender needs no fence between its store to a slot and its
 * load of the bell.
 */
struct peal_bell {
	uint32_t asleep; /* the waiter stores 1; the waker stores 0 */
	int32_t event_fd; /* above 0: an eventfd that wakes the waiter */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
	/*
	 * Private to the waiter, which writes here at each idle turn. It has a
	 * cache line of its own. So a sender's look at `asleep` stays in the
	 * sender's cache.
	 */
	uint32_t steps; /* idle turns so far */
	uint32_t max_sleep_us; /* longest sleep (0: the default of 50,000) */
	uint8_t private_reserved[PEAL_SHARED_LINE - 8];
};

/** Wakes the waiter of a bell. Thread-safe. At most one system call. */
void peal_host_wake(struct peal_bell *bell);

/**
 * Does one idle turn of a waiter.
 *
 * The first turns spin. Later turns yield. The next turn announces sleep and
 * returns, so that the caller looks at its queues once more. The turn after it
 * sleeps until woken, or for max_sleep_us. Only the bell's owner may call it.
 *
 * @param bell  the owner's bell.
 * @param looks the owner's looks at its queues since the last turn, at least 1.
 *              They count as spins.
 */
void peal_host_idle(struct peal_bell *bell, uint32_t looks);

/**
 * Announces that the bell's owner is about to sleep.
 *
 * For owners that sleep in their own way. The owner looks at its queues once
 * more after the call, and then sleeps. It stores 0 to `asleep` when it wakes.
 *
 * @param bell the owner's bell.
 * @return 1: the owner overlooks no message. 0: the system cannot ensure that;
 *         sleep for at most 1 ms.
 */
int peal_host_announce(struct peal_bell *bell);

/**
 * Sleeps until woken. For bells without an eventfd.
 *
 * Call it after peal_host_announce and a last look at the queues.
 *
 * @param bell    the owner's bell.
 * @param most_us longest sleep in microseconds.
 */
void peal_host_sleep(struct peal_bell *bell, uint32_t most_us);

/** Returns monotonic time in ns, equal for all threads and processes. */
uint64_t peal_host_clock_ns(void);

/**
 * Returns the memory of a worker of the calling worker's cluster.
 *
 * Only driver doubles have clusters on the host.
 *
 * @param rank that worker's rank in the cluster, from 0.
 * @return the memory, or NULL: the calling worker has no cluster.
 */
uint8_t *peal_host_cluster_memory(uint32_t rank);

/** Waits until all workers of the calling worker's cluster call it. */
void peal_host_cluster_meet(void);

/** Switches to the next lane of the calling worker. Returns at its turn. */
void peal_host_sync_lanes(void);

PEAL_END_C

/** Wakes the waiter if it sleeps. A bell of 0 is no bell. Wait-free if the
 * waiter is awake. */
static PEAL_INLINE void peal_bell_ring(uint64_t bell)
{
	struct peal_bell *b = (struct peal_bell *)(uintptr_t)bell;

	peal_compiler_barrier();
	if (b && PEAL_UNLIKELY(peal_load_relaxed_sys_u32(&b->asleep)))
		peal_host_wake(b);
}

/** Resets a bell after a turn that found something. The next idle turn spins
 * again. */
static PEAL_INLINE void peal_bell_reset(struct peal_bell *bell)
{
	if (PEAL_UNLIKELY(bell->steps)) {
		bell->steps = 0;
		if (peal_load_relaxed_sys_u32(&bell->asleep))
			peal_store_relaxed_sys_u32(&bell->asleep, 0);
	}
}

/** Returns monotonic time in ns. Thread-safe. */
static PEAL_INLINE uint64_t peal_clock_ns(void)
{
	return peal_host_clock_ns();
}
#endif

#endif
