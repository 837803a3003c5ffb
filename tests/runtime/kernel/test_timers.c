/* SPDX-License-Identifier: Apache-2.0 */
/* Timers never fire early. One-shot timers fire once, in order of due time. A
 * cancelled timer sends nothing, and every timer that was set is in a count. */

#include <peal/dead_letter.h>
#include <peal/pool.h>
#include <peal/stall.h>
#include "runtime/timer_fixture.h"

/* ---- once ---------------------------------------------------------------- */

PEAL_TEST(each_timer_fires_once_in_order_not_early)
{
	struct peal_kernel_options o = { .max_timers = 512 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order mix = {
		.ns = 1000, .step_ns = 10000, .actor = (uint32_t)actor, .n = 500
	};
	struct peal_timer_counts t;

	CHECK_EQ(fixture_order(&s, 0, TIMER_MIX, mix).n, 500);
	EVENTUALLY(fixture_done(&s) >= 500);
	identity_sleep_us(20000);
	CHECK_EQ(fixture_good(&s, actor), 500);
	t = fixture_stop(&s);
	CHECK_EQ(t.set, 500);
	CHECK_EQ(t.fired, 500);
}

/* A handler blocks the receiving worker. Due messages wait in order. Messages
 * to another worker are not delayed. */
PEAL_TEST(blocked_timer_messages_keep_their_order)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = 16,
					 .max_timers = 3000 };
	struct fixture s = fixture_open(o);
	uint64_t there = harness_spawn(s.k, "note", 1);
	uint64_t here = harness_spawn(s.k, "note", 0);
	uint64_t held = harness_spawn(s.k, "hold", 1);
	uint64_t *gate = harness_gate(s.rt);
	struct timer_spin hold = { harness_address(gate), 0, 0, 0 };
	struct timer_order mix = { .ns = 2 * MS,
				   .step_ns = 1000,
				   .actor = (uint32_t)there,
				   .n = 2900 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	struct peal_stall cause;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	CHECK_EQ(fixture_order(&s, 0, TIMER_MIX, mix).n, 2900);
	EVENTUALLY(fixture_counts(&s).held > 1000);
	EVENTUALLY(!peal_worker_info(s.k, 0, &info) &&
		   info.blocked_port == PEAL_BLOCKED_TIMER);
	CHECK_EQ(info.blocked_actor, (int64_t)(uint32_t)there);
	CHECK(fixture_counts(&s).fired <= 16);
	fixture_after(&s, 0, 0, here, 5);
	EVENTUALLY(fixture_done(&s) == 5);
	if (!test_on_gpu()) {
		EVENTUALLY(peal_stall_report(s.rt, MS, &cause, 1) == 1 &&
			   cause.cause == PEAL_STALL_HANDLER &&
			   cause.address == held);
	}
	peal_store_release_sys(gate, 1);
	EVENTUALLY(fixture_done(&s) >= 2905);
	CHECK_EQ(fixture_good(&s, there), 2900);
	CHECK_EQ(fixture_good(&s, here), 5);
	CHECK_EQ(fixture_counts(&s).held, 0);
	CHECK_EQ(fixture_stop(&s).fired, 2905);
}

PEAL_TEST(zero_delay_fires_and_huge_delay_never_fires)
{
	struct peal_kernel_options o = { .max_timers = 4 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order huge = { .ns = UINT64_MAX,
				    .actor = (uint32_t)actor,
				    .n = 1 };

	fixture_after(&s, 0, 0, actor, 1);
	EVENTUALLY(fixture_done(&s) == 1);
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, huge).result, 0);
	huge.slot = 1;
	CHECK_EQ(fixture_order(&s, 0, TIMER_EVERY, huge).result, 0);
	huge.slot = 2;
	huge.ns = INT64_MAX;
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, huge).result, 0);
	fixture_after(&s, 0, 5 * MS, actor, 1); /* not behind the huge delays */
	EVENTUALLY(fixture_done(&s) == 2);
	EVENTUALLY(fixture_counts(&s).waiting == 3);
	CHECK_EQ(fixture_cancel(&s, 0, 1), 0);
	CHECK_EQ(fixture_good(&s, actor), 2);
	CHECK_EQ(fixture_stop(&s).stopped, 2);
}

/* ---- periodic timers ----------------------------------------------------- */

PEAL_TEST(periodic_timer_fires_until_cancelled)
{
	struct peal_kernel_options o = { .max_timers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0), got;
	struct peal_timer_counts t;

	fixture_every(&s, 0, 2 * MS, actor);
	EVENTUALLY(fixture_done(&s) >= 20);
	CHECK_EQ(fixture_cancel(&s, 0, 0), 0);
	CHECK_EQ(fixture_cancel(&s, 0, 0), PEAL_ENOENT);
	t = fixture_counts(&s);
	CHECK_EQ(t.waiting, 0);
	EVENTUALLY(fixture_done(&s) == t.ticks);
	identity_sleep_us(20000);
	got = fixture_good(&s, actor);
	CHECK_EQ(got, t.ticks);
	t = fixture_stop(&s);
	CHECK_EQ(t.ticks, got);
	CHECK_EQ(t.cancelled, 1);
}

/* The first message of this timer is due long before a period is over. */
PEAL_TEST(periodic_timer_can_have_another_first_delay)
{
	struct peal_kernel_options o = { .max_timers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order soon = { .ns = MS,
				    .step_ns = 3600 * (uint64_t)SECOND,
				    .actor = (uint32_t)actor,
				    .n = 1 };
	struct timer_order late = { .ns = 50 * MS,
				    .step_ns = MS,
				    .actor = (uint32_t)actor,
				    .n = 1,
				    .slot = 1 };
	uint64_t began;

	CHECK_EQ(fixture_order(&s, 0, TIMER_PHASE, soon).result, 0);
	EVENTUALLY(fixture_counts(&s).ticks == 1);
	CHECK_EQ(fixture_counts(&s).waiting, 1);
	CHECK_EQ(fixture_cancel(&s, 0, 0), 0);
	began = harness_now_ns();
	CHECK_EQ(fixture_order(&s, 0, TIMER_PHASE, late).result, 0);
	EVENTUALLY(fixture_counts(&s).ticks >= 4);
	CHECK(harness_now_ns() - began >= 50 * (uint64_t)MS);
	CHECK_EQ(fixture_cancel(&s, 0, 1), 0);
	fixture_stop(&s);
}

/* A periodic timer with a full mailbox holds one message, and counts the ticks
 * that it misses. */
PEAL_TEST(missed_ticks_are_counted_and_not_repeated)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox.slots = 16 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	uint64_t held = harness_spawn(s.k, "hold", 1);
	uint64_t *gate = harness_gate(s.rt);
	struct timer_spin hold = { harness_address(gate), 0, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	uint64_t before;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	fixture_every(&s, 0, MS / 2, actor);
	EVENTUALLY(fixture_counts(&s).held == 1);
	identity_sleep_us(50000);
	before = fixture_counts(&s).ticks; /* until the mailbox was full */
	CHECK(before <= 16);
	peal_store_release_sys(gate, 1);
	EVENTUALLY(fixture_counts(&s).ticks >= before + 10);
	CHECK(fixture_counts(&s).missed >= 80);
	CHECK_EQ(fixture_cancel(&s, 0, 0), 0);
	EVENTUALLY(fixture_done(&s) == fixture_counts(&s).ticks);
	EVENTUALLY(fixture_good(&s, actor) == fixture_counts(&s).ticks);
	fixture_stop(&s);
}

/* ---- cancelling ---------------------------------------------------------- */

/* Calls run() with growing delays until it returns 1. On a busy machine a timer
 * may fire before the case has done its steps. Then run() returns 0. */
static void in_time(int (*run)(uint64_t ns))
{
	uint64_t ns = 30 * MS;

	while (!run(ns)) {
		ns *= 2;
		CHECK(ns < (uint64_t)MAX_WAIT / 8);
	}
}

static void sleep_past(uint64_t ns)
{
	uint64_t until = harness_now_ns() + 3 * ns / 2;

	EVENTUALLY(harness_now_ns() > until);
}

/* Returns 1 if no timer has fired yet. Else shuts the runtime down. */
static int is_early(struct fixture *s)
{
	struct peal_timer_counts t = fixture_counts(s);

	if (!t.fired && !t.ticks && !t.gone)
		return 1;
	CHECK_OK(peal_runtime_shutdown(s->rt));
	return 0;
}

/* Sets five timers of four, and cancels one. The fifth timer fails. */
static int cancels(struct fixture *s, uint64_t actor, uint64_t ns)
{
	struct timer_order five = { .ns = ns,
				    .actor = (uint32_t)actor,
				    .n = 5 };
	struct timer_order one = {
		.ns = ns, .actor = (uint32_t)actor, .n = 1, .slot = 9
	};
	struct timer_answer a = fixture_order(s, 0, TIMER_AFTER, five);
	int64_t result = fixture_cancel(s, 0, 2);

	if (!is_early(s))
		return 0;
	CHECK_EQ(a.result, PEAL_ENOSPC);
	CHECK_EQ(a.n, 4);
	CHECK_EQ(result, 0);
	CHECK_EQ(fixture_cancel(s, 0, 2), PEAL_ENOENT);
	/* the old handle does not name a new timer in this place */
	CHECK_EQ(fixture_order(s, 0, TIMER_AFTER, one).n, 1);
	CHECK_EQ(fixture_cancel(s, 0, 2), PEAL_ENOENT);
	CHECK_EQ(fixture_cancel(s, 0, 7), PEAL_ENOENT); /* never set */
	return is_early(s);
}

static int cancel_in_time(uint64_t ns)
{
	struct peal_kernel_options o = { .max_timers = 4 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);

	if (!cancels(&s, actor, ns))
		return 0;
	EVENTUALLY(fixture_done(&s) >= 4);
	identity_sleep_us(20000);
	CHECK_EQ(fixture_good(&s, actor), 4);
	CHECK_EQ(fixture_cancel(&s, 0, 0), PEAL_ENOENT); /* has fired */
	CHECK_EQ(fixture_stop(&s).cancelled, 1);
	return 1;
}

PEAL_TEST(cancelled_timer_never_fires)
{
	in_time(cancel_in_time);
}

/* Cancels timers in the middle of the queue of due timers. */
PEAL_TEST(blocked_timer_can_be_cancelled)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox.slots = 8 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	uint64_t held = harness_spawn(s.k, "hold", 1);
	uint64_t *gate = harness_gate(s.rt);
	struct timer_spin hold = { harness_address(gate), 0, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	uint32_t i;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	fixture_after(&s, 0, 0, actor,
		      40); /* the handles of 24 to 39 are kept */
	EVENTUALLY(fixture_counts(&s).held >= 32);
	for (i = 8; i < 24; i += 2)
		CHECK_EQ(fixture_cancel(&s, 0, i), 0);
	CHECK(fixture_counts(&s).held >= 24);
	peal_store_release_sys(gate, 1);
	EVENTUALLY(fixture_done(&s) >= 32);
	identity_sleep_us(10000);
	CHECK_EQ(fixture_good(&s, actor), 32);
	CHECK_EQ(fixture_counts(&s).held, 0);
	CHECK_EQ(fixture_stop(&s).cancelled, 8);
}

PEAL_TEST(only_the_setting_worker_can_cancel)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	struct timer_order copy = { .slot = 0 }, forged;

	fixture_after(&s, 0, HOUR, actor, 1);
	fixture_after(&s, 1, HOUR, actor, 1); /* the same place and number */
	copy.timer = fixture_order(&s, 0, TIMER_COPY, copy).timer;
	CHECK_EQ(fixture_order(&s, 1, TIMER_USE, copy).result, PEAL_EINVAL);
	EVENTUALLY(fixture_counts(&s).waiting == 2);
	forged = copy;
	forged.timer.number++;
	CHECK_EQ(fixture_order(&s, 0, TIMER_USE, forged).result, PEAL_ENOENT);
	forged = copy;
	forged.timer.place = 1u << 31;
	CHECK_EQ(fixture_order(&s, 0, TIMER_USE, forged).result, PEAL_ENOENT);
	EVENTUALLY(fixture_counts(&s).waiting == 2);
	CHECK_EQ(fixture_order(&s, 0, TIMER_USE, copy).result, 0);
	EVENTUALLY(fixture_counts(&s).waiting == 1);
	CHECK_EQ(fixture_stop(&s).stopped, 1);
}

/* ---- refusals ------------------------------------------------------------ */

PEAL_TEST(invalid_timers_are_refused)
{
	struct peal_kernel_options o = { .max_actors = 8, .max_timers = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order bad = { .n = 1, .actor = (uint32_t)actor };

	bad.bytes = TIMER_BYTES + 1;
	CHECK_EQ(fixture_order(&s, 0, TIMER_EVERY, bad).result, PEAL_EMSGSIZE);
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, bad).result, PEAL_EMSGSIZE);
	bad.bytes = 0;
	bad.actor = 7;
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, bad).result, PEAL_ENOENT);
	bad.actor = 8;
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, bad).result, PEAL_ENOENT);
	CHECK_EQ(fixture_counts(&s).set, 0);
	CHECK_EQ(fixture_stop(&s).set, 0);
}

PEAL_TEST(kernel_without_timers_refuses_timers)
{
	struct peal_kernel_options o = { .size = sizeof(o), .lanes = lanes };
	struct fixture s = { .rt = harness_open(1, "") };
	struct peal_kernel_info info;
	struct timer_order one = { .n = 1 };
	uint64_t bytes;

	s.e = harness_endpoint(s.rt);
	o.max_timers = 4;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k),
		    PEAL_EINVAL, "mailbox.slots is 0");
	o.mailbox.slots = 2;
	o.workers = 2;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k),
		    PEAL_EINVAL, "mailbox.slots");
	o.mailbox.slots = 64;
	o.max_timers = (1 << 20) + 1;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k),
		    PEAL_EINVAL,
		    "'max_timers': is out of range (1048577, "
		    "allowed 0..1048576)");
	o.max_timers = 1 << 10;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k));
	CHECK_OK(peal_kernel_info(s.k, &info));
	bytes = info.memory_bytes;
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(s.k));
	o.max_timers = 0;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k));
	CHECK_OK(peal_kernel_info(s.k, &info));
	CHECK(bytes - info.memory_bytes > 2 * 1024 * TIMER_BYTES);
	s.setter[0] = harness_spawn(s.k, "order", 0);
	s.orders[0] = harness_from(s.rt, s.e, 0, s.setter[0],
				   (struct peal_link_options){ .capacity = 0 });
	harness_to(s.rt, s.setter[0], s.e,
		   (struct peal_link_options){ .capacity = 0 });
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, one).result, PEAL_ENOTSUP);
	CHECK_EQ(fixture_cancel(&s, 0, 0), PEAL_ENOTSUP);
	CHECK_EQ(fixture_stop(&s).set, 0);
}

/* ---- retired actors ------------------------------------------------------ */

static void take_letter(struct fixture *s, struct peal_endpoint *letters,
			uint64_t to)
{
	struct {
		struct peal_dead_letter about;
		struct timer_note kept;
	} in;
	struct peal_received r;

	(void)s;
	CHECK_OK(peal_receive(letters, &in, sizeof(in), &r, MAX_WAIT));
	CHECK_EQ(r.dead_letter, 1);
	CHECK_EQ(r.length, sizeof(in));
	CHECK_EQ(in.about.reason, PEAL_REASON_NO_ACTOR);
	CHECK_EQ(in.about.to, to);
	CHECK_EQ(in.about.type, 9);
	CHECK_EQ(in.kept.check, relay_check(in.kept.due_ns, in.kept.number));
}

static int retire_in_time(uint64_t ns)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct fixture s = fixture_open(o);
	struct peal_endpoint *letters = harness_endpoint(s.rt);
	uint64_t actor = harness_spawn(s.k, "note", 1), next;
	struct peal_kernel_info info;
	struct peal_timer_counts t;

	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(letters),
					  NULL));
	fixture_after(&s, 0, ns, actor, 1);
	fixture_every(&s, 0, ns, actor);
	CHECK_OK(peal_actor_retire(s.rt, actor));
	/* the next actor in this slot gets no message of the timers */
	next = harness_spawn(s.k, "note", 1);
	CHECK_EQ(PEAL_ACTOR_INDEX(next), PEAL_ACTOR_INDEX(actor));
	if (!is_early(&s))
		return 0;
	take_letter(&s, letters, actor);
	take_letter(&s, letters, actor);
	EVENTUALLY(!peal_kernel_info(s.k, &info) && info.mailbox_dead == 2);
	CHECK_EQ(info.mailbox_done, 2);
	sleep_past(ns); /* no more messages */
	CHECK_EQ(fixture_good(&s, next), 0);
	t = fixture_stop(&s);
	CHECK_EQ(t.fired, 1);
	CHECK_EQ(t.gone, 1);
	CHECK_EQ(t.ticks, 0);
	return 1;
}

PEAL_TEST(timer_for_retired_actor_is_a_dead_letter)
{
	in_time(retire_in_time);
}

/* ---- suspended kernels, epochs ------------------------------------------- */

static int suspend_in_time(uint64_t ns)
{
	struct peal_kernel_options o = { .max_timers = 8 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);

	fixture_after(&s, 0, ns, actor, 3);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	if (!is_early(&s))
		return 0;
	sleep_past(ns);
	CHECK_EQ(fixture_counts(&s).fired, 0);
	EVENTUALLY(fixture_counts(&s).waiting == 3);
	CHECK_OK(peal_kernel_resume(s.k));
	EVENTUALLY(fixture_done(&s) == 3);
	CHECK_EQ(fixture_good(&s, actor), 3);
	CHECK_EQ(fixture_stop(&s).fired, 3);
	return 1;
}

PEAL_TEST(resumed_kernel_sends_due_timers)
{
	in_time(suspend_in_time);
}

PEAL_TEST(timers_survive_epochs)
{
	struct peal_kernel_options o = { .epoch_ns = 4 * MS,
					 .max_timers = 128 };
	struct fixture s = fixture_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order mix = {
		.ns = MS, .step_ns = MS / 2, .actor = (uint32_t)actor, .n = 100
	};

	CHECK_EQ(fixture_order(&s, 0, TIMER_MIX, mix).n, 100);
	EVENTUALLY(fixture_done(&s) >= 100);
	CHECK_EQ(fixture_good(&s, actor), 100);
	CHECK(fixture_notes(&s, actor).epochs > 1);
	CHECK_EQ(fixture_stop(&s).fired, 100);
}

/* ---- devices and pools --------------------------------------------------- */

PEAL_TEST(devices_have_separate_timers)
{
	struct fixture s[2];
	struct peal_kernel_options o = { .workers = 2 };
	uint64_t actor[2];
	int i;

	s[0].rt = s[1].rt = harness_open(2, "");
	for (i = 0; i < 2; i++) {
		s[i].e = harness_endpoint(s[0].rt);
		fixture_launch(&s[i], i, o, &peal_program_timers);
		actor[i] = harness_spawn(s[i].k, "note", 1);
	}
	for (i = 0; i < 2; i++)
		fixture_after(&s[i], 0, 5 * MS, actor[i], 20 + (uint32_t)i);
	for (i = 0; i < 2; i++) {
		EVENTUALLY(fixture_done(&s[i]) >= 20 + (uint64_t)i);
		CHECK_EQ(fixture_good(&s[i], actor[i]), 20 + i);
		CHECK_EQ(fixture_drain(&s[i]).fired, 20 + i);
	}
	CHECK_OK(peal_runtime_shutdown(s[0].rt));
}

PEAL_TEST(pool_receives_timer_messages)
{
	struct fixture s = { .rt = harness_open(1, "") };
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .size = sizeof(p),
				       .capacity = 16,
				       .message_bytes = 40 };
	uint64_t pool, member[2];
	struct timer_order long_one = { .n = 1 };
	uint32_t i;

	s.e = harness_endpoint(s.rt);
	fixture_launch(&s, 0, o, &peal_program_timer_pools);
	CHECK_OK(peal_pool_create(s.k, &p, &pool));
	for (i = 0; i < 2; i++)
		member[i] = harness_spawn(s.k, "note", (int)i);
	CHECK_OK(peal_pool_join(s.rt, pool, member[1]));
	long_one.actor = (uint32_t)pool;
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, long_one).result,
		 PEAL_EMSGSIZE);
	long_one.bytes = 40;
	long_one.n = 50;
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, long_one).n, 50);
	EVENTUALLY(fixture_done(&s) == 50);
	CHECK_EQ(fixture_notes(&s, member[1]).received, 50);
	/* timers for a destroyed pool send dead messages */
	long_one.n = 2;
	long_one.ns = 50 * MS;
	CHECK_EQ(fixture_order(&s, 0, TIMER_AFTER, long_one).n, 2);
	CHECK_OK(peal_pool_leave(s.rt, pool, member[1]));
	CHECK_OK(peal_pool_destroy(s.rt, pool));
	CHECK_EQ(fixture_drain(&s).fired, 52);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN_LANES(each_timer_fires_once_in_order_not_early);
	       RUN_LANES(blocked_timer_messages_keep_their_order);
	       RUN_LANES(zero_delay_fires_and_huge_delay_never_fires);
	       RUN_LANES(periodic_timer_fires_until_cancelled);
	       RUN_LANES(periodic_timer_can_have_another_first_delay);
	       RUN_LANES(missed_ticks_are_counted_and_not_repeated);
	       RUN_LANES(cancelled_timer_never_fires);
	       RUN_LANES(blocked_timer_can_be_cancelled);
	       RUN_LANES(only_the_setting_worker_can_cancel);
	       RUN_LANES(invalid_timers_are_refused);
	       RUN_LANES(kernel_without_timers_refuses_timers);
	       RUN_LANES(timer_for_retired_actor_is_a_dead_letter);
	       RUN_LANES(resumed_kernel_sends_due_timers);
	       RUN_LANES(timers_survive_epochs);
	       RUN_LANES(devices_have_separate_timers);
	       RUN_LANES(pool_receives_timer_messages);)
