/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_HOST_ROUND_TRIP_H
#define PEAL_BENCH_HOST_ROUND_TRIP_H

/* Messages from the host's endpoint to an actor, which sends them back. */

#include "bench/samples.h"
#include "bench/fixture.h"

/* Links to and from the actor, and the messages. */
struct peali_host_trip {
	struct peali_fixture *fixture;
	int port, link; /* port of the host; index of the link back */
	uint32_t bytes; /* bytes of a message */
	uint32_t batch; /* messages sent before the first answer is received */
	uint64_t base[PEALI_BENCH_WORDS];
	uint64_t next; /* number of the next message */
};

/**
 * Spawns a `bounce` on worker 0 and links it in both directions. Returns 0 or
 * -1.
 */
int peali_host_trip_open(struct peali_host_trip *trip, int kernel);

/**
 * Sends a batch and receives the answers. Returns ns per message, or a negative
 * value after an error.
 */
double peali_host_trip_once(void *trip);

/**
 * Takes samples of once(context) for 10 ms, after a warm-up. Returns 0 or -1.
 */
int peali_host_trip_samples(double (*once)(void *context), void *context,
			    struct peali_samples *samples);

#endif
