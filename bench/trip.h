/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_TRIP_H
#define PEAL_BENCH_TRIP_H

/* Messages from the host's endpoint to an actor that sends them back. */

#include "bench/samples.h"
#include "bench/stand.h"

struct peali_trip {
	struct peali_stand *stand;
	int port, link; /* there, and back */
	uint32_t bytes; /* of a message */
	uint32_t batch; /* messages that are sent before the first is taken */
	uint64_t base[PEALI_BENCH_WORDS];
	uint64_t next; /* number of the next message */
};

/** Spawns a `bounce` on worker 0 and links it both ways; 0 or -1. */
int peali_trip_open(struct peali_trip *trip, int kernel);

/** One batch; ns per message, negative: it failed. */
double peali_trip_once(void *trip);

/** Samples of once(context) for 10 ms, after some that do not count; 0 or -1. */
int peali_trip_samples(double (*once)(void *context), void *context,
		       struct peali_samples *samples);

#endif
