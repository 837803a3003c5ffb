/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/kinds/kinds.h"

#include <stdlib.h>

#include <peal/device/consumer.h>
#include <peal/device/producer.h>

#include "queues/ring.h"

#define LINE 64

/* The ends are apart: each belongs to one thread. */
struct link {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_link_producer producer;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_link_consumer consumer;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_credit credit;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_link_counts counts;
	struct peal_ring *ring;
};

static void *link_open(const struct peali_bench_queue_shape *shape)
{
	struct peali_ring_spec spec = {
		.capacity = shape->slots,
		.policy = PEAL_POLICY_SEQUENCE,
		.message_bytes = shape->bytes,
	};
	struct link *l = peali_bench_queue_memory(sizeof(*l));
	struct peal_link_view view = { 0 };

	/*
	 * One message at a time fills lines of its own; many lie as densely as
	 * they do by default, which moves fewer lines.
	 */
	if (shape->trips)
		spec.slot_bytes = (shape->bytes + 16 + LINE - 1) / LINE * LINE;
	if (!l || peali_ring_spec_complete(&spec, 1u << PEAL_POLICY_SEQUENCE,
					   PEAL_POLICY_SEQUENCE, "queues"))
		goto fail;
	l->ring = peali_bench_queue_memory(peali_ring_bytes(&spec));
	if (!l->ring)
		goto fail;
	peali_ring_header(l->ring, &spec, 1);
	view.ring = (uintptr_t)l->ring;
	view.credit = (uintptr_t)&l->credit;
	view.counts = (uintptr_t)&l->counts;
	view.message_bytes = spec.message_bytes;
	peal_link_producer_init(&l->producer, &view);
	peal_link_consumer_init(&l->consumer, &view);
	return l;
fail:
	free(l);
	return NULL;
}

static void link_close(void *queue)
{
	struct link *l = queue;

	free(l->ring);
	free(l);
}

static PEAL_INLINE uint32_t link_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	const struct peal_header header = { 0, PEALI_BENCH_DATA, 0 };
	struct peal_link_producer *p = &((struct link *)queue)->producer;
	uint32_t n, i;
	uint64_t *from;
	void *to;

	/* In bulk all or nothing, and no message that needs the slab. */
	if (burst > 1 && bytes <= p->fits_slot) {
		n = peali_bench_queue_stage(end, bytes, burst, &from);
		if (peal_link_push_bulk(p, header, from, bytes, n))
			return 0;
		return peali_bench_queue_unstage(end, n);
	}
	n = peali_bench_queue_room(end, burst);
	for (i = 0; i < n; i++) {
		if (peal_link_reserve(p, bytes, &to))
			break;
		peali_bench_queue_fill(end, to, bytes, i);
		peal_link_commit(p, header, bytes);
	}
	return i;
}

static PEAL_INLINE uint32_t link_get(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct peal_link_consumer *c = &((struct link *)queue)->consumer;
	uint32_t i;

	for (i = 0; i < burst; i++) {
		struct peal_message m;

		if (peal_link_peek(c, &m))
			break;
		if (PEAL_UNLIKELY(m.length != bytes))
			peali_bench_queue_note_wrong(end);
		else
			peali_bench_queue_check(end, m.data, bytes);
		peal_link_release(c, &m);
	}
	return i;
}

PEALI_BENCH_QUEUE_LOOPS(link, link_put, link_get)

const struct peali_bench_queue_kind peali_bench_queue_link = {
	.name = "link",
	.open = link_open,
	.close = link_close,
	.send = link_send,
	.take = link_take,
	.trips = link_trips,
};

/* ---- a link for each reader --------------------------------------------------- */

struct links {
	void *link[PEALI_BENCH_QUEUE_ENDS];
};

static void links_close(void *queue)
{
	struct links *all = queue;
	uint32_t i;

	for (i = 0; i < PEALI_BENCH_QUEUE_ENDS; i++)
		if (all->link[i])
			link_close(all->link[i]);
	free(all);
}

static void *links_open(const struct peali_bench_queue_shape *shape)
{
	struct links *all = calloc(1, sizeof(*all));
	uint32_t i;

	for (i = 0; all && i < shape->consumers; i++) {
		all->link[i] = link_open(shape);
		if (!all->link[i]) {
			links_close(all);
			return NULL;
		}
	}
	return all;
}

/* To all of them or to none. */
static PEAL_INLINE uint32_t links_put(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	const struct peal_header header = { 0, PEALI_BENCH_DATA, 0 };
	struct links *all = queue;
	uint64_t *from;
	uint32_t n = peali_bench_queue_stage(end, bytes, burst, &from), i;

	for (i = 0; i < end->shape.consumers; i++)
		if (peal_link_free_slots(
			    &((struct link *)all->link[i])->producer, n) < n)
			return 0;
	for (i = 0; i < end->shape.consumers; i++) {
		struct peal_link_producer *p =
			&((struct link *)all->link[i])->producer;

		if (burst > 1)
			peal_link_push_bulk(p, header, from, bytes, n);
		else
			peal_link_push(p, header, from, bytes);
	}
	return peali_bench_queue_unstage(end, n);
}

static PEAL_INLINE uint32_t links_get(void *queue,
				      struct peali_bench_queue_end *end,
				      uint32_t bytes, uint32_t burst)
{
	struct links *all = queue;

	return link_get(all->link[end->index], end, bytes, burst);
}

PEALI_BENCH_QUEUE_LOOPS(links, links_put, links_get)

const struct peali_bench_queue_kind peali_bench_queue_links = {
	.name = "a link per reader",
	.open = links_open,
	.close = links_close,
	.send = links_send,
	.take = links_take,
	.trips = links_trips,
};
