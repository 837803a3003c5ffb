/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds and verdict of a row of the benchmark `queues`: see bench/queues.h. */
#include "bench/queues.h"

#include <math.h>

#include "bench/fixture.h"

/* round trips in a sample; reading the clock takes about 20 ns */
#define BATCH 8
#define SAMPLES_LEAST 5
#define SAMPLES_MOST 1000
/* messages of the first run, with an unknown rate */
#define FIRST_MESSAGES 8192
#define MESSAGES_MOST (UINT64_C(1) << 22)
#define LATE 10 /* times round_ns: then a side stops sending */
#define ROUNDS_LEAST 4 /* rounds of a row */
#define VOTES_LEAST 2 /* a single vote is no agreement */
#define BOUNCE_GOAL (1 / 1.10) /* smallest ratio: 1.10 times the limit */
#define TOPIC_GOAL 0.9 /* smallest ratio to a link for each reader */

/*
 * Rounds a number of messages to whole bursts of all producers, within limits.
 */
static uint64_t whole(const struct peali_bench_queue_side *side,
		      double messages)
{
	const uint64_t unit =
		(uint64_t)PEALI_BENCH_QUEUE_BURST * side->job.shape.producers;
	uint64_t n = (uint64_t)messages / unit * unit;

	n = n < MESSAGES_MOST ? n : MESSAGES_MOST / unit * unit;
	return n < 4 * unit ? 4 * unit : n;
}

/*
 * Runs a round of a side. Returns the median in ns, or messages per second.
 * Returns a negative value after an error.
 */
static double run_side(const struct peali_bench_queue_contest *contest,
		       const struct peali_bench_queue_side *side,
		       struct peali_samples *samples)
{
	double rate;
	int result;

	if (!contest->trips) {
		rate = peali_bench_queue_rate(&side->job, side->amount);
		if (rate >= 0)
			peali_samples_add(samples, rate);
		return rate;
	}
	if (!side->job.kind)
		result = peali_cacheline_bounce(&side->job.cores,
						contest->lines, BATCH,
						(uint32_t)side->amount,
						samples);
	else
		result = peali_bench_queue_round_trips(
			&side->job, BATCH, (uint32_t)side->amount, samples);
	return result ? -1 : peali_samples_open_median(samples);
}

/*
 * Sets the amount of a side's round, so that a round takes about `ns`. The last
 * run gave `value`.
 */
static void set_amount(const struct peali_bench_queue_contest *contest,
		       struct peali_bench_queue_side *side, double value,
		       double ns)
{
	double n;

	if (!contest->trips) {
		side->amount = whole(side, value * ns / 1e9);
		return;
	}
	n = ns / BATCH / value;
	side->amount = n < SAMPLES_LEAST ? SAMPLES_LEAST :
		       n > SAMPLES_MOST	 ? SAMPLES_MOST :
					   (uint64_t)n;
}

/* Runs a round without keeping its samples. Returns as run_side. */
static double try_side(const struct peali_bench_queue_contest *contest,
		       const struct peali_bench_queue_side *side)
{
	struct peali_samples samples = { 0 };
	double value = run_side(contest, side, &samples);

	peali_samples_fini(&samples);
	return value;
}

/*
 * Runs the side with each gap in turn, until until_ns. Stores the rate of each
 * run. Returns the number of complete turns, or -1.
 */
static int try_gaps(const struct peali_bench_queue_contest *contest,
		    struct peali_bench_queue_side *side, uint64_t until_ns,
		    double looks[PEALI_GAPS][PEALI_LOOKS])
{
	for (int look = 0; look < PEALI_LOOKS; look++)
		for (int gap = 0; gap < PEALI_GAPS; gap++) {
			double value;

			if (peali_bench_now_ns() >= until_ns)
				return look;
			side->job.gap = (enum peali_bench_queue_gap)gap;
			value = try_side(contest, side);
			if (value < 0)
				return -1;
			looks[gap][look] = contest->trips ? 1 / value : value;
		}
	return PEALI_LOOKS;
}

enum peali_bench_queue_gap
peali_bench_queue_best_gap(double looks[PEALI_GAPS][PEALI_LOOKS], int n)
{
	double median, best = -1;
	int found = 0;

	for (int gap = 0; gap < PEALI_GAPS; gap++) {
		/* this sorts them */
		median = peali_median(looks[gap], (size_t)n);
		if (median <= best)
			continue;
		best = median;
		found = gap;
	}
	return (enum peali_bench_queue_gap)found;
}

/*
 * Finds the best gap of a waiting thread, and the amount of a round. Without
 * time for a run with each gap, keeps the gap of the last pass. Returns 0 or
 * -1.
 */
static int calibrate(const struct peali_bench_queue_contest *contest,
		     struct peali_bench_queue_side *side, uint64_t until_ns)
{
	enum peali_bench_queue_gap gap = side->gaps ? side->job.gap :
						      PEALI_GAP_PAUSE;
	double looks[PEALI_GAPS][PEALI_LOOKS], value;
	int n = 0;

	side->job.budget_ns = LATE * contest->round_ns;
	side->job.gap = side->job.kind ? gap : PEALI_GAP_NONE;
	side->amount = contest->trips ? SAMPLES_LEAST :
					whole(side, FIRST_MESSAGES);
	value = try_side(contest, side);
	if (value < 0)
		return -1;
	if (side->job.kind) {
		set_amount(contest, side, value, (double)contest->round_ns / 2);
		n = try_gaps(contest, side, until_ns, looks);
		side->job.gap = gap;
	}
	if (n < 0)
		return -1;
	if (n) {
		side->job.gap = peali_bench_queue_best_gap(looks, n);
		value = looks[side->job.gap][0];
		value = contest->trips ? 1 / value : value;
	}
	side->gaps |= 1u << side->job.gap;
	set_amount(contest, side, value, (double)contest->round_ns);
	return 0;
}

static int run_round(struct peali_bench_queue_contest *c)
{
	uint64_t lost = peali_cores_lost();
	int before = peali_cores_distance(&c->ours.job.cores);
	double peer = run_side(c, &c->peer, &c->peer.samples);
	double ours = peer < 0 ? -1 : run_side(c, &c->ours, &c->ours.samples);

	if (ours < 0)
		return -1;
	if (peali_cores_distance(&c->ours.job.cores) != before ||
	    peali_cores_lost() != lost)
		before = PEALI_TAG_MIXED;
	peali_samples_close(&c->peer.samples, before,
			    c->trips ? peer / ours : ours / peer);
	peali_samples_close(&c->ours.samples, before, NAN);
	return 0;
}

int peali_bench_queue_pass(struct peali_bench_queue_contest *contest,
			   uint32_t pass, uint64_t until_ns)
{
	const uint64_t now = peali_bench_now_ns();
	const uint64_t share = now < until_ns ? (until_ns - now) / 4 : 0;
	int result = 0;

	if (share || !pass) {
		if (calibrate(contest, &contest->peer, now + share) ||
		    calibrate(contest, &contest->ours, now + 2 * share))
			return -1;
		do
			result = run_round(contest);
		while (!result && peali_bench_now_ns() < until_ns);
	}
	contest->pass_end[pass] = contest->peer.samples.n_rounds;
	return result;
}

/* ---- the verdict --------------------------------------------------------- */

double peali_bench_queue_goal(const struct peali_bench_queue_contest *contest)
{
	if (!contest->peer.job.kind)
		return BOUNCE_GOAL;
	return contest->ours.job.shape.every ? TOPIC_GOAL : 1;
}

/* Counts of rounds and votes: [0] below the goal, [1] at or above the goal. */
struct ballot {
	size_t rounds[2], votes[2];
	int skipped; /* 1: a pass has no rounds */
};

static struct ballot count(const struct peali_bench_queue_contest *contest,
			   double goal)
{
	const struct peali_samples *s = &contest->peer.samples;
	struct ballot b = { .skipped = 0 };
	size_t first = 0;

	for (size_t i = 0; i < s->n_rounds; i++)
		if (s->rounds[i].tag != PEALI_TAG_MIXED)
			b.rounds[s->rounds[i].ratio >= goal]++;
	for (int i = 0; i < PEALI_PASSES; i++) {
		size_t n = contest->pass_end[i] - first;

		for (int tag = 0; tag < PEALI_DISTANCES; tag++) {
			struct peali_spread ratio =
				peali_samples_ratio_of(s, first, n, tag);

			if (ratio.n)
				b.votes[ratio.median >= goal]++;
		}
		b.skipped |= !n;
		first += n;
	}
	return b;
}

static int too_few(const struct ballot *b)
{
	return b->rounds[0] + b->rounds[1] < ROUNDS_LEAST ||
	       b->votes[0] + b->votes[1] < VOTES_LEAST;
}

/* Returns the verdict of a majority of three quarters. */
static enum peali_verdict agree(size_t above, size_t below)
{
	if (above >= 3 * below)
		return PEALI_REACHED;
	return below >= 3 * above ? PEALI_MISSED : PEALI_UNSURE;
}

enum peali_verdict
peali_bench_queue_verdict(const struct peali_bench_queue_contest *contest,
			  double goal)
{
	const struct ballot b = count(contest, goal);
	const enum peali_verdict verdict = agree(b.rounds[1], b.rounds[0]);

	if (too_few(&b) || verdict != agree(b.votes[1], b.votes[0]))
		return PEALI_UNSURE;
	return verdict;
}

const char *
peali_bench_queue_why(const struct peali_bench_queue_contest *contest,
		      double goal)
{
	const struct ballot b = count(contest, goal);

	if (peali_bench_queue_verdict(contest, goal) != PEALI_UNSURE)
		return NULL;
	if (!too_few(&b))
		return "spread";
	return b.skipped || contest->peer.samples.n_rounds < ROUNDS_LEAST ?
		       "time" :
		       "cores";
}

void peali_bench_queue_contest_fini(struct peali_bench_queue_contest *contest)
{
	peali_samples_fini(&contest->ours.samples);
	peali_samples_fini(&contest->peer.samples);
}
