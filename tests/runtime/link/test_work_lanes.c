/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work queues by all lanes. Several workers put and take. Each message reaches
 * one lane of one worker, with its bytes and its header.
 */
#include <peal/device_queue.h>
#include <peal/memory.h>
#include <peal/queue.h>

#include "runtime/both_lanes.h"
#include "runtime/work_lanes.h"
#include "yield.h"

PEAL_DECLARE_PROGRAM(work_lanes);

#define MOST 4 /* workers */
#define EACH IDENTITY_COUNT(300) /* messages of a producer */

/* Actors 0 .. putters - 1 put, the others take. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	struct peal_device_queue queue;
	struct wl_turn turn[MOST];
	uint64_t *seen; /* pinned */
	uint64_t put, taken;
	uint32_t putters, n;
};

static void send_turn(struct fixture *s, uint32_t i, uint16_t type)
{
	CHECK_OK(peal_send(s->e, i, type, &s->turn[i], sizeof(s->turn[i]),
			   MAX_WAIT, NULL));
}

/* Receives a report, and counts its messages. */
static struct wl_report receive_report(struct fixture *s, uint16_t type)
{
	struct wl_report report;
	struct peal_received r;

	CHECK_OK(peal_receive(s->e, &report, sizeof(report), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_EQ(report.result, 0);
	CHECK_EQ(report.wrong, 0);
	if (type == WL_TURN && r.input < s->putters)
		s->put += report.moved;
	else if (type == WL_TURN)
		s->taken += report.moved;
	return report;
}

static void open_fixture(struct fixture *s, uint32_t putters, uint32_t takers,
			 struct peal_queue_options o)
{
	struct peal_kernel_options k = { .size = sizeof(k), .lanes = lanes };
	struct peal_link_options in = {
		.capacity = 8, .message_bytes = sizeof(struct wl_turn)
	};
	struct peal_link_options out = { .capacity = 16 };
	uint64_t actor;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	o.size = sizeof(o);
	o.kind = PEAL_QUEUE_WORK;
	o.max_producers = s->putters = putters;
	o.max_consumers = takers;
	s->n = k.workers = putters + takers;
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	s->seen = (uint64_t *)harness_pinned(s->rt,
					     putters * EACH * sizeof(uint64_t));
	CHECK_OK(peal_device_queue_create(s->rt, 0, &o, &s->queue));
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_work_lanes, &k,
				    &s->k));
	for (i = 0; i < s->n; i++) {
		struct wl_turn turn = { .queue = s->queue.address,
					.seen = harness_address(s->seen),
					.each = EACH,
					.bytes = o.message_bytes };

		turn.self = i < putters ? i : i - putters;
		s->turn[i] = turn;
		actor = harness_spawn(s->k, i < putters ? "put" : "take",
				      (int)i);
		harness_from(s->rt, s->e, i, actor, in);
		harness_to(s->rt, actor, s->e, out);
		send_turn(s, i, WL_ENTER);
		receive_report(s, WL_ENTER);
	}
}

static void close_fixture(struct fixture *s)
{
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_memory_free(s->rt, 0, s->queue.address));
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

/* Gives all actors turns until all messages are taken. */
static void take_turns(struct fixture *s)
{
	uint64_t until = harness_now_ns() + MAX_WAIT, all = s->putters * EACH;
	uint32_t i;

	while (s->taken < all) {
		for (i = 0; i < s->n; i++)
			send_turn(s, i, WL_TURN);
		for (i = 0; i < s->n; i++)
			receive_report(s, WL_TURN);
		CHECK(harness_now_ns() < until);
	}
	CHECK_EQ(s->put, all);
	CHECK_EQ(s->taken, all);
}

static void expect_once(uint32_t putters, uint32_t takers,
			struct peal_queue_options o)
{
	struct fixture s;
	uint64_t i;

	open_fixture(&s, putters, takers, o);
	take_turns(&s);
	for (i = 0; i < s.putters * EACH; i++)
		CHECK_EQ(peal_load_relaxed_sys(&s.seen[i]), 1);
	close_fixture(&s);
}

PEAL_TEST(each_message_reaches_one_lane)
{
	struct peal_queue_options o = { .capacity = 128, .message_bytes = 16 };

	expect_once(1, 1, o);
	expect_once(2, 2, o);
	expect_once(1, 3, o);
	expect_once(3, 1, o);
}

/* Messages of one atom, of several atoms, and of more than the lanes keep in
 * registers. */
PEAL_TEST(messages_of_all_lengths_arrive)
{
	uint32_t bytes;

	for (bytes = 8; bytes <= sizeof(struct wl_item); bytes += 13) {
		struct peal_queue_options o = { .capacity = 64,
						.message_bytes = bytes };

		expect_once(2, 2, o);
	}
}

/* The queue never has free slots for a message of each of 32 lanes. */
PEAL_TEST(more_messages_than_a_queue_takes_are_refused)
{
	struct peal_queue_options o = { .capacity = 16, .message_bytes = 16 };
	struct wl_report report;
	struct peal_received r;
	struct fixture s;

	open_fixture(&s, 1, 1, o);
	send_turn(&s, 0, WL_TURN);
	CHECK_OK(peal_receive(s.e, &report, sizeof(report), &r, MAX_WAIT));
	CHECK_EQ(report.result, lanes < 32 ? 0 : PEAL_EMSGSIZE);
	send_turn(&s, 1, WL_TURN);
	receive_report(&s, WL_TURN);
	CHECK_EQ(s.taken, report.moved);
	CHECK_EQ(report.moved != 0, lanes < 32);
	close_fixture(&s);
}

PEAL_TEST(policies_of_the_backend_work)
{
	uint32_t policy;

	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++) {
		struct peal_queue_options o = { .capacity = 64,
						.message_bytes = 24 };
		struct peal_runtime *rt = harness_open(1, "");

		o.policy = harness_policy(rt, policy);
		CHECK_OK(peal_runtime_shutdown(rt));
		expect_once(2, 2, o);
	}
}

PEAL_TEST(wrong_calls_fail_in_their_lanes)
{
	struct peal_queue_options o = { .capacity = 64, .message_bytes = 16 };
	struct fixture s;

	open_fixture(&s, 1, 1, o);
	send_turn(&s, 0, WL_WRONG);
	CHECK_EQ(receive_report(&s, WL_WRONG).moved, lanes);
	send_turn(&s, 1, WL_WRONG);
	CHECK_EQ(receive_report(&s, WL_WRONG).moved, lanes);
	/* the queue is still empty */
	send_turn(&s, 1, WL_TURN);
	receive_report(&s, WL_TURN);
	CHECK_EQ(s.taken, 0);
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(each_message_reaches_one_lane);
	       RUN_LANES(messages_of_all_lengths_arrive);
	       RUN_LANES(more_messages_than_a_queue_takes_are_refused);
	       RUN_LANES(policies_of_the_backend_work);
	       RUN_LANES(wrong_calls_fail_in_their_lanes);)
