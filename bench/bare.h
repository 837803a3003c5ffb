/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_BARE_H
#define PEAL_BENCH_BARE_H

/*
 * What the machine can do at best: cache lines between two pinned threads and
 * nothing else. The calling thread is one of them, for the time of the call.
 */

#include <stdint.h>

#include "bench/samples.h"

/** Two different cores of this process. */
struct peali_cores {
	int a, b;
};

/** Number `index`, from 0, of the cores that it may run on; -1: not so many. */
int peali_core_at(uint32_t index);

/** The first two that it may run on; 0, or -1 if there is only one. */
int peali_cores_pick(struct peali_cores *cores_out);

/**
 * Binds the calling thread.
 *
 * @param core -1 gives it back all cores that the process had at first.
 * @return 0 or -1.
 */
int peali_core_bind(int core);

/**
 * How often the system has taken the core from a thread while it measured, in
 * all since the process began. A round during which that grew says nothing.
 */
uint64_t peali_cores_lost(void);

/** What peali_core_watched of this thread starts from. */
uint64_t peali_core_watch(void);

/** Adds what happened to this thread since then to peali_cores_lost. */
void peali_core_watched(uint64_t since);

/**
 * Bounces `lines` cache lines there and back: the writer touches all of them,
 * the one with the flag last; the reader reads all of them, and so on.
 *
 * @param batch     round trips to a sample.
 * @param n_samples how many; the first tenth is left out.
 * @param samples   they are added to its open round, in ns per round trip.
 * @return 0, or -1 with a message.
 */
int peali_bare_bounce(const struct peali_cores *cores, uint32_t lines,
		      uint32_t batch, uint32_t n_samples,
		      struct peali_samples *samples);

/**
 * How far the cores are from each other at this moment, by a short bounce of
 * one line: hypervisors move them.
 *
 * @return a class, or PEALI_TAG_MIXED if it could not be measured.
 */
int peali_bare_distance(const struct peali_cores *cores);

#define PEALI_DISTANCES 3 /* classes, from 0 on */

/** Name of a class: "near", "middle", "far"; static. */
const char *peali_distance_name(int distance);

/**
 * A plain ring of 64 KiB: messages of whole lines, a tail that is published
 * once per `batch` messages, a head that comes back every quarter. Both sides
 * fill and check the payload as the benchmark's program does.
 *
 * @return messages a second, or a negative number with a message.
 */
double peali_bare_ring(const struct peali_cores *cores, uint32_t bytes,
		       uint32_t batch, uint64_t messages);

#endif
