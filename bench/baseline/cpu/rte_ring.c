/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DPDK's ring as a baseline, with messages as its elements, in our own memory.
 * The headers contain all functions that move messages. From the library only
 * rte_ring_init would be needed. Instead ring_make fills in the fields, so
 * nothing of DPDK is linked.
 */
#include "bench/baseline/cpu/baselines.h"

#include <stdlib.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <rte_ring_peek_zc.h>

static void *ring_make(const struct peali_bench_queue_shape *shape,
		       enum rte_ring_sync_type producers,
		       enum rte_ring_sync_type consumers)
{
	struct rte_ring *r = peali_bench_queue_memory(
		sizeof(*r) + (uint64_t)shape->slots * shape->bytes);

	if (!r)
		return NULL;
	r->size = shape->slots;
	r->mask = shape->slots - 1;
	r->capacity = r->mask;
	r->prod.sync_type = producers;
	r->cons.sync_type = consumers;
	return r;
}

static void *spsc_open(const struct peali_bench_queue_shape *shape)
{
	return ring_make(shape, RTE_RING_SYNC_ST, RTE_RING_SYNC_ST);
}

static void *mpsc_open(const struct peali_bench_queue_shape *shape)
{
	return ring_make(shape, RTE_RING_SYNC_MT, RTE_RING_SYNC_ST);
}

static void *mpmc_open(const struct peali_bench_queue_shape *shape)
{
	return ring_make(shape, RTE_RING_SYNC_MT, RTE_RING_SYNC_MT);
}

/*
 * A single consumer does not need the HTS mode, with head and tail in one word.
 */
static void *hts_open(const struct peali_bench_queue_shape *shape)
{
	return ring_make(shape, RTE_RING_SYNC_MT_HTS,
			 shape->consumers > 1 ? RTE_RING_SYNC_MT_HTS :
						RTE_RING_SYNC_ST);
}

static void ring_close(void *queue)
{
	free(queue);
}

/* ---- copies -------------------------------------------------------------- */

#define PUT(name, how)                                                         \
	static PEAL_INLINE uint32_t name(void *queue,                          \
					 struct peali_bench_queue_end *end,    \
					 uint32_t bytes, uint32_t burst)       \
	{                                                                      \
		uint64_t *from;                                                \
		uint32_t n =                                                   \
			peali_bench_queue_stage(end, bytes, burst, &from);     \
                                                                               \
		return peali_bench_queue_unstage(                              \
			end, rte_ring_##how##_enqueue_burst_elem(              \
				     queue, from, bytes, n, NULL));            \
	}
#define GET(name, how)                                                         \
	static PEAL_INLINE uint32_t name(void *queue,                          \
					 struct peali_bench_queue_end *end,    \
					 uint32_t bytes, uint32_t burst)       \
	{                                                                      \
		uint32_t n = rte_ring_##how##_dequeue_burst_elem(              \
			queue, end->stage, bytes, burst, NULL);                \
                                                                               \
		for (uint32_t i = 0; i < n; i++)                               \
			peali_bench_queue_check(                               \
				end, end->stage + i * (bytes / 8), bytes);     \
		return n;                                                      \
	}

PUT(sp_put, sp)
PUT(mp_put, mp)
PUT(hts_put, mp_hts)
GET(sc_get, sc)
GET(mc_get, mc)

/*
 * The ring's sync type selects the function, as in rte_ring_dequeue_burst_elem.
 */
static PEAL_INLINE uint32_t hts_get(void *queue,
				    struct peali_bench_queue_end *end,
				    uint32_t bytes, uint32_t burst)
{
	uint32_t n = rte_ring_dequeue_burst_elem(queue, end->stage, bytes,
						 burst, NULL);

	for (uint32_t i = 0; i < n; i++)
		peali_bench_queue_check(end, end->stage + i * (bytes / 8),
					bytes);
	return n;
}

/* ---- in place ------------------------------------------------------------ */

static PEAL_INLINE void *part(const struct rte_ring_zc_data *place, uint32_t i,
			      uint32_t bytes)
{
	return i < place->n1 ?
		       (uint8_t *)place->ptr1 + (size_t)i * bytes :
		       (uint8_t *)place->ptr2 + (size_t)(i - place->n1) * bytes;
}

static PEAL_INLINE uint32_t zc_put(void *queue,
				   struct peali_bench_queue_end *end,
				   uint32_t bytes, uint32_t burst)
{
	struct rte_ring_zc_data place;
	uint32_t n = rte_ring_enqueue_zc_burst_elem_start(
		queue, bytes, peali_bench_queue_space(end, burst), &place,
		NULL);

	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		peali_bench_queue_fill(end, part(&place, i, bytes), bytes, i);
	rte_ring_enqueue_zc_elem_finish(queue, n);
	return n;
}

static PEAL_INLINE uint32_t zc_get(void *queue,
				   struct peali_bench_queue_end *end,
				   uint32_t bytes, uint32_t burst)
{
	struct rte_ring_zc_data place;
	uint32_t n = rte_ring_dequeue_zc_burst_elem_start(queue, bytes, burst,
							  &place, NULL);

	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		peali_bench_queue_check(end, part(&place, i, bytes), bytes);
	rte_ring_dequeue_zc_elem_finish(queue, n);
	return n;
}

PEALI_BENCH_QUEUE_LOOPS(spsc, sp_put, sc_get)
PEALI_BENCH_QUEUE_LOOPS(zc, zc_put, zc_get)
PEALI_BENCH_QUEUE_LOOPS(mpsc, mp_put, sc_get)
PEALI_BENCH_QUEUE_LOOPS(mpmc, mp_put, mc_get)
PEALI_BENCH_QUEUE_LOOPS(hts, hts_put, hts_get)

const struct peali_bench_queue_kind peali_baseline_rte_spsc = {
	.name = "rte_ring SP/SC",
	.open = spsc_open,
	.close = ring_close,
	.send = spsc_send,
	.take = spsc_take,
	.trips = spsc_trips,
};

const struct peali_bench_queue_kind peali_baseline_rte_spsc_zc = {
	.name = "rte_ring SP/SC zero-copy",
	.open = spsc_open,
	.close = ring_close,
	.send = zc_send,
	.take = zc_take,
	.trips = zc_trips,
};

const struct peali_bench_queue_kind peali_baseline_rte_mpsc = {
	.name = "rte_ring MP/SC",
	.open = mpsc_open,
	.close = ring_close,
	.send = mpsc_send,
	.take = mpsc_take,
	.trips = mpsc_trips,
};

const struct peali_bench_queue_kind peali_baseline_rte_mpmc = {
	.name = "rte_ring MP/MC",
	.open = mpmc_open,
	.close = ring_close,
	.send = mpmc_send,
	.take = mpmc_take,
	.trips = mpmc_trips,
};

const struct peali_bench_queue_kind peali_baseline_rte_hts = {
	.name = "rte_ring HTS",
	.open = hts_open,
	.close = ring_close,
	.send = hts_send,
	.take = hts_take,
	.trips = hts_trips,
};
