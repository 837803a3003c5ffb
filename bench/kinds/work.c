/* SPDX-License-Identifier: Apache-2.0 */
/* Our work queue as a queue of the benchmark `queues`. */
#include "bench/kinds/kinds.h"

#include <stdlib.h>

#include <peal/device/work_consumer.h>

#include "queues/work.h"

/* The data of one thread, on lines of its own. */
struct worker {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_work_producer producer;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_work_consumer consumer;
	PEAL_ALIGNED(PEAL_SHARED_LINE)
	uint64_t taken[PEALI_BENCH_QUEUE_BURST * PEALI_BENCH_WORDS];
};

struct shared_work {
	struct peal_work *work;
	struct worker workers[PEALI_BENCH_QUEUE_ENDS];
};

static void work_close(void *queue)
{
	struct shared_work *s = queue;

	free(s->work);
	free(s);
}

static void *work_open(const struct peali_bench_queue_shape *shape)
{
	struct peali_work_spec spec = {
		.slots = shape->slots,
		.message_bytes = shape->bytes,
		.n_producers = shape->producers,
		.bulk = shape->burst,
		.policy = PEAL_POLICY_SEQUENCE,
	};
	struct shared_work *s = peali_bench_queue_memory(sizeof(*s));
	uint32_t i;

	if (!s)
		return NULL;
	if (!peali_work_spec_complete(&spec, 1u << PEAL_POLICY_SEQUENCE,
				      PEAL_POLICY_SEQUENCE, "queues"))
		s->work = peali_bench_queue_memory(peali_work_bytes(&spec));
	if (!s->work) {
		work_close(s);
		return NULL;
	}
	peali_work_header(s->work, &spec);
	for (i = 0; i < PEALI_BENCH_QUEUE_ENDS; i++) {
		peal_work_producer_init(s->work, &s->workers[i].producer);
		peal_work_consumer_init(s->work, &s->workers[i].consumer, NULL);
	}
	return s;
}

static PEAL_INLINE uint32_t work_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	const struct peal_header header = { 0, PEALI_BENCH_DATA, 0 };
	struct shared_work *s = queue;
	uint64_t *from;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &from);

	if (peal_work_push_bulk(s->work, &s->workers[end->index].producer,
				header, from, bytes, n))
		return 0;
	return peali_bench_queue_unstage(end, n);
}

static PEAL_INLINE uint32_t work_get(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct shared_work *s = queue;
	struct worker *w = &s->workers[end->index];
	struct peal_work_received got[PEALI_BENCH_QUEUE_BURST];
	int n = peal_work_pop_burst(s->work, &w->consumer, w->taken, bytes,
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

PEALI_BENCH_QUEUE_LOOPS(work, work_put, work_get)

const struct peali_bench_queue_kind peali_bench_queue_work = {
	.name = "work queue",
	.open = work_open,
	.close = work_close,
	.send = work_send,
	.take = work_take,
	.trips = work_trips,
};
