/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_H
#define PEAL_DEVICE_LINK_H

#include <peal/abi/ring.h>
#include <peal/device/features.h>
#include <peal/device/impl/queue/peeked_message.h>
#include <peal/device/impl/queue/slot.h>
#include <peal/errors.h>
#if PEAL_ON_HOST
#include <peal/device/impl/base/host_support.h>
#endif

/*
 * The link: a queue from one producer to one consumer. Only links cross
 * devices. The producer writes slots into the consumer's memory. The consumer
 * polls its own memory and writes its credit into the producer's memory. No end
 * reads remote memory. No word has two writers.
 *
 *	producer				consumer
 *	content, tag (R1) ------------------>	A1 tag: content may be read
 *	A2 credit: slot may be reused <------	R2 credit: content was read
 *
 * Wrap: tail, head and credit are free-running 64-bit numbers. They are
 * compared by difference. A slot's lap is (number / capacity) + 1 in 16 bits.
 * At most one lap can be open. So an old tag never equals the expected one.
 *
 * One lane (the leader) calls the functions of link_producer.h and
 * link_consumer.h, unless a comment says "all lanes". Each end belongs to one
 * thread or worker at a time. All functions are wait-free.
 */

/* State of an end that is no link: a worker's port or input of a topic. All its
 * messages take the slow path, see publish.h and subscribe.h. */
#define PEALI_STATE_TOPIC 1

static PEAL_DEV PEAL_INLINE int peali_is_topic(int state)
{
	return PEALI_USES(TOPICS) && state == PEALI_STATE_TOPIC;
}

/** The sending end, private to its owner. */
struct peal_link_producer {
	/* used for every message */
	uint8_t *slot; /* of number `tail` */
	uint64_t tail; /* slots written */
	uint64_t limit; /* tail that needs a look at the credit; equal to tail
			 * once the link is closed */
	uint64_t wrap; /* the tail at which the ring restarts */
	uint32_t lap; /* of that slot */
	uint32_t slot_bytes, policy;
	uint32_t fits_slot; /* largest payload of this link in a slot */
	uint32_t actor;
	int32_t state; /* 0: open; PEAL_E...: closed */
	uint64_t accepted_base; /* accepted messages, less `tail` */
	struct peal_link_counts *counts;
	uint64_t accepted_bytes;
	uint64_t bell; /* host only: of the consumer */
	/* used for some messages */
	uint8_t *slots, *slab, *stage;
	struct peal_credit *credit_word; /* in own memory; the peer writes */
	uint64_t credit; /* slots that the consumer has freed */
	uint64_t slab_tail, slab_credit, slab_bytes;
	uint64_t full_at; /* 1 + the latest `tail` that was counted as full */
	uint64_t closed;
	uint64_t message_bytes; /* largest payload */
	uint64_t reserved_at; /* slab position of the open reservation */
	uint16_t capacity_log2;
	uint16_t listed; /* GPUs only. 1: the host does not have its counts,
			  * see publish_counts.h */
	uint32_t payload_max; /* bytes of payload that fit any slot */
};

/** The receiving end, private to its owner. */
struct peal_link_consumer {
	/* used for every message */
	uint8_t *slot; /* of number `head` */
	uint64_t head; /* slots released */
	uint64_t stop; /* the head at which a release does more: the ring
			* restarts, or credit or slab bytes are due */
	uint64_t credit_due; /* the head at which it publishes its credit */
	uint32_t lap; /* of that slot */
	uint32_t expect; /* high part of the slot's tag once it holds a payload;
			  * with atoms: once it holds anything;
			  * PEALI_EXPECT_NOTHING: closed */
	uint32_t slot_bytes;
	uint16_t policy;
	uint16_t atoms_max; /* of a content */
	uint32_t content_max; /* header and the largest payload in a slot */
	uint32_t capacity_log2;
	uint32_t switches;
	int32_t state; /* 0: open; PEAL_EEND: after END; else PEAL_E... */
	uint64_t sequence_base; /* number of the next message in the link,
				 * less `head` */
	uint64_t delivered_base; /* delivered messages, less `head` */
	struct peal_link_counts *counts;
	uint64_t delivered_bytes;
	uint64_t slab_head;
	uint64_t slab_next; /* slab_head after the peeked message's release */
	/* used for some messages */
	uint8_t *slots; /* polled slots: of the ring, or of its mirror */
	const uint8_t *source; /* slots of the ring, with a mirror; else 0 */
	uint8_t *slab, *stage;
	struct peal_credit *credit_word; /* in the producer's memory */
	uint64_t bell; /* host only: of the producer */
	uint64_t credit_sent; /* head as last published */
	uint64_t slab_sent, slab_bytes;
	uint32_t message_bytes; /* largest payload */
	uint16_t more; /* 1: the ring has messages that its mirror lacks, see
		        * slot_prefetch.h */
	uint16_t listed; /* as in the sending end */
};

/* Not the high part of a tag: that part has 24 bits. */
#define PEALI_EXPECT_NOTHING 0xffffffffu

/** Returns the number of slots of the link's ring. Wait-free. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_link_capacity(const struct peal_link_producer *p)
{
	return 1ULL << p->capacity_log2;
}

/* Returns the number of accepted messages. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_link_accepted(const struct peal_link_producer *p)
{
	return p->tail + p->accepted_base;
}

/* Sets slot, wrap, lap and limit of the sending end, from its tail and
 * credit. */
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
 * Writes n messages, for which there are free slots. Returns n, or 0 if the
 * policy is not sequence: then it writes nothing.
 *
 * It writes the last message first. The consumer polls the first slot. So the
 * consumer does not fetch cache lines before they are written.
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

/* Closes the sending end. All messages now take the slow path, which looks at
 * the state. */
static PEAL_DEV PEAL_UNUSED inline void
peali_producer_close(struct peal_link_producer *p, int state)
{
	p->state = state;
	p->limit = p->tail;
}

/* Counts that the link is full: once for each `tail`. The link is open. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_link_count_full(struct peal_link_producer *p)
{
	if (p->full_at == p->tail + 1)
		return;
	p->full_at = p->tail + 1;
	peal_store_relaxed_sys(&p->counts->full,
			       peal_load_relaxed_sys(&p->counts->full) + 1);
}

/* Returns the head at which the ring restarts. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_consumer_wrap(const struct peal_link_consumer *c)
{
	return (c->head | ((1ULL << c->capacity_log2) - 1)) + 1;
}

/* Returns the number of the next message in the link. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_link_sequence(const struct peal_link_consumer *c)
{
	return c->head + c->sequence_base;
}

static PEAL_DEV PEAL_INLINE void
peali_consumer_set_stop(struct peal_link_consumer *c)
{
	uint64_t wrap = peali_consumer_wrap(c);

	c->stop = (int64_t)(c->credit_due - wrap) < 0 ? c->credit_due : wrap;
	if (PEAL_UNLIKELY(c->slab_next != c->slab_head))
		c->stop = c->head + 1; /* the peeked message is in the slab */
}

/* Sets slot, stop, lap and expect of the receiving end, from its head. */
static PEAL_DEV PEAL_UNUSED inline void
peali_consumer_place(struct peal_link_consumer *c)
{
	uint64_t index = c->head & ((1ULL << c->capacity_log2) - 1);

	c->slot = c->slots + index * c->slot_bytes;
	peali_consumer_set_stop(c);
	c->lap = (uint32_t)(c->head >> c->capacity_log2) + 1;
	if (c->state)
		c->expect = PEALI_EXPECT_NOTHING;
	else if (peali_policy(c->policy) == PEAL_POLICY_SEQUENCE)
		c->expect = peal_tag_high(c->lap, PEAL_KIND_DATA);
	else
		c->expect = c->lap & 0xffff;
}

/* Closes the receiving end. All looks now take the slow path, which looks at
 * the state first. */
static PEAL_DEV PEAL_UNUSED inline void
peali_consumer_close(struct peal_link_consumer *c, int state)
{
	c->state = state;
	c->expect = PEALI_EXPECT_NOTHING;
}

/* Notes that the credit up to the head and slab head has been published. */
static PEAL_DEV PEAL_INLINE void
peali_consumer_told(struct peal_link_consumer *c)
{
	uint64_t quarter = (1ULL << c->capacity_log2) >> 2;

	c->credit_sent = c->head;
	c->credit_due = c->head + (quarter ? quarter : 1);
	c->slab_sent = c->slab_head;
	peali_consumer_set_stop(c);
}

/**
 * Initializes the sending end of a view.
 *
 * All counters continue from the count words. So a link keeps its numbers when
 * it changes to another ring.
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
	p->accepted_base = peal_load_relaxed_sys(&p->counts->accepted);
	p->accepted_bytes = peal_load_relaxed_sys(&p->counts->accepted_bytes);
	p->full_at = 0;
	p->closed = peal_load_relaxed_sys(&p->counts->closed);
	p->message_bytes = view->message_bytes;
	p->reserved_at = 0;
	p->capacity_log2 = (uint16_t)ring->capacity_log2;
	p->listed = 0;
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

/** Initializes the receiving end of a view. As peal_link_producer_init. */
static PEAL_DEV PEAL_UNUSED PEAL_GPU_NOINLINE void
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
	c->delivered_base = peal_load_relaxed_sys(&c->counts->delivered);
	c->delivered_bytes = peal_load_relaxed_sys(&c->counts->delivered_bytes);
	c->sequence_base = c->delivered_base;
	PEAL_NO_UNROLL
	for (i = 0; i < PEAL_REASON_COUNT; i++)
		c->sequence_base += peal_load_relaxed_sys(&c->counts->dead[i]);
	c->capacity_log2 = ring->capacity_log2;
	c->slot_bytes = ring->slot_bytes;
	c->policy = (uint16_t)ring->policy;
	c->more = 0;
	c->listed = 0;
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
	c->atoms_max = (uint16_t)peali_atoms_of(peali_policy(c->policy),
						c->content_max);
	c->switches = (uint32_t)peal_load_relaxed_sys(&c->counts->switches);
	c->state = 0;
	peali_consumer_told(c);
	peali_consumer_place(c);
}

/*
 * Stores a counter of delivered, dead or missed messages. On the host this is a
 * release, which is free on x86. A reader that sees the message in this counter
 * also sees it counted as accepted. On a device a release would be a fence.
 * There the store is relaxed, and the reader looks again.
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
