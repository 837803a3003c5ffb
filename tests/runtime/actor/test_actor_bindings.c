/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bonded actors end together if one fails. Each monitor reports once, also
 * while actors fail and retire at the same time. Wrong calls are refused.
 */

#include <peal/monitor.h>
#include "runtime/monitor_fixture.h"

/* ---- bindings ------------------------------------------------------------ */

static void expect_dead(struct fixture *s, uint32_t i)
{
	uint64_t dead = harness_info(s->link[i]).dead[PEAL_REASON_DOWN];

	tell(s, i, MONITORS_COUNT);
	EVENTUALLY(harness_info(s->link[i]).dead[PEAL_REASON_DOWN] == dead + 1);
}

/* Bindings connect actors on all workers. One in the middle fails. */
PEAL_TEST(failure_propagates_along_bindings)
{
	struct peal_kernel_options o = { .max_monitors = 128 };
	struct fixture s = fixture_open(o);
	uint64_t heard_of[20] = { 0 };
	struct peal_received r;
	struct peal_down down;
	uint32_t i, n;

	add_some(&s, 20);
	for (i = 0; i < 20; i++)
		hear(&s, s.actor[i], 0);
	for (i = 1; i < 18; i++)
		CHECK_OK(
			peal_actor_bind(s.k, s.actor[i - 1], s.actor[i], NULL));
	fail(&s, 7);
	for (n = 0; n < 18; n++) {
		CHECK_OK(
			peal_receive(s.ear, &down, sizeof(down), &r, MAX_WAIT));
		for (i = 0; i < 18 && s.actor[i] != down.actor; i++)
			;
		CHECK(i < 18);
		heard_of[i]++;
		check_down(&down, s.actor[i], down.monitor,
			   i == 7 ? PEAL_DOWN_FAILED : PEAL_DOWN_BOUND,
			   MONITORS_ERROR);
	}
	for (i = 0; i < 18; i++) {
		CHECK_EQ(heard_of[i], 1);
		expect_dead(&s, i);
	}
	heard_all(&s, 2);
	CHECK_EQ(ask(&s, 18).count, 0); /* it has no binding */
	fixture_close(&s);
}

/* The error of the first message shows that the member itself has failed. */
PEAL_TEST(retired_partner_does_not_report_a_restart)
{
	struct fixture s = fixture_plain();
	struct peal_supervisor *alone = supervise(&s, PEAL_ONE_FOR_ONE, 9);
	uint64_t mate, restarts, ends;

	add(&s, alone);
	add(&s, NULL); /* on worker 1, which retires the mate */
	mate = spawn(&s, 1);
	CHECK_OK(peal_actor_bind(s.k, s.actor[0], mate, NULL));
	restarts = hear(&s, s.actor[0], PEAL_MONITOR_RESTARTS);
	ends = hear(&s, mate, 0);
	CHECK_OK(peal_actor_retire(s.rt, mate));
	heard(&s, mate, ends, PEAL_DOWN_RETIRED, 0);
	ask(&s, 1); /* down messages and bindings come before this message */
	fail(&s, 0);
	heard(&s, s.actor[0], restarts, PEAL_DOWN_RESTARTED, MONITORS_ERROR);
	heard_all(&s, 0);
	fixture_close(&s);
}

PEAL_TEST(bound_supervised_actor_restarts)
{
	struct fixture s = fixture_plain();
	struct peal_supervisor *group = supervise(&s, PEAL_ONE_FOR_ALL, 1);
	uint64_t restart, over;

	add(&s, group);
	add(&s, group);
	add_some(&s, 2);
	tell(&s, 0, MONITORS_COUNT);
	tell(&s, 1, MONITORS_COUNT);
	CHECK_EQ(ask(&s, 0).count, 1);
	CHECK_EQ(ask(&s, 1).count, 1);
	restart = hear(&s, s.actor[1], PEAL_MONITOR_RESTARTS);
	CHECK_OK(peal_actor_bind(s.k, s.actor[0], s.actor[2], NULL));
	fail(&s, 2);
	heard(&s, s.actor[1], restart, PEAL_DOWN_RESTARTED, MONITORS_ERROR);
	EVENTUALLY(ask(&s, 0).count == 0 && ask(&s, 1).count == 0);
	over = hear(&s, s.actor[3], 0);
	CHECK_OK(peal_actor_bind(s.k, s.actor[3], s.actor[1], NULL));
	fail(&s, 0); /* one failure too many: both are given up */
	heard(&s, s.actor[3], over, PEAL_DOWN_BOUND, MONITORS_ERROR);
	expect_dead(&s, 0);
	expect_dead(&s, 1);
	expect_dead(&s, 2);
	expect_dead(&s, 3);
	fixture_close(&s);
}

PEAL_TEST(retire_does_not_end_bound_actors)
{
	struct peal_kernel_options o = { .max_monitors = 2 };
	struct fixture s = fixture_open(o);
	uint64_t actor = spawn(&s, 2);

	add_some(&s, 2);
	CHECK_OK(peal_actor_bind(s.k, s.actor[0], actor, NULL));
	CHECK_EQ(peal_actor_bind(s.k, s.actor[0], s.actor[1], NULL),
		 PEAL_ENOSPC);
	CHECK_OK(peal_actor_retire(s.rt, actor));
	/* the retired actor's worker frees the two monitors of the binding */
	EVENTUALLY(!peal_actor_bind(s.k, s.actor[0], s.actor[1], NULL));
	CHECK_EQ(ask(&s, 0).count, 0);
	fail(&s, 0);
	EVENTUALLY(!peal_send(s.e, 1, MONITORS_COUNT, &o, 8, MAX_WAIT, NULL) &&
		   harness_info(s.link[1]).dead[PEAL_REASON_DOWN] > 0);
	fixture_close(&s);
}

PEAL_TEST(removed_binding_has_no_effect)
{
	struct fixture s = fixture_plain();
	uint64_t pair[2] = { 0, 0 }, m;

	add_some(&s, 3);
	CHECK_OK(peal_actor_bind(s.k, s.actor[0], s.actor[1], pair));
	CHECK_OK(peal_unmonitor(s.k, pair[0]));
	CHECK_OK(peal_unmonitor(s.k, pair[1]));
	m = hear(&s, s.actor[1], 0);
	fail(&s, 1);
	heard(&s, s.actor[1], m, PEAL_DOWN_FAILED, MONITORS_ERROR);
	CHECK_EQ(ask(&s, 0).count, 0);
	/* a binding to a failed actor ends the other actor at once */
	m = hear(&s, s.actor[0], 0);
	CHECK_OK(peal_actor_bind(s.k, s.actor[0], s.actor[1], NULL));
	heard(&s, s.actor[0], m, PEAL_DOWN_BOUND, 0);
	fixture_close(&s);
}

/* Actor 0 has a plain monitor on actor 1 and survives. The handlers of actors 1
 * and 2 bind themselves to actor 0. */
PEAL_TEST(plain_monitor_gets_a_message_and_survives)
{
	struct monitors_order o = { .flags = PEAL_MONITOR_BINDS };
	struct fixture s = fixture_plain();
	uint64_t told_by, heard_by;

	add_some(&s, 4);
	told_by = monitor(&s, s.actor[0], s.actor[1], 0, MONITORS_DOWN,
			  s.actor[1] + 1);
	o.actor = (uint32_t)s.actor[0];
	CHECK_OK(order(&s, 1, MONITORS_SET, o).result);
	CHECK_OK(order(&s, 2, MONITORS_SET, o).result);
	fail(&s, 1);
	told(&s, 0, 1, s.actor[1], told_by, PEAL_DOWN_FAILED, MONITORS_ERROR);
	heard_by = hear(&s, s.actor[2], 0);
	fail(&s, 0);
	heard(&s, s.actor[2], heard_by, PEAL_DOWN_BOUND, MONITORS_ERROR);
	CHECK_EQ(ask(&s, 3).downs, 0);
	fixture_close(&s);
}

/* A drain ends after a failure has ended the whole chain of bindings. The many
 * monitors make each end slow. */
#define MANY 30000
PEAL_TEST(drain_waits_for_binding_failures)
{
	struct peal_kernel_options options = { .max_monitors = MANY + 64,
					       .mailbox.slots = 32,
					       .drain_when_inputs_end = 1 };
	struct fixture s = fixture_open(options);
	struct monitors_order o = { .tag = MANY };
	struct monitors_state state;
	uint32_t i;

	add_some(&s, 14); /* 13 is on worker 1, 11 on worker 2 */
	o.actor = (uint32_t)spawn(&s, 0);
	CHECK_EQ(order(&s, 12, MONITORS_SET_MANY, o).tag, MANY);
	for (i = 1; i < 12; i++)
		CHECK_OK(
			peal_actor_bind(s.k, s.actor[i - 1], s.actor[i], NULL));
	monitor(&s, s.actor[13], s.actor[11], 0, MONITORS_DOWN,
		s.actor[11] + 1);
	/* All inputs of worker 0 have ended. It gets 8 messages by its mailbox,
	 * a quarter of the slots. Actor 0 fails on the last message. */
	for (i = 0; i < 14; i++)
		if (i != 1)
			CHECK_OK(peal_send_end(s.e, i, MAX_WAIT));
	identity_sleep_us(100000);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < 8; i++)
		CHECK_OK(peal_send_to(s.e, 1, s.actor[0],
				      i < 7 ? MONITORS_COUNT : MONITORS_FAIL,
				      &o, sizeof(o), MAX_WAIT, NULL));
	CHECK_OK(peal_send_end(s.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, s.actor[13], &state, sizeof(state)));
	CHECK_EQ(state.downs, 1);
	check_down(&state.down, s.actor[11], state.down.monitor,
		   PEAL_DOWN_BOUND, MONITORS_ERROR);
	fixture_close(&s);
}

/* ---- monitors of short-lived actors -------------------------------------- */

#define ROUNDS 12
#define PER_ROUND 9

/* A short-lived actor and its two monitors. */
struct set {
	uint64_t actor, monitor[2]; /* set by actor[owner], set by the ear */
	uint32_t owner;
};

static void come(struct fixture *s, struct set *set, uint32_t i)
{
	set->actor = spawn(s, i % WORKERS);
	set->owner = (i / WORKERS) % WORKERS;
	set->monitor[0] = monitor(s, s->actor[set->owner], set->actor, 0,
				  MONITORS_DOWN, set->actor + 1);
	set->monitor[1] = hear(s, set->actor, 0);
}

/* Retires an actor. Bits of `how` may make it fail before (1) and cancel its
 * monitors (2, 4). Returns 1 if the ear's monitor was cancelled, else 0. */
static uint32_t go(struct fixture *s, const struct set *set, uint32_t how,
		   uint64_t expected[WORKERS])
{
	struct monitors_order nothing = { 0, 0, 0, 0, 0, 0 };
	int result[2] = { PEAL_ENOENT, PEAL_ENOENT };

	if (how & 1)
		CHECK_OK(peal_send_to(s->e, (how >> 3) % WORKERS, set->actor,
				      MONITORS_FAIL, &nothing, sizeof(nothing),
				      MAX_WAIT, NULL));
	if (how & 2)
		result[0] = peal_unmonitor(s->k, set->monitor[0]);
	if (how & 4)
		result[1] = peal_unmonitor(s->k, set->monitor[1]);
	CHECK(!result[0] || result[0] == PEAL_ENOENT);
	CHECK(!result[1] || result[1] == PEAL_ENOENT);
	CHECK_OK(peal_actor_retire(s->rt, set->actor));
	expected[set->owner] += result[0] != 0;
	return !result[1];
}

PEAL_TEST(each_monitor_fires_once_or_is_removed)
{
	struct fixture s = fixture_plain();
	struct set sets[PER_ROUND];
	uint64_t expected[WORKERS] = { 0, 0, 0 };
	uint32_t round, i, n, seed = 12345;
	struct peal_received r;
	struct peal_down down;

	add_some(&s, WORKERS);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < PER_ROUND; i++)
			come(&s, &sets[i], i + round);
		for (i = n = 0; i < PER_ROUND; i++) {
			seed = seed * 1664525 + 1013904223;
			n += go(&s, &sets[i], seed >> 16, expected);
		}
		for (; n < PER_ROUND; n++) {
			CHECK_OK(peal_receive(s.ear, &down, sizeof(down), &r,
					      MAX_WAIT));
			for (i = 0; i < PER_ROUND; i++)
				if (sets[i].monitor[1] == down.monitor)
					break;
			CHECK(i < PER_ROUND);
			CHECK_EQ(sets[i].actor, down.actor);
			sets[i].monitor[1] = 0;
		}
		heard_all(&s, 0);
	}
	for (i = 0; i < WORKERS; i++) {
		EVENTUALLY(ask(&s, i).downs >= expected[i]);
		CHECK_EQ(ask(&s, i).downs, expected[i]);
	}
	fixture_close(&s);
}

/* ---- refused calls ------------------------------------------------------- */

PEAL_TEST(invalid_monitors_are_refused)
{
	struct peal_monitor_options o = { .size = sizeof(o) };
	struct fixture s = fixture_plain();
	uint64_t ear = peal_endpoint_address(s.ear), m = 7;
	struct peal_kernel_options plain = { .size = sizeof(plain) };
	struct peal_kernel *other = NULL;
	uint64_t stranger;

	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_monitors, &plain,
				    &other));
	stranger = harness_spawn(other, "mute", 0);
	add_some(&s, 2);
	CHECK_FAILS(peal_monitor(NULL, ear, s.actor[0], NULL, &m), PEAL_EINVAL,
		    "NULL");
	CHECK_FAILS(peal_monitor(other, ear, stranger, NULL, &m), PEAL_ENOTSUP,
		    "max_monitors");
	CHECK_FAILS(peal_monitor(s.k, ear, stranger, NULL, &m), PEAL_ENOENT,
		    "monitors");
	CHECK_FAILS(peal_monitor(s.k, stranger, s.actor[0], NULL, &m),
		    PEAL_EINVAL, "another kernel");
	CHECK_FAILS(peal_monitor(s.k, 1234, s.actor[0], NULL, &m), PEAL_ENOENT,
		    "neither");
	CHECK_FAILS(peal_monitor(s.k, s.actor[0], s.actor[0], NULL, &m),
		    PEAL_EINVAL, "itself");
	o.flags = 8;
	CHECK_FAILS(peal_monitor(s.k, ear, s.actor[0], &o, &m), PEAL_EINVAL,
		    "flags");
	o.flags = PEAL_MONITOR_BINDS;
	CHECK_FAILS(peal_monitor(s.k, ear, s.actor[0], &o, &m), PEAL_EINVAL,
		    "BINDS");
	o.flags = 0;
	o.type = 65536;
	CHECK_FAILS(peal_monitor(s.k, ear, s.actor[0], &o, &m), PEAL_EINVAL,
		    "type");
	o.type = 0;
	o.reserved = 1;
	CHECK_FAILS(peal_monitor(s.k, ear, s.actor[0], &o, &m), PEAL_EINVAL,
		    "reserved");
	CHECK_FAILS(peal_actor_bind(s.k, s.actor[0], ear, NULL), PEAL_EINVAL,
		    "endpoint");
	CHECK_FAILS(peal_actor_bind(s.k, s.actor[0], stranger, NULL),
		    PEAL_ENOENT, "monitors");
	CHECK_FAILS(peal_actor_bind(NULL, s.actor[0], s.actor[1], NULL),
		    PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_unmonitor(s.k, 0), PEAL_ENOENT, "0");
	CHECK_FAILS(peal_unmonitor(s.k, 12345), PEAL_ENOENT, "over");
	CHECK_FAILS(peal_unmonitor(other, 1), PEAL_ENOTSUP, "max_monitors");
	CHECK_FAILS(peal_unmonitor(NULL, 1), PEAL_EINVAL, "NULL");
	CHECK_EQ(m, 7);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_FAILS(peal_monitor(s.k, ear, s.actor[0], NULL, &m), PEAL_ESTOPPED,
		    "monitors");
	fixture_close(&s);
}

PEAL_TEST(monitors_need_mailbox_slots)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .max_monitors = 4,
					 .mailbox.slots = 16 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = NULL;
	uint64_t a, b;

	lanes = 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_monitors, &o, &k),
		    PEAL_EINVAL, "mailbox.slots");
	o.mailbox.slots = 128;
	o.mailbox.message_bytes = 24;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_monitors, &o, &k),
		    PEAL_EINVAL, "mailbox.message_bytes");
	o.max_monitors = (1u << 20) + 1;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_monitors, &o, &k),
		    PEAL_EINVAL, "max_monitors");
	/* without mailboxes, only endpoints can have monitors */
	o.max_monitors = 4;
	o.mailbox.slots = 0;
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_monitors, &o, &k));
	a = harness_spawn(k, "mute", 0);
	b = harness_spawn(k, "mute", 1);
	CHECK_FAILS(peal_monitor(k, a, b, NULL, NULL), PEAL_ENOTSUP,
		    "mailbox.slots");
	CHECK_FAILS(peal_actor_bind(k, a, b, NULL), PEAL_ENOTSUP,
		    "mailbox.slots");
	CHECK_OK(peal_monitor(k, peal_endpoint_address(e), b, NULL, NULL));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN_LANES(failure_propagates_along_bindings);
	       RUN_LANES(retired_partner_does_not_report_a_restart);
	       RUN_LANES(bound_supervised_actor_restarts);
	       RUN_LANES(retire_does_not_end_bound_actors);
	       RUN_LANES(removed_binding_has_no_effect);
	       RUN_LANES(plain_monitor_gets_a_message_and_survives);
	       RUN_LANES(drain_waits_for_binding_failures);
	       RUN_LANES(each_monitor_fires_once_or_is_removed);
	       RUN_LANES(invalid_monitors_are_refused);
	       RUN(monitors_need_mailbox_slots);)
