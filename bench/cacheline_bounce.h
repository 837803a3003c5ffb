/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_CACHELINE_BOUNCE_H
#define PEAL_BENCH_CACHELINE_BOUNCE_H

/*
 * Measures the limits of the machine: cache lines that two pinned threads
 * exchange without other work. The calling thread is one of them during the
 * call.
 */

#include <stdint.h>

#include "bench/samples.h"

/** Two different cores of this process. */
struct peali_cores {
	int a, b;
};

/**
 * Returns core `index` (from 0) of the cores that the process may run on, or -1
 * if there are fewer.
 */
int peali_core_at(uint32_t index);

/**
 * Picks the first two cores that the process may run on. Returns 0, or -1 if
 * there is only one.
 */
int peali_cores_pick(struct peali_cores *cores_out);

/**
 * Binds the calling thread to a core.
 *
 * @param core -1: all cores that the process had at first.
 * @return 0 or -1.
 */
int peali_core_bind(int core);

/**
 * Returns how often the system has preempted a thread while it measured. Counts
 * from the start of the process. A round in which the count grows is invalid.
 */
uint64_t peali_cores_lost(void);

/** Returns the start value for peali_core_watched of this thread. */
uint64_t peali_core_watch(void);

/** Adds the preemptions of this thread since `since` to peali_cores_lost. */
void peali_core_watched(uint64_t since);

/**
 * Sends `lines` cache lines back and forth between two threads. The writer
 * writes all lines, the line with the flag last. The reader reads all lines and
 * writes next.
 *
 * @param batch round trips in a sample.
 * @param n_samples number of samples; the first tenth is dropped.
 * @param samples gets the samples in its open round, in ns per round trip.
 * @return 0, or -1 with a message.
 */
int peali_cacheline_bounce(const struct peali_cores *cores, uint32_t lines,
			   uint32_t batch, uint32_t n_samples,
			   struct peali_samples *samples);

/**
 * Measures how far the cores are from each other, by a short bounce of one
 * line. Hypervisors move virtual cores, so the result may change at any time.
 *
 * @return a class (0 .. PEALI_DISTANCES - 1), or PEALI_TAG_MIXED if the bounce
 *     failed.
 */
int peali_cores_distance(const struct peali_cores *cores);

#define PEALI_DISTANCES 3 /* number of classes */

/**
 * Returns the name of a class: "near", "middle" or "far". The text is static.
 */
const char *peali_distance_name(int distance);

/**
 * Sends messages through a plain ring of 64 KiB between two threads.
 *
 * A message takes whole lines. The producer publishes the tail once per `batch`
 * messages. The consumer publishes the head after every quarter of the ring.
 * Both fill and check the payload as the benchmark's handlers do.
 *
 * @return messages per second, or a negative number with a message.
 */
double peali_cacheline_ring(const struct peali_cores *cores, uint32_t bytes,
			    uint32_t batch, uint64_t messages);

#endif
