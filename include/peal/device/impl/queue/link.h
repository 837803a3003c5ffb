/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_H
#define PEAL_DEVICE_LINK_H

#include <peal/abi/ring.h>
#include <peal/device/impl/queue/slot.h>
#include <peal/errors.h>
#if PEAL_ON_HOST
#include <peal/device/impl/base/host_support.h>
#endif

/*
 * The link: a queue from one producer to one consumer, the only thing that
 * crosses devices. The producer writes slots into the consumer's memory; the
 * consumer polls its own memory and writes its credit into the producer's.
 * Nothing is ever read remotely, no word has two writers.
 *
 *	producer				consumer
 *	content, tag (R1) ------------------>	A1 tag: content may be read
 *	A2 credit: slot may be reused <------	R2 credit: content was read
 *
 * Wrap: tail, head and credit are free-running 64-bit numbers and compared by
 * difference; a slot's lap is (number / capacity) + 1 in 16 bits, and at most
 * one lap can be open, so that an old tag never equals the expected one.
 *
 * The functions of link_producer.h and link_consumer.h are for one lane (the
 * leader), except where it says "all lanes". Each end belongs to one thread or
 * worker at a time. All are wait-free.
 */

/*
 * State of an end that is no link: a worker's port or input that is a topic's.
 * Nothing goes the short way there, see publish.h and subscribe.h.
 */
#define PEALI_STATE_TOPIC 1

/** The sending end; private to its owner. */
struct peal_link_producer {
	/* what every message needs */
	uint8_t *slot; /* of number `tail` */
	uint64_t tail; /* slots written */
	uint64_t limit; /* it may go so far without a look at the credit; equal
			 * to tail once the link is closed */
	uint64_t wrap; /* the tail at which the ring restarts */
	uint32_t lap; /* of that slot */
	uint32_t slot_bytes, policy;
	uint32_t fits_slot; /* the longest payload that a slot takes */
	uint32_t actor;
	int32_t state; /* 0 open, PEAL_E... once closed */
	uint64_t accepted;
	struct peal_link_counts *counts;
	uint64_t accepted_bytes;
	uint64_t bell; /* host only: of the consumer */
	/* the rest */
	uint8_t *slots, *slab, *stage;
	struct peal_credit *credit_word; /* own memory, the peer writes */
	uint64_t credit; /* slots that came back */
	uint64_t slab_tail, slab_credit, slab_bytes;
	uint64_t full, closed;
	uint64_t message_bytes; /* largest payload */
	uint64_t reserved_at; /* slab position of the open reservation */
	uint32_t capacity_log2;
	uint32_t payload_max; /* of a slot, whatever message_bytes is */
};

/** The receiving end; private to its owner. */
struct peal_link_consumer {
	/* what every message needs */
	uint8_t *slot; /* of number `head` */
	uint64_t head; /* slots released */
	uint64_t wrap; /* the head at which the ring restarts */
	uint64_t credit_due; /* the head at which credit is given back */
	uint32_t lap; /* of that slot */
	uint32_t expect; /* high part of its tag once it holds a payload; or,
			  * once closed, PEALI_EXPECT_NOTHING */
	uint32_t slot_bytes, policy;
	uint32_t content_max; /* header and the largest payload in a slot */
	uint32_t capacity_log2;
	uint32_t switches;
	int32_t state; /* 0 open, PEAL_EEND after END, else PEAL_E... */
	uint64_t sequence; /* of the next message in the link */
	uint64_t delivered;
	struct peal_link_counts *counts;
	uint64_t delivered_bytes;
	uint64_t slab_head;
	uint64_t slab_next; /* slab_head once the peeked message is released */
	/* the rest */
	uint8_t *slots; /* that it polls: the ring's, or its mirror's */
	const uint8_t *source; /* the ring's where there is a mirror, else 0 */
	uint8_t *slab, *stage;
	struct peal_credit *credit_word; /* in the producer's memory */
	uint64_t bell; /* host only: of the producer */
	uint64_t credit_sent; /* head as last told */
	uint64_t slab_sent, slab_bytes;
	uint32_t message_bytes; /* largest payload */
	uint32_t more; /* 1: the ring has more than its mirror, see
		        * slot_prefetch.h */
};

/* Not the high part of any tag, which has 24 bits. */
#define PEALI_EXPECT_NOTHING 0xffffffffu

/** A message as the consumer sees it; data stays valid until the release. */
struct peal_message {
	struct peal_header header;
	const void *data;
	uint64_t length; /* bytes of data */
	uint64_t sequence; /* number in its link, from 0 */
	uint32_t input; /* the worker's input it came from; max_inputs and more:
			 * of its mailbox or a pool, see PEAL_INFLIGHT */
	uint32_t kind; /* enum peal_kind */
};

/* Bytes of its data that stand before the payload: a deadline, a request's
 * number, or both. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_message_prefix(const struct peal_message *m)
{
	uint32_t flags = m->header.flags &
			 (PEAL_FLAG_REQUEST | PEAL_FLAG_DEADLINE);
	uint32_t bytes = 0;

	if (PEAL_LIKELY(!flags))
		return 0;
	if (flags & PEAL_FLAG_REQUEST)
		bytes = PEAL_REQUEST_BYTES;
	if (flags & PEAL_FLAG_DEADLINE)
		bytes += PEAL_DEADLINE_BYTES;
	return PEAL_LIKELY(m->length >= bytes) ? bytes : 0;
}

/* That number; 0: it is no request, nor a reply. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_message_request(const struct peal_message *m)
{
	uint32_t prefix = peali_message_prefix(m);

	if (!prefix ||
	    (m->header.flags & (PEAL_FLAG_REQUEST | PEAL_FLAG_ANSWER)) !=
		    PEAL_FLAG_REQUEST)
		return 0;
	return *(const uint64_t *)(const void *)((const uint8_t *)m->data +
						 prefix - PEAL_REQUEST_BYTES);
}

/* That deadline; 0: it has none. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_message_deadline(const struct peal_message *m)
{
	if (!(m->header.flags & PEAL_FLAG_DEADLINE) || !peali_message_prefix(m))
		return 0;
	return *(const uint64_t *)m->data;
}

/* The kind of a slot that holds a message with that header. */
static PEAL_DEV PEAL_INLINE uint32_t peali_kind(uint32_t kind,
						struct peal_header header)
{
	if (PEAL_UNLIKELY(header.flags & PEAL_FLAG_DEADLINE))
		kind |= PEAL_KIND_TIMED;
	return kind;
}

/* Whether a peeked slot holds no message but a mark: END or SEAL. */
static PEAL_DEV PEAL_INLINE int peali_kind_is_mark(uint32_t kind)
{
	return PEAL_UNLIKELY(kind > PEAL_KIND_SLAB) &&
	       !(kind & PEAL_KIND_TIMED);
}

/** Slots of the link's ring. Wait-free. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_link_capacity(const struct peal_link_producer *p)
{
	return 1ULL << p->capacity_log2;
}

/* Where the sending end stands, from its tail and credit. */
static PEAL_DEV PEAL_UNUSED inline void
peali_producer_place(struct peal_link_producer *p)
{
	uint64_t index = p->tail & (peal_link_capacity(p) - 1);

	p->slot = p->slots + index * p->slot_bytes;
	p->wrap = p->tail - index + peal_link_capacity(p);
	p->lap = (uint32_t)(p->tail >> p->capacity_log2) + 1;
	p->limit = p->state ? p->tail : p->credit + peal_link_capacity(p);
}

/*
 * Writes n messages by policy sequence, for which there is space, from the last
 * to the first, at which the consumer looks: until all are there it takes no
 * line away that is still to be written. Returns how many it wrote: n or, by
 * another policy, 0.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peali_producer_run(struct peal_link_producer *p, struct peal_header header,
		   const uint8_t *from, uint64_t bytes, uint64_t n)
{
	const uint32_t length = (uint32_t)(sizeof(header) + bytes);
	uint64_t i = n;

	if (peali_policy(p->policy) != PEAL_POLICY_SEQUENCE)
		return 0;
	while (i-- > 0) {
		uint64_t number = p->tail + i;
		uint64_t index = number & (peal_link_capacity(p) - 1);
		uint8_t *slot = p->slots + index * p->slot_bytes;

		peal_header_store(slot + 8, header);
		peal_copy(slot + 8 + sizeof(header), from + i * bytes, bytes);
		peal_slot_publish(slot,
				  (uint32_t)(number >> p->capacity_log2) + 1,
				  PEAL_KIND_DATA, length);
	}
	p->tail += n;
	peali_producer_place(p);
	return n;
}

/* Closes the sending end: nothing goes on without a look at the state. */
static PEAL_DEV PEAL_UNUSED inline void
peali_producer_close(struct peal_link_producer *p, int state)
{
	p->state = state;
	p->limit = p->tail;
}

/* Where the receiving end stands, from its head. */
static PEAL_DEV PEAL_UNUSED inline void
peali_consumer_place(struct peal_link_consumer *c)
{
	uint64_t capacity = 1ULL << c->capacity_log2;
	uint64_t index = c->head & (capacity - 1);

	c->slot = c->slots + index * c->slot_bytes;
	c->wrap = c->head - index + capacity;
	c->lap = (uint32_t)(c->head >> c->capacity_log2) + 1;
	c->expect = c->state ? PEALI_EXPECT_NOTHING :
			       peal_tag_high(c->lap, PEAL_KIND_DATA);
}

/* Closes the receiving end: nothing is taken without a look at the state. */
static PEAL_DEV PEAL_UNUSED inline void
peali_consumer_close(struct peal_link_consumer *c, int state)
{
	c->state = state;
	c->expect = PEALI_EXPECT_NOTHING;
}

/* All that was released up to here has been told as credit. */
static PEAL_DEV PEAL_INLINE void
peali_consumer_told(struct peal_link_consumer *c)
{
	uint64_t quarter = (1ULL << c->capacity_log2) >> 2;

	c->credit_sent = c->head;
	c->credit_due = c->head + (quarter ? quarter : 1);
	c->slab_sent = c->slab_head;
}

/**
 * Makes the sending end of a view; all counts go on from the count words, so
 * that a link keeps its numbers over its rings.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_producer_init(struct peal_link_producer *p,
			const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;

	p->slots = (uint8_t *)(uintptr_t)view->ring + ring->slots_offset;
	p->slab = (uint8_t *)(uintptr_t)view->ring + ring->slab_offset;
	p->stage = (uint8_t *)(uintptr_t)view->stage;
	p->credit_word = (struct peal_credit *)(uintptr_t)view->credit;
	p->counts = (struct peal_link_counts *)(uintptr_t)view->counts;
	p->bell = view->bell;
	p->tail = p->credit = 0;
	p->slab_tail = p->slab_credit = 0;
	p->slab_bytes = ring->slab_bytes;
	p->accepted = peal_load_relaxed_sys(&p->counts->accepted);
	p->accepted_bytes = peal_load_relaxed_sys(&p->counts->accepted_bytes);
	p->full = peal_load_relaxed_sys(&p->counts->full);
	p->closed = peal_load_relaxed_sys(&p->counts->closed);
	p->message_bytes = view->message_bytes;
	p->reserved_at = 0;
	p->capacity_log2 = ring->capacity_log2;
	p->slot_bytes = ring->slot_bytes;
	p->policy = ring->policy;
	p->payload_max = peal_slot_content_max(ring->policy, ring->slot_bytes) -
			 (uint32_t)sizeof(struct peal_header);
	p->fits_slot = p->message_bytes < p->payload_max ?
			       (uint32_t)p->message_bytes :
			       p->payload_max;
	p->actor = view->actor;
	p->state = 0;
	peali_producer_place(p);
}

/** Makes the receiving end of a view; counts go on from the count words. */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_consumer_init(struct peal_link_consumer *c,
			const struct peal_link_view *view)
{
	const struct peal_ring *ring =
		(const struct peal_ring *)(uintptr_t)view->ring;
	uint32_t i;

	c->slots = (uint8_t *)(uintptr_t)view->ring + ring->slots_offset;
	c->slab = (uint8_t *)(uintptr_t)view->ring + ring->slab_offset;
	c->stage = (uint8_t *)(uintptr_t)view->stage;
	c->credit_word = (struct peal_credit *)(uintptr_t)view->credit;
	c->counts = (struct peal_link_counts *)(uintptr_t)view->counts;
	c->bell = view->bell;
	c->head = 0;
	c->slab_head = c->slab_next = 0;
	c->slab_bytes = ring->slab_bytes;
	c->delivered = peal_load_relaxed_sys(&c->counts->delivered);
	c->delivered_bytes = peal_load_relaxed_sys(&c->counts->delivered_bytes);
	c->sequence = c->delivered;
	for (i = 0; i < PEAL_REASON_COUNT; i++)
		c->sequence += peal_load_relaxed_sys(&c->counts->dead[i]);
	c->capacity_log2 = ring->capacity_log2;
	c->slot_bytes = ring->slot_bytes;
	c->policy = ring->policy;
	c->more = 0;
	c->source = 0;
	if (view->mirror) {
		c->source = c->slots;
		c->slots = c->stage + ring->slot_bytes;
	}
	c->content_max = peal_slot_content_max(ring->policy, ring->slot_bytes);
	c->message_bytes = view->message_bytes;
	if (c->message_bytes + sizeof(struct peal_header) < c->content_max)
		c->content_max =
			c->message_bytes + (uint32_t)sizeof(struct peal_header);
	c->switches = (uint32_t)peal_load_relaxed_sys(&c->counts->switches);
	c->state = 0;
	peali_consumer_place(c);
	peali_consumer_told(c);
}

/*
 * Stores a count of what became of a message. On the host as a release, which
 * is free on x86: who sees the message counted here sees it counted as
 * accepted. On a device that would be a fence; there the reader looks again.
 */
static PEAL_DEV PEAL_INLINE void peali_store_count(uint64_t *p, uint64_t v)
{
#if PEAL_ON_HOST
	peal_store_release_sys(p, v);
#else
	peal_store_relaxed_sys(p, v);
#endif
}

#endif
