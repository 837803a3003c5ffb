/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the wake rows of `peal bench idle`. Each method to wait delivers every
 * number. A thread that is reported asleep sleeps, and a broken method is
 * reported.
 */
#include "peal_test.h"

#include "bench/wake.h"

#define MESSAGES 8
#define SHORT_NS 300000000

static struct peali_fixture fixture;
static struct peali_wake wake;
static struct peali_samples samples;

static const struct peali_wake_method *const methods[] = {
	&peali_wake_queue, &peali_wake_worker,	&peali_wake_futex,
	&peali_wake_cond,  &peali_wake_eventfd, &peali_wake_pipe,
};

/* Returns the samples of a round. -1: the round failed. */
static int run(const struct peali_wake_method *method, uint64_t gap_ns,
	       uint64_t limit_ns)
{
	int n;

	memset(&wake, 0, sizeof(wake));
	wake.method = method;
	wake.fixture = &fixture;
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

PEAL_TEST(every_wake_method_wakes_a_sleeping_thread)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		int n = run(methods[i], 0, 0);

		/* a thread that was awake just then gives no sample */
		CHECK(n > 0 && n <= MESSAGES);
		CHECK(methods[i]->rings || n == MESSAGES);
	}
}

PEAL_TEST(every_wake_method_delivers_early_messages)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		CHECK_EQ(run(methods[i], 1000, 0), MESSAGES);
	CHECK_EQ(run(&peali_wake_poll, 1000, 0), MESSAGES);
}

PEAL_TEST(thread_that_never_sleeps_fails_the_run)
{
	CHECK_EQ(run(&peali_wake_poll, 0, SHORT_NS), -1);
}

/* No bell of Peal rings, so no wake counts. */
PEAL_TEST(wake_without_a_bell_is_no_sample)
{
	struct peali_wake_method silent = peali_wake_futex;

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

PEAL_TEST(broken_wake_methods_fail_the_run)
{
	struct peali_wake_method broken = peali_wake_futex;

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

PEAL_TEST_MAIN(need_two_cores(); CHECK_EQ(peali_fixture_open(&fixture, 1), 0);
	       RUN(every_wake_method_wakes_a_sleeping_thread);
	       RUN(every_wake_method_delivers_early_messages);
	       RUN(thread_that_never_sleeps_fails_the_run);
	       RUN(wake_without_a_bell_is_no_sample);
	       RUN(broken_wake_methods_fail_the_run);
	       CHECK_EQ(peali_fixture_close(&fixture), 0);)
