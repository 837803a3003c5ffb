/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers spawn and end actors. The cases check states, ports, addresses and
 * the limit of actor slots. They also check the host's calls on such actors.
 */

#include <peal/monitor.h>
#include <peal/name.h>
#include <peal/stall.h>
#include "runtime/spawn_fixture.h"

/* ---- life ---------------------------------------------------------------- */

PEAL_TEST(handler_spawns_and_retires_an_actor)
{
	struct fixture s = fixture_plain(4);
	struct peal_monitor_options o = { .size = sizeof(o), .tag = 5 };
	struct spawns_state state;
	struct peal_received r;
	struct peal_down down;
	struct peal_endpoint *ear = harness_endpoint(s.rt);
	uint64_t actor = make(&s, 0x1234);

	CHECK_EQ(info_of(&s).actors, 2);
	CHECK_EQ(info_of(&s).spawned, 1);
	CHECK_OK(
		peal_monitor(s.k, peal_endpoint_address(ear), actor, &o, NULL));
	say(&s, actor, SPAWNS_HELLO);
	say(&s, actor, SPAWNS_COUNT);
	say(&s, actor, SPAWNS_COUNT);
	state = state_of(&s, actor);
	CHECK_EQ(state.value, 0x1234);
	CHECK_EQ(state.maker, (uint32_t)s.maker[0]);
	CHECK_EQ(state.hellos, 1);
	CHECK_EQ(state.count, 2);
	CHECK_OK(end(&s, actor));
	CHECK_OK(peal_receive(ear, &down, sizeof(down), &r, MAX_WAIT));
	CHECK_EQ(r.down, 1);
	CHECK_EQ(down.actor, actor);
	CHECK_EQ(down.reason, PEAL_DOWN_RETIRED);
	CHECK_EQ(end(&s, actor), PEAL_ENOENT);
	CHECK_EQ(info_of(&s).actors, 1);
	CHECK_EQ(info_of(&s).retired, 1);
	say(&s, actor, SPAWNS_COUNT);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_NO_ACTOR] == 1);
	CHECK_EQ(info_of(&s).failed, 0);
	fixture_close(&s, 0);
}

PEAL_TEST(reused_slot_has_a_new_address)
{
	struct fixture s = fixture_plain(1);
	uint64_t first = make(&s, 1), before = first, actor = 0;
	uint32_t i;

	say(&s, first, SPAWNS_HELLO);
	CHECK_OK(end(&s, first));
	for (i = 1; i <= PEAL_ACTOR_GENERATIONS; i++, before = actor) {
		actor = make(&s, i);
		CHECK_EQ(PEAL_ACTOR_INDEX(actor), PEAL_ACTOR_INDEX(first));
		CHECK(actor != before);
		CHECK_EQ(actor == first, i == PEAL_ACTOR_GENERATIONS);
		say(&s, actor, SPAWNS_HELLO); /* checks that its state is new */
		say(&s, before, SPAWNS_COUNT); /* a retired address */
		CHECK_OK(end(&s, actor));
	}
	fixture_quiet(&s);
	CHECK_EQ(info_of(&s).failed, 0);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_NO_ACTOR] ==
		   PEAL_ACTOR_GENERATIONS);
	fixture_close(&s, 0);
}

PEAL_TEST(in_flight_messages_do_not_reach_next_slot_owner)
{
	struct fixture s = fixture_plain(1);
	struct spawns_order o = {
		.handler = SPAWNS_CHILD, .n = 3, .value = 7, .init_bytes = 8
	};
	uint64_t actor;

	o = obey(&s, 0, SPAWNS_LATE, o);
	CHECK_OK(o.result);
	actor = (s.maker[0] >> 32 << 32) | o.actor;
	say(&s, actor, SPAWNS_HELLO);
	fixture_quiet(&s);
	CHECK_EQ(info_of(&s).mailbox_dead, 3);
	CHECK_EQ(info_of(&s).failed, 0);
	CHECK_EQ(state_of(&s, actor).count, 0);
	fixture_close(&s, 1);
}

PEAL_TEST(self_retired_actor_keeps_state_until_return)
{
	struct fixture s = fixture_plain(1);
	struct spawns_order none = { .n = 0 };
	uint64_t actor = make(&s, 3), next;

	say(&s, actor, SPAWNS_LEAVE);
	fixture_quiet(&s);
	CHECK_EQ(info_of(&s).failed, 0);
	CHECK_EQ(info_of(&s).retired, 1);
	/* its own spawn failed: its actor slot was not yet free */
	CHECK_EQ(obey(&s, 0, SPAWNS_LEAVES, none).value, 1);
	next = make(&s, 4);
	CHECK_EQ(PEAL_ACTOR_INDEX(next), PEAL_ACTOR_INDEX(actor));
	CHECK(next != actor);
	say(&s, next, SPAWNS_HELLO);
	say(&s, next, SPAWNS_LEAVE); /* again, in this actor slot */
	say(&s, next, SPAWNS_COUNT);
	fixture_quiet(&s);
	CHECK_EQ(obey(&s, 0, SPAWNS_LEAVES, none).value, 2);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_NO_ACTOR] == 1);
	next = make(&s, 5);
	CHECK_OK(end(&s, next));
	CHECK_EQ(info_of(&s).failed, 0);
	fixture_close(&s, 0);
}

PEAL_TEST(self_retired_actor_gets_no_queued_messages)
{
	struct fixture s = fixture_plain(1);
	uint64_t actor;

	CHECK_OK(try_make(&s, SPAWNS_MUTE, 1, 0, &actor));
	/* all three messages are queued before the first is handled */
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	say(&s, actor, SPAWNS_COUNT);
	say(&s, actor, SPAWNS_LEAVE);
	say(&s, actor, SPAWNS_COUNT);
	CHECK_OK(peal_kernel_resume(s.k));
	EVENTUALLY(harness_info(s.link[0]).queued == 0);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_NO_ACTOR] == 1);
	fixture_close(&s, 0);
}

PEAL_TEST(all_spawn_slots_are_used_exactly_once)
{
	struct fixture s = fixture_plain(40);
	struct spawns_order o = { .handler = SPAWNS_CHILD,
				  .n = 41,
				  .init_bytes = 8 };
	uint64_t actor[40], one;
	uint32_t i, j, turn;

	o = obey(&s, 0, SPAWNS_MAKE, o);
	CHECK_EQ(o.result, PEAL_ENOSPC);
	CHECK_EQ(o.n, 40);
	for (i = 0; i < 40; i++) { /* in the order of the spawns */
		actor[i] = (s.maker[0] >> 32 << 32) |
			   (uint64_t)(64 + i); /* 64: max_actors */
		say(&s, actor[i], SPAWNS_HELLO);
	}
	for (turn = 0; turn < 3; turn++) {
		for (i = turn; i < 40; i += 2) {
			CHECK_OK(end(&s, actor[i]));
			CHECK_EQ(end(&s, actor[i]), PEAL_ENOENT);
		}
		for (i = turn; i < 40; i += 2) {
			actor[i] = make(&s, i);
			say(&s, actor[i], SPAWNS_HELLO);
		}
		CHECK_EQ(try_make(&s, SPAWNS_CHILD, 1, 0, &one), PEAL_ENOSPC);
		for (i = 0; i < 40; i++)
			for (j = 0; j < i; j++)
				CHECK(PEAL_ACTOR_INDEX(actor[i]) !=
				      PEAL_ACTOR_INDEX(actor[j]));
	}
	fixture_quiet(&s);
	CHECK_EQ(info_of(&s).failed, 0);
	for (i = 0; i < 40; i++)
		CHECK_EQ(state_of(&s, actor[i]).hellos, 1);
	fixture_close(&s, 40);
}

PEAL_TEST(million_actors_are_spawned_and_retired)
{
	struct fixture s = fixture_plain(1000);
	struct spawns_order o = { .handler = SPAWNS_CHILD,
				  .n = lanes == 1 ? 20000 : 1000,
				  .init_bytes = 16 };
	uint32_t i;

	for (i = 0; i < 50; i++) {
		struct spawns_order got = obey(&s, 0, SPAWNS_CHURN, o);

		CHECK_OK(got.result);
		CHECK_EQ(got.n, o.n);
	}
	CHECK_EQ(info_of(&s).spawned, 50ULL * o.n);
	CHECK_EQ(info_of(&s).retired, 50ULL * o.n);
	fixture_close(&s, 0);
}

/* ---- ports --------------------------------------------------------------- */

static struct spawns_state heard(struct fixture *s, uint16_t type)
{
	struct spawns_state state;
	struct peal_received r;

	CHECK_OK(peal_receive(s->e, &state, sizeof(state), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_EQ(r.from, s->maker[0]);
	return state;
}

PEAL_TEST(spawned_actor_sends_by_shared_ports)
{
	struct fixture s = fixture_plain(4);
	struct spawns_state state;
	uint64_t first, second, third;

	CHECK_OK(try_make(&s, SPAWNS_SPEAKER, 10, s.maker[0], &first));
	say(&s, first, SPAWNS_SAY);
	CHECK_EQ(heard(&s, SPAWNS_SAY).value, 10);
	say(&s, first, SPAWNS_BREED); /* shares its own (the maker's) ports */
	state = heard(&s, SPAWNS_BREED);
	CHECK_OK(state.result);
	second = (s.maker[0] >> 32 << 32) | state.made;
	say(&s, second, SPAWNS_SAY);
	CHECK_EQ(heard(&s, SPAWNS_SAY).value, 11);
	CHECK_OK(end(&s, first));
	say(&s, second, SPAWNS_BREED); /* its spawner has ended */
	third = (s.maker[0] >> 32 << 32) | heard(&s, SPAWNS_BREED).made;
	say(&s, third, SPAWNS_SAY);
	CHECK_EQ(heard(&s, SPAWNS_SAY).value, 12);
	fixture_close(&s, 2);
}

PEAL_TEST(port_owner_outlives_sharing_actors)
{
	struct fixture s = fixture_plain(4);
	struct peal_actor_options sharing = { .size = sizeof(sharing) };
	uint64_t owner = harness_spawn(s.k, "maker", 0), sharer, a, b, other[2];

	CHECK_OK(try_make(&s, SPAWNS_SPEAKER, 1, owner, &a));
	CHECK_OK(try_make(&s, SPAWNS_SPEAKER, 1, a, &b));
	CHECK_EQ(peal_actor_retire(s.rt, owner), PEAL_EBUSY);
	CHECK(strstr(peal_last_error()->text, "handlers have made share"));
	CHECK_OK(end(&s, a));
	other[0] = harness_spawn(s.k, "child", 0);
	other[1] = owner;
	CHECK_EQ(peal_actor_retire_many(s.rt, other, 2), PEAL_EBUSY);
	CHECK_OK(end(&s, b));
	CHECK_OK(peal_actor_retire_many(s.rt, other, 2));
	/* sharing with an actor that shares means sharing with the owner */
	owner = harness_spawn(s.k, "maker", 0);
	sharing.share_ports_with = owner;
	CHECK_OK(peal_actor_spawn(s.k, "maker", &sharing, &sharer));
	CHECK_OK(try_make(&s, SPAWNS_SPEAKER, 1, sharer, &a));
	CHECK_OK(peal_actor_retire(s.rt, sharer));
	CHECK_EQ(peal_actor_retire(s.rt, owner), PEAL_EBUSY);
	CHECK_OK(peal_actor_retire(s.rt, a));
	CHECK_OK(peal_actor_retire(s.rt, owner));
	fixture_close(&s, 0);
}

PEAL_TEST(port_owner_may_have_a_mailbox_limit)
{
	struct peal_kernel_options k = { .spawn.max_actors = 2,
					 .mailbox.max_limits = 4 };
	struct fixture s = fixture_open(k);
	struct peal_actor_options limited = { .size = sizeof(limited),
					      .mailbox_limit = 4,
					      .mailbox_overflow =
						      PEAL_OVERFLOW_FAIL };
	uint64_t owner, actor;

	CHECK_OK(peal_actor_spawn(s.k, "other", &limited, &owner));
	CHECK_OK(try_make(&s, SPAWNS_OTHER, 1, owner, &actor));
	CHECK_EQ(try_make(&s, SPAWNS_SPEAKER, 1, owner, &actor), PEAL_EINVAL);
	CHECK_EQ(peal_actor_retire(s.rt, owner), PEAL_EBUSY);
	CHECK_OK(peal_actor_retire(s.rt, (s.maker[0] >> 32 << 32) | 64));
	CHECK_OK(peal_actor_retire(s.rt, owner));
	fixture_close(&s, 0);
}

/* ---- refusals ------------------------------------------------------------ */

PEAL_TEST(invalid_spawns_are_refused)
{
	struct fixture s = fixture_plain(4);
	struct spawns_order o = { .handler = SPAWNS_CHILD, .n = 1 };
	uint64_t child = harness_spawn(s.k, "child", 0), actor;

	CHECK_EQ(try_make(&s, SPAWNS_HANDLERS, 1, 0, &actor), PEAL_EINVAL);
	CHECK_EQ(try_make(&s, SPAWNS_NONE, 1, 0, &actor), PEAL_EINVAL);
	CHECK_EQ(try_make(&s, SPAWNS_WIDE, 1, 0, &actor), PEAL_EINVAL);
	o.init_bytes = sizeof(struct spawns_state) + 1;
	CHECK_EQ(obey(&s, 0, SPAWNS_MAKE, o).result, PEAL_EINVAL);
	/* no ports, ports for another message size, ports of no actor */
	CHECK_EQ(try_make(&s, SPAWNS_SPEAKER, 1, child, &actor), PEAL_EINVAL);
	CHECK_EQ(try_make(&s, SPAWNS_OTHER, 1, s.maker[0], &actor),
		 PEAL_EINVAL);
	CHECK_EQ(try_make(&s, SPAWNS_SPEAKER, 1, 63, &actor), PEAL_ENOENT);
	CHECK_EQ(try_make(&s, SPAWNS_SPEAKER, 1, ~0u, &actor), PEAL_ENOENT);
	CHECK_EQ(info_of(&s).spawned, 0);
	/* a failed spawn uses no actor slot */
	o.init_bytes = 8;
	o.n = 5;
	CHECK_EQ(obey(&s, 0, SPAWNS_MAKE, o).n, 4);
	CHECK_EQ(end(&s, child), PEAL_EINVAL); /* the host spawned it */
	CHECK_EQ(end(&s, 1 << 20), PEAL_EINVAL);
	CHECK_OK(peal_actor_retire(s.rt, child));
	fixture_close(&s, 4);
}

PEAL_TEST(each_worker_has_its_own_spawn_slots)
{
	struct peal_kernel_options k = { .workers = 2, .spawn.max_actors = 2 };
	struct fixture s = fixture_open(k);
	struct spawns_order o = { .handler = SPAWNS_CHILD,
				  .n = 3,
				  .init_bytes = 8 };
	struct spawns_order got;

	o = obey(&s, 0, SPAWNS_MAKE, o);
	CHECK_EQ(o.result, PEAL_ENOSPC);
	CHECK_EQ(o.n, 2);
	o.n = 1;
	o.result = 0;
	got = obey(&s, 1, SPAWNS_MAKE, o);
	CHECK_OK(got.result);
	CHECK_EQ(obey(&s, 0, SPAWNS_END, got).result, PEAL_EINVAL);
	got.result = 0;
	CHECK_EQ(obey(&s, 1, SPAWNS_END, got).result, 0);
	/* an actor of another worker does not share its ports */
	o.handler = SPAWNS_SPEAKER;
	o.share_ports_with = (uint32_t)s.maker[0];
	CHECK_EQ(obey(&s, 1, SPAWNS_MAKE, o).result, PEAL_ENOENT);
	fixture_close(&s, 2);
}

PEAL_TEST(spawn_without_slots_returns_enotsup)
{
	struct peal_kernel_options o = { .workers = 1 };
	struct fixture s = fixture_open(o);
	uint64_t actor;

	CHECK_EQ(try_make(&s, SPAWNS_CHILD, 1, 0, &actor), PEAL_ENOTSUP);
	CHECK_EQ(end(&s, s.maker[0]), PEAL_ENOTSUP);
	fixture_close(&s, 0);
}

static void refused(struct peal_runtime *rt, struct peal_kernel_options o,
		    const char *text)
{
	struct peal_kernel *k;

	o.size = sizeof(o);
	CHECK_EQ(peal_kernel_launch(rt, 0, &peal_program_spawns, &o, &k),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, text));
}

PEAL_TEST(oversized_spawn_options_are_refused)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options slots = { .spawn.max_actors =
						     (1 << 24) + 1 };
	struct peal_kernel_options all = { .workers = 4,
					   .max_actors = 1 << 20,
					   .spawn.max_actors = 1 << 22 };
	struct peal_kernel_options states = { .spawn.state_bytes = 8 };

	refused(rt, slots, "spawn.max_actors");
	refused(rt, all, "(4194304, allowed 0..3932160)");
	refused(rt, states, "needs spawn.max_actors, which is 0 (8");
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- calls of the host --------------------------------------------------- */

PEAL_TEST(host_links_names_and_retires_spawned_actors)
{
	struct fixture s = fixture_plain(2);
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link *link;
	uint64_t actor = make(&s, 1), next, found = 0, any = 0;

	CHECK_OK(peal_name_set(s.rt, actor, "guest"));
	CHECK_OK(peal_name_find(s.rt, "guest", &found));
	CHECK_EQ(found, actor);
	link = harness_from(s.rt, s.e, 9, actor, none);
	CHECK_OK(peal_send(s.e, 9, SPAWNS_COUNT, &any, sizeof(any), MAX_WAIT,
			   NULL));
	CHECK_EQ(state_of(&s, actor).count, 1);
	CHECK_OK(peal_actor_retire(s.rt, actor)); /* despite the link */
	CHECK_EQ(peal_name_find(s.rt, "guest", &found), PEAL_ENOENT);
	CHECK_EQ(peal_actor_retire(s.rt, actor), PEAL_ENOENT);
	CHECK_EQ(peal_actor_state(s.rt, actor, &found, 0), PEAL_ENOENT);
	CHECK_EQ(end(&s, actor), PEAL_ENOENT);
	/* the link leads to the retired actor, not to the next in its slot */
	make(&s, 2);
	next = make(&s, 3);
	CHECK_EQ(PEAL_ACTOR_INDEX(next), PEAL_ACTOR_INDEX(actor));
	CHECK_OK(peal_send(s.e, 9, SPAWNS_COUNT, &any, sizeof(any), MAX_WAIT,
			   NULL));
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 1);
	CHECK_EQ(state_of(&s, next).count, 0);
	/* if a handler ends an actor, the actor's name is free again */
	CHECK_OK(peal_name_set(s.rt, next, "guest"));
	CHECK_EQ(peal_name_set(s.rt, s.maker[0], "guest"), PEAL_EEXIST);
	CHECK_OK(end(&s, next));
	CHECK_OK(peal_name_set(s.rt, s.maker[0], "guest"));
	fixture_close(&s, 1);
}

PEAL_TEST(host_refuses_invalid_calls_on_spawned_actors)
{
	struct fixture s = fixture_plain(2);
	struct peal_actor_options sharing = { .size = sizeof(sharing) };
	uint64_t actor, speaker, other;

	actor = make(&s, 1);
	CHECK_OK(try_make(&s, SPAWNS_SPEAKER, 1, s.maker[0], &speaker));
	sharing.share_ports_with = speaker;
	CHECK_EQ(peal_actor_spawn(s.k, "maker", &sharing, &other), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "that a handler made"));
	CHECK_EQ(peal_connect(s.rt, speaker, 0, peal_endpoint_address(s.e),
			      NULL, NULL),
		 PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "shares the ports of actor 0"));
	CHECK_EQ(peal_connect(s.rt, actor, 0, peal_endpoint_address(s.e), NULL,
			      NULL),
		 PEAL_ENOENT);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_EQ(peal_actor_retire(s.rt, actor), PEAL_ESTOPPED);
	fixture_close(&s, 2);
}

PEAL_TEST(stall_report_names_handler_of_spawned_actor)
{
	struct fixture s = fixture_plain(2);
	struct peal_stall cause;
	uint64_t actor = make(&s, 1);

	say(&s, actor, SPAWNS_SPIN);
	EVENTUALLY(peal_stall_report(s.rt, MS, &cause, 1) == 1 &&
		   cause.cause == PEAL_STALL_HANDLER &&
		   cause.address == actor); /* before: the sender's handler */
	CHECK(strstr(cause.text, "is in handler 'child' of actor 64"));
	CHECK_OK(peal_kernel_abort(s.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(failed_spawned_actor_frees_its_slot)
{
	struct fixture s = fixture_plain(1);
	uint64_t actor = make(&s, 1), next;

	say(&s, actor, SPAWNS_FAIL);
	say(&s, actor, SPAWNS_COUNT);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_DOWN] == 1);
	CHECK_EQ(info_of(&s).actors, 2); /* until it is retired */
	CHECK_OK(end(&s, actor));
	next = make(&s, 2);
	say(&s, next, SPAWNS_HELLO);
	say(&s, next, SPAWNS_COUNT);
	CHECK_EQ(state_of(&s, next).count, 1);
	fixture_close(&s, 1);
}

/* ---- storms -------------------------------------------------------------- */

#define TREES 3

/*
 * Grows trees of actors on all workers. The maker of the next worker counts the
 * leaves of each tree. Leaves without a free actor slot are counted, too. The
 * mailboxes must hold all messages at a time, since a handler may tell more
 * messages than it gets.
 */
static void storm(struct peal_kernel_options k, uint32_t turns, uint32_t depth,
		  int pause)
{
	struct fixture s = fixture_open(k);
	struct spawns_order o = { .n = TREES, .value = depth }, none = { 0 };
	uint64_t all = 0;
	uint32_t turn, i;

	for (turn = 0; turn < turns; turn++) {
		for (i = 0; i < s.n; i++) {
			struct spawns_order got;

			o.actor = (uint32_t)s.maker[(i + 1) % s.n];
			got = obey(&s, i, SPAWNS_STORM, o);
			CHECK(!got.result || got.result == PEAL_ENOSPC);
		}
		if (!pause)
			continue;
		CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
		CHECK_OK(peal_kernel_resume(s.k));
	}
	EVENTUALLY(info_of(&s).spawned == info_of(&s).retired);
	fixture_quiet(&s);
	for (i = 0; i < s.n; i++)
		all += obey(&s, i, SPAWNS_LEAVES, none).value;
	CHECK_EQ(info_of(&s).failed, 0);
	CHECK_EQ(info_of(&s).mailbox_dead, 0);
	CHECK_EQ(all % (1ULL << depth), 0);
	CHECK(all <= ((uint64_t)TREES * s.n * turns) << depth);
	if (k.spawn.max_actors >= ((uint64_t)TREES * turns) << depth)
		CHECK_EQ(all, ((uint64_t)TREES * s.n * turns) << depth);
	fixture_close(&s, 0);
}

PEAL_TEST(spawn_trees_complete_on_all_workers)
{
	struct peal_kernel_options k = { .workers = 3,
					 .mailbox.slots = 8192,
					 .spawn.max_actors = TREES << 8 };

	storm(k, 1, 8, 0);
}

PEAL_TEST(spawn_trees_complete_with_few_slots)
{
	struct peal_kernel_options k = { .workers = 2,
					 .mailbox.slots = 16384,
					 .spawn.max_actors = 7 };

	storm(k, lanes == 1 ? 60 : 10, 5, 0);
}

PEAL_TEST(spawn_trees_complete_over_suspends_and_epochs)
{
	struct peal_kernel_options k = { .workers = 2,
					 .mailbox.slots = 16384,
					 .spawn.max_actors = 40,
					 .epoch_ns = 2 * MS };

	storm(k, lanes == 1 ? 30 : 6, 6, 1);
}

PEAL_TEST_MAIN(RUN_LANES(handler_spawns_and_retires_an_actor);
	       RUN_LANES(reused_slot_has_a_new_address);
	       RUN_LANES(in_flight_messages_do_not_reach_next_slot_owner);
	       RUN_LANES(self_retired_actor_keeps_state_until_return);
	       RUN_LANES(self_retired_actor_gets_no_queued_messages);
	       RUN_LANES(all_spawn_slots_are_used_exactly_once);
	       RUN_LANES(million_actors_are_spawned_and_retired);
	       RUN_LANES(spawned_actor_sends_by_shared_ports);
	       RUN_LANES(port_owner_outlives_sharing_actors);
	       RUN_LANES(port_owner_may_have_a_mailbox_limit);
	       RUN_LANES(invalid_spawns_are_refused);
	       RUN_LANES(each_worker_has_its_own_spawn_slots);
	       RUN_LANES(spawn_without_slots_returns_enotsup);
	       RUN_LANES(oversized_spawn_options_are_refused);
	       RUN_LANES(host_links_names_and_retires_spawned_actors);
	       RUN_LANES(host_refuses_invalid_calls_on_spawned_actors);
	       RUN_LANES(stall_report_names_handler_of_spawned_actor);
	       RUN_LANES(failed_spawned_actor_frees_its_slot);
	       RUN_LANES(spawn_trees_complete_on_all_workers);
	       RUN_LANES(spawn_trees_complete_with_few_slots);
	       RUN_LANES(spawn_trees_complete_over_suspends_and_epochs);)
