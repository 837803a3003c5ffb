/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUES_H
#define PEAL_BENCH_QUEUES_H

/* One row of the benchmark `queues`: a queue of ours against one peer. */

#include "bench/queue_run.h"

#define PEALI_PASSES 4 /* all rows are measured so often */
#define PEALI_LOOKS 3 /* at each gap, of each pass, at most */

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
	PEALI_UNSURE = 2 /* neither, or too few rounds or votes */
};

/**
 * One pass of rounds: for up to half of the time it finds out what suits each
 * side, then peer, ours, peer, ours, until that time. If that is past already
 * the first pass has one round, by what is known, and the others have none.
 *
 * @return 0, or -1 with a message: a message was lost, doubled or changed.
 */
int peali_bench_queue_pass(struct peali_bench_queue_contest *contest,
			   uint32_t pass, uint64_t until_ns);

/** The gap that is best by the median of so many looks, which are sorted by it:
 * each is a rate. */
enum peali_bench_queue_gap
peali_bench_queue_best_gap(double looks[PEALI_GAPS][PEALI_LOOKS], int n);

/** The ratio that a row is to reach: of a limit, of a topic, or 1. */
double peali_bench_queue_goal(const struct peali_bench_queue_contest *contest);

/**
 * Whether the ratio is at least `goal` in three quarters of the rounds, and of
 * the votes: a pass has a vote for each distance that the cores had in it, which
 * is the median of its rounds at that distance. So a row that is reached near and
 * missed far is unsure. Rounds during which the distance changed do not count;
 * of the others four are the least, and of votes two.
 */
enum peali_verdict
peali_bench_queue_verdict(const struct peali_bench_queue_contest *contest,
			  double goal);

/**
 * Why a row is unsure: "time" there was too little of it for rounds in each pass,
 * "cores" too many rounds were dropped as the cores moved or were taken, "spread"
 * rounds or votes disagree; static. NULL: it is not unsure.
 */
const char *
peali_bench_queue_why(const struct peali_bench_queue_contest *contest,
		      double goal);

void peali_bench_queue_contest_fini(struct peali_bench_queue_contest *contest);

#endif
