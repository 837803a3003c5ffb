/* SPDX-License-Identifier: Apache-2.0 */
#include "queues/publication.h"
#include "queues/queue.h"
#include "queues/queue_select.h"
#include "queues/ring.h"
#include "runtime/base/math.h"

/* Queues of threads: the kind `link`, one producer and one consumer. */

PEAL_STATIC_ASSERT(PEAL_QUEUE_MESSAGE_MAX == PEALI_RING_MESSAGE_MAX,
		   "the longest message of a link");

/*
 * Messages up to this size are stored in slots. A bulk push requires slots,
 * though the slab may be faster for single messages.
 */
#define IN_SLOT_MAX 512

static int plan(struct peali_queue_plan *plan, const char *call)
{
	struct peali_ring_spec *spec = &plan->spec.ring;
	int result;

	spec->capacity = plan->options.capacity;
	spec->message_bytes = plan->options.message_bytes;
	spec->policy = plan->options.policy;
	if (spec->message_bytes <= IN_SLOT_MAX)
		spec->slot_bytes = peali_publication_slot(
			spec->policy, (uint32_t)(sizeof(struct peal_header) +
						 spec->message_bytes));
	result = peali_ring_spec_complete(spec, plan->policies, spec->policy,
					  call);
	if (result)
		return result;
	plan->stages = peali_whole_lines(peali_ring_bytes(spec));
	plan->stage = peali_queue_stage(spec->policy, spec->slot_bytes);
	plan->credit = plan->stages + 2 * plan->stage;
	plan->bytes = plan->credit + sizeof(struct peal_credit) +
		      sizeof(struct peal_link_counts);
	return 0;
}

static uint64_t header(const struct peali_queue_plan *plan, void *out)
{
	peali_ring_header(out, &plan->spec.ring, 0);
	return sizeof(struct peal_ring);
}

static void make(struct peal_queue *q)
{
	uint8_t *credit = q->stages + 2 * q->stage; /* as in plan() */
	struct peal_link_view view = {
		.ring = (uintptr_t)q->memory,
		.credit = (uintptr_t)credit,
		.counts = (uintptr_t)(credit + sizeof(struct peal_credit)),
		.message_bytes = (uint32_t)q->options.message_bytes,
	};

	view.stage = q->stage ? (uintptr_t)q->stages : 0;
	view.bell = (uintptr_t)q->side[PEAL_QUEUE_CONSUMER].bells;
	peal_link_producer_init(&q->side[PEAL_QUEUE_PRODUCER].end->at.producer,
				&view);
	view.stage = q->stage ? (uintptr_t)(q->stages + q->stage) : 0;
	view.bell = (uintptr_t)q->side[PEAL_QUEUE_PRODUCER].bells;
	peal_link_consumer_init(&q->side[PEAL_QUEUE_CONSUMER].end->at.consumer,
				&view);
}

static int push(struct peal_queue_end *end, const void *data, uint64_t bytes,
		uint32_t n)
{
	struct peal_header none = { 0, 0, 0 };

	if (n == 1)
		return peal_link_push(&end->at.producer, none, data, bytes);
	return peal_link_push_bulk(&end->at.producer, none, data, bytes, n);
}

static int pop(struct peal_queue_end *end, void *buffer, uint64_t each,
	       uint32_t n, uint64_t *lengths)
{
	struct peal_link_consumer *c = &end->at.consumer;
	struct peal_message m;
	int result = peal_link_pop_burst(c, buffer, each, n, lengths);

	if (result)
		return result;
	/* 0: the first message is longer than `each` */
	result = peal_link_peek(c, &m);
	*lengths = m.length;
	return result ? result : PEAL_EMSGSIZE;
}

static void settle(struct peal_queue_end *end)
{
	if (end->role == PEAL_QUEUE_CONSUMER)
		peal_link_flush_credit(&end->at.consumer);
}

const struct peali_queue_kind peali_queue_link = {
	.kind = PEAL_QUEUE_LINK,
	.name = "link",
	.producers = 1,
	.consumers = 1,
	.plan = plan,
	.header = header,
	.make = make,
	.push = push,
	.pop = pop,
	.settle = settle,
};
