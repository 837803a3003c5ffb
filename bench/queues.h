/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUES_H
#define PEAL_BENCH_QUEUES_H

/* A row of the benchmark `queues`: one of our queues and one baseline. */

#include "bench/queue_run.h"

#define PEALI_PASSES 4 /* measurements of each row */
#define PEALI_LOOKS 3 /* most runs with each gap in a pass */

/* One side of a row: ours or the baseline. */
struct peali_bench_queue_side {
	struct peali_bench_queue_job job; /* kind NULL: the bare bounce */
	/* bit (1 << enum peali_bench_queue_gap) for the choice of each pass */
	uint32_t gaps;
	uint64_t amount; /* messages in a round, or samples of round trips */
	struct peali_samples samples;
};

/* A row. */
struct peali_bench_queue_contest {
	int trips; /* 1: round trips, 0: throughput */
	struct peali_bench_queue_side ours, peer;
	uint32_t lines; /* cache lines of the bounce */
	uint64_t round_ns; /* time of a round of one side */
	/* number of rounds at the end of each pass */
	size_t pass_end[PEALI_PASSES];
};

/* Result of a row, by the rounds and by the votes. */
enum peali_verdict {
	PEALI_REACHED = 0, /* three quarters of both reach the goal */
	PEALI_MISSED = 1, /* three quarters of both miss the goal */
	PEALI_UNSURE = 2 /* neither, or too few rounds or votes */
};

/**
 * Measures one pass of a row. First finds the best gap of each side, in at most
 * half of the time. Then runs rounds of the baseline and of ours until
 * until_ns. If that time is past, the first pass has one round and the other
 * passes have none.
 *
 * @return 0, or -1 with a message: a message was lost, doubled or changed.
 */
int peali_bench_queue_pass(struct peali_bench_queue_contest *contest,
			   uint32_t pass, uint64_t until_ns);

/** Returns the gap with the best median of n rates. Sorts the rates. */
enum peali_bench_queue_gap
peali_bench_queue_best_gap(double looks[PEALI_GAPS][PEALI_LOOKS], int n);

/**
 * Returns the ratio that a row has to reach: for a limit, for a topic, or 1.
 */
double peali_bench_queue_goal(const struct peali_bench_queue_contest *contest);

/**
 * Returns the verdict of a row. Three quarters of the rounds, and three
 * quarters of the votes, must be on one side of the goal.
 *
 * A pass has a vote for each distance of the cores: the median ratio of its
 * rounds at that distance. So a row is unsure if it reaches the goal near and
 * misses it far. Rounds in which the distance changed do not count. A verdict
 * needs at least four rounds and two votes.
 */
enum peali_verdict
peali_bench_queue_verdict(const struct peali_bench_queue_contest *contest,
			  double goal);

/**
 * Returns the reason why a row is unsure, or NULL. The text is static.
 *
 * - "time": too little time for rounds in each pass.
 * - "cores": too many rounds were dropped, because the cores moved or were
 *   taken.
 * - "spread": rounds or votes disagree.
 */
const char *
peali_bench_queue_why(const struct peali_bench_queue_contest *contest,
		      double goal);

void peali_bench_queue_contest_fini(struct peali_bench_queue_contest *contest);

#endif
