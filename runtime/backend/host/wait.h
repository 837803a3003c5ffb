/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_WAIT_H
#define PEALI_HOST_WAIT_H

#include <sched.h>
#include <stdint.h>

/*
 * Inside of peal_host_idle and peal_host_wake: who competes for the cores, and
 * what waiting came to.
 */

/* The cores that the process could run on when this was first asked. */
const cpu_set_t *peali_wait_cores(void);

/* The calling thread is a worker from here on; it must leave before it ends. */
void peali_wait_enter(void);
void peali_wait_leave(void);
/*
 * The calling thread stands for a worker on a GPU: nobody knows of its bell, so
 * it never sleeps for long and does not say that it does.
 */
void peali_wait_unrung(void);

struct peal_bell;

/* Whether the next turn of peal_host_idle keeps the core: others may have it for
 * long after one that does not. */
int peali_wait_spins(const struct peal_bell *bell);

/** Since the process began; each of them grows on slow paths only. */
struct peali_wait_counts {
	uint64_t sleeps; /* times that a waiter really slept */
	uint64_t timeouts; /* of those, ended by time and not by a wake */
	uint64_t wakes; /* system calls that woke */
};

void peali_wait_counts(struct peali_wait_counts *out);

#endif
