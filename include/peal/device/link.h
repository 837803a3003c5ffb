/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_H
#define PEAL_DEVICE_LINK_H

#include <peal/abi/ring.h>
#include <peal/device/slot.h>
#include <peal/errors.h>
#if PEAL_ON_HOST
#include <peal/device/host.h>
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
 * The functions of this file are for one lane (the leader), except where it
 * says "all lanes". Each end belongs to one thread or worker at a time.
 * All are wait-free.
 */

/** The sending end; private to its owner. */
struct peal_link_producer {
	uint8_t *slots, *slab, *stage;
	struct peal_credit *credit_word; /* own memory, the peer writes */
	struct peal_link_counts *counts;
	uint64_t bell; /* host only: of the consumer */
	uint64_t tail, credit; /* slots written; slots that came back */
	uint64_t slab_tail, slab_credit, slab_bytes;
	uint64_t accepted, accepted_bytes, full, closed;
	uint64_t message_bytes; /* largest payload */
	uint64_t reserved_at; /* slab position of the open reservation */
	uint32_t capacity_log2, slot_bytes, policy, payload_max;
	uint32_t actor;
	int32_t state; /* 0 open, PEAL_E... once closed */
};

/** The receiving end; private to its owner. */
struct peal_link_consumer {
	uint8_t *slots, *slab, *stage;
	struct peal_credit *credit_word; /* in the producer's memory */
	struct peal_link_counts *counts;
	uint64_t bell; /* host only: of the producer */
	uint64_t head, credit_sent; /* slots released; as last told */
	uint64_t slab_head, slab_sent, slab_bytes;
	uint64_t slab_next; /* slab_head once the peeked message is released */
	uint64_t delivered, delivered_bytes;
	uint64_t dead[PEAL_REASON_COUNT];
	uint32_t capacity_log2, slot_bytes, policy, content_max;
	uint32_t switches;
	int32_t state; /* 0 open, PEAL_EEND after END, else PEAL_E... */
};

/** A message as the consumer sees it; data stays valid until the release. */
struct peal_message {
	struct peal_header header;
	const void *data;
	uint64_t length; /* bytes of data */
	uint64_t sequence; /* number in its link, from 0 */
	uint32_t input; /* the worker's input it came from */
	uint32_t kind; /* enum peal_kind */
};

static PEAL_DEV PEAL_INLINE uint64_t
peal_link_capacity(const struct peal_link_producer *p)
{
	return 1ULL << p->capacity_log2;
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
	p->actor = view->actor;
	p->state = 0;
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
	c->head = c->credit_sent = 0;
	c->slab_head = c->slab_sent = c->slab_next = 0;
	c->slab_bytes = ring->slab_bytes;
	c->delivered = peal_load_relaxed_sys(&c->counts->delivered);
	c->delivered_bytes = peal_load_relaxed_sys(&c->counts->delivered_bytes);
	for (i = 0; i < PEAL_REASON_COUNT; i++)
		c->dead[i] = peal_load_relaxed_sys(&c->counts->dead[i]);
	c->capacity_log2 = ring->capacity_log2;
	c->slot_bytes = ring->slot_bytes;
	c->policy = ring->policy;
	c->content_max = peal_slot_content_max(ring->policy, ring->slot_bytes);
	c->switches = (uint32_t)peal_load_relaxed_sys(&c->counts->switches);
	c->state = 0;
}

/* ---- producer ------------------------------------------------------------ */

static PEAL_DEV PEAL_INLINE uint8_t *
peal_producer_slot(const struct peal_link_producer *p)
{
	uint64_t index = p->tail & (peal_link_capacity(p) - 1);

	return p->slots + index * p->slot_bytes;
}

static PEAL_DEV PEAL_INLINE uint32_t
peal_producer_lap(const struct peal_link_producer *p)
{
	return (uint32_t)(p->tail >> p->capacity_log2) + 1;
}

/* Reads the credit words, which the peer writes and which may be hostile. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_link_read_credit(struct peal_link_producer *p)
{
	/* A2: pairs with R2 in peal_link_flush_credit: the slot was read. */
	uint64_t slots = peal_load_acquire_sys(&p->credit_word->slots);
	uint64_t slab = peal_load_acquire_sys(&p->credit_word->slab);

	if (p->state)
		return;
	if (slots - p->credit > p->tail - p->credit ||
	    slab - p->slab_credit > p->slab_tail - p->slab_credit) {
		p->state = PEAL_EPROTO;
		return;
	}
	p->credit = slots;
	p->slab_credit = slab;
}

/** Slots that can be written now; re-reads the credit if fewer than wanted. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_link_free_slots(struct peal_link_producer *p, uint64_t wanted)
{
	uint64_t free = p->credit + peal_link_capacity(p) - p->tail;

	if (PEAL_UNLIKELY(free < wanted)) {
		peal_link_read_credit(p);
		free = p->credit + peal_link_capacity(p) - p->tail;
	}
	return free;
}

/* Where n contiguous slab bytes start: at slab_tail, or at the next wrap. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_slab_place(const struct peal_link_producer *p, uint64_t n)
{
	uint64_t at = p->slab_tail % p->slab_bytes;

	return at + n <= p->slab_bytes ? p->slab_tail :
					 p->slab_tail + p->slab_bytes - at;
}

/**
 * Whether n messages of the link's largest size fit, in any mix of smaller
 * ones too. At most one wrap lies among them, and its gap is shorter than a
 * message.
 */
static PEAL_DEV PEAL_INLINE int peal_link_fits(struct peal_link_producer *p,
					       uint64_t n)
{
	uint64_t each, need;

	if (PEAL_UNLIKELY(p->state))
		return 1; /* closed: what is emitted is counted as dropped */
	if (PEAL_UNLIKELY(peal_link_free_slots(p, n) < n))
		return 0;
	if (p->message_bytes <= p->payload_max)
		return 1;
	each = PEAL_SLAB_ROUND(p->message_bytes);
	need = n * each;
	if (p->slab_tail % p->slab_bytes + need > p->slab_bytes)
		need += each;
	if (p->slab_tail + need - p->slab_credit <= p->slab_bytes)
		return 1;
	peal_link_read_credit(p);
	return p->slab_tail + need - p->slab_credit <= p->slab_bytes;
}

static PEAL_DEV PEAL_INLINE int peal_link_note_full(struct peal_link_producer *p)
{
	peal_store_relaxed_sys(&p->counts->full, ++p->full);
	return PEAL_EAGAIN;
}

/**
 * Opens room for one message of exactly `bytes` and gives the place to write.
 *
 * The place is in the consumer's slab, in the slot, or in the stage. A second
 * reserve without a commit replaces the first: nothing was sent.
 *
 * @return 0; PEAL_EAGAIN full, nothing changed; PEAL_EMSGSIZE past the link's
 *         message_bytes; the state of a closed link.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_reserve(struct peal_link_producer *p, uint64_t bytes, void **out)
{
	if (PEAL_UNLIKELY(p->state))
		return p->state;
	if (PEAL_UNLIKELY(bytes > p->message_bytes))
		return PEAL_EMSGSIZE;
	if (PEAL_UNLIKELY(!peal_link_free_slots(p, 1)))
		return peal_link_note_full(p);
	if (bytes > p->payload_max) {
		uint64_t n = PEAL_SLAB_ROUND(bytes);
		uint64_t at = peal_slab_place(p, n);

		if (at + n - p->slab_credit > p->slab_bytes) {
			peal_link_read_credit(p);
			if (at + n - p->slab_credit > p->slab_bytes)
				return peal_link_note_full(p);
		}
		p->reserved_at = at;
		*out = p->slab + at % p->slab_bytes;
		return 0;
	}
	if (p->policy == PEAL_POLICY_SEQUENCE)
		*out = peal_producer_slot(p) + 8 + sizeof(struct peal_header);
	else
		*out = p->stage + sizeof(struct peal_header);
	return 0;
}

/* Writes a content that is in the stage or slot and goes on to the next. */
static PEAL_DEV PEAL_INLINE void
peal_link_publish(struct peal_link_producer *p, uint32_t kind, uint32_t length,
		  uint32_t lane, uint32_t lanes)
{
	uint8_t *slot = peal_producer_slot(p);

	if (p->policy != PEAL_POLICY_SEQUENCE)
		peal_slot_pack(p->policy, slot, peal_producer_lap(p), kind,
			       p->stage, length, lane, lanes);
	else if (lane == 0)
		peal_slot_publish(slot, peal_producer_lap(p), kind, length);
}

/* The content's first byte: in the slot, or in the stage. */
static PEAL_DEV PEAL_INLINE uint8_t *
peal_producer_content(struct peal_link_producer *p)
{
	return p->policy == PEAL_POLICY_SEQUENCE ? peal_producer_slot(p) + 8 :
						   p->stage;
}

/**
 * First half of a commit, leader: header and descriptor; returns the kind.
 * The second half (peal_link_publish, all lanes) makes it visible, the third
 * (peal_link_advance, leader) goes on.
 */
static PEAL_DEV PEAL_INLINE uint32_t
peal_link_prepare(struct peal_link_producer *p, struct peal_header header,
		  uint64_t bytes, uint32_t *length_out)
{
	uint8_t *content = peal_producer_content(p);

	*(struct peal_header *)(void *)content = header;
	if (bytes > p->payload_max) {
		struct peal_slab_descriptor *d =
			(struct peal_slab_descriptor *)(void *)(content + 8);

		d->offset = p->reserved_at;
		d->length = (uint32_t)bytes;
		d->reserved = 0;
		if (p->policy != PEAL_POLICY_SEQUENCE)
			peal_fence_release_sys(); /* the slab bytes, once */
		*length_out = (uint32_t)(sizeof(header) + sizeof(*d));
		return PEAL_KIND_SLAB;
	}
	*length_out = (uint32_t)(sizeof(header) + bytes);
	return PEAL_KIND_DATA;
}

static PEAL_DEV PEAL_INLINE void
peal_link_advance(struct peal_link_producer *p, uint32_t kind, uint64_t bytes)
{
	if (kind == PEAL_KIND_SLAB)
		p->slab_tail = p->reserved_at + PEAL_SLAB_ROUND(bytes);
	p->tail++;
	p->accepted++;
	p->accepted_bytes += bytes;
	peal_store_relaxed_sys(&p->counts->accepted, p->accepted);
	peal_store_relaxed_sys(&p->counts->accepted_bytes, p->accepted_bytes);
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
}

/**
 * Sends what was written to the reserved place; `bytes` at most what was
 * reserved, and on the same side of the slot's payload_max. One lane.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_commit(struct peal_link_producer *p, struct peal_header header,
		 uint64_t bytes)
{
	uint32_t length = 0;
	uint32_t kind = peal_link_prepare(p, header, bytes, &length);

	peal_link_publish(p, kind, length, 0, 1);
	peal_link_advance(p, kind, bytes);
}

/**
 * Sends one message of `bytes` at data.
 *
 * @return as peal_link_reserve. On PEAL_EAGAIN nothing was written.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_push(struct peal_link_producer *p, struct peal_header header,
	       const void *data, uint64_t bytes)
{
	void *to = 0;
	int result = peal_link_reserve(p, bytes, &to);

	if (PEAL_UNLIKELY(result))
		return result;
	peal_copy(to, data, bytes);
	peal_link_commit(p, header, bytes);
	return 0;
}

/**
 * Sends n messages of `bytes` each, laid out one after another at data, all or
 * none of them.
 *
 * @return 0; PEAL_EAGAIN not all fit, nothing was written; PEAL_EMSGSIZE,
 *         also for n past the capacity; the state of a closed link.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_push_bulk(struct peal_link_producer *p, struct peal_header header,
		    const void *data, uint64_t bytes, uint64_t n)
{
	const uint8_t *from = (const uint8_t *)data;
	uint64_t i;

	if (PEAL_UNLIKELY(p->state))
		return p->state;
	if (bytes > p->payload_max || n > peal_link_capacity(p))
		return PEAL_EMSGSIZE;
	if (peal_link_free_slots(p, n) < n)
		return peal_link_note_full(p);
	for (i = 0; i < n; i++) {
		uint8_t *content = peal_producer_content(p);
		uint32_t length = (uint32_t)(sizeof(header) + bytes);

		*(struct peal_header *)(void *)content = header;
		peal_copy(content + sizeof(header), from + i * bytes, bytes);
		peal_link_publish(p, PEAL_KIND_DATA, length, 0, 1);
		p->tail++;
	}
	p->accepted += n;
	p->accepted_bytes += n * bytes;
	peal_store_relaxed_sys(&p->counts->accepted, p->accepted);
	peal_store_relaxed_sys(&p->counts->accepted_bytes, p->accepted_bytes);
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
	return 0;
}

/**
 * Writes an END or SEAL mark; it takes a slot and is not counted as a message.
 * After END the link is closed for the producer (PEAL_EPIPE).
 *
 * @return 0; PEAL_EAGAIN full; the state of a closed link.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_push_mark(struct peal_link_producer *p, uint32_t kind)
{
	struct peal_header none = { 0, 0, 0 };

	if (p->state)
		return p->state;
	if (!peal_link_free_slots(p, 1))
		return peal_link_note_full(p);
	*(struct peal_header *)(void *)peal_producer_content(p) = none;
	peal_link_publish(p, kind, (uint32_t)sizeof(none), 0, 1);
	p->tail++;
	if (kind == PEAL_KIND_END) {
		p->state = PEAL_EPIPE;
		peal_store_relaxed_sys(&p->counts->ended, 1);
	} else {
		peal_store_relaxed_sys(
			&p->counts->seals,
			peal_load_relaxed_sys(&p->counts->seals) + 1);
	}
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
	return 0;
}

/* ---- consumer ------------------------------------------------------------ */

/**
 * Gives back what was released so far. Called every capacity/4 releases, and
 * by the owner whenever it goes idle: otherwise a small queue can stall.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_flush_credit(struct peal_link_consumer *c)
{
	if (c->credit_sent == c->head && c->slab_sent == c->slab_head)
		return;
	if (c->slab_sent != c->slab_head)
		peal_store_release_sys(&c->credit_word->slab, c->slab_head);
	/* R2: pairs with A2 in peal_link_read_credit: content was read. */
	peal_store_release_sys(&c->credit_word->slots, c->head);
	c->credit_sent = c->head;
	c->slab_sent = c->slab_head;
#if PEAL_ON_HOST
	peal_bell_ring(c->bell);
#endif
}

static PEAL_DEV PEAL_INLINE int peal_link_fail(struct peal_link_consumer *c)
{
	c->state = PEAL_EPROTO;
	peal_store_relaxed_sys(&c->counts->error, (uint64_t)-PEAL_EPROTO);
	return PEAL_EPROTO;
}

/* Checks a slab descriptor, the peer's word, and finds its bytes. */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_open_slab(struct peal_link_consumer *c, const uint8_t *content,
		    struct peal_message *m)
{
	struct peal_slab_descriptor d;
	uint64_t at, round;

	peal_copy(&d, content + sizeof(struct peal_header), sizeof(d));
	if (!c->slab_bytes || d.offset % PEAL_SLAB_ALIGN)
		return peal_link_fail(c);
	round = PEAL_SLAB_ROUND(d.length);
	at = d.offset % c->slab_bytes;
	if (d.offset - c->slab_head >= c->slab_bytes ||
	    d.offset - c->slab_head + round > c->slab_bytes ||
	    at + round > c->slab_bytes)
		return peal_link_fail(c);
	if (c->policy != PEAL_POLICY_SEQUENCE)
		peal_fence_acquire_sys();
	c->slab_next = d.offset + round;
	m->data = c->slab + at;
	m->length = d.length;
	return 0;
}

/* Looks at the head slot, whatever the policy. */
static PEAL_DEV PEAL_INLINE int peal_link_look(struct peal_link_consumer *c,
					       struct peal_slot_view *view)
{
	uint64_t index = c->head & ((1ULL << c->capacity_log2) - 1);
	uint8_t *slot = c->slots + index * c->slot_bytes;
	uint32_t lap = (uint32_t)(c->head >> c->capacity_log2) + 1;

	if (c->policy == PEAL_POLICY_SEQUENCE)
		return peal_slot_peek(slot, lap, view);
	return peal_slot_unpack(c->policy, slot, lap, c->stage,
				c->content_max / peal_atom_payload(c->policy),
				view);
}

/**
 * Looks at the next message without taking it.
 *
 * @return 0 and *m; PEAL_EAGAIN nothing there; PEAL_EPROTO the peer wrote
 *         nonsense, the link is closed; else the state of a closed link
 *         (PEAL_EEND after the END mark was released).
 */
static PEAL_DEV PEAL_INLINE int peal_link_peek(struct peal_link_consumer *c,
					       struct peal_message *m)
{
	struct peal_slot_view view = { 0, 0, 0 };

	if (PEAL_UNLIKELY(c->state))
		return c->state;
	if (!peal_link_look(c, &view))
		return PEAL_EAGAIN;
	if (PEAL_UNLIKELY(view.length > c->content_max ||
			  view.length < sizeof(struct peal_header)))
		return peal_link_fail(c);
	m->kind = view.kind;
	m->header = *(const struct peal_header *)(const void *)view.content;
	m->sequence = c->delivered;
	c->slab_next = c->slab_head;
	if (PEAL_LIKELY(view.kind == PEAL_KIND_DATA)) {
		m->data = view.content + sizeof(struct peal_header);
		m->length = view.length - sizeof(struct peal_header);
		return 0;
	}
	m->data = 0;
	m->length = 0;
	if (view.kind == PEAL_KIND_SLAB &&
	    view.length >= sizeof(struct peal_header) +
				   sizeof(struct peal_slab_descriptor))
		return peal_link_open_slab(c, view.content, m);
	if (view.kind == PEAL_KIND_END || view.kind == PEAL_KIND_SEAL)
		return 0;
	return peal_link_fail(c);
}

/* Frees the head slot and its slab bytes. */
static PEAL_DEV PEAL_INLINE void peal_link_step(struct peal_link_consumer *c)
{
	uint64_t quarter = (1ULL << c->capacity_log2) >> 2;

	c->head++;
	c->slab_head = c->slab_next;
	if (c->head - c->credit_sent >= (quarter ? quarter : 1) ||
	    (c->slab_head - c->slab_sent) * 4 > c->slab_bytes)
		peal_link_flush_credit(c);
}

/** Takes the peeked message off, as delivered. Its data is gone after this. */
static PEAL_DEV PEAL_INLINE void
peal_link_release(struct peal_link_consumer *c, const struct peal_message *m)
{
	c->delivered++;
	c->delivered_bytes += m->length;
	peal_store_relaxed_sys(&c->counts->delivered_bytes, c->delivered_bytes);
	peal_store_relaxed_sys(&c->counts->delivered, c->delivered);
	peal_link_step(c);
}

/** Takes the peeked message off as dead, for that reason. */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_dead(struct peal_link_consumer *c, uint32_t reason)
{
	peal_store_relaxed_sys(&c->counts->dead[reason], ++c->dead[reason]);
	peal_link_step(c);
}

/** Takes a peeked END or SEAL off; END closes the link with PEAL_EEND. */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_mark(struct peal_link_consumer *c, uint32_t kind)
{
	peal_link_step(c);
	peal_link_flush_credit(c);
	if (kind == PEAL_KIND_END)
		c->state = PEAL_EEND;
	else
		peal_store_relaxed_sys(&c->counts->switches, ++c->switches);
}

/**
 * Takes one message into a buffer.
 *
 * @param c        the end
 * @param to       `room` bytes
 * @param room     size of the buffer
 * @param m        its header, length and sequence; m->data is `to`
 * @return 0; PEAL_EMSGSIZE the buffer is short: the message stays, m->length
 *         says how much it needs; PEAL_EEND, PEAL_EAGAIN, PEAL_EPROTO as
 *         peal_link_peek. A SEAL is the caller's to follow: m->kind says so
 *         and the mark stays.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_pop(struct peal_link_consumer *c, void *to, uint64_t room,
	      struct peal_message *m)
{
	int result = peal_link_peek(c, m);

	if (result)
		return result;
	if (m->kind == PEAL_KIND_SEAL)
		return 0;
	if (m->kind == PEAL_KIND_END) {
		peal_link_release_mark(c, m->kind);
		return PEAL_EEND;
	}
	if (m->length > room)
		return PEAL_EMSGSIZE;
	peal_copy(to, m->data, m->length);
	m->data = to;
	peal_link_release(c, m);
	return 0;
}

/**
 * Takes up to n messages of at most `bytes` each into a buffer of n * bytes.
 *
 * @return how many were taken (their lengths in lengths_out[i]); stops in front
 *         of a mark or of a longer message. PEAL_EAGAIN if none, else as
 *         peal_link_peek.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_pop_burst(struct peal_link_consumer *c, void *to, uint64_t bytes,
		    uint32_t n, uint64_t *lengths_out)
{
	struct peal_message m;
	uint8_t *out = (uint8_t *)to;
	uint32_t i;
	int result = 0;

	for (i = 0; i < n; i++) {
		result = peal_link_peek(c, &m);
		if (result || m.length > bytes || m.kind > PEAL_KIND_SLAB)
			break;
		peal_copy(out + i * bytes, m.data, m.length);
		lengths_out[i] = m.length;
		peal_link_release(c, &m);
	}
	if (i || !result)
		return (int)i;
	return result;
}

#endif
