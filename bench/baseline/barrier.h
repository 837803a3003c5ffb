/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_BARRIER_H
#define PEAL_BENCH_BARRIER_H

/*
 * The baselines of the benchmark `barrier`: barriers of plain pinned threads.
 */

#include <stdint.h>

#define PEALI_BARRIER_THREADS 64

enum peali_barrier_baseline {
	PEALI_BARRIER_PTHREAD = 0, /* pthread_barrier_wait */
	PEALI_BARRIER_CK = 1, /* ck_barrier_centralized: spins, never yields */
	PEALI_BARRIER_BASELINES = 2
};

/** Returns a baseline's name. The text is static. */
const char *peali_barrier_baseline_name(enum peali_barrier_baseline peer);

/**
 * Runs phases with one thread per participant, and verifies each phase.
 *
 * @param participants at most PEALI_BARRIER_THREADS.
 * @param phases phases that are timed, after `warm` other phases.
 * @return ns per phase of the slowest thread, or a negative value with a
 *     message.
 */
double peali_barrier_baseline_run(enum peali_barrier_baseline peer,
				  uint32_t participants, uint64_t phases,
				  uint64_t warm);

#endif
