/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_LOAD_H
#define PEAL_BENCH_LOAD_H

/*
 * A load on the memory of device 0: a crowd copies until it is told to end. On a
 * GPU it has most multiprocessors, and more memory than the L2 cache.
 */

#include "bench/crowd.h"

/** Multiprocessors that the load leaves to others. */
#define PEALI_LOAD_SPARE 8

struct peali_load {
	struct peali_crowd crowd;
	struct peali_bench_start start; /* of the present round */
	uint64_t from, to, bytes; /* memory of the device; bytes of a member */
};

/**
 * Launches the crowd, beside the kernels of the fixture. Returns 0 or -1. In both
 * cases the caller frees the load.
 */
int peali_load_build(struct peali_load *load, struct peali_fixture *fixture);

/** Begins the copies, and waits until all members copy. Returns 0 or -1. */
int peali_load_begin(struct peali_load *load);

/**
 * Ends the copies and checks the copied data.
 *
 * @return GB per second, read and written, or a negative value.
 */
double peali_load_end(struct peali_load *load);

/** Frees the memory, after peali_fixture_clear. Returns 0 or -1. */
int peali_load_free(struct peali_load *load);

#endif
