/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kinds/kinds.h"

#include <stdlib.h>
#include <string.h>

#include <peal/queue.h>

/*
 * Our queues by the calls of peal/queue.h, as threads use them. Each message is
 * copied, by a call of the library.
 */

#define BULK_BYTES 256

struct front {
	struct peal_queue *queue;
	struct peal_queue_end *producers[PEALI_BENCH_QUEUE_ENDS];
	struct peal_queue_end *consumers[PEALI_BENCH_QUEUE_ENDS];
};

static void front_close(void *queue)
{
	struct front *f = queue;
	uint32_t i;

	for (i = 0; i < PEALI_BENCH_QUEUE_ENDS; i++) {
		peal_queue_close(f->producers[i]);
		peal_queue_close(f->consumers[i]);
	}
	peal_queue_destroy(f->queue);
	free(f);
}

static void *front_open(const struct peali_bench_queue_shape *shape)
{
	struct peal_queue_options options = {
		.size = sizeof(options),
		.kind = shape->every ? PEAL_QUEUE_TOPIC : PEAL_QUEUE_ANY,
		.max_producers = shape->producers,
		.max_consumers = shape->consumers,
		.capacity = shape->slots,
		.message_bytes = shape->bytes,
	};
	struct front *f = peali_bench_queue_memory(sizeof(*f));
	int result;
	uint32_t i;

	if (!f)
		return NULL;
	result = peal_queue_create(&options, &f->queue);
	for (i = 0; i < shape->producers && !result; i++)
		result = peal_queue_open(f->queue, PEAL_QUEUE_PRODUCER,
					 &f->producers[i]);
	for (i = 0; i < shape->consumers && !result; i++)
		result = peal_queue_open(f->queue, PEAL_QUEUE_CONSUMER,
					 &f->consumers[i]);
	if (!result)
		return f;
	front_close(f);
	return NULL;
}

static PEAL_INLINE uint32_t front_put(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	struct peal_queue_end *p =
		((struct front *)queue)->producers[end->index];
	uint64_t *from;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &from), i;

	/* bulk calls take only messages that fit into a slot */
	if (burst > 1 && bytes <= BULK_BYTES) {
		if (peal_queue_push_bulk(p, from, bytes, n, 0))
			return 0;
		return peali_bench_queue_unstage(end, n);
	}
	for (i = 0; i < n; i++)
		if (peal_queue_push(p, from + i * (bytes / 8), bytes, 0))
			break;
	return peali_bench_queue_unstage(end, i);
}

static PEAL_INLINE uint32_t front_get(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	struct peal_queue_end *c =
		((struct front *)queue)->consumers[end->index];
	uint64_t lengths[PEALI_BENCH_QUEUE_BURST];
	int n, i;

	if (burst == 1)
		n = !peal_queue_pop(c, end->stage, bytes, lengths, 0);
	else
		n = peal_queue_pop_burst(c, end->stage, bytes, burst, lengths,
					 0);
	for (i = 0; i < n; i++)
		if (PEAL_UNLIKELY(lengths[i] != bytes))
			peali_bench_queue_note_wrong(end);
		else
			peali_bench_queue_check(
				end, end->stage + (uint32_t)i * (bytes / 8),
				bytes);
	return n > 0 ? (uint32_t)n : 0;
}

PEALI_BENCH_QUEUE_LOOPS(front, front_put, front_get)

#define FRONT(text)                                                            \
	{                                                                      \
		.name = text, .open = front_open, .close = front_close,        \
		.send = front_send, .take = front_take, .trips = front_trips   \
	}

static const struct {
	const struct peali_bench_queue_kind *device, front;
} fronts[] = {
	{ &peali_bench_queue_link, FRONT("link of threads") },
	{ &peali_bench_queue_mailbox, FRONT("mailbox of threads") },
	{ &peali_bench_queue_work, FRONT("work queue of threads") },
	{ &peali_bench_queue_topic, FRONT("topic of threads") },
};

const struct peali_bench_queue_kind *
peali_bench_queue_front(const struct peali_bench_queue_kind *device)
{
	size_t i;

	for (i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++)
		if (fronts[i].device == device)
			return &fronts[i].front;
	return NULL;
}
