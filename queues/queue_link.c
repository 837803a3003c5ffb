/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "queues/policy.h"
#include "queues/queue.h"
#include "queues/ring.h"
#include "runtime/backend/error.h"

/* A link as a queue among threads. */

PEAL_STATIC_ASSERT(PEAL_QUEUE_MESSAGE_MAX == PEALI_RING_MESSAGE_MAX,
		   "the longest message of a link");

/* Up to here messages lie in slots, as bulks have to, even where one by one the
 * slab would serve better. */
#define IN_SLOT_MAX 512

static int plan(struct peal_queue *q, const char *call)
{
	struct peali_ring_spec *spec = calloc(1, sizeof(*spec));
	int result;

	if (!spec)
		return peali_fail(PEAL_ENOMEM, call, "no memory");
	spec->capacity = q->options.capacity;
	spec->message_bytes = q->options.message_bytes;
	spec->policy = q->options.policy;
	if (spec->message_bytes <= IN_SLOT_MAX)
		spec->slot_bytes = peali_policy_slot(
			spec->policy ? spec->policy : PEAL_POLICY_SEQUENCE,
			(uint32_t)(sizeof(struct peal_header) +
				   spec->message_bytes));
	q->plan = spec;
	result = peali_ring_spec_complete(spec, peali_queue_policies(),
					  PEAL_POLICY_SEQUENCE, call);
	if (result)
		return result;
	q->options.policy = spec->policy;
	q->stage = peali_queue_stage(spec->policy, spec->slot_bytes);
	q->bytes = peali_whole_lines(peali_ring_bytes(spec)) + 2 * q->stage +
		   sizeof(struct peal_credit) + sizeof(struct peal_link_counts);
	return 0;
}

static void make(struct peal_queue *q)
{
	const struct peali_ring_spec *spec = q->plan;
	uint64_t stage = q->stage;
	uint8_t *at = q->memory + peali_whole_lines(peali_ring_bytes(spec));
	struct peal_link_view view = {
		.ring = (uintptr_t)q->memory,
		.credit = (uintptr_t)(at + 2 * stage),
		.counts = (uintptr_t)(at + 2 * stage +
				      sizeof(struct peal_credit)),
		.message_bytes = (uint32_t)spec->message_bytes,
	};

	peali_ring_header((struct peal_ring *)(void *)q->memory, spec, 0);
	view.stage = stage ? (uintptr_t)at : 0;
	view.bell = (uintptr_t)q->side[PEAL_QUEUE_CONSUMER].bells;
	peal_link_producer_init(&q->side[PEAL_QUEUE_PRODUCER].end->at.producer,
				&view);
	view.stage = stage ? (uintptr_t)(at + stage) : 0;
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
	/* 0: the first one is longer */
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
	.make = make,
	.push = push,
	.pop = pop,
	.settle = settle,
};
