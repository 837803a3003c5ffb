/* SPDX-License-Identifier: Apache-2.0 */
/* On a busy worker neither messages nor timers starve. An idle worker sleeps
 * until its next timer is due. */
#include "runtime/timer_fixture.h"

#define TURNS 2000

/* Connects `port` to an actor and sends it n messages of `ns` each. `churn`
 * tells each message to itself again until the gate opens. */
static void start_churn(struct fixture *s, uint32_t port, uint64_t churn,
			uint64_t *gate, uint64_t ns, uint32_t n)
{
	struct timer_spin spin = { harness_address(gate), ns, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i;

	harness_from(s->rt, s->e, port, churn, none);
	for (i = 0; i < n; i++)
		CHECK_OK(peal_send(s->e, port, 0, &spin, sizeof(spin), MAX_WAIT,
				   NULL));
}

static uint64_t handled(const struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info.handled;
}

/*
 * The worker always has a message, since its handlers tell themselves. The
 * worker must send its ticks nevertheless. The case counts the messages per
 * tick, so time without a core does not matter. A message takes 20 us. A tick
 * is due every 500 us.
 */
PEAL_TEST(self_tells_do_not_starve_timers)
{
	struct peal_kernel_options o = { .mailbox.slots = 128 };
	struct fixture s = fixture_open(o);
	uint64_t churn = harness_spawn(s.k, "churn", 0);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	uint64_t *gate = harness_gate(s.rt);
	uint64_t turns, before, ticks;

	start_churn(&s, 1, churn, gate, 20000, 24);
	EVENTUALLY(handled(&s) > 100);
	fixture_every(&s, 0, MS / 2, actor);
	before = handled(&s);
	EVENTUALLY(handled(&s) - before >= TURNS);
	ticks = fixture_counts(&s).ticks;
	turns = handled(&s) - before;
	printf("    %llu messages, %llu ticks\n", (unsigned long long)turns,
	       (unsigned long long)ticks);
	CHECK(ticks >= TURNS / 200);
	peal_store_release_sys(gate, 1);
	CHECK_EQ(fixture_cancel(&s, 0, 0), 0);
	EVENTUALLY(fixture_notes(&s, actor).ticks == fixture_counts(&s).ticks);
	fixture_good(&s, actor);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Handlers of worker 0 keep the mailbox of worker 1 full. Timers of worker 0
 * must get a share of the free slots. */
PEAL_TEST(handler_messages_leave_slots_for_timers)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox.slots = 16 };
	struct fixture s = fixture_open(o);
	struct timer_spin spin = { 0, 20000, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link *link;
	uint64_t teller = harness_spawn(s.k, "pass", 0);
	uint64_t actor = harness_spawn(s.k, "note", 1), ticks, i;

	spin.actor = (uint32_t)harness_spawn(s.k, "slow", 1);
	link = harness_from(s.rt, s.e, 2, teller, none);
	fixture_every(&s, 0, MS / 2, actor);
	for (i = 0; i < TURNS; i++)
		CHECK_OK(peal_send(s.e, 2, 0, &spin, sizeof(spin), MAX_WAIT,
				   NULL));
	ticks = fixture_counts(&s).ticks;
	printf("    %d messages, %llu ticks\n", TURNS,
	       (unsigned long long)ticks);
	CHECK(ticks >= TURNS / 200);
	EVENTUALLY(harness_info(link).queued == 0); /* `pass` has told all */
	CHECK_EQ(fixture_cancel(&s, 0, 0), 0);
	fixture_good(&s, actor);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	fixture_account(&s, TURNS);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Ticks that are always due must leave turns to the messages. */
PEAL_TEST(overdue_ticks_do_not_starve_messages)
{
	struct peal_kernel_options o = { .mailbox.slots = 16 };
	struct fixture s = fixture_open(o);
	uint64_t spun = harness_spawn(s.k, "slow", 0), actor[16];
	uint32_t i;

	for (i = 0; i < 16; i++) {
		actor[i] = harness_spawn(s.k, "note", 0);
		fixture_every(&s, 0, 1, actor[i]);
	}
	start_churn(&s, 1, spun, harness_gate(s.rt), 0, 500);
	EVENTUALLY(harness_info(s.orders[0]).queued == 0);
	EVENTUALLY(handled(&s) > 1000);
	CHECK_OK(peal_send_end(s.e, 1, MAX_WAIT));
	fixture_drain(&s);
	for (i = 0; i < 16; i++)
		fixture_good(&s, actor[i]);
	EVENTUALLY(fixture_counts(&s).drained == 16);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/*
 * The input is never empty and its handler is slow. The worker must look at its
 * timers between two messages, not once per burst of 32. A message takes 1 ms.
 * A tick is due every 1 ms.
 */
PEAL_TEST(timers_fire_within_a_burst_of_slow_messages)
{
	struct peal_kernel_options o = { .mailbox.slots = 16 };
	struct fixture s = fixture_open(o);
	struct timer_spin spin = { 0, MS, 0, 0 };
	struct peal_link_options wide = { .capacity = 256 };
	uint64_t spun = harness_spawn(s.k, "slow", 0);
	uint64_t actor = harness_spawn(s.k, "note", 0), before, ticks;
	int i;

	harness_from(s.rt, s.e, 1, spun, wide);
	fixture_every(&s, 0, MS, actor);
	EVENTUALLY(fixture_counts(&s).ticks > 0);
	before = fixture_counts(&s).ticks;
	for (i = 0; i < 200; i++)
		CHECK_OK(peal_send(s.e, 1, 0, &spin, sizeof(spin), MAX_WAIT,
				   NULL));
	EVENTUALLY(handled(&s) >= before + 200);
	ticks = fixture_counts(&s).ticks - before;
	printf("    200 messages, %llu ticks\n", (unsigned long long)ticks);
	CHECK(ticks >= 40);
	fixture_stop(&s);
}

/* Returns 1 if worker 0 sleeps for nearly all of 50 ms. */
static int sleeps(const struct fixture *s)
{
	struct peal_worker_info before, after;

	CHECK_OK(peal_worker_info(s->k, 0, &before));
	identity_sleep_us(50000);
	CHECK_OK(peal_worker_info(s->k, 0, &after));
	return after.idle_turns - before.idle_turns < 50;
}

/* An idle worker sleeps until its next timer is due, even for an hour. */
PEAL_TEST(worker_sleeps_until_the_next_timer_is_due)
{
	struct peal_kernel_options o = { .max_timers = 8 };
	struct fixture s;
	uint64_t actor, first;
	int i;

	HOST_CASE("workers of GPUs do not sleep");
	s = fixture_open(o);
	actor = harness_spawn(s.k, "note", 0);
	first = harness_spawn(s.k, "note", 0);
	fixture_after(&s, 0, HOUR, first, 1);
	EVENTUALLY(sleeps(&s));
	EVENTUALLY(fixture_counts(&s).waiting == 1);
	CHECK_EQ(fixture_cancel(&s, 0, 0), 0);
	/* a sleep lasts up to 50 ms: this delay takes several */
	fixture_after(&s, 0, 120 * MS, first, 1);
	EVENTUALLY(fixture_done(&s) == 1);
	for (i = 0; i < 10; i++) {
		fixture_after(&s, 0, 5 * MS, actor, 1);
		EVENTUALLY(fixture_done(&s) == 2 + (uint64_t)i);
	}
	printf("    %llu ns late at best\n",
	       (unsigned long long)fixture_notes(&s, actor).least_late_ns);
	CHECK(fixture_notes(&s, actor).least_late_ns < 20 * MS);
	fixture_good(&s, first);
	fixture_good(&s, actor);
	fixture_stop(&s);
}

/* Returns 1 if the heartbeat of worker 0 nearly stops for 50 ms. */
static int rests(const struct fixture *s)
{
	struct peal_worker_info before, after;

	CHECK_OK(peal_worker_info(s->k, 0, &before));
	identity_sleep_us(50000);
	CHECK_OK(peal_worker_info(s->k, 0, &after));
	return after.heartbeat - before.heartbeat < 25;
}

/* A suspended worker sleeps, although timers are due. */
PEAL_TEST(suspended_worker_does_not_check_timers)
{
	struct peal_kernel_options o = { .max_timers = 8 };
	struct fixture s;
	uint64_t actor;
	struct peal_timer_counts before, after;

	HOST_CASE("workers of GPUs do not sleep");
	s = fixture_open(o);
	actor = harness_spawn(s.k, "note", 0);
	fixture_every(&s, 0, MS, actor);
	EVENTUALLY(fixture_done(&s) > 5);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	before = fixture_counts(&s);
	EVENTUALLY(rests(&s));
	after = fixture_counts(&s);
	CHECK_EQ(after.ticks, before.ticks);
	CHECK_OK(peal_kernel_resume(s.k));
	EVENTUALLY(fixture_counts(&s).ticks > after.ticks + 5);
	fixture_good(&s, actor);
	fixture_stop(&s);
}

/* Worker 0 sleeps while its due timers wait for a full mailbox. Free slots must
 * wake it. */
PEAL_TEST(worker_with_blocked_timers_is_woken_by_slots)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox.slots = 8 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	uint64_t held = harness_spawn(s.k, "hold", 1);
	uint64_t *gate = harness_gate(s.rt);
	struct timer_spin hold = { harness_address(gate), 0, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	fixture_after(&s, 0, 0, actor, 50);
	EVENTUALLY(fixture_counts(&s).held >= 40);
	if (!test_on_gpu()) /* worker 0 sleeps meanwhile */
		EVENTUALLY(sleeps(&s));
	peal_store_release_sys(gate, 1);
	EVENTUALLY(fixture_done(&s) == 50);
	CHECK_EQ(fixture_good(&s, actor), 50);
	fixture_stop(&s);
}

PEAL_TEST_MAIN(RUN_LANES(self_tells_do_not_starve_timers);
	       RUN_LANES(handler_messages_leave_slots_for_timers);
	       RUN_LANES(overdue_ticks_do_not_starve_messages);
	       RUN_LANES(timers_fire_within_a_burst_of_slow_messages);
	       RUN_LANES(worker_sleeps_until_the_next_timer_is_due);
	       RUN_LANES(suspended_worker_does_not_check_timers);
	       RUN_LANES(worker_with_blocked_timers_is_woken_by_slots);)
