/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the wake rows of `peal bench idle`. Each way to wait delivers every
 * number. A thread that is reported asleep sleeps, and a broken way is
 * reported.
 */
#include "peal_test.h"

#include "bench/wake.h"

#define MESSAGES 8
#define SHORT_NS 300000000

static struct peali_stand stand;
static struct peali_wake wake;
static struct peali_samples samples;

static const struct peali_wake_way *const ways[] = {
	&peali_wake_queue, &peali_wake_worker,	&peali_wake_futex,
	&peali_wake_cond,  &peali_wake_eventfd, &peali_wake_pipe,
};

/* Returns the samples of a round. -1: the round failed. */
static int run(const struct peali_wake_way *way, uint64_t gap_ns,
	       uint64_t limit_ns)
{
	int n;

	memset(&wake, 0, sizeof(wake));
	wake.way = way;
	wake.stand = &stand;
	wake.gap_ns = gap_ns;
	wake.limit_ns = limit_ns;
	CHECK_EQ(peali_cores_pick(&wake.cores), 0);
	if (peali_wake_round(&wake, MESSAGES, &samples))
		n = -1;
	else
		n = (int)samples.n_values;
	peali_samples_fini(&samples);
	return n;
}

PEAL_TEST(every_way_wakes_who_sleeps)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int n = run(ways[i], 0, 0);

		/* a thread that was awake just then gives no sample */
		CHECK(n > 0 && n <= MESSAGES);
		CHECK(ways[i]->rings || n == MESSAGES);
	}
}

PEAL_TEST(every_way_brings_what_comes_early)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		CHECK_EQ(run(ways[i], 1000, 0), MESSAGES);
	CHECK_EQ(run(&peali_wake_poll, 1000, 0), MESSAGES);
}

PEAL_TEST(who_never_sleeps_is_told)
{
	CHECK_EQ(run(&peali_wake_poll, 0, SHORT_NS), -1);
}

/* No bell of Peal rings, so no wake counts. */
PEAL_TEST(what_was_not_woken_by_a_bell_is_no_sample)
{
	struct peali_wake_way silent = peali_wake_futex;

	silent.rings = 1;
	CHECK_EQ(run(&silent, 0, 0), 0);
}

static int put_changed(struct peali_wake *w, uint64_t number)
{
	return peali_wake_futex.put(w, number ^ 2);
}

static int put_nothing(struct peali_wake *w, uint64_t number)
{
	(void)w;
	(void)number;
	return 0;
}

/* Stores correctly, but wakes no thread. */
static int put_unrung(struct peali_wake *w, uint64_t number)
{
	peal_store_release_sys(&w->number, number);
	peal_store_release_sys_u32(&w->full, 1);
	return 0;
}

PEAL_TEST(broken_ways_are_told)
{
	struct peali_wake_way broken = peali_wake_futex;

	CHECK_EQ(run(&broken, 0, 0), MESSAGES);
	broken.put = put_changed;
	CHECK_EQ(run(&broken, 0, 0), -1);
	broken.put = put_nothing;
	CHECK_EQ(run(&broken, 0, SHORT_NS), -1);
	broken.put = put_unrung;
	CHECK_EQ(run(&broken, 0, SHORT_NS), -1);
	broken.put = peali_wake_futex.put;
	broken.take = NULL;
	broken.answered = peali_wake_worker.answered;
	broken.thread = "nobody";
	CHECK_EQ(run(&broken, 0, SHORT_NS), -1);
}

static void need_two_cores(void)
{
	struct peali_cores cores;

	if (!peali_cores_pick(&cores))
		return;
	printf("skipped: needs two cores\n");
	exit(77);
}

PEAL_TEST_MAIN(need_two_cores(); CHECK_EQ(peali_stand_open(&stand, 1), 0);
	       RUN(every_way_wakes_who_sleeps);
	       RUN(every_way_brings_what_comes_early);
	       RUN(who_never_sleeps_is_told);
	       RUN(what_was_not_woken_by_a_bell_is_no_sample);
	       RUN(broken_ways_are_told);
	       CHECK_EQ(peali_stand_close(&stand), 0);)
