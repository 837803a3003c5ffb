/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows how `peal bench queues` spends its time on a row, and which rounds it
 * drops. Queues, cores and the clock are fakes, so that all runs are equal.
 */
#include "peal_test.h"

#include "bench/queues.h"
#include "bench/fixture.h"

/* The orders to a fake run, and its results. */
static struct {
	uint64_t now_ns, lost;
	int distance;
	/* of our queue, of the peer; tried: gaps as bits */
	uint32_t runs[2], tried[2];
	uint64_t messages[2], samples[2]; /* of the last run */
	double slowness; /* factor on the time of a run */
	int move_at, lose_at; /* before this run of our queue; 0: never */
} fake;

static const struct peali_bench_queue_kind mine = { .name = "mine" },
					   theirs = { .name = "theirs" };

/* Returns messages or trips per second. Each side has another best gap. */
static double fake_speed(const struct peali_bench_queue_job *job)
{
	static const double speed[2][PEALI_GAPS] = { { 4e6, 1e6, 8e6 },
						     { 2e6, 6e6, 1e6 } };

	return speed[job->kind != &mine][job->gap];
}

static int fake_run(const struct peali_bench_queue_job *job)
{
	int side = job->kind != &mine;

	fake.runs[side]++;
	fake.tried[side] |= 1u << job->gap;
	if (!side && (int)fake.runs[0] == fake.move_at)
		fake.distance++;
	if (!side && (int)fake.runs[0] == fake.lose_at)
		fake.lost++;
	return side;
}

static double fake_rate(const struct peali_bench_queue_job *job,
			uint64_t messages)
{
	fake.messages[fake_run(job)] = messages;
	fake.now_ns += (uint64_t)(fake.slowness * 1e9 * (double)messages /
				  fake_speed(job));
	return fake_speed(job);
}

static int fake_round_trips(const struct peali_bench_queue_job *job,
			    uint32_t batch, uint32_t n_samples,
			    struct peali_samples *samples)
{
	const double each = 1e9 / fake_speed(job);

	fake.samples[fake_run(job)] = n_samples;
	for (uint32_t i = 0; i < n_samples; i++)
		peali_samples_add(samples, each);
	fake.now_ns += (uint64_t)(fake.slowness * each * batch * n_samples);
	return 0;
}

static int fake_bounce(const struct peali_cores *cores, uint32_t lines,
		       uint32_t batch, uint32_t n_samples,
		       struct peali_samples *samples)
{
	const struct peali_bench_queue_job job = { .kind = &theirs };

	(void)cores;
	(void)lines;
	return fake_round_trips(&job, batch, n_samples, samples);
}

static int fake_distance(const struct peali_cores *cores)
{
	(void)cores;
	return fake.distance;
}

static uint64_t fake_lost(void)
{
	return fake.lost;
}

static uint64_t fake_now(void)
{
	return ++fake.now_ns;
}

#define peali_bench_queue_rate fake_rate
#define peali_bench_queue_round_trips fake_round_trips
#define peali_cacheline_bounce fake_bounce
#define peali_cores_distance fake_distance
#define peali_cores_lost fake_lost
#define peali_bench_now_ns fake_now
#include "bench/queue_contest.c"

#define ROUND_NS 1000000
#define PLENTY (1000 * (uint64_t)ROUND_NS)

static struct peali_bench_queue_contest contest_of(int trips)
{
	struct peali_bench_queue_contest c = { .trips = trips,
					       .round_ns = ROUND_NS };

	memset(&fake, 0, sizeof(fake));
	fake.slowness = 1;
	c.ours.job.kind = &mine;
	c.peer.job.kind = &theirs;
	c.ours.job.shape.producers = c.peer.job.shape.producers = 1;
	return c;
}

static void pass(struct peali_bench_queue_contest *c, uint32_t number,
		 uint64_t ns)
{
	CHECK_OK(peali_bench_queue_pass(c, number, fake.now_ns + ns));
}

/* ---- time ---------------------------------------------------------------- */

PEAL_TEST(both_sides_try_all_gaps_and_use_the_best)
{
	for (int trips = 0; trips < 2; trips++) {
		struct peali_bench_queue_contest c = contest_of(trips);

		pass(&c, 0, PLENTY);
		CHECK_EQ(fake.tried[0], 7);
		CHECK_EQ(fake.tried[1], 7);
		CHECK_EQ(c.ours.job.gap, PEALI_GAP_FENCES);
		CHECK_EQ(c.peer.job.gap, PEALI_GAP_PAUSE);
		CHECK_EQ(c.ours.gaps, 1u << PEALI_GAP_FENCES);
		CHECK_EQ(c.peer.gaps, 1u << PEALI_GAP_PAUSE);
		peali_bench_queue_contest_fini(&c);
	}
}

/* The median decides, not one outlier. */
PEAL_TEST(best_gap_has_the_best_median)
{
	double looks[PEALI_GAPS][PEALI_LOOKS] = { { 3, 4, 5 },
						  { 9, 1, 1 },
						  { 2, 6, 7 } };
	double once[PEALI_GAPS][PEALI_LOOKS] = { { 3 }, { 5 }, { 2 } };

	CHECK_EQ(peali_bench_queue_best_gap(looks, PEALI_LOOKS),
		 PEALI_GAP_FENCES);
	CHECK_EQ(peali_bench_queue_best_gap(once, 1), PEALI_GAP_PAUSE);
}

/*
 * Rounds of both sides take the time of a round, at any speed. A round ends
 * after ten times this time.
 */
PEAL_TEST(rounds_of_both_sides_take_the_round_time)
{
	struct peali_bench_queue_contest c = contest_of(0);

	pass(&c, 0, PLENTY);
	/* messages of a millisecond, in whole bursts */
	CHECK_EQ(fake.messages[0], 8000);
	CHECK_EQ(fake.messages[1], 6000 / 32 * 32);
	CHECK_EQ(c.ours.job.budget_ns, 10 * ROUND_NS);
	CHECK_EQ(c.peer.job.budget_ns, 10 * ROUND_NS);
	peali_bench_queue_contest_fini(&c);
	c = contest_of(1);
	pass(&c, 0, PLENTY);
	CHECK_EQ(fake.samples[0], 8000 / 8);
	CHECK_EQ(fake.samples[1], 6000 / 8);
	peali_bench_queue_contest_fini(&c);
	c = contest_of(1);
	c.peer.job.kind = NULL; /* the bare bounce has no gaps */
	pass(&c, 0, PLENTY);
	CHECK_EQ(fake.tried[1], 1u << PEALI_GAP_NONE);
	CHECK_EQ(fake.samples[1], 2000 / 8);
	peali_bench_queue_contest_fini(&c);
}

/*
 * At any slowness the calibration takes at most half of the time, and ends with
 * its current run.
 */
PEAL_TEST(pass_stays_within_its_time_budget)
{
	const uint64_t asked = 40 * (uint64_t)ROUND_NS;

	for (fake.slowness = 1; fake.slowness < 1000; fake.slowness *= 2) {
		double slowness = fake.slowness;
		struct peali_bench_queue_contest c = contest_of(0);
		/* no run is longer than the first one, of 8192 messages */
		const uint64_t run = (uint64_t)(slowness * 1e3 * 8192);
		uint64_t began;

		fake.slowness = slowness;
		for (uint32_t i = 0; i < PEALI_PASSES; i++) {
			began = fake.now_ns;
			pass(&c, i, asked);
			CHECK(fake.now_ns - began < asked + 4 * run);
			CHECK(c.pass_end[i] >= i + 1);
		}
		/* half of the time is left if runs are short */
		if (slowness < 2)
			CHECK(c.pass_end[0] >= 10);
		peali_bench_queue_contest_fini(&c);
	}
}

PEAL_TEST(pass_without_time_runs_one_round_and_is_unsure)
{
	struct peali_bench_queue_contest c = contest_of(0);

	pass(&c, 0, 0);
	CHECK_EQ(fake.runs[0], 2); /* one for the calibration, one round */
	CHECK_EQ(fake.runs[1], 2);
	CHECK_EQ(c.ours.job.gap, PEALI_GAP_PAUSE);
	for (uint32_t i = 1; i < PEALI_PASSES; i++)
		pass(&c, i, 0);
	CHECK_EQ(fake.runs[0], 2);
	CHECK_EQ(c.pass_end[PEALI_PASSES - 1], 1);
	CHECK_EQ(peali_bench_queue_verdict(&c, 1), PEALI_UNSURE);
	CHECK(!strcmp(peali_bench_queue_why(&c, 1), "time"));
	peali_bench_queue_contest_fini(&c);
}

/* The gaps that an earlier pass found stay. */
PEAL_TEST(pass_without_gap_time_keeps_previous_gap)
{
	struct peali_bench_queue_contest c = contest_of(0);

	pass(&c, 0, PLENTY);
	fake.tried[0] = fake.tried[1] = 0;
	pass(&c, 1, 8);
	CHECK_EQ(fake.tried[0], 1u << PEALI_GAP_FENCES);
	CHECK_EQ(fake.tried[1], 1u << PEALI_GAP_PAUSE);
	CHECK_EQ(c.pass_end[1], c.pass_end[0] + 1);
	/* nor does a look at a single gap change them */
	pass(&c, 2, 6 * ROUND_NS);
	CHECK_EQ(fake.tried[1], 1u << PEALI_GAP_PAUSE | 1u << PEALI_GAP_NONE);
	CHECK_EQ(c.peer.job.gap, PEALI_GAP_PAUSE);
	peali_bench_queue_contest_fini(&c);
}

/* ---- rounds that do not count -------------------------------------------- */

/* Our runs before the rounds: one calibration, and the looks at gaps. */
#define RUNS_BEFORE (1 + PEALI_GAPS * PEALI_LOOKS)

static size_t mixed_rounds(int move_at, int lose_at, int *moved_out)
{
	struct peali_bench_queue_contest c = contest_of(0);
	size_t mixed = 0;

	fake.move_at = move_at;
	fake.lose_at = lose_at;
	pass(&c, 0, PLENTY);
	CHECK(c.pass_end[0] > 10);
	for (size_t i = 0; i < c.pass_end[0]; i++)
		if (c.peer.samples.rounds[i].tag == PEALI_TAG_MIXED) {
			CHECK_EQ(i, 4); /* only this round */
			mixed++;
		}
	*moved_out = c.peer.samples.rounds[3].tag !=
		     c.peer.samples.rounds[5].tag;
	peali_bench_queue_contest_fini(&c);
	return mixed;
}

PEAL_TEST(round_with_moved_or_lost_core_is_dropped)
{
	int moved;

	CHECK_EQ(mixed_rounds(0, 0, &moved), 0);
	CHECK(!moved);
	CHECK_EQ(mixed_rounds(RUNS_BEFORE + 5, 0, &moved), 1);
	CHECK(moved);
	CHECK_EQ(mixed_rounds(0, RUNS_BEFORE + 5, &moved), 1);
	CHECK(!moved);
}

/* ---- goals and reasons --------------------------------------------------- */

PEAL_TEST(goal_depends_on_the_compared_baseline)
{
	struct peali_bench_queue_contest c = contest_of(1);

	CHECK(peali_bench_queue_goal(&c) == 1);
	c.ours.job.shape.every = 1;
	CHECK(peali_bench_queue_goal(&c) == 0.9);
	c.peer.job.kind = NULL;
	CHECK(peali_bench_queue_goal(&c) == 1 / 1.10);
}

/*
 * Returns the reason for passes with rounds of one tag. The ratios are 2 and
 * `other` in turn.
 */
static const char *why(int passes, int rounds, int tag, double other)
{
	struct peali_bench_queue_contest c = { .trips = 0 };
	const char *reason;

	for (int i = 0; i < PEALI_PASSES; i++) {
		for (int k = 0; i < passes && k < rounds; k++)
			peali_samples_close(&c.peer.samples, tag,
					    k % 2 ? other : 2);
		c.pass_end[i] = c.peer.samples.n_rounds;
	}
	reason = peali_bench_queue_why(&c, 1);
	CHECK_EQ(!reason, peali_bench_queue_verdict(&c, 1) != PEALI_UNSURE);
	peali_bench_queue_contest_fini(&c);
	return reason ? reason : "";
}

PEAL_TEST(unsure_verdict_names_its_reason)
{
	CHECK(!strcmp(why(4, 2, 0, 2), ""));
	CHECK(!strcmp(why(4, 1, 0, 2), "")); /* four rounds are the minimum */
	CHECK(!strcmp(why(3, 1, 0, 2), "time"));
	CHECK(!strcmp(why(0, 0, 0, 2), "time"));
	CHECK(!strcmp(why(1, 9, 0, 2), "time")); /* only one vote */
	CHECK(!strcmp(why(4, 9, PEALI_TAG_MIXED, 2), "cores"));
	CHECK(!strcmp(why(4, 2, 0, 0.5), "spread"));
}

PEAL_TEST_MAIN(RUN(both_sides_try_all_gaps_and_use_the_best);
	       RUN(best_gap_has_the_best_median);
	       RUN(rounds_of_both_sides_take_the_round_time);
	       RUN(pass_stays_within_its_time_budget);
	       RUN(pass_without_time_runs_one_round_and_is_unsure);
	       RUN(pass_without_gap_time_keeps_previous_gap);
	       RUN(round_with_moved_or_lost_core_is_dropped);
	       RUN(goal_depends_on_the_compared_baseline);
	       RUN(unsure_verdict_names_its_reason);)
