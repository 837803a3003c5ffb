/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUES_H
#define PEAL_BENCH_QUEUES_H

/* One row of the benchmark `queues`: a queue of ours against one peer. */

#include "bench/queue_run.h"

#define PEALI_PASSES 4 /* all rows are measured so often */

/* One side of a row, and what suits it best. */
struct peali_bench_queue_side {
	struct peali_bench_queue_job job; /* kind NULL: the bare bounce */
	uint32_t gaps; /* bit (1 << enum peali_bench_queue_gap) of each pass */
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
	PEALI_REACHED =
		0, /* by three quarters of the votes and of the rounds */
	PEALI_MISSED = 1, /* the same */
	PEALI_UNSURE = 2 /* neither, or fewer than two votes */
};

/**
 * One pass of rounds: first it finds out what suits each side, then peer, ours,
 * peer, ours, until that time.
 *
 * @return 0, or -1 with a message: a message was lost, doubled or changed.
 */
int peali_bench_queue_pass(struct peali_bench_queue_contest *contest,
			   uint32_t pass, uint64_t until_ns);

/**
 * Whether the ratio is at least `goal` in three quarters of the rounds, and of
 * the votes: a pass has a vote for each distance that the cores had in it, which
 * is the median of its rounds at that distance. So a row that is reached near and
 * missed far is unsure. Rounds during which the distance changed do not count.
 */
enum peali_verdict
peali_bench_queue_verdict(const struct peali_bench_queue_contest *contest,
			  double goal);

void peali_bench_queue_contest_fini(struct peali_bench_queue_contest *contest);

#endif
