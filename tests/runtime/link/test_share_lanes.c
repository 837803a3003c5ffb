/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
/*
 * Workers of 1 and 32 lanes share a work queue or a topic in device memory, for
 * several message sizes. In a work queue the leader takes one ticket per lane,
 * and each lane puts one message. The workers send all messages that they take
 * to an endpoint, which checks every word.
 */

#include <peal/memory.h>
#include "queues/stress.h"
#include "queues/topic.h"
#include "queues/work.h"
#include "runtime/harness.h"
#include "runtime/share.h"
#include "yield.h"

PEAL_DECLARE_PROGRAM(share);

#define WORKERS 3
#define MESSAGES IDENTITY_COUNT(2000)

struct share {
	struct peal_runtime *rt;
	struct peal_endpoint *endpoint;
	struct peal_kernel *kernel;
	struct peal_link *link[2 * WORKERS];
	struct share_turn turn[WORKERS];
	struct stress_list list;
	uint64_t next[WORKERS]; /* topic: next sequence from each worker */
	uint64_t received, expected;
	int topic, sound;
};

static uint64_t memory(struct share *s, uint64_t bytes)
{
	uint64_t address = 0;

	CHECK_OK(peal_memory_alloc(s->rt, 0, bytes, &address));
	return address;
}

/* Fills the queue's header in turn[0] and allocates the queue's memory. */
static void make_queue(struct share *s, uint32_t lanes, uint32_t slots,
		       uint32_t policy, uint32_t bytes)
{
	struct peali_topic_spec topic = { .slots = slots,
					  .message_bytes = bytes,
					  .n_subscribers = WORKERS - 1,
					  .policy = policy };
	struct peali_work_spec work = { .slots = slots,
					.message_bytes = bytes,
					.n_producers = WORKERS,
					.bulk = lanes,
					.policy = policy };
	uint8_t *header = s->turn[0].header;
	struct peal_device_info info;

	CHECK_OK(peal_device_info(s->rt, 0, &info));
	if (s->topic) {
		CHECK_OK(peali_topic_spec_complete(
			&topic, info.policies, PEAL_POLICY_SEQUENCE, "test"));
		peali_topic_header((struct peal_topic *)(void *)header, &topic);
		s->turn[0].queue = memory(s, peali_topic_bytes(&topic));
	} else {
		CHECK_OK(peali_work_spec_complete(
			&work, info.policies, PEAL_POLICY_SEQUENCE, "test"));
		peali_work_header((struct peal_work *)(void *)header, &work);
		s->turn[0].queue = memory(s, peali_work_bytes(&work));
	}
}

static void make_workers(struct share *s, uint32_t lanes, uint32_t bytes)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .drain_when_inputs_end = 1 };
	struct peal_link_options in = {
		.capacity = 16, .message_bytes = sizeof(struct share_turn)
	};
	struct peal_link_options out = { .capacity = 64,
					 .message_bytes = bytes };
	uint64_t actor;
	uint32_t i;

	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_share, &o,
				    &s->kernel));
	for (i = 0; i < WORKERS; i++) {
		struct share_turn *t = &s->turn[i];

		*t = s->turn[0];
		t->self = i;
		t->stage = memory(s, 4096);
		t->body = memory(s, SHARE_LANES * (uint64_t)bytes);
		t->buffer = memory(s, SHARE_BURST * (uint64_t)bytes);
		actor = harness_spawn(s->kernel, s->topic ? "topic" : "work",
				      (int)i);
		s->link[i] = harness_from(s->rt, s->endpoint, i, actor, in);
		s->link[WORKERS + i] =
			harness_to(s->rt, actor, s->endpoint, out);
	}
}

/* Sends one message to a worker and waits for its answer. */
static void tell(struct share *s, uint32_t worker, uint16_t type)
{
	struct peal_received r;
	uint64_t word;

	CHECK_OK(peal_send(s->endpoint, worker, type, &s->turn[worker],
			   sizeof(s->turn[worker]), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(s->endpoint, &word, sizeof(word), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_EQ(r.input, worker);
}

static void check(struct share *s, const struct peal_received *r)
{
	struct share_turn *t = &s->turn[r->input];

	s->received++;
	s->sound &= r->type == SHARE_TURN && r->length == t->bytes;
	if (!s->sound)
		return;
	if (s->topic)
		s->sound &=
			stress_check(r->data, r->length, &s->next[r->input], 1);
	else
		s->sound &= stress_tick(&s->list, r->data, r->length, NULL);
}

/* Sends turns to the workers until all expected messages have arrived. */
static void take_turns(struct share *s)
{
	uint64_t began = identity_now_ms(), before;
	struct peal_received r;
	uint32_t i;
	int result;

	while (s->received < s->expected) {
		before = s->received;
		for (i = 0; i < WORKERS; i++) {
			result = peal_send(s->endpoint, i, SHARE_TURN,
					   &s->turn[i], sizeof(s->turn[i]), 0,
					   NULL);
			CHECK(result == 0 || result == PEAL_EAGAIN);
		}
		while (!peal_receive_peek(s->endpoint, &r, 0)) {
			check(s, &r);
			CHECK_OK(peal_receive_release(s->endpoint));
		}
		if (s->received != before)
			began = identity_now_ms();
		else
			test_yield();
		CHECK(identity_now_ms() - began < 60000);
	}
}

/* Ends the stream. Checks that no message is left and that all links
 * conserve. */
static void end(struct share *s)
{
	struct peal_received r;
	uint32_t i;

	for (i = 0; i < WORKERS; i++)
		CHECK_OK(peal_send_end(s->endpoint, i, MAX_WAIT));
	CHECK_EQ(peal_receive_peek(s->endpoint, &r, MAX_WAIT), PEAL_EEND);
	CHECK_OK(peal_kernel_wait(s->kernel, MAX_WAIT));
	harness_conserved(s->rt);
	for (i = 0; i < 2 * WORKERS; i++)
		CHECK_OK(peal_link_destroy(s->link[i]));
	CHECK_OK(peal_kernel_destroy(s->kernel));
	CHECK_OK(peal_endpoint_destroy(s->endpoint));
	for (i = 0; i < WORKERS; i++) {
		CHECK_OK(peal_memory_free(s->rt, 0, s->turn[i].stage));
		CHECK_OK(peal_memory_free(s->rt, 0, s->turn[i].body));
		CHECK_OK(peal_memory_free(s->rt, 0, s->turn[i].buffer));
	}
	CHECK_OK(peal_memory_free(s->rt, 0, s->turn[0].queue));
}

/* Returns 1 if each message arrived once and intact. With a topic, each
 * subscriber must have forwarded all messages in order. */
static int run(struct share *s, uint32_t lanes, uint32_t slots, uint32_t policy,
	       uint32_t bytes)
{
	uint32_t i;

	s->endpoint = harness_endpoint(s->rt);
	s->sound = 1;
	s->expected = (s->topic ? WORKERS - 1 : WORKERS) * s->turn[0].each;
	s->turn[0].bytes = bytes;
	stress_list_open(&s->list, WORKERS, s->turn[0].each);
	make_queue(s, lanes, slots, policy, bytes);
	make_workers(s, lanes, bytes);
	tell(s, 0, SHARE_MAKE);
	for (i = 0; i < WORKERS; i++)
		tell(s, i, SHARE_ENTER);
	take_turns(s);
	end(s);
	i = (uint32_t)stress_list_close(&s->list);
	return s->sound && (s->topic || i);
}

/* Runs one round. Its number selects the policy and the number of slots. */
static void one(struct peal_runtime *rt, int topic, uint32_t lanes,
		uint32_t bytes, uint64_t round)
{
	/* a work queue needs at least one slot per lane */
	uint32_t slots = (lanes == 1 || topic ? 8u : 256u) << round % 2;
	struct share s;

	memset(&s, 0, sizeof(s));
	s.rt = rt;
	s.topic = topic;
	s.turn[0].each = stress_count(MESSAGES, bytes, 256);
	s.turn[0].doubled = ~0ULL - 1;
	CHECK(run(&s, lanes, slots,
		  harness_policy(rt, 1 + (uint32_t)(round % 3)), bytes));
	stress_verified += s.expected;
}

static void all(int topic, uint32_t lanes, uint32_t bytes)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct stress_clock clock = stress_begin(3);
	uint64_t round;

	while (stress_next(&clock, &round))
		one(rt, topic, lanes, bytes, round);
	CHECK_OK(peal_runtime_close(rt));
}

/* A case for each kind, lanes and size: name(topic, lanes, bytes). */
#define SHARES(X)                                                              \
	X(work_queues_of_8_bytes_and_1_lane_conserve, 0, 1, 8)                 \
	X(work_queues_of_48_bytes_and_1_lane_conserve, 0, 1, 48)               \
	X(work_queues_of_64_bytes_and_1_lane_conserve, 0, 1, 64)               \
	X(work_queues_of_256_bytes_and_1_lane_conserve, 0, 1, 256)             \
	X(work_queues_of_1016_bytes_and_1_lane_conserve, 0, 1, 1016)           \
	X(work_queues_of_8_bytes_and_32_lanes_conserve, 0, 32, 8)              \
	X(work_queues_of_48_bytes_and_32_lanes_conserve, 0, 32, 48)            \
	X(work_queues_of_64_bytes_and_32_lanes_conserve, 0, 32, 64)            \
	X(work_queues_of_256_bytes_and_32_lanes_conserve, 0, 32, 256)          \
	X(work_queues_of_1016_bytes_and_32_lanes_conserve, 0, 32, 1016)        \
	X(topics_of_8_bytes_and_1_lane_conserve, 1, 1, 8)                      \
	X(topics_of_48_bytes_and_1_lane_conserve, 1, 1, 48)                    \
	X(topics_of_64_bytes_and_1_lane_conserve, 1, 1, 64)                    \
	X(topics_of_256_bytes_and_1_lane_conserve, 1, 1, 256)                  \
	X(topics_of_1016_bytes_and_1_lane_conserve, 1, 1, 1016)                \
	X(topics_of_8_bytes_and_32_lanes_conserve, 1, 32, 8)                   \
	X(topics_of_48_bytes_and_32_lanes_conserve, 1, 32, 48)                 \
	X(topics_of_64_bytes_and_32_lanes_conserve, 1, 32, 64)                 \
	X(topics_of_256_bytes_and_32_lanes_conserve, 1, 32, 256)               \
	X(topics_of_1016_bytes_and_32_lanes_conserve, 1, 32, 1016)

SHARES(STRESS_TEST)

/* Negative control: the counters agree, the messages do not. */
PEAL_TEST(substituted_message_is_caught)
{
	uint64_t i;

	for (i = 0; i < 4; i++) {
		struct share s;

		memset(&s, 0, sizeof(s));
		s.rt = harness_open(1, "");
		s.topic = i / 2;
		s.turn[0].each = 100;
		s.turn[0].doubled = 50;
		CHECK(!run(&s, i % 2 ? 32 : 1, 256, PEAL_POLICY_DEFAULT, 48));
		CHECK_OK(peal_runtime_close(s.rt));
	}
}

PEAL_TEST_MAIN(SHARES(STRESS_RUN) RUN(substituted_message_is_caught);
	       stress_print_total();)
