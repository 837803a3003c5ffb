/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TOPIC_H
#define PEAL_DEVICE_TOPIC_H

#include <peal/abi/topic.h>
#include <peal/device/pack.h>
#include <peal/errors.h>

/*
 * The topic: one publishes, every subscriber gets each message; subscribing is
 * in take_topic.h. One ring, and a cursor per subscriber on a line of its own.
 *
 *	publisher				subscriber
 *	content, tag (R1) ------------------>	A1 tag: content may be read
 *	A7 cursor: slot may be reused <------	R7 cursor: content was read
 *	writing (R8), content, tag --------->	A8 content, then the tag again
 *	A9 gate: who joined is heeded <----->	R9 gate: cursor is in place
 *
 * Edge 7 is of the mode WAIT. The publisher keeps the slowest cursor and looks
 * at all of them only when the ring is full for it.
 *
 * Edge 8 is of the mode OVERWRITE with the sequence policy: before it writes to
 * a slot, the publisher takes its tag away; each word of the content is stored
 * after that, and loaded before the tag is looked at again. So a reader that
 * got a word of a later message sees that the tag has changed, and gives
 * nothing out. With atoms every 4 or 12 bytes carry their lap.
 *
 * A tag's lap has 16 bits. A subscriber may sleep through 65,536 laps, so the
 * content says the lap's next 32 bits, in the header's `actor`: a topic has no
 * receiver to name.
 *
 * Order: first in, first out for each subscriber. Progress: publishing and
 * taking are wait-free, joining and leaving too. In the mode WAIT a subscriber
 * that stops makes the publisher get PEAL_EAGAIN once the ring is full; in the
 * mode OVERWRITE nobody can delay the publisher. One lane.
 */

/** Slots of a topic. Wait-free. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_topic_capacity(const struct peal_topic *t)
{
	return 1ULL << t->capacity_log2;
}

static PEAL_DEV PEAL_INLINE uint8_t *peali_topic_slot(struct peal_topic *t,
						      uint64_t number)
{
	return (uint8_t *)t + t->slots_offset +
	       (number & (peal_topic_capacity(t) - 1)) * t->slot_bytes;
}

static PEAL_DEV PEAL_INLINE uint32_t peali_topic_lap(const struct peal_topic *t,
						     uint64_t number)
{
	return (uint32_t)(number >> t->capacity_log2) + 1;
}

/* The bits of the lap that no tag has. */
static PEAL_DEV PEAL_INLINE uint32_t peali_topic_era(const struct peal_topic *t,
						     uint64_t number)
{
	return (uint32_t)(((number >> t->capacity_log2) + 1) >> 16);
}

static PEAL_DEV PEAL_INLINE struct peal_topic_cursor *
peali_topic_cursor(struct peal_topic *t, uint32_t index)
{
	return (struct peal_topic_cursor *)(void *)((uint8_t *)t +
						    t->cursors_offset) +
	       index;
}

/**
 * Makes the publisher's place: of a topic that is new, or of one whose earlier
 * publisher has ended.
 *
 * @param t the topic
 * @param p the publisher's own
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_topic_publisher_init(struct peal_topic *t, struct peal_topic_publisher *p)
{
	p->tail = p->limit = peal_load_acquire_dev(&t->tail);
}

/*
 * Looks at the cursors: how far the publisher may go. What it may come to is
 * promised before the gate: whoever passes the gate later reads that or less,
 * and begins behind it; whoever has passed it is seen here.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_topic_look(struct peal_topic *t, struct peal_topic_publisher *p)
{
	uint64_t behind = 0, capacity = peal_topic_capacity(t), number;
	uint32_t i;

	peal_store_relaxed_dev(&t->promised, p->tail + capacity);
	/* A9, R9: pairs with itself in peal_topic_join. */
	peal_add_acqrel_dev(&t->gate, 0);
	for (i = 0; i < t->n_cursors; i++) {
		struct peal_topic_cursor *c = peali_topic_cursor(t, i);

		/* A7: pairs with R7 in peal_topic_flush, peal_topic_leave. */
		if (!peal_load_acquire_dev(&c->active))
			continue;
		number = peal_load_acquire_dev(&c->number);
		if (p->tail - number > behind)
			behind = p->tail - number;
	}
	/* one that is still joining may seem to be further behind */
	p->limit = p->tail + (behind < capacity ? capacity - behind : 0);
	peal_store_relaxed_dev(&t->promised, p->limit);
}

/* Up to 8 bytes at data, then zeros. */
static PEAL_DEV PEAL_INLINE uint64_t peali_topic_word(const uint8_t *data,
						      uint64_t n)
{
	uint64_t word = 0, i;

	if (n >= 8) {
		__builtin_memcpy(&word, data, 8);
		return word;
	}
	for (i = 0; i < n; i++)
		word |= (uint64_t)data[i] << 8 * i;
	return word;
}

/* Writes to a slot that somebody may be reading. */
static PEAL_DEV PEAL_UNUSED inline void
peali_topic_overwrite(uint8_t *slot, uint32_t lap, uint64_t header,
		      const uint8_t *data, uint64_t bytes)
{
	uint64_t *word = (uint64_t *)(void *)(slot + 8), at;

	peal_slot_publish(slot, lap, PEAL_KIND_EMPTY, 0);
	/* R8: pairs with A8 in peali_topic_read_words: the tag is gone. */
	peal_store_release_sys(word++, header);
	for (at = 0; at < bytes; at += 8)
		peal_store_release_sys(word++,
				       peali_topic_word(data + at, bytes - at));
	peal_slot_publish(slot, lap, PEAL_KIND_DATA,
			  (uint32_t)(sizeof(header) + bytes));
}

/* Writes a message to its slot and publishes it. */
static PEAL_DEV PEAL_INLINE void peali_topic_write(struct peal_topic *t,
						   uint64_t number,
						   struct peal_header header,
						   const uint8_t *data,
						   uint64_t bytes)
{
	uint8_t *slot = peali_topic_slot(t, number);
	uint32_t lap = peali_topic_lap(t, number);

	header.actor = peali_topic_era(t, number);
	if (peali_policy(t->policy) != PEAL_POLICY_SEQUENCE) {
		peali_pack(peali_policy(t->policy), slot, t->slot_bytes, lap,
			   peali_header_word(header), data, (uint32_t)bytes);
	} else if (t->mode == PEAL_TOPIC_OVERWRITE) {
		peali_topic_overwrite(slot, lap, peali_header_word(header),
				      data, bytes);
	} else {
		peal_header_store(slot + 8, header);
		peal_copy(slot + 8 + sizeof(header), data, bytes);
		peal_slot_publish(slot, lap, PEAL_KIND_DATA,
				  (uint32_t)(sizeof(header) + bytes));
	}
}

/**
 * Publishes n messages of `bytes` each, laid out one after another at data, all
 * or none of them.
 *
 * @param t      the topic
 * @param p      the publisher's own
 * @param header of each: type and flags; there is no actor
 * @param data   n * bytes
 * @param bytes  of each, at most the topic's message_bytes
 * @param n      at most the capacity
 * @return 0; PEAL_EAGAIN a subscriber has not taken what is there (mode WAIT),
 *         nothing was written; PEAL_EMSGSIZE too long or too many. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_publish_bulk(struct peal_topic *t, struct peal_topic_publisher *p,
			struct peal_header header, const void *data,
			uint64_t bytes, uint64_t n)
{
	const uint8_t *from = (const uint8_t *)data;
	uint64_t i;

	if (PEAL_UNLIKELY(bytes > t->message_bytes ||
			  n > peal_topic_capacity(t)))
		return PEAL_EMSGSIZE;
	if (t->mode == PEAL_TOPIC_WAIT &&
	    PEAL_UNLIKELY(p->limit - p->tail < n)) {
		peali_topic_look(t, p);
		if (p->limit - p->tail < n)
			return PEAL_EAGAIN;
	}
	/* from the last one on: who waits for the first takes no line away */
	for (i = n; i-- > 0;)
		peali_topic_write(t, p->tail + i, header, from + i * bytes,
				  bytes);
	p->tail += n;
	/* for who joins, and for who was lapped */
	peal_store_relaxed_dev(&t->tail, p->tail);
	return 0;
}

/** Publishes one message: peal_topic_publish_bulk of one. */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_publish(struct peal_topic *t, struct peal_topic_publisher *p,
		   struct peal_header header, const void *data, uint64_t bytes)
{
	return peal_topic_publish_bulk(t, p, header, data, bytes, 1);
}

#endif
