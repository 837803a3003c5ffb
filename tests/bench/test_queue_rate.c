/* SPDX-License-Identifier: Apache-2.0 */
/* Shows which messages and which time a rate of `peal bench queues` has. */
#include "peal_test.h"

#include "bench/queue_run.c"

PEAL_TEST(rate_counts_only_messages_after_clock_start)
{
	static struct peali_bench_queue_end first, second;
	static struct gang g;

	g.n_consumers = 2;
	g.consumers[0] = &first;
	g.consumers[1] = &second;
	first.taken = 700;
	second.taken = 300;
	g.members[0].untimed = 200;
	g.members[0].began_ns = 5000;
	g.members[0].ended_ns = 5000 + 1000000;
	CHECK(rate_of(&g) == 800e3);
	g.members[0].ended_ns = 5000; /* a clock that stands still */
	CHECK(rate_of(&g) == 800e9);
}

/* The clock starts with the first messages, which are not counted. */
PEAL_TEST(rate_clock_starts_with_the_first_message)
{
	static struct peali_bench_queue_end end;
	const struct peali_bench_queue_job job = { .budget_ns = 0 };
	static struct gang g;
	struct member *m = g.members;

	g.job = &job;
	g.n_consumers = 1;
	g.consumers[0] = m->consumer = &end;
	g.messages = 1000;
	m->gang = &g;
	look_at_clock(m, 1);
	CHECK_EQ(m->began_ns, 0);
	CHECK_EQ(to_take(&g, &end, STEP_ALONE), 1);
	end.taken = 32; /* one burst */
	look_at_clock(m, 2);
	CHECK(m->began_ns > 0);
	CHECK_EQ(m->untimed, 32);
	CHECK_EQ(to_take(&g, &end, STEP_ALONE), STEP_ALONE);
	end.taken = 990;
	look_at_clock(m, 3);
	CHECK_EQ(m->untimed, 32);
	CHECK_EQ(to_take(&g, &end, STEP_ALONE), 10);
}

PEAL_TEST_MAIN(RUN(rate_counts_only_messages_after_clock_start);
	       RUN(rate_clock_starts_with_the_first_message);)
