/* SPDX-License-Identifier: Apache-2.0 */
/* Our topic as a queue of the benchmark `queues`. */
#include "bench/kinds/kinds.h"

#include <stdlib.h>

#include <peal/device/topic_subscriber.h>

#include "queues/topic.h"

/* The data of one subscriber, on lines of its own. */
struct subscriber {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_topic_subscriber place;
	PEAL_ALIGNED(PEAL_SHARED_LINE)
	uint64_t taken[PEALI_BENCH_QUEUE_BURST * PEALI_BENCH_WORDS];
};

struct shared_topic {
	struct peal_topic *topic;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_topic_publisher publisher;
	struct subscriber subscribers[PEALI_BENCH_QUEUE_ENDS];
};

static void topic_close(void *queue)
{
	struct shared_topic *s = queue;

	free(s->topic);
	free(s);
}

static void *topic_open(const struct peali_bench_queue_shape *shape)
{
	struct peali_topic_spec spec = {
		.slots = shape->slots,
		.message_bytes = shape->bytes,
		.n_subscribers = shape->consumers,
		.mode = PEAL_TOPIC_WAIT,
		.policy = PEAL_POLICY_SEQUENCE,
	};
	struct shared_topic *s = peali_bench_queue_memory(sizeof(*s));
	uint32_t i;

	if (!s)
		return NULL;
	if (!peali_topic_spec_complete(&spec, 1u << PEAL_POLICY_SEQUENCE,
				       PEAL_POLICY_SEQUENCE, "queues"))
		s->topic = peali_bench_queue_memory(peali_topic_bytes(&spec));
	if (!s->topic) {
		topic_close(s);
		return NULL;
	}
	peali_topic_header(s->topic, &spec);
	peal_topic_publisher_init(s->topic, &s->publisher);
	for (i = 0; i < shape->consumers; i++)
		peal_topic_join(s->topic, &s->subscribers[i].place, i, 0, NULL);
	return s;
}

static PEAL_INLINE uint32_t topic_put(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	const struct peal_header header = { 0, PEALI_BENCH_DATA, 0 };
	struct shared_topic *s = queue;
	uint64_t *from;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &from);

	if (peal_topic_publish_bulk(s->topic, &s->publisher, header, from,
				    bytes, n))
		return 0;
	return peali_bench_queue_unstage(end, n);
}

static PEAL_INLINE uint32_t topic_get(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	struct shared_topic *s = queue;
	struct subscriber *w = &s->subscribers[end->index];
	struct peal_topic_received got[PEALI_BENCH_QUEUE_BURST];
	int n = peal_topic_take_burst(s->topic, &w->place, w->taken, bytes,
				      burst, got),
	    i;

	for (i = 0; i < n; i++)
		if (PEAL_UNLIKELY(got[i].length != bytes))
			peali_bench_queue_note_wrong(end);
		else
			peali_bench_queue_check(
				end, w->taken + (uint32_t)i * (bytes / 8),
				bytes);
	return n > 0 ? (uint32_t)n : 0;
}

PEALI_BENCH_QUEUE_LOOPS(topic, topic_put, topic_get)

const struct peali_bench_queue_kind peali_bench_queue_topic = {
	.name = "topic",
	.open = topic_open,
	.close = topic_close,
	.send = topic_send,
	.take = topic_take,
	.trips = topic_trips,
};
