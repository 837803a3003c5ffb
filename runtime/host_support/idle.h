/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_IDLE_H
#define PEALI_HOST_IDLE_H

#include <stdint.h>

/*
 * The private side of peal_host_idle and peal_host_wake: threads that compete
 * for the cores, and counts of sleeps and wakes.
 */

/*
 * Marks the calling thread as a worker. `cores` is the number of cores that all
 * workers of the process share. The thread leaves before it ends.
 */
void peali_wait_enter(int cores);
void peali_wait_leave(void);
/* Forgets all workers, in a child of fork: it has none of them. */
void peali_wait_forget(void);
/*
 * Marks the calling thread as a worker of a simulated GPU. No thread rings its
 * bell, so it sleeps only briefly and never announces sleep.
 */
void peali_wait_unrung(void);
/*
 * Works as peali_wait_unrung, for a worker in a process of its own. Many of them
 * may be idle on few cores. So its sleeps get longer, up to 0.8 ms.
 */
void peali_wait_unrung_long(void);

struct peal_bell;

/*
 * Returns 1 if the next turn of peal_host_idle keeps the core. After other
 * turns, the thread may be off its core for long.
 */
int peali_wait_spins(const struct peal_bell *bell);

/** Counts since the process began. Only slow paths increment them. */
struct peali_wait_counts {
	uint64_t sleeps; /* sleeps of waiters */
	uint64_t timeouts; /* sleeps that a timeout ended, not a wake */
	uint64_t wakes; /* system calls that woke a waiter */
};

void peali_wait_counts(struct peali_wait_counts *out);

#endif
