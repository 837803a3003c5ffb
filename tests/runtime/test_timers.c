/* SPDX-License-Identifier: Apache-2.0 */
/* Timers never fire early. One-shot timers fire once, in order of due time. A
 * cancelled timer sends nothing, and every timer that was set is in a count. */
#include "runtime/timer_scene.h"

/* ---- once ---------------------------------------------------------------- */

PEAL_TEST(each_comes_once_not_early_and_in_order)
{
	struct peal_kernel_options o = { .timers = 512 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order mix = {
		.ns = 1000, .step_ns = 10000, .actor = (uint32_t)actor, .n = 500
	};
	struct peal_timer_counts t;

	CHECK_EQ(scene_order(&s, 0, TIMER_MIX, mix).n, 500);
	EVENTUALLY(scene_done(&s) >= 500);
	identity_sleep_us(20000);
	CHECK_EQ(scene_good(&s, actor), 500);
	t = scene_stop(&s);
	CHECK_EQ(t.set, 500);
	CHECK_EQ(t.fired, 500);
}

/* A handler blocks the receiving worker. Due messages wait in order. Messages
 * to another worker are not delayed. */
PEAL_TEST(what_finds_no_room_keeps_its_place)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox_slots = 16,
					 .timers = 3000 };
	struct scene s = scene_open(o);
	uint64_t there = harness_spawn(s.k, "note", 1);
	uint64_t here = harness_spawn(s.k, "note", 0);
	uint64_t held = harness_spawn(s.k, "hold", 1), gate = 0;
	struct timer_spin hold = { (uint64_t)(uintptr_t)&gate, 0, 0, 0 };
	struct timer_order mix = { .ns = 2 * MS,
				   .step_ns = 1000,
				   .actor = (uint32_t)there,
				   .n = 2900 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	struct peal_stuck cause;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), PATIENCE));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	CHECK_EQ(scene_order(&s, 0, TIMER_MIX, mix).n, 2900);
	EVENTUALLY(scene_counts(&s).held > 1000);
	EVENTUALLY(!peal_worker_info(s.k, 0, &info) &&
		   info.blocked_port == PEAL_BLOCKED_TIMER);
	CHECK_EQ(info.blocked_actor, (int64_t)(uint32_t)there);
	CHECK(scene_counts(&s).fired <= 16);
	scene_after(&s, 0, 0, here, 5);
	EVENTUALLY(scene_done(&s) == 5);
	if (!test_on_gpu()) {
		EVENTUALLY(peal_stuck(s.rt, MS, &cause, 1) == 1 &&
			   cause.cause == PEAL_STUCK_HANDLER);
		CHECK_EQ(cause.address, held);
	}
	peal_store_release_sys(&gate, 1);
	EVENTUALLY(scene_done(&s) >= 2905);
	CHECK_EQ(scene_good(&s, there), 2900);
	CHECK_EQ(scene_good(&s, here), 5);
	CHECK_EQ(scene_counts(&s).held, 0);
	CHECK_EQ(scene_stop(&s).fired, 2905);
}

PEAL_TEST(a_delay_of_zero_is_soon_and_a_huge_one_never)
{
	struct peal_kernel_options o = { .timers = 4 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order huge = { .ns = UINT64_MAX,
				    .actor = (uint32_t)actor,
				    .n = 1 };

	scene_after(&s, 0, 0, actor, 1);
	EVENTUALLY(scene_done(&s) == 1);
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, huge).result, 0);
	huge.slot = 1;
	CHECK_EQ(scene_order(&s, 0, TIMER_EVERY, huge).result, 0);
	huge.slot = 2;
	huge.ns = INT64_MAX;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, huge).result, 0);
	scene_after(&s, 0, 5 * MS, actor, 1); /* not behind the huge delays */
	EVENTUALLY(scene_done(&s) == 2);
	EVENTUALLY(scene_counts(&s).waiting == 3);
	CHECK_EQ(scene_cancel(&s, 0, 1), 0);
	CHECK_EQ(scene_good(&s, actor), 2);
	CHECK_EQ(scene_stop(&s).stopped, 2);
}

/* ---- periodic timers ----------------------------------------------------- */

PEAL_TEST(a_periodic_one_comes_until_it_is_cancelled)
{
	struct peal_kernel_options o = { .timers = 2 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0), got;
	struct peal_timer_counts t;

	scene_every(&s, 0, 2 * MS, actor);
	EVENTUALLY(scene_done(&s) >= 20);
	CHECK_EQ(scene_cancel(&s, 0, 0), 0);
	CHECK_EQ(scene_cancel(&s, 0, 0), PEAL_ENOENT);
	t = scene_counts(&s);
	CHECK_EQ(t.waiting, 0);
	EVENTUALLY(scene_done(&s) == t.ticks);
	identity_sleep_us(20000);
	got = scene_good(&s, actor);
	CHECK_EQ(got, t.ticks);
	t = scene_stop(&s);
	CHECK_EQ(t.ticks, got);
	CHECK_EQ(t.cancelled, 1);
}

/* A periodic timer with a full mailbox holds one message, and counts the ticks
 * that it misses. */
PEAL_TEST(a_late_one_is_counted_and_not_made_up_for)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox_slots = 16 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1), gate = 0;
	uint64_t held = harness_spawn(s.k, "hold", 1);
	struct timer_spin hold = { (uint64_t)(uintptr_t)&gate, 0, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	uint64_t before;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), PATIENCE));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	scene_every(&s, 0, MS / 2, actor);
	EVENTUALLY(scene_counts(&s).held == 1);
	identity_sleep_us(50000);
	before = scene_counts(&s).ticks; /* until the mailbox was full */
	CHECK(before <= 16);
	peal_store_release_sys(&gate, 1);
	EVENTUALLY(scene_counts(&s).ticks >= before + 10);
	CHECK(scene_counts(&s).missed >= 80);
	CHECK_EQ(scene_cancel(&s, 0, 0), 0);
	EVENTUALLY(scene_done(&s) == scene_counts(&s).ticks);
	EVENTUALLY(scene_good(&s, actor) == scene_counts(&s).ticks);
	scene_stop(&s);
}

/* ---- cancelling ---------------------------------------------------------- */

/* Calls run() with growing delays until it returns 1. On a busy machine a timer
 * may fire before the case has done its steps. Then run() returns 0. */
static void in_time(int (*run)(uint64_t ns))
{
	uint64_t ns = 30 * MS;

	while (!run(ns)) {
		ns *= 2;
		CHECK(ns < (uint64_t)PATIENCE / 8);
	}
}

static void sleep_past(uint64_t ns)
{
	uint64_t until = harness_now_ns() + 3 * ns / 2;

	EVENTUALLY(harness_now_ns() > until);
}

/* Returns 1 if no timer has fired yet. Else shuts the runtime down. */
static int is_early(struct scene *s)
{
	struct peal_timer_counts t = scene_counts(s);

	if (!t.fired && !t.ticks && !t.gone)
		return 1;
	CHECK_OK(peal_runtime_shutdown(s->rt));
	return 0;
}

/* Sets five timers of four, and cancels one. The fifth timer fails. */
static int cancels(struct scene *s, uint64_t actor, uint64_t ns)
{
	struct timer_order five = { .ns = ns,
				    .actor = (uint32_t)actor,
				    .n = 5 };
	struct timer_order one = {
		.ns = ns, .actor = (uint32_t)actor, .n = 1, .slot = 9
	};
	struct timer_answer a = scene_order(s, 0, TIMER_AFTER, five);
	int64_t result = scene_cancel(s, 0, 2);

	if (!is_early(s))
		return 0;
	CHECK_EQ(a.result, PEAL_ENOSPC);
	CHECK_EQ(a.n, 4);
	CHECK_EQ(result, 0);
	CHECK_EQ(scene_cancel(s, 0, 2), PEAL_ENOENT);
	/* the old handle does not name a new timer in this place */
	CHECK_EQ(scene_order(s, 0, TIMER_AFTER, one).n, 1);
	CHECK_EQ(scene_cancel(s, 0, 2), PEAL_ENOENT);
	CHECK_EQ(scene_cancel(s, 0, 7), PEAL_ENOENT); /* never set */
	return is_early(s);
}

static int cancel_in_time(uint64_t ns)
{
	struct peal_kernel_options o = { .timers = 4 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);

	if (!cancels(&s, actor, ns))
		return 0;
	EVENTUALLY(scene_done(&s) >= 4);
	identity_sleep_us(20000);
	CHECK_EQ(scene_good(&s, actor), 4);
	CHECK_EQ(scene_cancel(&s, 0, 0), PEAL_ENOENT); /* has fired */
	CHECK_EQ(scene_stop(&s).cancelled, 1);
	return 1;
}

PEAL_TEST(what_was_cancelled_never_comes)
{
	in_time(cancel_in_time);
}

/* Cancels timers in the middle of the queue of due timers. */
PEAL_TEST(what_waits_for_room_can_be_cancelled)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox_slots = 8 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1), gate = 0;
	uint64_t held = harness_spawn(s.k, "hold", 1);
	struct timer_spin hold = { (uint64_t)(uintptr_t)&gate, 0, 0, 0 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_worker_info info;
	uint32_t i;

	harness_from(s.rt, s.e, 2, held, none);
	CHECK_OK(peal_send(s.e, 2, 0, &hold, sizeof(hold), PATIENCE));
	EVENTUALLY(!peal_worker_info(s.k, 1, &info) &&
		   info.actor == (int64_t)(uint32_t)held);
	scene_after(&s, 0, 0, actor, 40); /* the handles of 24 to 39 are kept */
	EVENTUALLY(scene_counts(&s).held >= 32);
	for (i = 8; i < 24; i += 2)
		CHECK_EQ(scene_cancel(&s, 0, i), 0);
	CHECK(scene_counts(&s).held >= 24);
	peal_store_release_sys(&gate, 1);
	EVENTUALLY(scene_done(&s) >= 32);
	identity_sleep_us(10000);
	CHECK_EQ(scene_good(&s, actor), 32);
	CHECK_EQ(scene_counts(&s).held, 0);
	CHECK_EQ(scene_stop(&s).cancelled, 8);
}

PEAL_TEST(only_the_worker_that_has_set_it_cancels)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 1);
	struct timer_order copy = { .slot = 0 }, forged;

	scene_after(&s, 0, HOUR, actor, 1);
	scene_after(&s, 1, HOUR, actor, 1); /* the same place and number */
	copy.timer = scene_order(&s, 0, TIMER_COPY, copy).timer;
	CHECK_EQ(scene_order(&s, 1, TIMER_USE, copy).result, PEAL_EINVAL);
	EVENTUALLY(scene_counts(&s).waiting == 2);
	forged = copy;
	forged.timer.number++;
	CHECK_EQ(scene_order(&s, 0, TIMER_USE, forged).result, PEAL_ENOENT);
	forged = copy;
	forged.timer.place = 1u << 31;
	CHECK_EQ(scene_order(&s, 0, TIMER_USE, forged).result, PEAL_ENOENT);
	EVENTUALLY(scene_counts(&s).waiting == 2);
	CHECK_EQ(scene_order(&s, 0, TIMER_USE, copy).result, 0);
	EVENTUALLY(scene_counts(&s).waiting == 1);
	CHECK_EQ(scene_stop(&s).stopped, 1);
}

/* ---- refusals ------------------------------------------------------------ */

PEAL_TEST(what_cannot_be_set_is_refused)
{
	struct peal_kernel_options o = { .max_actors = 8, .timers = 2 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order bad = { .n = 1, .actor = (uint32_t)actor };

	CHECK_EQ(scene_order(&s, 0, TIMER_EVERY, bad).result, PEAL_EINVAL);
	bad.bytes = TIMER_BYTES + 1;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, bad).result, PEAL_EMSGSIZE);
	bad.bytes = 0;
	bad.actor = 7;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, bad).result, PEAL_ENOENT);
	bad.actor = 8;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, bad).result, PEAL_ENOENT);
	CHECK_EQ(scene_counts(&s).set, 0);
	CHECK_EQ(scene_stop(&s).set, 0);
}

PEAL_TEST(a_kernel_without_timers_says_so)
{
	struct peal_kernel_options o = { .size = sizeof(o), .lanes = lanes };
	struct scene s = { .rt = harness_open(1, "") };
	struct peal_kernel_info info;
	struct timer_order one = { .n = 1 };
	uint64_t bytes;

	s.e = harness_endpoint(s.rt);
	o.timers = 4;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k),
		    PEAL_EINVAL, "mailbox_slots is 0");
	o.mailbox_slots = 2;
	o.workers = 2;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k),
		    PEAL_EINVAL, "mailbox_slots");
	o.mailbox_slots = 64;
	o.timers = (1 << 20) + 1;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k),
		    PEAL_EINVAL, "timers is 1048577");
	o.timers = 1 << 10;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k));
	CHECK_OK(peal_kernel_info(s.k, &info));
	bytes = info.memory_bytes;
	CHECK_OK(peal_kernel_stop(s.k, PATIENCE));
	CHECK_OK(peal_kernel_destroy(s.k));
	o.timers = 0;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_timers, &o, &s.k));
	CHECK_OK(peal_kernel_info(s.k, &info));
	CHECK(bytes - info.memory_bytes > 2 * 1024 * TIMER_BYTES);
	s.setter[0] = harness_spawn(s.k, "order", 0);
	s.orders[0] = harness_from(s.rt, s.e, 0, s.setter[0],
				   (struct peal_link_options){ .capacity = 0 });
	harness_to(s.rt, s.setter[0], s.e,
		   (struct peal_link_options){ .capacity = 0 });
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, one).result, PEAL_ENOTSUP);
	CHECK_EQ(scene_cancel(&s, 0, 0), PEAL_ENOTSUP);
	CHECK_EQ(scene_stop(&s).set, 0);
}

/* ---- retired actors ------------------------------------------------------ */

static void take_letter(struct scene *s, struct peal_endpoint *letters,
			uint64_t to)
{
	struct {
		struct peal_dead_letter about;
		struct timer_note kept;
	} in;
	struct peal_received r;

	(void)s;
	CHECK_OK(peal_receive(letters, &in, sizeof(in), &r, PATIENCE));
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
	struct scene s = scene_open(o);
	struct peal_endpoint *letters = harness_endpoint(s.rt);
	uint64_t actor = harness_spawn(s.k, "note", 1), next;
	struct peal_kernel_info info;
	struct peal_timer_counts t;

	CHECK_OK(peal_dead_letters(s.k, peal_endpoint_address(letters), NULL));
	scene_after(&s, 0, ns, actor, 1);
	scene_every(&s, 0, ns, actor);
	CHECK_OK(peal_actor_retire(s.rt, actor));
	/* the next actor in this slot gets no message of the timers */
	next = harness_spawn(s.k, "note", 1);
	CHECK_EQ(PEAL_ACTOR_INDEX(next), PEAL_ACTOR_INDEX(actor));
	if (!is_early(&s))
		return 0;
	take_letter(&s, letters, actor);
	take_letter(&s, letters, actor);
	EVENTUALLY(!peal_kernel_info(s.k, &info) && info.mail_dead == 2);
	CHECK_EQ(info.mail_done, 2);
	sleep_past(ns); /* no more messages */
	CHECK_EQ(scene_good(&s, next), 0);
	t = scene_stop(&s);
	CHECK_EQ(t.fired, 1);
	CHECK_EQ(t.gone, 1);
	CHECK_EQ(t.ticks, 0);
	return 1;
}

PEAL_TEST(a_timer_for_who_was_retired_is_a_dead_letter)
{
	in_time(retire_in_time);
}

/* ---- suspended kernels, epochs ------------------------------------------- */

static int suspend_in_time(uint64_t ns)
{
	struct peal_kernel_options o = { .timers = 8 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);

	scene_after(&s, 0, ns, actor, 3);
	CHECK_OK(peal_kernel_suspend(s.k, PATIENCE));
	if (!is_early(&s))
		return 0;
	sleep_past(ns);
	CHECK_EQ(scene_counts(&s).fired, 0);
	EVENTUALLY(scene_counts(&s).waiting == 3);
	CHECK_OK(peal_kernel_resume(s.k));
	EVENTUALLY(scene_done(&s) == 3);
	CHECK_EQ(scene_good(&s, actor), 3);
	CHECK_EQ(scene_stop(&s).fired, 3);
	return 1;
}

PEAL_TEST(a_suspended_kernel_sends_when_it_is_resumed)
{
	in_time(suspend_in_time);
}

PEAL_TEST(timers_outlive_epochs)
{
	struct peal_kernel_options o = { .epoch_ns = 4 * MS, .timers = 128 };
	struct scene s = scene_open(o);
	uint64_t actor = harness_spawn(s.k, "note", 0);
	struct timer_order mix = {
		.ns = MS, .step_ns = MS / 2, .actor = (uint32_t)actor, .n = 100
	};

	CHECK_EQ(scene_order(&s, 0, TIMER_MIX, mix).n, 100);
	EVENTUALLY(scene_done(&s) >= 100);
	CHECK_EQ(scene_good(&s, actor), 100);
	CHECK(scene_notes(&s, actor).epochs > 1);
	CHECK_EQ(scene_stop(&s).fired, 100);
}

/* ---- devices and pools --------------------------------------------------- */

PEAL_TEST(two_devices_have_their_own)
{
	struct scene s[2];
	struct peal_kernel_options o = { .workers = 2 };
	uint64_t actor[2];
	int i;

	s[0].rt = s[1].rt = harness_open(2, "");
	for (i = 0; i < 2; i++) {
		s[i].e = harness_endpoint(s[0].rt);
		scene_launch(&s[i], i, o, &peal_program_timers);
		actor[i] = harness_spawn(s[i].k, "note", 1);
	}
	for (i = 0; i < 2; i++)
		scene_after(&s[i], 0, 5 * MS, actor[i], 20 + (uint32_t)i);
	for (i = 0; i < 2; i++) {
		EVENTUALLY(scene_done(&s[i]) >= 20 + (uint64_t)i);
		CHECK_EQ(scene_good(&s[i], actor[i]), 20 + i);
		CHECK_EQ(scene_drain(&s[i]).fired, 20 + i);
	}
	CHECK_OK(peal_runtime_shutdown(s[0].rt));
}

PEAL_TEST(a_pool_gets_what_is_sent_later)
{
	struct scene s = { .rt = harness_open(1, "") };
	struct peal_kernel_options o = { .workers = 2 };
	struct peal_pool_options p = { .size = sizeof(p),
				       .capacity = 16,
				       .message_bytes = 40 };
	uint64_t pool, member[2];
	struct timer_order long_one = { .n = 1 };
	uint32_t i;

	s.e = harness_endpoint(s.rt);
	scene_launch(&s, 0, o, &peal_program_timer_pools);
	CHECK_OK(peal_pool_create(s.k, &p, &pool));
	for (i = 0; i < 2; i++)
		member[i] = harness_spawn(s.k, "note", (int)i);
	CHECK_OK(peal_pool_join(s.rt, pool, member[1]));
	long_one.actor = (uint32_t)pool;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, long_one).result,
		 PEAL_EMSGSIZE);
	long_one.bytes = 40;
	long_one.n = 50;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, long_one).n, 50);
	EVENTUALLY(scene_done(&s) == 50);
	CHECK_EQ(scene_notes(&s, member[1]).received, 50);
	/* timers for a destroyed pool send dead messages */
	long_one.n = 2;
	long_one.ns = 50 * MS;
	CHECK_EQ(scene_order(&s, 0, TIMER_AFTER, long_one).n, 2);
	CHECK_OK(peal_pool_leave(s.rt, pool, member[1]));
	CHECK_OK(peal_pool_destroy(s.rt, pool));
	CHECK_EQ(scene_drain(&s).fired, 52);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN_LANES(each_comes_once_not_early_and_in_order);
	       RUN_LANES(what_finds_no_room_keeps_its_place);
	       RUN_LANES(a_delay_of_zero_is_soon_and_a_huge_one_never);
	       RUN_LANES(a_periodic_one_comes_until_it_is_cancelled);
	       RUN_LANES(a_late_one_is_counted_and_not_made_up_for);
	       RUN_LANES(what_was_cancelled_never_comes);
	       RUN_LANES(what_waits_for_room_can_be_cancelled);
	       RUN_LANES(only_the_worker_that_has_set_it_cancels);
	       RUN_LANES(what_cannot_be_set_is_refused);
	       RUN_LANES(a_kernel_without_timers_says_so);
	       RUN_LANES(a_timer_for_who_was_retired_is_a_dead_letter);
	       RUN_LANES(a_suspended_kernel_sends_when_it_is_resumed);
	       RUN_LANES(timers_outlive_epochs);
	       RUN_LANES(two_devices_have_their_own);
	       RUN_LANES(a_pool_gets_what_is_sent_later);)
