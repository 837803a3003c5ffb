/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUES_H
#define PEAL_BENCH_QUEUES_H

/* One row of the benchmark `queues`: a queue of ours against one peer. */

#include "bench/queue_run.h"

#define PEALI_PASSES 6 /* all rows are measured so often */

/* One side of a row, and what suits it best. */
struct peali_bench_queue_side {
	struct peali_bench_queue_job job; /* kind NULL: the bare bounce */
	int calibrated;
	uint64_t amount; /* messages of a round, or samples of round trips */
	struct peali_samples samples;
};

struct peali_bench_queue_contest {
	int trips; /* 1: round trips, 0: throughput */
	struct peali_bench_queue_side ours, peer;
	uint32_t lines; /* of the bounce */
	uint64_t round_ns; /* of one side */
	size_t pass_end[PEALI_PASSES]; /* rounds up to the end of a pass */
};

enum peali_verdict {
	PEALI_REACHED = 0, /* in three quarters of passes and of rounds */
	PEALI_MISSED = 1, /* the same */
	PEALI_UNSURE = 2 /* neither, or fewer than two passes have a vote */
};

/**
 * One pass of rounds: peer, ours, peer, ours, until that time. The first finds
 * out what suits each side.
 *
 * @return 0, or -1 with a message: a message was lost, doubled or changed.
 */
int peali_bench_queue_pass(struct peali_bench_queue_contest *contest,
			   uint32_t pass, uint64_t until_ns);

/**
 * The nearest that cores have been to each other in a round of these rows, which
 * is what verdicts are about: PEALI_TAG_MIXED if no round had them where they
 * were. Hypervisors move virtual cores, and a row may be reached near and missed
 * far.
 */
int peali_bench_queue_nearest(const struct peali_bench_queue_contest *contests,
			      uint32_t n);

/**
 * Whether the ratio is at least `goal` in three quarters of the rounds with the
 * cores at that distance, and in the medians of three quarters of the passes
 * that have such rounds, of which there are two or more. Keeps those rounds.
 */
enum peali_verdict
peali_bench_queue_verdict(struct peali_bench_queue_contest *contest,
			  int distance, double goal);

void peali_bench_queue_contest_fini(struct peali_bench_queue_contest *contest);

#endif
