/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concurrency Kit's ring as a baseline, with messages in its slots, in three
 * forms. It has no bulk form, so a burst is a call for each message. The
 * producer writes in place (reserve and commit). The consumer gets a copy.
 */
#include "bench/baseline/cpu/baselines.h"

#include <stdlib.h>

#include <ck_ring.h>

struct ring {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct ck_ring ck;
	uint8_t *memory;
};

static void *ring_open(const struct peali_bench_queue_shape *shape)
{
	struct ring *r = peali_bench_queue_memory(sizeof(*r));

	if (!r)
		return NULL;
	r->memory =
		peali_bench_queue_memory((uint64_t)shape->slots * shape->bytes);
	if (!r->memory) {
		free(r);
		return NULL;
	}
	ck_ring_init(&r->ck, shape->slots);
	return r;
}

static void ring_close(void *queue)
{
	struct ring *r = queue;

	free(r->memory);
	free(r);
}

static PEAL_INLINE uint32_t sp_put(void *queue,
				   struct peali_bench_queue_end *end,
				   uint32_t bytes, uint32_t burst)
{
	struct ring *r = queue;
	uint32_t n = peali_bench_queue_space(end, burst), i;

	for (i = 0; i < n; i++) {
		void *to = _ck_ring_enqueue_reserve_sp(&r->ck, r->memory, bytes,
						       NULL);

		if (!to)
			break;
		peali_bench_queue_fill(end, to, bytes, i);
		_ck_ring_enqueue_commit_sp(&r->ck);
	}
	return i;
}

static PEAL_INLINE uint32_t mp_put(void *queue,
				   struct peali_bench_queue_end *end,
				   uint32_t bytes, uint32_t burst)
{
	struct ring *r = queue;
	uint32_t n = peali_bench_queue_space(end, burst), i;

	for (i = 0; i < n; i++) {
		unsigned int ticket;
		void *to = _ck_ring_enqueue_reserve_mp(&r->ck, r->memory, bytes,
						       &ticket, NULL);

		if (!to)
			break;
		peali_bench_queue_fill(end, to, bytes, i);
		_ck_ring_enqueue_commit_mp(&r->ck, ticket);
	}
	return i;
}

static PEAL_INLINE uint32_t sc_get(void *queue,
				   struct peali_bench_queue_end *end,
				   uint32_t bytes, uint32_t burst)
{
	struct ring *r = queue;
	uint32_t i;

	for (i = 0; i < burst; i++) {
		if (!_ck_ring_dequeue_sc(&r->ck, r->memory, end->stage, bytes))
			break;
		peali_bench_queue_check(end, end->stage, bytes);
	}
	return i;
}

static PEAL_INLINE uint32_t mc_get(void *queue,
				   struct peali_bench_queue_end *end,
				   uint32_t bytes, uint32_t burst)
{
	struct ring *r = queue;
	uint32_t i;

	for (i = 0; i < burst; i++) {
		if (!_ck_ring_dequeue_mc(&r->ck, r->memory, end->stage, bytes))
			break;
		peali_bench_queue_check(end, end->stage, bytes);
	}
	return i;
}

PEALI_BENCH_QUEUE_LOOPS(spsc, sp_put, sc_get)
PEALI_BENCH_QUEUE_LOOPS(mpsc, mp_put, sc_get)
PEALI_BENCH_QUEUE_LOOPS(mpmc, mp_put, mc_get)

const struct peali_bench_queue_kind peali_baseline_ck_spsc = {
	.name = "ck_ring spsc",
	.open = ring_open,
	.close = ring_close,
	.send = spsc_send,
	.take = spsc_take,
	.trips = spsc_trips,
};

const struct peali_bench_queue_kind peali_baseline_ck_mpsc = {
	.name = "ck_ring mpsc",
	.open = ring_open,
	.close = ring_close,
	.send = mpsc_send,
	.take = mpsc_take,
	.trips = mpsc_trips,
};

const struct peali_bench_queue_kind peali_baseline_ck_mpmc = {
	.name = "ck_ring mpmc",
	.open = ring_open,
	.close = ring_close,
	.send = mpmc_send,
	.take = mpmc_take,
	.trips = mpmc_trips,
};
