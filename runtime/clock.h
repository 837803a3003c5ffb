/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CLOCK_H
#define PEALI_CLOCK_H

#include <pthread.h>

#include <peal/clock.h>

struct peal_kernel;

/** What is known of the clock of a kernel's device. */
struct peali_clock {
	pthread_mutex_t lock; /* held for a few words; never while waiting */
	int known;
	struct peal_clock bounds;
};

/**
 * One contact. By the device's clock: `first` is after `seen` of the host's,
 * `latest` before `now` of it.
 */
struct peali_clock_contact {
	uint64_t seen, first, latest, now;
};

/* Makes the bounds narrower by a contact, after wider by the time since. */
void peali_clock_learn(struct peali_clock *clock,
		       const struct peali_clock_contact *contact);

void peali_clock_init(struct peali_clock *clock);
void peali_clock_fini(struct peali_clock *clock);
/* What the workers have said since; tells them, and moves the lease. Never
 * waits. */
void peali_clock_tick(struct peal_kernel *kernel);
/* The first contacts, when all workers have checked in; waits some ms at most,
 * and for as long as the first look of a worker takes, up to a second. */
void peali_clock_begin(struct peal_kernel *kernel);

#endif
