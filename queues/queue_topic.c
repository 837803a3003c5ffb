/* SPDX-License-Identifier: Apache-2.0 */
#include "queues/queue.h"
#include "queues/queue_select.h"
#include "queues/topic.h"

/*
 * Queues of threads: the kind `topic`. One producer, many consumers; each
 * message goes to every consumer.
 */

static int plan(struct peali_queue_plan *plan, const char *call)
{
	struct peali_topic_spec *spec = &plan->spec.topic;
	int result;

	spec->slots = plan->options.capacity;
	spec->message_bytes = (uint32_t)plan->options.message_bytes;
	spec->policy = plan->options.policy;
	spec->n_subscribers = plan->options.max_consumers;
	spec->mode = plan->options.overwrite ? PEAL_TOPIC_OVERWRITE :
					       PEAL_TOPIC_WAIT;
	result = peali_topic_spec_complete(spec, plan->policies, spec->policy,
					   call);
	if (result)
		return result;
	plan->stages = peali_topic_bytes(spec);
	plan->stage = peali_queue_stage(spec->policy, spec->slot_bytes);
	plan->bytes = plan->stages + plan->options.max_consumers * plan->stage;
	return 0;
}

static uint64_t header(const struct peali_queue_plan *plan, void *out)
{
	peali_topic_header(out, &plan->spec.topic);
	return sizeof(struct peal_topic);
}

static struct peal_topic *topic(const struct peal_queue_end *end)
{
	return (struct peal_topic *)(void *)end->queue->memory;
}

static void make(struct peal_queue *q)
{
	peal_topic_publisher_init(
		(struct peal_topic *)(void *)q->memory,
		&q->side[PEAL_QUEUE_PRODUCER].end->at.publisher);
}

/* A subscriber begins with the next message that is published. */
static void enter(struct peal_queue_end *end)
{
	uint32_t index = (uint32_t)(end - end->queue->side[end->role].end);

	if (end->role == PEAL_QUEUE_CONSUMER)
		peal_topic_join(topic(end), &end->at.subscriber, index, 0,
				end->queue->stages + index * end->queue->stage);
}

static int push(struct peal_queue_end *end, const void *data, uint64_t bytes,
		uint32_t n)
{
	struct peal_header none = { 0, 0, 0 };
	int result = peal_topic_publish_bulk(topic(end), &end->at.publisher,
					     none, data, bytes, n);

	if (!result)
		peali_queue_ring(end->queue, PEAL_QUEUE_CONSUMER,
				 PEAL_QUEUE_ENDS);
	return result;
}

static int pop(struct peal_queue_end *end, void *buffer, uint64_t each,
	       uint32_t n, uint64_t *lengths)
{
	struct peal_topic_received got[PEAL_QUEUE_BURST];
	struct peal_topic_subscriber *s = &end->at.subscriber;
	uint64_t told = s->told;
	int taken, i;

	taken = peal_topic_take_burst(topic(end), s, buffer, each, n, got);
	for (i = 0; i < taken; i++)
		lengths[i] = got[i].length;
	if (taken == PEAL_EMSGSIZE)
		*lengths = topic(end)->message_bytes;
	if (s->told != told)
		peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER, 1);
	return taken;
}

/*
 * Returns 1 if the subscriber has seen all messages. The subscriber's number
 * can be above the tail if the publisher died before it stored the tail.
 */
static int drained(const struct peal_queue_end *end)
{
	return (int64_t)(end->at.subscriber.number -
			 peal_load_acquire_dev(&topic(end)->tail)) >= 0;
}

static void settle(struct peal_queue_end *end)
{
	struct peal_topic_subscriber *s = &end->at.subscriber;
	uint64_t told = s->told;

	if (end->role != PEAL_QUEUE_CONSUMER)
		return;
	peal_topic_flush(s);
	if (s->told != told)
		peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER, 1);
}

static void leave(struct peal_queue_end *end)
{
	if (end->role != PEAL_QUEUE_CONSUMER)
		return;
	peal_topic_leave(&end->at.subscriber);
	peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER, 1);
}

static int died(struct peal_queue_end *end)
{
	leave(end);
	/* a new consumer joins again */
	return end->role == PEAL_QUEUE_CONSUMER;
}

static uint64_t missed(const struct peal_queue_end *end)
{
	return end->at.subscriber.lost;
}

const struct peali_queue_kind peali_queue_topic = {
	.kind = PEAL_QUEUE_TOPIC,
	.name = "topic",
	.producers = 1,
	.consumers = PEAL_QUEUE_ENDS,
	.to_each = 1,
	.plan = plan,
	.header = header,
	.make = make,
	.enter = enter,
	.push = push,
	.pop = pop,
	.drained = drained,
	.settle = settle,
	.leave = leave,
	.died = died,
	.missed = missed,
};
