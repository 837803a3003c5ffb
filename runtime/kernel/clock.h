/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CLOCK_H
#define PEALI_CLOCK_H

#include <pthread.h>

#include <peal/clock.h>

struct peal_kernel;

/** The host's clock minus the clock of a kernel's device, within bounds. */
struct peali_clock {
	pthread_mutex_t lock; /* held for a few words, never during a wait */
	int known; /* 1: `bounds` are valid; 0: no contact yet */
	struct peal_clock bounds;
};

/**
 * One contact of the host with a worker, in ns.
 *
 * - seen: host's clock, from the lease that the worker saw last.
 * - first: device's clock, read after `seen`.
 * - latest: device's clock at the worker's latest poll.
 * - now: host's clock, read after `latest`.
 * - step: most by which the device's clock lags.
 */
struct peali_clock_contact {
	uint64_t seen, first, latest, now, step;
};

/*
 * Widens the bounds by the time since the last contact, and narrows them by the
 * new contact. The runtime holds clock->lock.
 */
void peali_clock_learn(struct peali_clock *clock,
		       const struct peali_clock_contact *contact);

void peali_clock_init(struct peali_clock *clock);
void peali_clock_fini(struct peali_clock *clock);
/*
 * Learns from the clock words of all workers, publishes the bounds to them, and
 * renews the lease. Never waits for a worker.
 */
void peali_clock_tick(struct peal_kernel *kernel);
/*
 * Makes the first contacts of a kernel, after all workers have checked in.
 * Usually waits some ms. Without any answer it waits up to 8 s.
 */
void peali_clock_begin(struct peal_kernel *kernel);

#endif
