/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
/* Timers at the end of a kernel. A drain waits for timers that fire once, and
 * for the timers that their handlers set. Periodic timers go on while an input
 * is open, and a stop counts every timer. */
#include "queues/stress.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"
#include "runtime/timer_fixture.h"

PEAL_TEST(drain_waits_for_armed_timers)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);

	fixture_after(&s, 0, 300 * MS, actor, 3);
	EVENTUALLY(fixture_counts(&s).waiting == 3);
	CHECK_EQ(fixture_drain(&s).fired, 3);
	CHECK_EQ(fixture_good(&s, actor), 3);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(drain_when_inputs_end_waits_for_armed_timers)
{
	struct peal_kernel_options o = { .workers = 2,
					 .drain_when_inputs_end = 1 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	struct peal_timer_counts t;

	fixture_after(&s, 0, 300 * MS, actor, 3);
	fixture_every(&s, 1, 5 * MS, actor);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_send_end(s.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s.k, MAX_WAIT));
	t = fixture_account(&s, 0);
	CHECK_EQ(t.fired, 3);
	CHECK_EQ(t.drained, 1);
	CHECK_EQ(t.waiting, 0);
	CHECK_EQ(fixture_good(&s, actor), 3 + t.ticks);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* The inputs of worker 0 have ended, but an input of worker 1 has not. The
 * ticks of worker 0 go on, although the kernel drains. */
PEAL_TEST(periodic_timer_runs_while_any_input_is_open)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1), before;
	struct peal_timer_counts t;

	fixture_every(&s, 0, MS, actor);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, 0));
	EVENTUALLY(peal_load_acquire_sys(&s.k->status[0].drained));
	before = fixture_counts(&s).ticks;
	EVENTUALLY(fixture_counts(&s).ticks >= before + 20);
	t = fixture_counts(&s);
	CHECK_EQ(t.drained, 0);
	CHECK_EQ(t.waiting, 1);
	CHECK_OK(peal_send_end(s.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, MAX_WAIT));
	t = fixture_account(&s, 0);
	CHECK_EQ(t.drained, 1);
	CHECK_EQ(t.waiting, 0);
	CHECK_EQ(fixture_good(&s, actor), t.ticks);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Ticks come faster than the handlers run, so no worker is ever idle. */
PEAL_TEST(fast_ticks_do_not_block_a_drain)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor[4], got = 0;
	struct peal_timer_counts t;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		actor[i] = harness_spawn(s.k, "note", (int)i / 2);
		fixture_every(&s, i % 2, 1, actor[i]);
	}
	EVENTUALLY(fixture_counts(&s).ticks > 1000);
	t = fixture_drain(&s);
	CHECK_EQ(t.drained, 4);
	CHECK(t.missed > 0);
	for (i = 0; i < 4; i++)
		got += fixture_good(&s, actor[i]);
	CHECK_EQ(got, t.ticks);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/*
 * Chains of timers over two workers, while the inputs end. The handler of each
 * timer sets the next timer. The kernel must not end before its chains.
 */
static void chains(uint64_t seed, uint32_t drain_when_inputs_end)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = 16,
					 .drain_when_inputs_end =
						 drain_when_inputs_end };
	struct fixture s = fixture_open(o);
	unsigned long long random = seed;
	uint64_t pair[2], links = 0, seen = 0;
	uint32_t i, n = 1 + (uint32_t)(test_random(&random) % 4);
	struct timer_order chain = { .n = 1 };
	struct peal_timer_counts t;

	pair[0] = harness_spawn(s.k, "chain", 0);
	pair[1] = harness_spawn(s.k, "chain", 1);
	CHECK_EQ((uint32_t)pair[0] ^ 1, (uint32_t)pair[1]);
	for (i = 0; i < n; i++) {
		chain.actor = (uint32_t)pair[test_random(&random) % 2];
		chain.ns = test_random(&random) % 300000;
		chain.slot = (uint32_t)(test_random(&random) % 60);
		links += 1 + chain.slot;
		CHECK_EQ(fixture_order(&s, i % 2, TIMER_AFTER, chain).result,
			 0);
	}
	if (test_random(&random) % 2)
		fixture_every(&s, 0, 20000, pair[0]);
	t = fixture_drain(&s);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(fixture_notes(&s, pair[i]).early, 0);
		seen += fixture_notes(&s, pair[i]).received;
	}
	CHECK_EQ(t.fired, links);
	CHECK_EQ(seen, links + t.ticks);
	stress_verified += links;
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(kernel_end_follows_all_timer_messages)
{
	struct stress_clock clock = stress_begin(24);
	uint64_t round;

	while (stress_next(&clock, &round))
		chains(round * 7919 + lanes, round % 2);
}

PEAL_TEST(drain_names_and_stop_counts_armed_timers)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	struct peal_worker_info info;
	struct peal_timer_counts t;

	fixture_after(&s, 1, HOUR, actor, 3);
	fixture_every(&s, 0, HOUR, actor);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_send_end(s.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, 0));
	EVENTUALLY(fixture_counts(&s).drained == 1);
	CHECK_FAILS(peal_kernel_drain(s.k, 10 * MS), PEAL_ETIMEDOUT,
		    "worker 1 of kernel 'timers': timers that have not "
		    "fired: 3");
	CHECK_OK(peal_worker_info(s.k, 1, &info));
	CHECK_EQ(info.timers.waiting, 3);
	t = fixture_stop(&s);
	CHECK_EQ(t.stopped, 3);
	CHECK_EQ(t.drained, 1);
	CHECK_EQ(t.fired, 0);
}

PEAL_TEST_MAIN(RUN_LANES(drain_waits_for_armed_timers);
	       RUN_LANES(drain_when_inputs_end_waits_for_armed_timers);
	       RUN_LANES(periodic_timer_runs_while_any_input_is_open);
	       RUN_LANES(fast_ticks_do_not_block_a_drain);
	       RUN_LANES(kernel_end_follows_all_timer_messages);
	       RUN_LANES(drain_names_and_stop_counts_armed_timers);
	       stress_print_total();)
