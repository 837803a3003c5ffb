/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a monitor reports the end of an actor once, with its reason. The
 * host or a handler sets the monitor. The message arrives in a mailbox or at an
 * endpoint.
 */

#include <peal/monitor.h>
#include <peal/supervisor.h>
#include "runtime/monitor_fixture.h"

/* ---- reasons ------------------------------------------------------------- */

PEAL_TEST(retired_actor_sends_one_down_message)
{
	struct fixture s = fixture_plain();
	uint64_t actor, at_host, at_member;

	add_some(&s, 2);
	actor = spawn(&s, 2);
	at_host = hear(&s, actor, 0);
	at_member = monitor(&s, s.actor[0], actor, 0, MONITORS_DOWN, actor + 1);
	heard_all(&s, 1);
	CHECK_EQ(ask(&s, 0).downs, 0);
	CHECK_OK(peal_actor_retire(s.rt, actor));
	heard(&s, actor, at_host, PEAL_DOWN_RETIRED, 0);
	heard_all(&s, 0);
	told(&s, 0, 1, actor, at_member, PEAL_DOWN_RETIRED, 0);
	/* member 1 has no monitor */
	CHECK_EQ(ask(&s, 1).downs, 0);
	fixture_close(&s);
}

PEAL_TEST(unsupervised_failure_is_reported_and_final)
{
	struct fixture s = fixture_plain();
	uint64_t at_host, at_member;

	add_some(&s, 3);
	at_host = hear(&s, s.actor[1], 0);
	at_member = monitor(&s, s.actor[0], s.actor[1], PEAL_MONITOR_RESTARTS,
			    MONITORS_DOWN, s.actor[1] + 1);
	fail(&s, 1);
	heard(&s, s.actor[1], at_host, PEAL_DOWN_FAILED, MONITORS_ERROR);
	told(&s, 0, 1, s.actor[1], at_member, PEAL_DOWN_FAILED, MONITORS_ERROR);
	tell(&s, 1, MONITORS_FAIL);
	tell(&s, 1, MONITORS_COUNT);
	EVENTUALLY(harness_info(s.link[1]).dead[PEAL_REASON_DOWN] == 2);
	EVENTUALLY(harness_info(s.link[1]).dead[PEAL_REASON_HANDLER] == 1);
	heard_all(&s, 0);
	CHECK_EQ(ask(&s, 0).downs, 1);
	CHECK_EQ(ask(&s, 2).downs, 0);
	fixture_close(&s);
}

PEAL_TEST(exhausted_supervisor_downs_members_on_all_workers)
{
	struct fixture s = fixture_plain();
	struct peal_supervisor *group = supervise(&s, PEAL_ONE_FOR_ALL, 1);
	uint64_t at_host[WORKERS], at_member;
	uint32_t i, got[WORKERS] = { 0, 0, 0 };
	struct peal_received r;
	struct peal_down down;

	for (i = 0; i < WORKERS; i++)
		add(&s, group);
	add(&s, NULL);
	for (i = 0; i < WORKERS; i++)
		at_host[i] = hear(&s, s.actor[i], 0);
	at_member = monitor(&s, s.actor[3], s.actor[2], 0, MONITORS_DOWN,
			    s.actor[2] + 1);
	fail(&s, 1);
	/* the actors restart, which is no end */
	heard_all(&s, WORKERS);
	fail(&s, 1);
	for (i = 0; i < WORKERS; i++) {
		CHECK_OK(
			peal_receive(s.ear, &down, sizeof(down), &r, MAX_WAIT));
		CHECK(down.tag - 1 >= s.actor[0]);
		for (uint32_t n = 0; n < WORKERS; n++)
			if (down.actor == s.actor[n]) {
				got[n]++;
				check_down(&down, s.actor[n], at_host[n],
					   PEAL_DOWN_GIVEN_UP, MONITORS_ERROR);
			}
	}
	for (i = 0; i < WORKERS; i++)
		CHECK_EQ(got[i], 1);
	heard_all(&s, 0);
	told(&s, 3, 1, s.actor[2], at_member, PEAL_DOWN_GIVEN_UP,
	     MONITORS_ERROR);
	fixture_close(&s);
}

PEAL_TEST(restart_is_reported_only_to_restart_monitors)
{
	struct fixture s = fixture_plain();
	struct peal_supervisor *alone = supervise(&s, PEAL_ONE_FOR_ONE, 9);
	struct peal_supervisor *group = supervise(&s, PEAL_ONE_FOR_ALL, 9);
	uint64_t wants, other;

	add(&s, alone);
	add(&s, group);
	add(&s, group);
	wants = hear(&s, s.actor[0], PEAL_MONITOR_RESTARTS);
	hear(&s, s.actor[0], 0);
	fail(&s, 0);
	heard(&s, s.actor[0], wants, PEAL_DOWN_RESTARTED, MONITORS_ERROR);
	heard_all(&s, 1);
	fail(&s, 0);
	/* the first message has ended this monitor */
	heard_all(&s, 1);
	other = hear(&s, s.actor[2], PEAL_MONITOR_RESTARTS);
	fail(&s, 1);
	heard(&s, s.actor[2], other, PEAL_DOWN_RESTARTED, MONITORS_ERROR);
	other = hear(&s, s.actor[1], PEAL_MONITOR_RESTARTS);
	CHECK_OK(peal_supervisor_restart(group));
	heard(&s, s.actor[1], other, PEAL_DOWN_RESTARTED, 0);
	heard_all(&s, 1);
	fixture_close(&s);
}

PEAL_TEST(monitor_of_ended_actor_fires_at_once)
{
	struct fixture s = fixture_plain();
	struct peal_supervisor *strict =
		supervise(&s, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_NONE);
	uint64_t actor, m;

	add_some(&s, 2);
	add(&s, strict);
	actor = spawn(&s, 1);
	CHECK_OK(peal_actor_retire(s.rt, actor));
	m = hear(&s, actor, 0);
	heard(&s, actor, m, PEAL_DOWN_GONE, 0);
	fail(&s, 1);
	m = hear(&s, s.actor[1], 0);
	heard(&s, s.actor[1], m, PEAL_DOWN_FAILED, 0);
	fail(&s, 2);
	m = hear(&s, s.actor[2], 0);
	heard(&s, s.actor[2], m, PEAL_DOWN_GIVEN_UP, 0);
	/* the actor slot now has another actor */
	CHECK(spawn(&s, 1) != actor);
	m = monitor(&s, s.actor[0], actor, 0, MONITORS_DOWN, actor + 1);
	told(&s, 0, 1, actor, m, PEAL_DOWN_GONE, 0);
	heard_all(&s, 0);
	fixture_close(&s);
}

PEAL_TEST(endpoint_monitors_report_kernel_end)
{
	struct fixture s = fixture_plain();
	uint64_t m;

	add_some(&s, 2);
	m = hear(&s, s.actor[1], 0);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	heard(&s, s.actor[1], m, PEAL_DOWN_KERNEL, 0);
	heard_all(&s, 0);
	fixture_close(&s);
}

/* ---- cancellation -------------------------------------------------------- */

PEAL_TEST(removed_monitor_sends_nothing)
{
	struct fixture s = fixture_plain();
	uint64_t actor, at_host, at_member, kept;

	add_some(&s, 2);
	actor = spawn(&s, 1);
	at_host = hear(&s, actor, 0);
	at_member = monitor(&s, s.actor[0], actor, 0, MONITORS_DOWN, actor + 1);
	kept = hear(&s, actor, 0);
	CHECK_OK(peal_unmonitor(s.k, at_host));
	CHECK_OK(peal_unmonitor(s.k, at_member));
	CHECK_EQ(peal_unmonitor(s.k, at_host), PEAL_ENOENT);
	CHECK_EQ(peal_unmonitor(s.k, at_member), PEAL_ENOENT);
	CHECK_OK(peal_actor_retire(s.rt, actor));
	heard(&s, actor, kept, PEAL_DOWN_RETIRED, 0);
	CHECK_EQ(peal_unmonitor(s.k, kept), PEAL_ENOENT);
	heard_all(&s, 0);
	CHECK_EQ(ask(&s, 0).downs, 0);
	fixture_close(&s);
}

PEAL_TEST(monitors_end_with_their_owner)
{
	struct peal_kernel_options o = { .max_monitors = 1 };
	struct fixture s = fixture_open(o);
	uint64_t owner, first, m;

	add_some(&s, 3);
	owner = spawn(&s, 0);
	first = monitor(&s, owner, s.actor[1], 0, MONITORS_DOWN, 0);
	CHECK_EQ(peal_monitor(s.k, s.actor[0], s.actor[1], NULL, NULL),
		 PEAL_ENOSPC);
	CHECK_OK(peal_actor_retire(s.rt, owner));
	CHECK_EQ(peal_unmonitor(s.k, first), PEAL_ENOENT);
	monitor(&s, s.actor[2], s.actor[1], 0, MONITORS_DOWN, 0);
	fail(&s, 2);
	m = hear(&s, s.actor[1], 0);
	fail(&s, 1);
	heard(&s, s.actor[1], m, PEAL_DOWN_FAILED, MONITORS_ERROR);
	fixture_close(&s);
}

PEAL_TEST(destroyed_endpoint_frees_its_monitors)
{
	struct peal_kernel_options o = { .max_monitors = 2 };
	struct fixture s = fixture_open(o);
	uint32_t i;

	add_some(&s, 2);
	for (i = 0; i < 5; i++) {
		hear(&s, s.actor[1], 0);
		hear(&s, s.actor[0], 0);
		CHECK_OK(peal_endpoint_destroy(s.ear));
		s.ear = harness_endpoint(s.rt);
	}
	fixture_close(&s);
}

/* ---- handlers ------------------------------------------------------------ */

PEAL_TEST(handlers_set_and_remove_monitors)
{
	struct fixture s = fixture_plain();
	struct monitors_order o = { .type = MONITORS_DOWN }, done;

	add_some(&s, 4);
	o.actor = (uint32_t)s.actor[1];
	o.tag = s.actor[1] + 1;
	done = order(&s, 0, MONITORS_SET, o);
	CHECK_OK(done.result);
	CHECK_OK(order(&s, 0, MONITORS_SET, o).result);
	CHECK_EQ(order(&s, 2, MONITORS_CANCEL, done).result, 0);
	CHECK_EQ(order(&s, 2, MONITORS_CANCEL, done).result, PEAL_ENOENT);
	done = order(&s, 3, MONITORS_SET, o);
	fail(&s, 1);
	told(&s, 3, 1, s.actor[1], done.monitor, PEAL_DOWN_FAILED,
	     MONITORS_ERROR);
	EVENTUALLY(ask(&s, 0).downs == 1);
	/* a monitor of an ended actor reports at once */
	done = order(&s, 3, MONITORS_SET, o);
	told(&s, 3, 2, s.actor[1], done.monitor, PEAL_DOWN_FAILED, 0);
	CHECK_EQ(order(&s, 3, MONITORS_CANCEL, done).result, PEAL_ENOENT);
	CHECK_EQ(ask(&s, 0).downs, 1);
	o.actor = (uint32_t)s.actor[3];
	CHECK_EQ(order(&s, 3, MONITORS_SET, o).result, PEAL_EINVAL);
	o.actor = PEAL_ACTOR_INDEX(~0u);
	CHECK_EQ(order(&s, 3, MONITORS_SET, o).result, PEAL_ENOENT);
	o.actor = (uint32_t)s.actor[0];
	o.flags = 4;
	CHECK_EQ(order(&s, 3, MONITORS_SET, o).result, PEAL_EINVAL);
	fixture_close(&s);
}

/*
 * Messages that the actor told before its failure are handled before its down
 * message.
 */
PEAL_TEST(down_message_follows_earlier_messages)
{
	struct fixture s = fixture_plain();
	struct monitors_order o = { .type = MONITORS_DOWN };
	struct monitors_state state;
	uint32_t i;

	add_some(&s, 20);
	for (i = 1; i < 20; i++) {
		monitor(&s, s.actor[0], s.actor[i], 0, MONITORS_DOWN, 0);
		o.actor = (uint32_t)s.actor[0];
		CHECK_OK(peal_send(s.e, i, MONITORS_TELL_AND_FAIL, &o,
				   sizeof(o), MAX_WAIT, NULL));
		EVENTUALLY(ask(&s, 0).downs == i);
		state = ask(&s, 0);
		CHECK_EQ(state.counted_before, i * MONITORS_TELLS);
	}
	fixture_close(&s);
}

/* ---- flow control and drain ---------------------------------------------- */

/* The monitors' owner is blocked while 300 down messages are due for it. */
PEAL_TEST(blocked_down_messages_are_not_lost)
{
	struct peal_kernel_options o = { .mailbox.slots = 32,
					 .max_monitors = 400 };
	struct fixture s = fixture_open(o);
	struct monitors_state state;
	struct peal_received r;
	struct peal_down down;
	uint64_t victim, free_one, m;
	uint32_t i, downs = 0, n = 0;

	add_some(&s, 2);
	victim = spawn(&s, 1);
	for (i = 0; i < 300; i++)
		monitor(&s, s.actor[0], victim, 0, MONITORS_LOUD_DOWN,
			victim + 1);
	/* the owner's port gets full, so the owner handles no more messages */
	while (!peal_send(s.e, 0, MONITORS_EMIT, &s, sizeof(downs), 0, NULL))
		n++;
	free_one = spawn(&s, 1);
	m = hear(&s, free_one, 0);
	CHECK_OK(peal_actor_retire(s.rt, victim));
	/* other down messages are not held up */
	CHECK_OK(peal_actor_retire(s.rt, free_one));
	heard(&s, free_one, m, PEAL_DOWN_RETIRED, 0);
	while (downs < 300 || n) {
		CHECK_OK(
			peal_receive(s.e, &state, sizeof(state), &r, MAX_WAIT));
		if (r.type != MONITORS_LOUD_DOWN) {
			n--;
			continue;
		}
		memcpy(&down, &state, sizeof(down));
		CHECK_EQ(down.actor, victim);
		downs++;
	}
	CHECK_EQ(downs, 300);
	CHECK_EQ(ask(&s, 0).downs, 300);
	fixture_close(&s);
}

/* A kernel that drains first sends all down messages that are due. */
PEAL_TEST(drain_waits_for_down_messages)
{
	struct monitors_state state;
	struct peal_kernel_info info;
	uint32_t round;

	for (round = 0; round < 20; round++) {
		struct fixture s = fixture_plain();
		uint64_t m;
		uint32_t i;

		add_some(&s, 4);
		m = monitor(&s, s.actor[0], s.actor[1], 0, MONITORS_DOWN,
			    s.actor[1] + 1);
		monitor(&s, s.actor[2], s.actor[1], 0, MONITORS_DOWN, 0);
		tell(&s, 1, MONITORS_FAIL);
		for (i = 0; i < 4; i++)
			CHECK_OK(peal_send_end(s.e, i, MAX_WAIT));
		CHECK_OK(peal_kernel_drain(s.k, MAX_WAIT));
		CHECK_OK(peal_actor_state(s.rt, s.actor[0], &state,
					  sizeof(state)));
		CHECK_EQ(state.downs, 1);
		check_down(&state.down, s.actor[1], m, PEAL_DOWN_FAILED,
			   MONITORS_ERROR);
		CHECK_OK(peal_actor_state(s.rt, s.actor[2], &state,
					  sizeof(state)));
		CHECK_EQ(state.downs, 1);
		CHECK_OK(peal_kernel_info(s.k, &info));
		CHECK_EQ(info.mailbox_sends, 2);
		CHECK_EQ(info.mailbox_done, 2);
		CHECK_EQ(info.mailbox_dead, 0);
		fixture_close(&s);
	}
}

/* A down message for an actor that has ended is dead, and counted. */
PEAL_TEST(down_message_for_ended_actor_is_dead)
{
	struct fixture s = fixture_plain();
	struct peal_supervisor *strict =
		supervise(&s, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_NONE);
	struct peal_kernel_info info;

	add(&s, strict);
	add(&s, NULL);
	monitor(&s, s.actor[0], s.actor[1], 0, MONITORS_DOWN, 0);
	fail(&s, 0);
	fail(&s, 1);
	EVENTUALLY(!peal_kernel_info(s.k, &info) && info.mailbox_done == 1);
	CHECK_EQ(info.mailbox_sends, 1);
	CHECK_EQ(info.mailbox_dead, 1);
	fixture_close(&s);
}

PEAL_TEST(monitors_survive_epochs)
{
	struct peal_kernel_options o = { .epoch_ns = 2000000 };
	struct fixture s = fixture_open(o);
	uint64_t m, actor;
	uint32_t i;

	add_some(&s, 2);
	for (i = 1; i < 6; i++) {
		actor = spawn(&s, i % WORKERS);
		m = monitor(&s, s.actor[0], actor, 0, MONITORS_DOWN, actor + 1);
		identity_sleep_us(5000);
		CHECK_OK(peal_actor_retire(s.rt, actor));
		told(&s, 0, i, actor, m, PEAL_DOWN_RETIRED, 0);
	}
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(retired_actor_sends_one_down_message);
	       RUN_LANES(unsupervised_failure_is_reported_and_final);
	       RUN_LANES(exhausted_supervisor_downs_members_on_all_workers);
	       RUN_LANES(restart_is_reported_only_to_restart_monitors);
	       RUN_LANES(monitor_of_ended_actor_fires_at_once);
	       RUN_LANES(endpoint_monitors_report_kernel_end);
	       RUN_LANES(removed_monitor_sends_nothing);
	       RUN_LANES(monitors_end_with_their_owner);
	       RUN_LANES(destroyed_endpoint_frees_its_monitors);
	       RUN_LANES(handlers_set_and_remove_monitors);
	       RUN_LANES(down_message_follows_earlier_messages);
	       RUN_LANES(blocked_down_messages_are_not_lost);
	       RUN_LANES(drain_waits_for_down_messages);
	       RUN_LANES(down_message_for_ended_actor_is_dead);
	       RUN_LANES(monitors_survive_epochs);)
