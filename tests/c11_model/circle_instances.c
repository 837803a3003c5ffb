/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/work_consumer.h>

#include "c11_model/instances.h"
#include "queues/work.h"

/*
 * Circles: threads that take a message from a work queue and put it again. A
 * circle must never stall, also if a thread leaves it between two calls. So no
 * call may keep a claim. The other threads would not get its messages.
 */

struct circle_case {
	uint32_t policy, slots, threads;
	uint32_t messages; /* put before the threads begin */
	uint32_t turns[4]; /* messages that each thread passes on */
	/* takes that do not wait, before the turns. With a message, the thread
	 * passes it on. */
	uint32_t polls[4];
	uint64_t number; /* messages that the queue has passed before */
	int keeps; /* 1: a planted fault: a claim outlives its call */
};

static struct circle {
	struct peal_work *q;
	struct member {
		struct peal_work_producer p;
		struct peal_work_consumer c;
		uint8_t stage[64];
	} * at[4];
} circle;

static struct peal_header header_of(uint64_t message)
{
	struct peal_header header = { (uint32_t)message, 1, 3 };

	return header;
}

static void make_queue(const struct circle_case *k)
{
	struct peali_work_spec s;

	memset(&s, 0, sizeof(s));
	s.slots = k->slots;
	s.message_bytes = 4;
	s.n_producers = k->threads;
	s.policy = k->policy;
	if (peali_work_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the work queue's options are refused");
	circle.q =
		(struct peal_work *)model_memory("queue", peali_work_bytes(&s));
	peali_work_header(circle.q, &s);
	model_name(&circle.q->leased, 8, "leased");
	model_name(&circle.q->ticket, 8, "ticket");
	model_name(&circle.q->claimed, 8, "claimed");
	model_name(&circle.q->turn, 8, "turn");
}

static int put(struct member *m, uint64_t message)
{
	uint32_t data = 7 + (uint32_t)message;

	return peal_work_push(circle.q, &m->p, header_of(message), &data, 4);
}

static void circle_setup(const void *config)
{
	const struct circle_case *k = (const struct circle_case *)config;
	uint64_t message;
	uint32_t i;

	make_queue(k);
	for (i = 0; i < k->threads; i++) {
		struct member *m =
			(struct member *)model_memory("member", sizeof(*m));

		circle.at[i] = m;
		peal_work_producer_init(circle.q, &m->p);
		peal_work_consumer_init(circle.q, &m->c, m->stage);
	}
	for (message = 0; message < k->messages; message++)
		if (put(circle.at[0], message))
			model_fail("a message does not fit");
	peal_work_lease_release(circle.q, &circle.at[0]->p);
}

/* Claims a message by its ticket. The tag may be missing, as in version 0.2.
 * Without the message the claim remains, and the call ends. */
static int take_and_keep(struct member *m, uint32_t *data,
			 struct peal_work_received *got)
{
	uint64_t number;

	if ((int64_t)(peal_load_relaxed_dev(&circle.q->ticket) -
		      peal_load_relaxed_dev(&circle.q->claimed)) <= 0)
		return PEAL_EAGAIN;
	peal_add_relaxed_dev(&circle.q->claimed, 1);
	number = peali_work_turn(circle.q, 1);
	if (!peali_work_read(circle.q, m->stage, number, (uint8_t *)data, 4,
			     got))
		return PEAL_EAGAIN;
	peali_work_done(circle.q, &m->c, number, 1);
	return 1;
}

static int take(const struct circle_case *k, struct member *m, uint32_t *data,
		int polls)
{
	struct peal_work_received got;
	int result;

	if (k->keeps && polls)
		result = take_and_keep(m, data, &got);
	else
		result = peal_work_pop(circle.q, &m->c, data, 4, &got);
	if (result == PEAL_EAGAIN)
		return 0;
	model_expect(result == 1 && got.length == 4);
	model_expect(got.header.actor < k->messages && got.header.flags == 3);
	model_expect(*data == 7 + got.header.actor);
	/* as queue_work.c does: the thread may never call again */
	peal_work_flush(circle.q, &m->c);
	return 1;
}

static void pass_on(struct member *m, uint32_t data)
{
	MODEL_UNTIL(!put(m, data - 7));
	peal_work_lease_release(circle.q, &m->p);
}

static void circle_thread(const void *config, uint32_t self)
{
	const struct circle_case *k = (const struct circle_case *)config;
	struct member *m = circle.at[self];
	uint32_t i, data = 0;

	for (i = 0; i < k->polls[self]; i++)
		if (take(k, m, &data, 1))
			pass_on(m, data);
	for (i = 0; i < k->turns[self]; i++) {
		MODEL_UNTIL(take(k, m, &data, 0));
		pass_on(m, data);
	}
}

/* All messages are in the queue again, each once. No claim is left. */
static void circle_check(const void *config)
{
	const struct circle_case *k = (const struct circle_case *)config;
	struct peal_work_received got;
	uint32_t i, data, seen = 0;

	model_expect(circle.q->claimed == circle.q->turn);
	model_expect(circle.q->leased == circle.q->ticket);
	for (i = 0; i < k->messages; i++) {
		model_expect(peal_work_pop(circle.q, &circle.at[0]->c, &data, 4,
					   &got) == 1);
		model_expect(got.header.actor < k->messages &&
			     !(seen >> got.header.actor & 1));
		seen |= 1u << got.header.actor;
	}
	model_expect(circle.q->turn == circle.q->ticket);
}

static const char *const gpu_atoms[] = { "peal_atom8_store", "peal_atom8_load",
					 NULL };

#define CIRCLE(name, gpu, slots_, messages_, threads_, ...)                    \
	{                                                                      \
		name, threads_,                                                \
			&(const struct circle_case){                           \
				.slots = slots_,                               \
				.messages = messages_,                         \
				.threads = threads_,                           \
				__VA_ARGS__,                                   \
			},                                                     \
			circle_setup, circle_thread, circle_check, gpu, 0      \
	}
#define SEQUENCE .policy = PEAL_POLICY_SEQUENCE
#define ATOM16 .policy = PEAL_POLICY_ATOM16
#define TURNS(...) .turns = { __VA_ARGS__ }
#define POLLS(...) .polls = { __VA_ARGS__ }

static const struct model_instance instances[] = {
	CIRCLE("circle of 2, a message in 4 slots", NULL, 4, 1, 2, SEQUENCE,
	       TURNS(2, 1)),
	CIRCLE("circle of 2, a poll", NULL, 4, 1, 2, SEQUENCE, TURNS(2, 0),
	       POLLS(0, 1)),
	CIRCLE("circle of 2, atom16, a poll", gpu_atoms, 4, 1, 2, ATOM16,
	       TURNS(2, 0), POLLS(0, 1)),
};

INSTANCE_LIST(circle_instances, instances);

static const struct model_instance deep[] = {
	CIRCLE("circle of 2, more turns", NULL, 4, 1, 2, SEQUENCE, TURNS(2, 2)),
	CIRCLE("circle of 3, a poll", NULL, 4, 1, 3, SEQUENCE, TURNS(1, 1, 0),
	       POLLS(0, 0, 1)),
};

INSTANCE_LIST(deep_circle_instances, deep);

static const struct model_instance broken[] = {
	CIRCLE("circle, a claim outlives its call", NULL, 4, 1, 2, SEQUENCE,
	       TURNS(2, 0), POLLS(0, 1), .keeps = 1),
	CIRCLE("circle, atom16, a claim outlives its call", gpu_atoms, 4, 1, 2,
	       ATOM16, TURNS(2, 0), POLLS(0, 1), .keeps = 1),
};

INSTANCE_LIST(broken_circle_instances, broken);
