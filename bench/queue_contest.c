/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/queues.h"

#include <math.h>

#include "bench/stand.h"

#define BATCH 8 /* round trips to a sample: the clock takes about 20 ns */
#define SAMPLES_LEAST 20
#define SAMPLES_MOST 1000
#define FIRST_MESSAGES 8192 /* before anything is known of the rate */
#define LOOKS 3 /* at each gap, of each pass */
#define MESSAGES_MOST (UINT64_C(1) << 22)
#define LATE 10 /* rounds: then a side sends no more */
#define ROUNDS_LEAST 2 /* of a pass */
#define VOTES_LEAST 2 /* one alone agrees with nobody */

/* Whole bursts of all producers. */
static uint64_t whole(const struct peali_bench_queue_side *side,
		      double messages)
{
	const uint64_t unit =
		(uint64_t)PEALI_BENCH_QUEUE_BURST * side->job.shape.producers;
	uint64_t n = (uint64_t)messages / unit * unit;

	n = n < MESSAGES_MOST ? n : MESSAGES_MOST / unit * unit;
	return n < 4 * unit ? 4 * unit : n;
}

/* The open round's median in ns, or messages a second; negative: failed. */
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
		result = peali_bare_bounce(&side->job.cores, contest->lines,
					   BATCH, (uint32_t)side->amount,
					   samples);
	else
		result = peali_bench_queue_round_trips(
			&side->job, BATCH, (uint32_t)side->amount, samples);
	return result ? -1 : peali_samples_open_median(samples);
}

/* Sets how much of a side takes about so long. */
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

/* A run that is not kept; negative: failed. */
static double try_side(const struct peali_bench_queue_contest *contest,
		       const struct peali_bench_queue_side *side)
{
	struct peali_samples samples = { 0 };
	double value = run_side(contest, side, &samples);

	peali_samples_fini(&samples);
	return value;
}

/* Tries what a waiting thread can do, by turns: so many looks at each. */
static int try_gaps(const struct peali_bench_queue_contest *contest,
		    struct peali_bench_queue_side *side,
		    double looks[PEALI_GAPS][LOOKS])
{
	for (int look = 0; look < LOOKS; look++)
		for (int gap = 0; gap < PEALI_GAPS; gap++) {
			double value;

			side->job.gap = (enum peali_bench_queue_gap)gap;
			value = try_side(contest, side);
			if (value < 0)
				return -1;
			looks[gap][look] = contest->trips ? 1 / value : value;
		}
	return 0;
}

/* Finds what a waiting thread best does, and how much a round takes. */
static int calibrate(const struct peali_bench_queue_contest *contest,
		     struct peali_bench_queue_side *side)
{
	double looks[PEALI_GAPS][LOOKS], median, best = -1, value;

	side->job.budget_ns = LATE * contest->round_ns;
	side->job.gap = side->job.kind ? PEALI_GAP_PAUSE : PEALI_GAP_NONE;
	side->amount = contest->trips ? SAMPLES_LEAST :
					whole(side, FIRST_MESSAGES);
	value = try_side(contest, side);
	if (value < 0)
		return -1;
	set_amount(contest, side, value, (double)contest->round_ns / 2);
	if (side->job.kind && try_gaps(contest, side, looks))
		return -1;
	for (int gap = 0; gap < PEALI_GAPS && side->job.kind; gap++) {
		median = peali_median(looks[gap], LOOKS); /* sorts them */
		if (median <= best)
			continue;
		best = median;
		side->job.gap = (enum peali_bench_queue_gap)gap;
		value = contest->trips ? 1 / looks[gap][0] : looks[gap][0];
	}
	side->gaps |= 1u << side->job.gap;
	set_amount(contest, side, value, (double)contest->round_ns);
	return 0;
}

static int run_round(struct peali_bench_queue_contest *c)
{
	uint64_t lost = peali_cores_lost();
	int before = peali_bare_distance(&c->ours.job.cores);
	double peer = run_side(c, &c->peer, &c->peer.samples);
	double ours = peer < 0 ? -1 : run_side(c, &c->ours, &c->ours.samples);

	if (ours < 0)
		return -1;
	if (peali_bare_distance(&c->ours.job.cores) != before ||
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
	if (calibrate(contest, &contest->peer) ||
	    calibrate(contest, &contest->ours))
		return -1;
	for (int i = 0; i < ROUNDS_LEAST || peali_bench_now_ns() < until_ns;
	     i++)
		if (run_round(contest))
			return -1;
	contest->pass_end[pass] = contest->peer.samples.n_rounds;
	return 0;
}

/* Whether three quarters of them are of one mind. */
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
	const struct peali_samples *s = &contest->peer.samples;
	size_t first = 0, rounds[2] = { 0 }, votes[2] = { 0 };
	enum peali_verdict verdict;

	for (size_t i = 0; i < s->n_rounds; i++)
		if (s->rounds[i].tag != PEALI_TAG_MIXED)
			rounds[s->rounds[i].ratio >= goal]++;
	for (int i = 0; i < PEALI_PASSES; i++) {
		size_t n = contest->pass_end[i] - first;

		for (int tag = 0; tag < PEALI_DISTANCES; tag++) {
			struct peali_spread ratio =
				peali_samples_ratio_of(s, first, n, tag);

			if (ratio.n)
				votes[ratio.median >= goal]++;
		}
		first += n;
	}
	verdict = agree(rounds[1], rounds[0]);
	if (votes[0] + votes[1] < VOTES_LEAST ||
	    verdict != agree(votes[1], votes[0]))
		return PEALI_UNSURE;
	return verdict;
}

void peali_bench_queue_contest_fini(struct peali_bench_queue_contest *contest)
{
	peali_samples_fini(&contest->ours.samples);
	peali_samples_fini(&contest->peer.samples);
}
