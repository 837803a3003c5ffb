/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues that the host places and handlers share. Shows for each kind that all
 * messages reach their consumers once and in order. Wrong options are refused,
 * and the caller can free the memory.
 */

#include <peal/device_queue.h>
#include <peal/memory.h>
#include <peal/queue.h>
#include "runtime/harness.h"
#include "runtime/device_queue.h"
#include "yield.h"

PEAL_DECLARE_PROGRAM(device_queue);

PEAL_STATIC_ASSERT((int)DQ_LINK == (int)PEAL_QUEUE_LINK &&
			   (int)DQ_MAILBOX == (int)PEAL_QUEUE_MAILBOX &&
			   (int)DQ_WORK == (int)PEAL_QUEUE_WORK &&
			   (int)DQ_TOPIC == (int)PEAL_QUEUE_TOPIC,
		   "the kinds");

#define ACTORS_MAX 6
#define EACH IDENTITY_COUNT(1000)
#define NO_ACTOR (~0ull - 1)

/*
 * A placed queue. Actors 0 .. putters - 1 put messages, the other actors take
 * them. Each actor has a worker of its own.
 */
struct fixture {
	struct peal_runtime *rt;
	int device;
	struct peal_device_queue queue;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *link[2 * ACTORS_MAX];
	struct dq_turn turn[ACTORS_MAX];
	uint32_t putters, takers;
	uint64_t each, received, missed;
	/* [taker, topics only][putter][each] */
	uint8_t *seen;
	/* last sequence: [taker][putter] */
	uint64_t last[ACTORS_MAX][ACTORS_MAX];
	int sound;
};

static struct peal_queue_options of_kind(uint32_t kind, uint32_t putters,
					 uint32_t takers)
{
	struct peal_queue_options o = {
		.size = sizeof(o),
		.kind = kind,
		.max_producers = putters,
		.max_consumers = takers,
		.capacity = 16,
		.message_bytes = sizeof(struct dq_item),
	};

	return o;
}

static void begin(struct fixture *s, int device, uint32_t lanes,
		  struct peal_queue_options o)
{
	struct peal_kernel_options k = { .size = sizeof(k),
					 .lanes = lanes,
					 .drain_when_inputs_end = 1 };
	struct peal_link_options in = {
		.capacity = 16, .message_bytes = sizeof(struct dq_turn)
	};
	struct peal_link_options out = { .capacity = 64 };
	uint64_t actor;
	uint32_t i, n;

	s->device = device;
	CHECK_OK(peal_device_queue_create(s->rt, device, &o, &s->queue));
	s->putters = o.max_producers;
	s->takers = o.max_consumers;
	n = k.workers = o.max_producers + o.max_consumers;
	s->seen = (uint8_t *)calloc((size_t)n * n, s->each);
	CHECK(s->seen);
	s->sound = 1;
	s->e = harness_endpoint(s->rt);
	CHECK_OK(peal_kernel_launch(s->rt,
				    device == PEAL_HOST_MEMORY ? 0 : device,
				    &peal_program_device_queue, &k, &s->k));
	for (i = 0; i < n; i++) {
		struct dq_turn *t = &s->turn[i];

		t->queue = s->queue.address;
		t->each = s->each;
		t->doubled = NO_ACTOR;
		t->kind = s->queue.kind;
		t->self = i < s->putters ? i : i - s->putters;
		actor = harness_spawn(s->k, i < s->putters ? "put" : "take",
				      (int)i);
		s->link[i] = harness_from(s->rt, s->e, i, actor, in);
		s->link[n + i] = harness_to(s->rt, actor, s->e, out);
	}
}

/* Makes actor i create its end of the queue. Returns the actor's result. */
static int enter(struct fixture *s, uint32_t i)
{
	struct peal_received r;
	int64_t said = 1;

	CHECK_OK(peal_send(s->e, i, DQ_ENTER, &s->turn[i], sizeof(s->turn[i]),
			   MAX_WAIT, NULL));
	CHECK_OK(peal_receive(s->e, &said, sizeof(said), &r, MAX_WAIT));
	CHECK_EQ(r.type, DQ_ENTER);
	CHECK_EQ(r.input, i);
	return (int)said;
}

static void enter_all(struct fixture *s)
{
	uint32_t i;

	for (i = 0; i < s->putters + s->takers; i++)
		CHECK_EQ(enter(s, i), 0);
}

static void turn(struct fixture *s, uint32_t i)
{
	int result = peal_send(s->e, i, DQ_TURN, &s->turn[i],
			       sizeof(s->turn[i]), 0, NULL);

	CHECK(result == 0 || result == PEAL_EAGAIN);
}

static void check(struct fixture *s, const struct relay_message *m,
		  uint32_t taker)
{
	int topic = s->queue.kind == PEAL_QUEUE_TOPIC;
	uint8_t *seen;

	s->received++;
	s->sound &= m->producer < s->putters && m->sequence < s->each &&
		    m->check == relay_check(m->producer, m->sequence);
	if (!s->sound)
		return;
	seen = &s->seen[((topic ? taker : 0) * s->putters + m->producer) *
				s->each +
			m->sequence];
	s->sound &= !*seen;
	*seen = 1;
	/* a work queue may deliver late messages out of order */
	if (s->queue.kind != PEAL_QUEUE_WORK)
		s->sound &= m->sequence >= s->last[taker][m->producer];
	s->last[taker][m->producer] = m->sequence;
}

static void receive(struct fixture *s)
{
	const struct dq_item *item;
	struct peal_received r;

	while (!peal_receive_peek(s->e, &r, 0)) {
		CHECK_EQ(r.type, DQ_TURN);
		CHECK_EQ(r.length, sizeof(*item));
		item = (const struct dq_item *)r.data;
		s->missed += item->missed;
		check(s, &item->m, r.input - s->putters);
		CHECK_OK(peal_receive_release(s->e));
	}
}

/* Gives all actors turns until `expected` messages have arrived. */
static void take_turns(struct fixture *s, uint64_t expected)
{
	uint64_t until = harness_now_ns() + MAX_WAIT;
	uint32_t i;

	while (s->received < expected && s->sound) {
		for (i = 0; i < s->putters + s->takers; i++)
			turn(s, i);
		receive(s);
		CHECK(harness_now_ns() < until);
		test_yield();
	}
}

/*
 * Ends the kernel. Checks that no more messages arrive, that no handler has
 * failed and that the memory can be freed.
 */
static void end(struct fixture *s)
{
	uint32_t i, n = s->putters + s->takers;
	struct peal_kernel_info info;
	struct peal_received r;

	for (i = 0; i < n; i++)
		CHECK_OK(peal_send_end(s->e, i, MAX_WAIT));
	if (s->sound)
		CHECK_EQ(peal_receive_peek(s->e, &r, MAX_WAIT), PEAL_EEND);
	CHECK_OK(peal_kernel_wait(s->k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.failed, 0);
	if (s->sound)
		harness_conserved(s->rt);
	for (i = 0; i < 2 * n; i++)
		CHECK_OK(peal_link_destroy(s->link[i]));
	CHECK_OK(peal_kernel_destroy(s->k));
	CHECK_OK(peal_endpoint_destroy(s->e));
	CHECK_OK(peal_memory_free(s->rt, s->device, s->queue.address));
	CHECK_EQ(peal_memory_free(s->rt, s->device, s->queue.address),
		 PEAL_EFAULT);
	free(s->seen);
}

/* ---- messages ------------------------------------------------------------ */

static const struct {
	uint32_t kind, putters, takers;
} shapes[] = {
	{ PEAL_QUEUE_LINK, 1, 1 },
	{ PEAL_QUEUE_MAILBOX, 3, 1 },
	{ PEAL_QUEUE_WORK, 2, 3 },
	{ PEAL_QUEUE_TOPIC, 1, 3 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Returns 1 if all put messages have reached their consumers. */
static int run(struct peal_runtime *rt, size_t shape, uint32_t lanes,
	       uint32_t policy, uint64_t doubled)
{
	struct fixture s = { .rt = rt, .each = EACH };
	struct peal_queue_options o = of_kind(shapes[shape].kind,
					      shapes[shape].putters,
					      shapes[shape].takers);
	uint64_t expected = (uint64_t)o.max_producers * EACH;

	o.policy = policy;
	begin(&s, (int)(shape + lanes) % 2, lanes, o);
	CHECK_EQ(s.queue.kind, o.kind);
	CHECK(s.queue.policy != PEAL_POLICY_DEFAULT);
	if (policy)
		CHECK_EQ(s.queue.policy, policy);
	enter_all(&s);
	s.turn[0].doubled = doubled;
	take_turns(&s, o.kind == PEAL_QUEUE_TOPIC ? o.max_consumers * expected :
						    expected);
	end(&s);
	return s.sound;
}

PEAL_TEST(queues_of_every_kind_conserve)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_device_info before, after;
	uint32_t policy;
	size_t i;

	CHECK_OK(peal_device_info(rt, 1, &before));
	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++)
		for (i = 0; i < SHAPES; i++) {
			CHECK(run(rt, i, 1, harness_policy(rt, policy),
				  NO_ACTOR));
			CHECK(run(rt, i, 32, harness_policy(rt, policy),
				  NO_ACTOR));
		}
	CHECK_OK(peal_device_info(rt, 1, &after));
	CHECK_EQ(after.memory_used_bytes, before.memory_used_bytes);
	CHECK_OK(peal_runtime_close(rt));
}

/* Negative control: as many messages arrive, but one of them twice. */
PEAL_TEST(substituted_message_is_caught)
{
	struct peal_runtime *rt = harness_open(2, "");
	size_t i;

	for (i = 0; i < SHAPES; i++)
		CHECK(!run(rt, i, 1, 0, EACH / 2));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(link_carries_messages_larger_than_a_slot)
{
	struct fixture s = { .rt = harness_open(1, ""), .each = EACH / 2 };
	struct peal_queue_options o = of_kind(0, 1, 1);

	o.message_bytes = sizeof(struct dq_big);
	begin(&s, 0, 1, o);
	CHECK_EQ(s.queue.kind, PEAL_QUEUE_LINK);
	CHECK_EQ(s.queue.message_bytes, sizeof(struct dq_big));
	enter_all(&s);
	s.turn[0].big = s.turn[1].big = 1;
	take_turns(&s, s.each);
	CHECK(s.sound);
	end(&s);
	CHECK_OK(peal_runtime_close(s.rt));
}

PEAL_TEST(overwriting_topic_counts_missed_messages)
{
	struct fixture s = { .rt = harness_open(1, ""), .each = 200 };
	struct peal_queue_options o = of_kind(PEAL_QUEUE_TOPIC, 1, 1);

	o.overwrite = 1;
	begin(&s, 0, 1, o);
	enter_all(&s);
	/* all messages are published before the first take */
	while (harness_info(s.link[0]).delivered < 1 + s.each)
		turn(&s, 0);
	while (s.received + s.missed < s.each) {
		turn(&s, 1);
		receive(&s);
	}
	CHECK(s.sound);
	CHECK_EQ(s.received + s.missed, s.each);
	CHECK(s.received >= 1 && s.received <= o.capacity);
	end(&s);
	CHECK_OK(peal_runtime_close(s.rt));
}

/*
 * A host thread and a worker exchange EACH messages. First the worker sends
 * them, then the thread.
 */
PEAL_TEST(host_memory_link_connects_thread_and_worker)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_header none = { 0, 0, 0 };
	struct peal_link_consumer c;
	struct peal_link_producer p;
	struct dq_item item = { .missed = 0 };
	struct peal_message m;
	uint64_t i;
	uint32_t to;

	for (to = 0; to < 2; to++) {
		struct fixture s = { .rt = rt, .each = EACH };

		begin(&s, PEAL_HOST_MEMORY, 1, of_kind(0, 1, 1));
		CHECK_EQ(enter(&s, to), 0);
		CHECK_EQ(to ? peal_device_queue_link_producer(s.queue.address,
							      &p) :
			      peal_device_queue_link_consumer(s.queue.address,
							      &c),
			 0);
		for (i = 0; to && i < EACH; i++) {
			item.m.sequence = i;
			item.m.check = relay_check(0, i);
			while (peal_link_push(&p, none, &item, sizeof(item))) {
				turn(&s, to);
				receive(&s);
			}
		}
		while (to && s.received < EACH) {
			turn(&s, to);
			receive(&s);
		}
		for (i = 0; !to && i < EACH; i++) {
			while (peal_link_pop(&c, &item, sizeof(item), &m)) {
				peal_link_flush_credit(&c);
				turn(&s, to);
			}
			check(&s, &item.m, 0);
		}
		CHECK(s.sound && s.received == EACH);
		end(&s);
	}
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- refusals ------------------------------------------------------------ */

PEAL_TEST(ends_open_only_on_device_queues_of_their_kind)
{
	struct peal_runtime *rt = harness_open(2, "");
	uint64_t other;
	uint32_t kind;
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		struct fixture s = { .rt = rt, .each = 10 };
		struct peal_queue_options o = of_kind(shapes[i].kind, 1, 1);

		begin(&s, 0, 1, o);
		for (kind = PEAL_QUEUE_LINK; kind <= PEAL_QUEUE_TOPIC; kind++) {
			s.turn[0].kind = s.turn[1].kind = kind;
			if (kind == o.kind)
				continue;
			CHECK_EQ(enter(&s, 0), PEAL_ENOENT);
			CHECK_EQ(enter(&s, 1), PEAL_ENOENT);
		}
		s.turn[0].kind = s.turn[1].kind = o.kind;
		CHECK_OK(peal_memory_alloc(rt, 0, 4096, &other));
		s.turn[0].queue = s.turn[1].queue = other;
		CHECK_EQ(enter(&s, 0), PEAL_ENOENT);
		CHECK_EQ(enter(&s, 1), PEAL_ENOENT);
		s.turn[0].queue = s.turn[1].queue = 0;
		CHECK_EQ(enter(&s, 0), PEAL_ENOENT);
		CHECK_EQ(enter(&s, 1), PEAL_ENOENT);
		s.turn[0].queue = s.turn[1].queue = s.queue.address;
		/* consumer 1 of a queue with one consumer */
		s.turn[1].self = 1;
		CHECK_EQ(enter(&s, 1),
			 o.kind == PEAL_QUEUE_WORK ||
					 o.kind == PEAL_QUEUE_TOPIC ?
				 PEAL_EINVAL :
				 0);
		s.turn[1].self = 0;
		enter_all(&s);
		take_turns(&s, s.each);
		CHECK(s.sound);
		/*
		 * only the ends of a link know its progress, so no other end
		 * can be made
		 */
		CHECK_EQ(enter(&s, 0),
			 o.kind == PEAL_QUEUE_LINK ? PEAL_EBUSY : 0);
		CHECK_EQ(enter(&s, 1),
			 o.kind == PEAL_QUEUE_LINK ? PEAL_EBUSY : 0);
		end(&s);
		CHECK_OK(peal_memory_free(rt, 0, other));
	}
	CHECK_OK(peal_runtime_close(rt));
}

static struct peal_runtime *rt;

static void refused(int device, struct peal_queue_options o, int error,
		    const char *part)
{
	struct peal_device_queue placed, before;

	memset(&placed, 0x5a, sizeof(placed));
	before = placed;
	CHECK_FAILS(peal_device_queue_create(rt, device, &o, &placed), error,
		    part);
	CHECK_CONTAINS(peal_last_error()->call, "peal_device_queue_create");
	CHECK(!memcmp(&placed, &before, sizeof(placed)));
}

PEAL_TEST(options_out_of_range_are_named)
{
	struct peal_queue_options o = of_kind(0, 1, 1);

	rt = harness_open(2, "");
	refused(2, o, PEAL_ENODEV, "device 2: does not exist (2");
	refused(-2, o, PEAL_ENODEV, "device -2: does not exist (-2");
	o.size = 0;
	refused(0, o, PEAL_EINVAL, "size");
	o = of_kind(7, 1, 1);
	refused(0, o, PEAL_EINVAL,
		"'kind': is not of enum peal_queue_kind (7, "
		"allowed 0..4)");
	o = of_kind(PEAL_QUEUE_MAILBOX, 1, 2);
	refused(0, o, PEAL_EINVAL,
		"'kind': is mailbox, which has too few ends "
		"(max_producers 1, max_consumers 2, allowed up to 64 and 1)");
	o = of_kind(0, 65, 1);
	refused(0, o, PEAL_EINVAL,
		"'max_producers': is out of range (65, "
		"allowed 0..64)");
	o = of_kind(0, 1, 65);
	refused(0, o, PEAL_EINVAL,
		"'max_consumers': is out of range (65, "
		"allowed 0..64)");
	o = of_kind(0, 1, 1);
	o.capacity = 3;
	refused(0, o, PEAL_EINVAL,
		"'capacity': must be a power of two (3, "
		"allowed 1..1048576)");
	o.capacity = 0;
	o.message_bytes = (256ull << 20) + 1;
	refused(0, o, PEAL_EINVAL,
		"'message_bytes': is out of range "
		"(268435457, allowed 1..268435456)");
	o = of_kind(PEAL_QUEUE_WORK, 1, 1);
	o.message_bytes = 4081;
	refused(0, o, PEAL_EINVAL,
		"'message_bytes': is too large for the slots of a work queue "
		"(4081");
	o = of_kind(PEAL_QUEUE_WORK, 1, 1);
	o.overwrite = 1;
	refused(0, o, PEAL_EINVAL,
		"'overwrite': is only for topics, and kind "
		"is work queue (1, allowed 0)");
	o = of_kind(0, 1, 1);
	o.policy = 4;
	refused(0, o, PEAL_EINVAL,
		"'policy': is no policy (4, allowed 0 "
		"(default), 1 (sequence), 2 (atom16) or 3 (atom8))");
	refused(PEAL_HOST_MEMORY, of_kind(0, 2, 2), PEAL_EINVAL,
		"'kind': does not fit host memory (work queue, allowed link)");
	/* no queue is left */
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(unsupported_policy_is_refused)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK, 2, 2);
	struct peal_device_queue placed;
	struct peal_device_info info;
	char text[40];

	rt = harness_open(1, "");
	CHECK_OK(peal_device_info(rt, 0, &info));
	for (o.policy = PEAL_POLICY_SEQUENCE; o.policy <= PEAL_POLICY_ATOM8;
	     o.policy++) {
		snprintf(text, sizeof(text), "device cannot do (%u, ",
			 o.policy);
		if (!(info.policies & 1u << o.policy)) {
			refused(0, o, PEAL_EINVAL, text);
			CHECK_CONTAINS(peal_last_error()->text,
				       "is a policy that the device cannot do");
			continue;
		}
		CHECK_OK(peal_device_queue_create(rt, 0, &o, &placed));
		CHECK_EQ(placed.policy, o.policy);
		CHECK_OK(peal_memory_free(rt, 0, placed.address));
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(caller_owns_the_queue_memory)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_LINK, 1, 1);
	struct peal_device_queue placed;
	struct peal_device_info info;
	uint64_t most;

	rt = harness_open(2, "");
	CHECK_EQ(peal_device_queue_create(NULL, 0, &o, &placed), PEAL_EINVAL);
	CHECK_EQ(peal_device_queue_create(rt, 0, &o, NULL), PEAL_EINVAL);
	/* leaves 1 MiB of the device's memory */
	CHECK_OK(peal_device_info(rt, 1, &info));
	CHECK_OK(peal_memory_alloc(
		rt, 1, info.memory_bytes - info.memory_used_bytes - (1 << 20),
		&most));
	o.capacity = 1u << 20;
	refused(1, o, PEAL_ENOMEM, "link of 1048576 slots on device 1: ");
	CHECK_CONTAINS(peal_last_error()->text, "bytes");
	CHECK_CONTAINS(peal_last_error()->text, "free");
	CHECK_OK(peal_memory_free(rt, 1, most));
	CHECK_OK(peal_device_queue_create(rt, 1, NULL, &placed));
	CHECK_EQ(placed.kind, PEAL_QUEUE_LINK);
	CHECK_EQ(placed.capacity, 1024);
	CHECK_EQ(placed.message_bytes, 48);
	CHECK_EQ(placed.bulk, PEAL_QUEUE_BURST);
	CHECK(placed.max_producers == 1 && placed.max_consumers == 1);
	CHECK(placed.address % 128 == 0 && placed.bytes > 1024 * 64);
	CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "1 allocation");
	CHECK_EQ(peal_memory_free(rt, 0, placed.address), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 1, placed.address + 128), PEAL_EFAULT);
	CHECK_OK(peal_memory_free(rt, 1, placed.address));
	CHECK_EQ(peal_memory_free(rt, 1, placed.address), PEAL_EFAULT);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(queues_of_every_kind_conserve);
	       RUN(substituted_message_is_caught);
	       RUN(link_carries_messages_larger_than_a_slot);
	       RUN(overwriting_topic_counts_missed_messages);
	       RUN(host_memory_link_connects_thread_and_worker);
	       RUN(ends_open_only_on_device_queues_of_their_kind);
	       RUN(options_out_of_range_are_named);
	       RUN(unsupported_policy_is_refused);
	       RUN(caller_owns_the_queue_memory);)
