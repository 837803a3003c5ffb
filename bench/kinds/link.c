/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our link as a queue of the benchmark `queues`. Also the forms with messages
 * in slots or in the slab, and a link for each reader.
 */
#include "bench/kinds/kinds.h"

#include <stdlib.h>

#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>

#include "queues/publication.h"
#include "queues/ring.h"

#define LINE 64

/* Where a link stores its messages. */
struct form {
	uint32_t policy; /* enum peal_slot_policy */
	int slab; /* 1: all messages in the slab; 0: in slots */
	int given; /* 1: as `slab` says; 0: by default */
};

/* The two ends lie on separate lines, because each belongs to one thread. */
struct link {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_link_producer producer;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_link_consumer consumer;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_credit credit;
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_link_counts counts;
	struct peal_ring *ring;
	/* staging memory for atoms: the producer's, then the consumer's */
	uint8_t *stages;
};

static void link_close(void *queue)
{
	struct link *l = queue;

	free(l->ring);
	free(l->stages);
	free(l);
}

static void init_ends(struct link *l, const struct peali_ring_spec *spec,
		      uint64_t stage)
{
	struct peal_link_view view = {
		.ring = (uintptr_t)l->ring,
		.credit = (uintptr_t)&l->credit,
		.counts = (uintptr_t)&l->counts,
		.message_bytes = (uint32_t)spec->message_bytes,
	};

	peali_ring_header(l->ring, spec, 1);
	view.stage = (uintptr_t)l->stages;
	peal_link_producer_init(&l->producer, &view);
	view.stage = stage ? (uintptr_t)(l->stages + stage) : 0;
	peal_link_consumer_init(&l->consumer, &view);
}

static uint64_t whole_lines(uint64_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static struct peali_ring_spec spec_of(const struct peali_bench_queue_shape *s,
				      const struct form *form)
{
	struct peali_ring_spec spec = {
		.capacity = s->slots,
		.policy = form->policy,
		.message_bytes = s->bytes,
	};

	if (form->given && form->slab)
		spec.slot_bytes = PEALI_RING_SLOT_WITH_SLAB;
	else if (form->given)
		spec.slot_bytes =
			peali_publication_slot(form->policy, s->bytes + 8);
	/*
	 * In round trips each message fills its own lines. Otherwise short
	 * messages share lines, which is the default and moves fewer lines.
	 */
	else if (s->trips)
		spec.slot_bytes = (uint32_t)whole_lines(s->bytes + 16);
	return spec;
}

static void *link_open_as(const struct peali_bench_queue_shape *shape,
			  const struct form *form)
{
	struct peali_ring_spec spec = spec_of(shape, form);
	struct link *l = peali_bench_queue_memory(sizeof(*l));
	uint64_t stage;

	if (!l || peali_ring_spec_complete(&spec, 1u << form->policy,
					   form->policy, "queues"))
		goto fail;
	stage = whole_lines(peali_ring_stage_bytes(&spec));
	l->ring = peali_bench_queue_memory(peali_ring_bytes(&spec));
	if (stage)
		l->stages = peali_bench_queue_memory(2 * stage);
	if (!l->ring || (stage && !l->stages) ||
	    (form->given && form->slab != (spec.slab_bytes > 0)))
		goto fail;
	init_ends(l, &spec, stage);
	return l;
fail:
	if (l)
		link_close(l);
	return NULL;
}

static void *link_open(const struct peali_bench_queue_shape *shape)
{
	const struct form form = { PEAL_POLICY_SEQUENCE, 0, 0 };

	return link_open_as(shape, &form);
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

	/*
	 * A bulk call sends all messages or none, and only messages without a
	 * slab.
	 */
	if (burst > 1 && bytes <= p->fits_slot) {
		n = peali_bench_queue_stage(end, bytes, burst, &from);
		if (peal_link_push_bulk(p, header, from, bytes, n))
			return 0;
		return peali_bench_queue_unstage(end, n);
	}
	n = peali_bench_queue_space(end, burst);
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

/* ---- messages in slots or in the slab ------------------------------------ */

/* For any size: here the compiler does not know size and burst. */
static uint64_t form_send(void *queue, struct peali_bench_queue_end *end,
			  uint64_t n)
{
	return link_send_sized(queue, end, n, end->shape.bytes,
			       end->shape.burst);
}

static uint64_t form_take(void *queue, struct peali_bench_queue_end *end,
			  uint64_t n)
{
	return link_take_sized(queue, end, n, end->shape.bytes,
			       end->shape.burst);
}

static uint64_t form_trips(void *const queues[2],
			   struct peali_bench_queue_end *out,
			   struct peali_bench_queue_end *in, uint64_t n,
			   int first)
{
	return link_trips_sized(queues, out, in, n, first, out->shape.bytes);
}

#define FORM(id, text, policy, slab)                                           \
	static void *id##_open(const struct peali_bench_queue_shape *shape)    \
	{                                                                      \
		const struct form form = { policy, slab, 1 };                  \
                                                                               \
		return link_open_as(shape, &form);                             \
	}                                                                      \
	static const struct peali_bench_queue_kind id = {                      \
		.name = text,                                                  \
		.open = id##_open,                                             \
		.close = link_close,                                           \
		.send = form_send,                                             \
		.take = form_take,                                             \
		.trips = form_trips,                                           \
	};

FORM(slots, "link, slots", PEAL_POLICY_SEQUENCE, 0)
FORM(slab, "link, slab", PEAL_POLICY_SEQUENCE, 1)
FORM(slots16, "link, slots, atom16", PEAL_POLICY_ATOM16, 0)
FORM(slab16, "link, slab, atom16", PEAL_POLICY_ATOM16, 1)
FORM(slots8, "link, slots, atom8", PEAL_POLICY_ATOM8, 0)
FORM(slab8, "link, slab, atom8", PEAL_POLICY_ATOM8, 1)

const struct peali_bench_queue_kind *const peali_bench_queue_slots[3] = {
	&slots, &slots16, &slots8
};
const struct peali_bench_queue_kind *const peali_bench_queue_slabs[3][2] = {
	{ &slab, NULL }, { &slab16, NULL }, { &slab8, NULL }
};

/* ---- a link for each reader ---------------------------------------------- */

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

/* Sends to all links or to none. */
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
