/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TOPIC_H
#define PEAL_DEVICE_TOPIC_H

#include <peal/abi/topic.h>
#include <peal/device/impl/queue/slot_write_direct.h>
#include <peal/errors.h>

/*
 * The topic: one publisher, and every subscriber gets each message. Subscribers
 * use topic_subscriber.h. A topic has one ring, and a cursor per subscriber on
 * a line of its own.
 *
 *	publisher				subscriber
 *	content, tag (R1) ------------------>	A1 tag: content may be read
 *	A7 cursor: slot may be reused <------	R7 cursor: content was read
 *	no tag (R8), content, tag ---------->	A8 content, then the tag again
 *	A9 gate: waits for the cursor <----->	R9 gate: cursor is in place
 *
 * Edge 7 is for mode WAIT. The publisher remembers the limit of the slowest
 * cursor. It looks at all cursors only at that limit.
 *
 * Edge 8 is for mode OVERWRITE with the sequence policy:
 *
 * 1. The publisher clears the tag of the slot.
 * 2. It stores the header, then each word of the content, then the new tag.
 * 3. A subscriber loads the words, then the tag again, then the header again.
 *
 * If the subscriber got a word of a later message, it sees a changed tag or a
 * changed header. It then drops the copy. With atom policies every 4 or 12
 * bytes carry their lap.
 *
 * The lap in a tag has 16 bits. A subscriber may sleep for 65,536 laps before a
 * read, or inside it. So the header's `actor` holds the next 32 bits of the
 * lap, the era. A topic has no receiving actor. The subscriber compares the era
 * with its own, and again after the last word or atom:
 *
 * - A word of a later lap of the same era has made the tag differ.
 * - Else the word is of a later era, which the header then shows.
 *
 * Tag and era together repeat after 2^48 laps. In one slot that takes 32 days
 * at 100 million messages per second. With n slots it takes n times as long. A
 * wrong message needs a subscriber that stops inside one read for that time. It
 * must go on in exactly that lap.
 *
 * With atoms on GPUs the loads of a read have no order by the memory model. The
 * load of the first atom is issued last. A worker that stops between two loads
 * has completed the first of them before it goes on. A load that is under way
 * takes microseconds, and 65,536 laps take milliseconds.
 *
 * Order: first in, first out for each subscriber. Progress: all calls are
 * wait-free. In mode WAIT, a stalled subscriber makes the publisher get
 * PEAL_EAGAIN once the ring is full. In mode OVERWRITE the publisher never
 * waits. One lane calls each function.
 */

/** Returns the number of slots of a topic. Wait-free. */
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

/* Returns the bits of the lap that do not fit a tag. */
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
 * Initializes a publisher of a new topic, or of one without a publisher now.
 *
 * @param t the topic.
 * @param p the publisher's private state.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_topic_publisher_init(struct peal_topic *t, struct peal_topic_publisher *p)
{
	p->tail = p->limit = peal_load_acquire_dev(&t->tail);
}

/*
 * Stores and loads the tail. On the host, a subscriber that continues by the
 * tail sees the slots of all messages below it. Else its first tag could be
 * 65,536 laps old by C11. On GPUs no load is that old, and a publication needs
 * no fence.
 */
static PEAL_DEV PEAL_INLINE void peali_topic_tail_store(struct peal_topic *t,
							uint64_t tail)
{
#if PEAL_ON_HOST
	/* R28: pairs with A28 in peali_topic_tail: the slots are written. */
	peal_store_release_dev(&t->tail, tail);
#else
	peal_store_relaxed_dev(&t->tail, tail);
#endif
}

static PEAL_DEV PEAL_INLINE uint64_t peali_topic_tail(const struct peal_topic *t)
{
#if PEAL_ON_HOST
	/* A28: pairs with R28 in peali_topic_tail_store. */
	return peal_load_acquire_dev(&t->tail);
#else
	return peal_load_relaxed_dev(&t->tail);
#endif
}

/*
 * Looks at the cursors and sets the publisher's limit. The publisher stores an
 * upper bound of that limit to `promised` before the gate. A subscriber that
 * passes the gate later reads this bound or a lower one, and begins behind it.
 * The publisher sees the cursor of a subscriber that has passed the gate
 * before.
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
	/* a joining subscriber may seem more than `capacity` behind */
	p->limit = p->tail + (behind < capacity ? capacity - behind : 0);
	peal_store_relaxed_dev(&t->promised, p->limit);
}

/* Returns up to 8 bytes at data as a word, padded with zeros. */
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

/* Writes to a slot that a subscriber may be reading. */
static PEAL_DEV PEAL_UNUSED inline void
peali_topic_overwrite(uint8_t *slot, uint32_t lap, uint64_t header,
		      const uint8_t *data, uint64_t bytes)
{
	uint64_t *word = (uint64_t *)(void *)(slot + 8), at;

	peal_slot_publish(slot, lap, PEAL_KIND_EMPTY, 0);
	/* R8: pairs with A8 in peali_topic_read_words: the tag is cleared. */
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
	if (peali_policy(t->policy) == PEAL_POLICY_SEQUENCE &&
	    t->mode == PEAL_TOPIC_OVERWRITE)
		peali_topic_overwrite(slot, lap, peali_header_word(header),
				      data, bytes);
	else
		peali_slot_put(peali_policy(t->policy), slot, t->slot_bytes,
			       lap, peali_content_of(header, data, bytes));
}

/**
 * Publishes n messages of equal length, all or none.
 *
 * One lane, wait-free.
 *
 * @param t      the topic.
 * @param p      the publisher's private state.
 * @param header type and flags of each message; its `actor` is not used.
 * @param data   n payloads of `bytes` bytes, one after another; copied.
 * @param bytes  length of each, at most the topic's message_bytes.
 * @param n      number of messages, at most the capacity.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   mode WAIT: a subscriber is too far behind. Nothing was
 *                       written.
 * @retval PEAL_EMSGSIZE `bytes` or n is too large.
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
	/* last message first: subscribers poll the first slot, and so do not
	 * fetch cache lines before they are written */
	for (i = n; i-- > 0;)
		peali_topic_write(t, p->tail + i, header, from + i * bytes,
				  bytes);
	p->tail += n;
	/* for subscribers that join or that missed messages */
	peali_topic_tail_store(t, p->tail);
	return 0;
}

/** Publishes one message, as peal_topic_publish_bulk. */
static PEAL_DEV PEAL_UNUSED inline int
peal_topic_publish(struct peal_topic *t, struct peal_topic_publisher *p,
		   struct peal_header header, const void *data, uint64_t bytes)
{
	return peal_topic_publish_bulk(t, p, header, data, bytes, 1);
}

#endif
