/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each actor's init runs once before all messages, its exit once after them.
 * Messages of inits and exits arrive. The cases cover failures, migration, full
 * mailboxes and the kernel's end.
 */

#include <peal/migration.h>
#include <peal/monitor.h>
#include <peal/supervisor.h>
#include "runtime/both_lanes.h"
#include "runtime/short_timeout.h"
#include "runtime/hooks.h"

PEAL_DECLARE_PROGRAM(hooks);

/* A kernel with actor `teller` on worker 0, which passes messages on to `e`. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t teller;
};

static struct fixture open_with(struct peal_runtime *rt,
				struct peal_kernel_options o, int listens)
{
	struct peal_link_options large = { .capacity = 1024 };
	struct fixture h = { .rt = rt };

	h.e = harness_endpoint(rt);
	o.size = sizeof(o);
	o.lanes = lanes;
	if (!o.mailbox.slots)
		o.mailbox.slots = 256;
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_hooks, &o, &h.k));
	h.teller = harness_spawn(h.k, "teller", 0);
	if (listens)
		harness_to(rt, h.teller, h.e, large);
	return h;
}

static struct fixture fixture_open(uint32_t workers)
{
	struct peal_kernel_options o = {
		.workers = workers,
		.spawn.max_actors = 4,
		.spawn.state_bytes = sizeof(struct hooks_state),
		.max_monitors = 8,
		.max_supervisors = 2,
		.max_actors = 4096,
	};

	return open_with(harness_open(2, ""), o, 1);
}

static struct peal_kernel_info info_of(const struct fixture *h)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(h->k, &info));
	return info;
}

static int try_guest(const struct fixture *h, const char *handler, uint32_t id,
		     uint32_t wish, struct peal_actor_options o,
		     uint64_t *address_out)
{
	uint32_t init[3] = { id, 1 + (uint32_t)h->teller, wish };

	o.size = sizeof(o);
	o.init = init;
	o.init_bytes = sizeof(init);
	return peal_actor_spawn(h->k, handler, &o, address_out);
}

static uint64_t guest(const struct fixture *h, uint32_t id, uint32_t worker,
		      uint32_t wish)
{
	struct peal_actor_options o = { .worker = PEAL_WORKER(worker) };
	uint64_t address;

	CHECK_OK(try_guest(h, "guest", id, wish, o, &address));
	return address;
}

/* Receives the next message. Checks its type, the actor's id and the actor's
 * count of messages. */
static void hear(const struct fixture *h, uint16_t type, uint32_t id,
		 uint32_t messages)
{
	struct peal_received r;
	uint64_t message = 0;

	CHECK_OK(peal_receive(h->e, &message, sizeof(message), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_EQ((uint32_t)message, id);
	CHECK_EQ(message >> 32, messages);
}

static void hear_nothing(const struct fixture *h)
{
	struct peal_received r;
	uint64_t message;

	CHECK(peal_receive(h->e, &message, sizeof(message), &r, 0) < 0);
}

static struct peal_link *link_to(const struct fixture *h, uint64_t actor)
{
	struct peal_link_options none = { .capacity = 0 };
	static uint32_t port;

	return harness_from(h->rt, h->e, port++ % 64, actor, none);
}

static void end(const struct fixture *h, struct peal_link *link)
{
	CHECK_OK(peal_send_end(h->e, harness_info(link).from_port, MAX_WAIT));
}

static void say(const struct fixture *h, struct peal_link *link, uint16_t type)
{
	uint64_t nothing = 0;

	CHECK_OK(peal_send(h->e, harness_info(link).from_port, type, &nothing,
			   sizeof(nothing), MAX_WAIT, NULL));
}

static struct hooks_state state_of(const struct fixture *h, uint64_t actor)
{
	struct hooks_state state;

	harness_conserved(h->rt);
	CHECK_OK(peal_kernel_suspend(h->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(h->rt, actor, &state, sizeof(state)));
	CHECK_OK(peal_kernel_resume(h->k));
	return state;
}

/* Checks the counts of inits, exits and failed handlers, and shuts down. */
static void fixture_close(struct fixture *h, uint64_t inits, uint64_t exits,
			  uint64_t failed)
{
	harness_conserved(h->rt);
	EVENTUALLY(info_of(h).mailbox_sends == info_of(h).mailbox_done);
	CHECK_EQ(info_of(h).inits, inits);
	CHECK_EQ(info_of(h).exits, exits);
	CHECK_EQ(info_of(h).failed, failed);
	hear_nothing(h);
	CHECK_OK(peal_runtime_shutdown(h->rt));
}

/* ---- begin and end ------------------------------------------------------- */

PEAL_TEST(init_runs_at_spawn_and_exit_before_retire_ends)
{
	struct fixture h = fixture_open(2);
	struct peal_monitor_options o = { .size = sizeof(o) };
	struct peal_endpoint *ear = harness_endpoint(h.rt);
	struct peal_link *link;
	struct peal_received r;
	struct peal_down down;
	uint64_t actor = guest(&h, 7, 1, 0);

	hear(&h, HOOKS_BEGUN, 7, 0);
	CHECK_OK(
		peal_monitor(h.k, peal_endpoint_address(ear), actor, &o, NULL));
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT);
	say(&h, link, HOOKS_COUNT);
	harness_delivered(link, 2);
	CHECK_EQ(state_of(&h, actor).odd, 0);
	CHECK_EQ(info_of(&h).exits, 0);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(h.rt, actor));
	CHECK_EQ(info_of(&h).exits, 1);
	hear(&h, HOOKS_ENDED, 7, 2);
	CHECK_OK(peal_receive(ear, &down, sizeof(down), &r, MAX_WAIT));
	CHECK_EQ(down.reason, PEAL_DOWN_RETIRED);
	CHECK_EQ(peal_actor_retire(h.rt, actor), PEAL_ENOENT);
	/* hooks are no messages: 2 for the actor, 2 for the teller */
	EVENTUALLY(info_of(&h).handled == 4);
	fixture_close(&h, 1, 1, 0);
}

PEAL_TEST(mass_spawn_and_retire_run_each_hook_once)
{
	enum { N = 3000 };
	static uint64_t actor[N];
	struct fixture h = fixture_open(2);
	struct peal_actor_options o = { .size = sizeof(o) };
	uint32_t init[3] = { 0, 0, 0 }, i;
	struct hooks_state state;

	o.init = init;
	o.init_bytes = sizeof(init);
	CHECK_OK(peal_actor_spawn_many(h.k, "guest", &o, N, actor));
	EVENTUALLY(info_of(&h).inits == N);
	CHECK_OK(peal_kernel_suspend(h.k, MAX_WAIT));
	for (i = 0; i < N; i++) {
		CHECK_OK(peal_actor_state(h.rt, actor[i], &state,
					  sizeof(state)));
		CHECK_EQ(state.inits, 1);
		CHECK_EQ(state.messages + state.exits, 0);
	}
	CHECK_OK(peal_kernel_resume(h.k));
	CHECK_OK(peal_actor_retire_many(h.rt, actor, N));
	CHECK_EQ(info_of(&h).exits, N);
	CHECK_EQ(info_of(&h).actors, 1);
	fixture_close(&h, N, N, 0);
}

PEAL_TEST(handler_without_hooks_runs_only_for_messages)
{
	struct fixture h = fixture_open(1);
	struct peal_actor_options o = { .worker = 1 };
	struct peal_link *link;
	uint64_t actor;

	CHECK_OK(try_guest(&h, "plain", 1, 0, o, &actor));
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT);
	harness_delivered(link, 1);
	CHECK_EQ(state_of(&h, actor).messages, 1);
	CHECK_EQ(state_of(&h, actor).inits, 0);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(h.rt, actor));
	fixture_close(&h, 0, 0, 0);
}

/* ---- made by handlers ---------------------------------------------------- */

static struct hooks_order obey(const struct fixture *h, struct peal_link *link,
			       uint16_t type, struct hooks_order o)
{
	CHECK_OK(peal_send(h->e, harness_info(link).from_port, type, &o,
			   sizeof(o), MAX_WAIT, NULL));
	return o;
}

static struct hooks_order answer(const struct fixture *h, uint16_t type)
{
	struct hooks_order o;
	struct peal_received r;

	CHECK_OK(peal_receive(h->e, &o, sizeof(o), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_OK(o.result);
	return o;
}

PEAL_TEST(init_precedes_first_tell_and_exit_frees_the_slot)
{
	struct fixture h = fixture_open(1);
	struct peal_link_options none = { .capacity = 0 };
	uint64_t maker = harness_spawn(h.k, "maker", 0), actor;
	struct hooks_order o = { .n = 1, .teller = 1 + (uint32_t)h.teller };
	struct peal_endpoint *ears = h.e;
	struct peal_link *link = link_to(&h, maker), *by;
	uint32_t i;

	h.e = harness_endpoint(h.rt); /* for the maker's answers */
	harness_to(h.rt, maker, h.e, none);
	for (i = 0; i < 9; i++) { /* there are 4 slots */
		struct fixture to = h, from = h;

		to.e = ears;
		obey(&to, link, HOOKS_MAKE, o);
		actor = (maker >> 32 << 32) | answer(&from, HOOKS_MAKE).actor;
		hear(&to, HOOKS_BEGUN, 0, 0);
		EVENTUALLY(info_of(&h).mailbox_sends ==
			   info_of(&h).mailbox_done);
		CHECK_EQ(state_of(&h, actor).messages, 1);
		CHECK_EQ(state_of(&h, actor).odd, 0);
		if (i % 3 == 0) {
			o.actor = (uint32_t)actor;
			obey(&to, link, HOOKS_END, o);
			answer(&from, HOOKS_END);
		} else if (i % 3 == 1) {
			CHECK_OK(peal_actor_retire(h.rt, actor));
		} else {
			uint64_t nothing = 0;

			by = link;
			CHECK_OK(peal_send_to(ears, harness_info(by).from_port,
					      actor, HOOKS_LEAVE, &nothing, 8,
					      MAX_WAIT, NULL));
			CHECK_OK(peal_send_to(ears, harness_info(by).from_port,
					      actor, HOOKS_COUNT, &nothing, 8,
					      MAX_WAIT, NULL));
		}
		hear(&to, HOOKS_ENDED, 0, i % 3 == 2 ? 2 : 1);
		EVENTUALLY(info_of(&h).retired == i + 1);
	}
	EVENTUALLY(harness_info(link).queued == 0);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 3);
	h.e = ears;
	fixture_close(&h, 9, 9, 0);
}

PEAL_TEST(self_retire_in_init_runs_exit_without_messages)
{
	struct fixture h = fixture_open(1);
	struct peal_link_options none = { .capacity = 0 };
	uint64_t maker = harness_spawn(h.k, "maker", 0);
	struct hooks_order o = { .n = 3,
				 .teller = 1 + (uint32_t)h.teller,
				 .wish = HOOKS_MEETS };
	struct peal_link *link = link_to(&h, maker);
	struct fixture from = h;
	uint32_t i;

	from.e = harness_endpoint(h.rt);
	harness_to(h.rt, maker, from.e, none);
	obey(&h, link, HOOKS_MAKE, o);
	CHECK_EQ(answer(&from, HOOKS_MAKE).n, 3);
	for (i = 0; i < 3; i++)
		hear(&h, HOOKS_BEGUN, i, 0);
	for (i = 0; i < 3; i++)
		hear(&h, HOOKS_ENDED, i, 0);
	EVENTUALLY(info_of(&h).mailbox_dead == 3);
	CHECK_EQ(info_of(&h).retired, 3);
	fixture_close(&h, 3, 3, 0);
}

/* ---- failures ------------------------------------------------------------ */

PEAL_TEST(failing_init_ends_the_actor)
{
	struct peal_kernel_options o = { .workers = 1 }; /* no monitors */
	struct fixture h = open_with(harness_open(1, ""), o, 1);
	uint64_t actor = guest(&h, 3, 0, HOOKS_FAILS_INIT);
	struct peal_link *link;

	hear(&h, HOOKS_BEGUN, 3, 0);
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_DOWN] == 1);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(h.rt, actor)); /* without an exit */
	fixture_close(&h, 1, 0, 1);
}

PEAL_TEST(restart_runs_init_and_no_exit)
{
	struct fixture h = fixture_open(1);
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .strategy = PEAL_ONE_FOR_ONE,
					      .max_restarts = 3,
					      .period_ns = 60 * SECOND };
	struct peal_supervisor *s;
	struct peal_actor_options o = { .worker = 1 };
	struct peal_link *link;
	uint64_t actor;

	CHECK_OK(peal_supervisor_create(h.k, &so, &s));
	o.supervisor = s;
	CHECK_OK(try_guest(&h, "guest", 4, 0, o, &actor));
	hear(&h, HOOKS_BEGUN, 4, 0);
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT);
	say(&h, link, HOOKS_FAIL);
	say(&h, link, HOOKS_COUNT);
	hear(&h, HOOKS_BEGUN, 4, 0);
	EVENTUALLY(harness_info(link).queued == 0);
	CHECK_EQ(state_of(&h, actor).inits, 1); /* of its new state */
	CHECK_EQ(state_of(&h, actor).messages, 1);
	CHECK_EQ(state_of(&h, actor).odd, 0);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_actor_retire(h.rt, actor));
	hear(&h, HOOKS_ENDED, 4, 1);
	fixture_close(&h, 2, 1, 1);
}

PEAL_TEST(repeatedly_failing_init_exhausts_supervisor)
{
	struct fixture h = fixture_open(1);
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .strategy = PEAL_ONE_FOR_ONE,
					      .max_restarts = 2,
					      .period_ns = 60 * SECOND };
	struct peal_supervisor_info info;
	struct peal_supervisor *s;
	struct peal_actor_options o = { .worker = 1 };
	struct peal_link *link;
	uint64_t actor;
	int i;

	CHECK_OK(peal_supervisor_create(h.k, &so, &s));
	o.supervisor = s;
	CHECK_OK(try_guest(&h, "guest", 5, HOOKS_FAILS_INIT, o, &actor));
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT); /* waits for a successful init */
	for (i = 0; i < 3; i++)
		hear(&h, HOOKS_BEGUN, 5, 0);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_DOWN] == 1);
	CHECK_OK(peal_supervisor_info(s, &info));
	CHECK(info.exhausted);
	fixture_close(&h, 3, 0, 3);
}

PEAL_TEST(failing_exit_still_ends_the_actor)
{
	struct fixture h = fixture_open(1);
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .strategy = PEAL_ONE_FOR_ALL,
					      .max_restarts = 1,
					      .period_ns = 60 * SECOND };
	struct peal_supervisor_info info;
	struct peal_supervisor *s;
	struct peal_actor_options o = { .worker = 1 };
	uint64_t actor;
	uint32_t i;

	CHECK_OK(peal_supervisor_create(h.k, &so, &s));
	o.supervisor = s;
	for (i = 0; i < 3; i++) {
		CHECK_OK(
			try_guest(&h, "guest", i, HOOKS_FAILS_EXIT, o, &actor));
		hear(&h, HOOKS_BEGUN, i, 0);
		CHECK_OK(peal_actor_retire(h.rt, actor));
		hear(&h, HOOKS_ENDED, i, 0);
	}
	CHECK_OK(peal_supervisor_info(s, &info)); /* exits do not count */
	CHECK_EQ(info.failures, 0);
	CHECK_EQ(info.exhausted, 0);
	CHECK_EQ(info_of(&h).actors, 1);
	fixture_close(&h, 3, 3, 3);
}

/* ---- free slots ---------------------------------------------------------- */

/* The teller's port is not connected: the mailbox of its worker fills up. */
PEAL_TEST(blocked_hooks_do_not_block_other_actors)
{
	struct peal_kernel_options ko = { .mailbox.slots = 32,
					  .max_actors = 128,
					  .max_monitors = 4 };
	struct fixture h = open_with(harness_open(1, ""), ko, 0);
	struct peal_link_options none = { .capacity = 0 };
	struct peal_actor_options o = { .worker = 1 };
	struct peal_monitor_options mo = { .size = sizeof(mo) };
	struct peal_worker_info worker;
	uint64_t plain, actor[64], i, waits = 0, begun;
	struct peal_link *link, *first;

	for (i = 0; i < 64; i++)
		actor[i] = guest(&h, (uint32_t)i, 0, 0);
	EVENTUALLY(!peal_worker_info(h.k, 0, &worker) &&
		   worker.blocked_actor >= 0);
	/* the mailbox waits for the teller's port, the inits for its slots */
	begun = info_of(&h).inits;
	CHECK(begun > 0 && begun < 64);
	CHECK_OK(try_guest(&h, "plain", 1, 0, o, &plain));
	link = link_to(&h, plain);
	say(&h, link, HOOKS_COUNT);
	harness_delivered(link, 1);
	/* an actor that waits for its init has not failed */
	CHECK_OK(peal_monitor(h.k, peal_endpoint_address(h.e), actor[63], &mo,
			      NULL));
	first = link_to(&h, actor[63]);
	say(&h, first, HOOKS_COUNT);
	/* the exit of actor 0 waits for a free slot for its message */
	CHECK_TIMES_OUT(h.rt, peal_actor_retire(h.rt, actor[0]), PEAL_EAGAIN,
			"wait for space");
	CHECK_EQ(info_of(&h).exits, 0);
	harness_to(h.rt, h.teller, h.e, none);
	for (i = 0; i < 65; i++) {
		struct peal_received r;
		uint64_t message;

		CHECK_OK(peal_receive(h.e, &message, sizeof(message), &r,
				      MAX_WAIT));
		CHECK(!r.down);
		waits += r.type == HOOKS_ENDED;
	}
	CHECK_EQ(waits, 1);
	EVENTUALLY(info_of(&h).inits == 64);
	harness_delivered(first, 1);
	CHECK_EQ(state_of(&h, actor[63]).odd, 0);
	CHECK_EQ(info_of(&h).actors, 66);
	CHECK_OK(peal_actor_retire(h.rt, actor[0])); /* its exit has run */
	CHECK_EQ(info_of(&h).actors, 65);
	fixture_close(&h, 64, 1, 0);
}

PEAL_TEST(init_has_no_port_and_exit_emits)
{
	struct fixture h = fixture_open(1);
	struct peal_link_options none = { .capacity = 0 };
	struct peal_actor_options o = { .worker = 1 };
	struct peal_link *link;
	uint64_t actor;

	CHECK_OK(try_guest(&h, "singer", 8, 0, o, &actor));
	EVENTUALLY(info_of(&h).inits == 1);
	CHECK_EQ(state_of(&h, actor).emitted, PEAL_ENOTCONN);
	harness_to(h.rt, actor, h.e, none);
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT);
	hear(&h, HOOKS_COUNT, 8, 1);
	end(&h, link);
	CHECK_OK(peal_kernel_drain(h.k, MAX_WAIT));
	hear(&h, HOOKS_ENDED, 8, 1);
	fixture_close(&h, 1, 1, 0);
}

/* ---- the kernel's end ---------------------------------------------------- */

PEAL_TEST(drain_runs_exits_and_handles_their_messages)
{
	enum { N = 100, EACH = 20 };
	struct fixture h = fixture_open(3);
	uint64_t actor[N], seen[N] = { 0 };
	struct peal_link *link[8];
	struct peal_received r;
	uint64_t message;
	uint32_t i, j;

	for (i = 0; i < N; i++)
		actor[i] = guest(&h, i, i % 3, 0);
	for (i = 0; i < N; i++)
		CHECK_OK(peal_receive(h.e, &message, sizeof(message), &r,
				      MAX_WAIT));
	for (i = 0; i < 8; i++)
		link[i] = link_to(&h, actor[i]);
	for (j = 0; j < EACH; j++)
		for (i = 0; i < 8; i++)
			say(&h, link[i], HOOKS_COUNT);
	for (i = 0; i < 8; i++)
		end(&h, link[i]);
	CHECK_OK(peal_kernel_drain(h.k, MAX_WAIT));
	for (i = 0; i < N; i++) {
		CHECK_OK(peal_receive(h.e, &message, sizeof(message), &r,
				      MAX_WAIT));
		CHECK_EQ(r.type, HOOKS_ENDED);
		CHECK((uint32_t)message < N && !seen[(uint32_t)message]++);
		CHECK_EQ(message >> 32, (uint32_t)message < 8 ? EACH : 0);
	}
	CHECK_EQ(info_of(&h).state, PEAL_KERNEL_STOPPED);
	fixture_close(&h, N, N, 0);
}

PEAL_TEST(drain_when_inputs_end_runs_exits)
{
	struct peal_kernel_options o = { .drain_when_inputs_end = 1,
					 .workers = 2 };
	struct fixture h = open_with(harness_open(1, ""), o, 1);
	uint64_t actor = guest(&h, 9, 1, 0);
	struct peal_link *link;

	hear(&h, HOOKS_BEGUN, 9, 0);
	link = link_to(&h, actor);
	say(&h, link, HOOKS_COUNT);
	end(&h, link);
	hear(&h, HOOKS_ENDED, 9, 1);
	CHECK_OK(peal_kernel_wait(h.k, MAX_WAIT));
	fixture_close(&h, 1, 1, 0);
}

PEAL_TEST(stop_runs_no_exit)
{
	struct fixture h = fixture_open(1);

	guest(&h, 1, 0, 0);
	hear(&h, HOOKS_BEGUN, 1, 0);
	CHECK_OK(peal_kernel_stop(h.k, MAX_WAIT));
	fixture_close(&h, 1, 0, 0);
}

/* ---- migration ----------------------------------------------------------- */

PEAL_TEST(migration_runs_no_hook_and_exit_runs_at_target)
{
	struct fixture h = fixture_open(2);
	struct peal_migration_options o = { .size = sizeof(o), .worker = 2 };
	uint64_t actor = guest(&h, 2, 0, 0), other = guest(&h, 3, 0, 0), now;

	hear(&h, HOOKS_BEGUN, 2, 0);
	hear(&h, HOOKS_BEGUN, 3, 0);
	CHECK_OK(peal_actor_migrate(h.rt, actor, &o, &now));
	CHECK_OK(peal_actor_migrate(h.rt, other, &o, &now));
	CHECK_EQ(info_of(&h).exits, 0);
	CHECK_OK(peal_actor_retire(h.rt, actor));
	CHECK_EQ(info_of(&h).exits, 1);
	hear(&h, HOOKS_ENDED, 2, 0);
	CHECK_OK(peal_kernel_drain(h.k, MAX_WAIT));
	hear(&h, HOOKS_ENDED, 3, 0);
	fixture_close(&h, 2, 2, 0);
}

PEAL_TEST(actor_with_pending_init_does_not_migrate)
{
	struct peal_kernel_options ko = { .mailbox.slots = 32,
					  .max_actors = 128,
					  .workers = 2 };
	struct fixture h = open_with(harness_open(1, ""), ko, 0);
	struct peal_link_options none = { .capacity = 0 };
	struct peal_migration_options o = { .size = sizeof(o), .worker = 2 };
	struct peal_worker_info worker;
	uint64_t actor = 0, now;
	uint32_t i;

	for (i = 0; i < 64; i++)
		actor = guest(&h, i, 0, 0);
	EVENTUALLY(!peal_worker_info(h.k, 0, &worker) &&
		   worker.blocked_actor >= 0);
	CHECK_FAILS(peal_actor_migrate(h.rt, actor, &o, &now), PEAL_EAGAIN,
		    "or for its init");
	CHECK_OK(peal_actor_retire(h.rt, actor)); /* no init, so no exit */
	harness_to(h.rt, h.teller, h.e, none);
	for (i = 0; i < 63; i++)
		hear(&h, HOOKS_BEGUN, i, 0);
	fixture_close(&h, 63, 0, 0);
}

PEAL_TEST_MAIN(RUN_LANES(init_runs_at_spawn_and_exit_before_retire_ends);
	       RUN_LANES(mass_spawn_and_retire_run_each_hook_once);
	       RUN_LANES(handler_without_hooks_runs_only_for_messages);
	       RUN_LANES(init_precedes_first_tell_and_exit_frees_the_slot);
	       RUN_LANES(self_retire_in_init_runs_exit_without_messages);
	       RUN_LANES(failing_init_ends_the_actor);
	       RUN_LANES(restart_runs_init_and_no_exit);
	       RUN_LANES(repeatedly_failing_init_exhausts_supervisor);
	       RUN_LANES(failing_exit_still_ends_the_actor);
	       RUN_LANES(blocked_hooks_do_not_block_other_actors);
	       RUN_LANES(init_has_no_port_and_exit_emits);
	       RUN_LANES(drain_runs_exits_and_handles_their_messages);
	       RUN_LANES(drain_when_inputs_end_runs_exits);
	       RUN_LANES(stop_runs_no_exit);
	       RUN_LANES(migration_runs_no_hook_and_exit_runs_at_target);
	       RUN_LANES(actor_with_pending_init_does_not_migrate);)
