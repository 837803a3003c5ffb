/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler run that sends more messages than its handler declares gets
 * PEAL_EAGAIN, however many slots are free. Each call that sends is tried.
 */
#include <peal/pool.h>
#include <peal/topic.h>

#include "runtime/both_lanes.h"
#include "runtime/send_limits.h"

PEAL_DECLARE_PROGRAM(send_limits);

#define TIMES 10
#define ENTRIES 4 /* timers, spawned actors, monitors and asks */

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	struct peal_link *orders, *ports[2];
	uint64_t maker, counter;
	uint64_t runs;
};

static struct fixture fixture_open(void)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = lanes,
					 .mailbox.slots = 256,
					 .mailbox.priority = 1,
					 .max_timers = ENTRIES,
					 .max_asks = TIMES,
					 .max_monitors = ENTRIES,
					 .spawn.max_actors = ENTRIES };
	struct peal_link_options many = { .capacity = 64, .message_bytes = 64 };
	struct fixture s = { .rt = harness_open(1, "") };
	uint32_t i;

	s.e = harness_endpoint(s.rt);
	/* drivers load programs before the first launch only */
	CHECK_OK(peal_program_add(s.rt, &peal_program_relay));
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_send_limits, &o,
				    &s.k));
	s.maker = harness_spawn(s.k, "maker", 0);
	s.counter = harness_spawn(s.k, "counter", 0);
	s.orders = harness_from(s.rt, s.e, 0, s.maker, many);
	for (i = 0; i < 2; i++)
		s.ports[i] = harness_link(s.rt, s.maker, i, s.counter, many);
	return s;
}

static struct send_state state_of(struct fixture *s, uint64_t actor)
{
	struct send_state state;

	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s->rt, actor, &state, sizeof(state)));
	CHECK_OK(peal_kernel_resume(s->k));
	return state;
}

/* Makes the call TIMES times in one run. Returns the state after the run. */
static struct send_state order(struct fixture *s, uint16_t call,
			       struct send_order o)
{
	struct send_state state;

	o.times = TIMES;
	if (!o.to)
		o.to = (uint32_t)s->counter;
	CHECK_OK(peal_send(s->e, 0, call, &o, sizeof(o), MAX_WAIT, NULL));
	s->runs++;
	EVENTUALLY(harness_info(s->orders).delivered == s->runs);
	state = state_of(s, s->maker);
	CHECK_EQ(state.runs, s->runs);
	return state;
}

/* The call succeeds `most` times, also in a second run. Then it fails with the
 * error. */
static void limited(struct fixture *s, uint16_t call, struct send_order o,
		    uint64_t most, int error)
{
	struct send_state state;
	int i;

	for (i = 0; i < 2; i++) {
		state = order(s, call, o);
		if (state.succeeded != most)
			fprintf(stderr, "call %u\n", call);
		CHECK_EQ(state.succeeded, most);
		CHECK_EQ(state.result, error);
	}
}

static void fixture_close(struct fixture *s)
{
	harness_stop_quiet(s->k);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

PEAL_TEST(emits_beyond_the_declared_number_fail_on_an_idle_link)
{
	static const uint16_t calls[] = {
		CALL_EMIT,    CALL_EMIT_TO, CALL_EMIT_DEADLINE,
		CALL_RESERVE, CALL_REPLY,   CALL_FORWARD_BY_PORT
	};
	struct fixture s = fixture_open();
	struct send_order first = { .port = 0 }, second = { .port = 1 };
	struct send_order both = { .both_ports = 1 };
	size_t i, n = sizeof(calls) / sizeof(calls[0]);

	for (i = 0; i < n; i++) {
		limited(&s, calls[i], first, SEND_EMITS, PEAL_EAGAIN);
		limited(&s, calls[i], second, SEND_EMITS, PEAL_EAGAIN);
		limited(&s, calls[i], both, 2 * SEND_EMITS, PEAL_EAGAIN);
	}
	EVENTUALLY(harness_info(s.ports[0]).delivered == n * 4 * SEND_EMITS);
	harness_delivered(s.ports[1], n * 4 * SEND_EMITS);
	CHECK_EQ(harness_info(s.ports[0]).full_count, 0);
	fixture_close(&s);
}

/* A second reserve replaces the first one: nothing was sent. */
PEAL_TEST(reserve_without_commit_does_not_count)
{
	struct fixture s = fixture_open();
	struct send_order o = { .port = 0 };

	limited(&s, CALL_RESERVE_ONLY, o, TIMES, 0);
	harness_delivered(s.ports[0], 0);
	fixture_close(&s);
}

PEAL_TEST(tells_beyond_the_declared_number_fail_in_an_idle_kernel)
{
	static const uint16_t calls[] = { CALL_TELL, CALL_TELL_PRIORITY,
					  CALL_TELL_DEADLINE, CALL_FORWARD };
	struct peal_pool_options po = { .size = sizeof(po), .capacity = 64 };
	struct fixture s = fixture_open();
	struct send_order o = { .port = 0 }, to_pool = { .port = 0 };
	uint64_t pool = 0;
	size_t i, n = sizeof(calls) / sizeof(calls[0]);

	for (i = 0; i < n; i++)
		limited(&s, calls[i], o, SEND_TELLS, PEAL_EAGAIN);
	harness_stop_quiet(s.k);
	CHECK_OK(peal_runtime_shutdown(s.rt));

	s = fixture_open();
	CHECK_OK(peal_pool_create(s.k, &po, &pool));
	to_pool.to = (uint32_t)pool;
	for (i = 0; i < n; i++)
		limited(&s, calls[i], to_pool, SEND_TELLS, PEAL_EAGAIN);
	CHECK_OK(peal_pool_destroy(s.rt, pool));
	fixture_close(&s);
}

/* The counter answers no ask, so the asks stay open. */
PEAL_TEST(asks_count_as_tells)
{
	struct fixture s = fixture_open();
	struct send_order o = { .port = 0 };

	limited(&s, CALL_ASK, o, SEND_TELLS, PEAL_EAGAIN);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* These calls have a limit of the kernel, which holds for each run. */
PEAL_TEST(timers_spawns_and_monitors_stop_at_their_kernel_option)
{
	static const uint16_t calls[] = { CALL_TIMER, CALL_SPAWN,
					  CALL_MONITOR };
	struct fixture s = fixture_open();
	struct send_order o = { .port = 0 };
	struct send_state state;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		state = order(&s, calls[i], o);
		CHECK_EQ(state.succeeded, ENTRIES);
		CHECK_EQ(state.result, PEAL_ENOSPC);
	}
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* A message to a closed port is dead. It counts as sent. */
PEAL_TEST(emits_to_a_closed_port_count)
{
	struct fixture s = fixture_open();
	struct peal_kernel *end = harness_launch(s.rt, 0);
	uint64_t sink = harness_spawn(end, "sink", -1);
	struct peal_link_options many = { .capacity = 64, .message_bytes = 64 };
	struct send_order o = { .port = 0 };
	struct peal_link_info info;

	CHECK_OK(peal_link_destroy(s.ports[0]));
	s.ports[0] = harness_link(s.rt, s.maker, 0, sink, many);
	CHECK_OK(peal_kernel_stop(end, MAX_WAIT));
	/* the maker's worker learns of the end a little later */
	do
		limited(&s, CALL_EMIT, o, SEND_EMITS, PEAL_EAGAIN);
	while (!harness_info(s.ports[0]).dead[PEAL_REASON_CLOSED]);
	limited(&s, CALL_EMIT, o, SEND_EMITS, PEAL_EAGAIN);
	info = harness_info(s.ports[0]);
	CHECK_EQ(info.accepted, s.runs * SEND_EMITS);
	fixture_close(&s);
}

PEAL_TEST(published_messages_count)
{
	struct fixture s = fixture_open();
	struct peal_topic_options to = { .size = sizeof(to),
					 .capacity = 64,
					 .message_bytes = 64 };
	struct send_order o = { .port = 0 };
	struct peal_topic_info info;
	uint64_t topic = 0;

	CHECK_OK(peal_link_destroy(s.ports[0]));
	CHECK_OK(peal_topic_create(s.rt, 0, &to, &topic));
	CHECK_OK(peal_publish(s.rt, s.maker, 0, topic));
	limited(&s, CALL_EMIT, o, SEND_EMITS, PEAL_EAGAIN);
	CHECK_OK(peal_topic_info(s.rt, topic, &info));
	CHECK_EQ(info.published, s.runs * SEND_EMITS);
	fixture_close(&s);
}

PEAL_TEST_MAIN(
	RUN_LANES(emits_beyond_the_declared_number_fail_on_an_idle_link);
	RUN_LANES(reserve_without_commit_does_not_count);
	RUN_LANES(tells_beyond_the_declared_number_fail_in_an_idle_kernel);
	RUN_LANES(asks_count_as_tells);
	RUN_LANES(timers_spawns_and_monitors_stop_at_their_kernel_option);
	RUN_LANES(emits_to_a_closed_port_count);
	RUN_LANES(published_messages_count);)
