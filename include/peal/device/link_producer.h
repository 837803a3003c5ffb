/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_PRODUCER_H
#define PEAL_DEVICE_LINK_PRODUCER_H

#include <peal/device/impl/queue/link.h>

/* The sending end of a link; see link.h for the protocol. */

/* Reads the credit words, which the peer writes and which may be hostile. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_link_read_credit(struct peal_link_producer *p)
{
	/* A2: pairs with R2 in peal_link_flush_credit: the slot was read. */
	uint64_t slots = peal_load_acquire_sys(&p->credit_word->slots);
	uint64_t slab = peal_load_acquire_sys(&p->credit_word->slab);

	if (p->state)
		return;
	if (slots - p->credit > p->tail - p->credit ||
	    slab - p->slab_credit > p->slab_tail - p->slab_credit) {
		peali_producer_close(p, PEAL_EPROTO);
		return;
	}
	p->credit = slots;
	p->slab_credit = slab;
	p->limit = slots + peal_link_capacity(p);
}

/**
 * Slots that can be written now; re-reads the credit if fewer than wanted. 0
 * on a closed link.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peal_link_free_slots(struct peal_link_producer *p, uint64_t wanted)
{
	if (PEAL_UNLIKELY(p->limit - p->tail < wanted))
		peali_link_read_credit(p);
	return p->limit - p->tail;
}

/* Where n contiguous slab bytes start: at slab_tail, or at the next wrap. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_slab_place(const struct peal_link_producer *p, uint64_t n)
{
	uint64_t at = p->slab_tail % p->slab_bytes;

	return at + n <= p->slab_bytes ? p->slab_tail :
					 p->slab_tail + p->slab_bytes - at;
}

/* Whether n messages surely fit; if not, peali_link_fits_slow looks closer. */
static PEAL_DEV PEAL_INLINE int
peali_link_fits_slots(const struct peal_link_producer *p, uint64_t n)
{
	return PEAL_LIKELY(p->limit - p->tail >= n) &&
	       PEAL_LIKELY(!p->slab_bytes);
}

/* peal_link_fits where the credit or the slab has to be looked at. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_link_fits_slow(struct peal_link_producer *p, uint64_t n)
{
	uint64_t each, need;

	if (p->state)
		return 1; /* closed: what is emitted is counted as dropped */
	if (peal_link_free_slots(p, n) < n)
		return 0;
	if (p->message_bytes <= p->payload_max)
		return 1;
	each = PEAL_SLAB_ROUND(p->message_bytes);
	need = n * each;
	if (p->slab_tail % p->slab_bytes + need > p->slab_bytes)
		need += each;
	if (p->slab_tail + need - p->slab_credit <= p->slab_bytes)
		return 1;
	peali_link_read_credit(p);
	return p->slab_tail + need - p->slab_credit <= p->slab_bytes;
}

/**
 * Whether n messages of the link's largest size fit, in any mix of smaller
 * ones too. At most one wrap lies among them, and its gap is shorter than a
 * message.
 */
static PEAL_DEV PEAL_INLINE int peal_link_fits(struct peal_link_producer *p,
					       uint64_t n)
{
	return PEAL_LIKELY(peali_link_fits_slots(p, n)) ||
	       peali_link_fits_slow(p, n);
}

static PEAL_DEV PEAL_INLINE int
peali_link_note_full(struct peal_link_producer *p)
{
	if (PEAL_UNLIKELY(p->state))
		return p->state; /* the credit was nonsense */
	peal_store_relaxed_sys(&p->counts->full, ++p->full);
	return PEAL_EAGAIN;
}

/* The content's first byte: in the slot, or in the stage. */
static PEAL_DEV PEAL_INLINE uint8_t *
peali_producer_content(const struct peal_link_producer *p)
{
	return PEAL_LIKELY(peali_policy(p->policy) == PEAL_POLICY_SEQUENCE) ?
		       p->slot + 8 :
		       p->stage;
}

/* Where the payload of a message goes that its slot holds. */
static PEAL_DEV PEAL_INLINE void *
peali_link_payload(const struct peal_link_producer *p)
{
	return peali_producer_content(p) + sizeof(struct peal_header);
}

/* Whether a payload of so many bytes can simply go to the next slot. */
static PEAL_DEV PEAL_INLINE int
peali_link_takes(const struct peal_link_producer *p, uint64_t bytes)
{
	return PEAL_LIKELY(bytes <= p->fits_slot) &&
	       PEAL_LIKELY(p->limit != p->tail);
}

/* A reserve that is not simply the next slot. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_link_reserve_slow(struct peal_link_producer *p, uint64_t bytes)
{
	uint64_t n = PEAL_SLAB_ROUND(bytes), at;

	if (p->state)
		return p->state;
	if (bytes > p->message_bytes)
		return PEAL_EMSGSIZE;
	if (!peal_link_free_slots(p, 1))
		return peali_link_note_full(p);
	if (bytes <= p->payload_max)
		return 0;
	at = peali_slab_place(p, n);
	if (at + n - p->slab_credit > p->slab_bytes) {
		peali_link_read_credit(p);
		if (at + n - p->slab_credit > p->slab_bytes)
			return peali_link_note_full(p);
	}
	p->reserved_at = at;
	return 0;
}

/* Where a message goes for which that has made space. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void *
peali_link_reserved(const struct peal_link_producer *p, uint64_t bytes)
{
	if (bytes <= p->payload_max)
		return peali_link_payload(p);
	return p->slab + p->reserved_at % p->slab_bytes;
}

/**
 * Opens space for one message of exactly `bytes` and gives the place to write.
 *
 * The place is in the consumer's slab, in the slot, or in the stage. A second
 * reserve without a commit replaces the first: nothing was sent.
 *
 * @return 0; PEAL_EAGAIN full, nothing changed; PEAL_EMSGSIZE past the link's
 *         message_bytes; the state of a closed link.
 */
static PEAL_DEV PEAL_INLINE int peal_link_reserve(struct peal_link_producer *p,
						  uint64_t bytes, void **out)
{
	int result;

	if (PEAL_LIKELY(peali_link_takes(p, bytes))) {
		*out = peali_link_payload(p);
		return 0;
	}
	result = peali_link_reserve_slow(p, bytes);
	if (!result)
		*out = peali_link_reserved(p, bytes);
	return result;
}

/* Writes a content that is in the stage to the slot's atoms. */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE void
peali_link_pack(const struct peal_link_producer *p, uint32_t kind,
		uint32_t length, uint32_t lane, uint32_t lanes)
{
	if (PEAL_UNLIKELY(p->lap % PEAL_SLOT_REFRESH_LAPS == 0))
		peal_slot_refresh(peali_policy(p->policy), p->slot,
				  p->slot_bytes, p->lap, length, lane, lanes);
	peal_slot_pack(peali_policy(p->policy), p->slot, p->lap, kind, p->stage,
		       length, lane, lanes);
}

/* Makes a content that is in the stage or the slot visible. */
static PEAL_DEV PEAL_INLINE void
peali_link_publish(const struct peal_link_producer *p, uint32_t kind,
		   uint32_t length, uint32_t lane, uint32_t lanes)
{
	if (PEAL_UNLIKELY(peali_policy(p->policy) != PEAL_POLICY_SEQUENCE))
		peali_link_pack(p, kind, length, lane, lanes);
	else if (lane == 0)
		peal_slot_publish(p->slot, p->lap, kind, length);
}

/* Goes on to the next slot. */
static PEAL_DEV PEAL_INLINE void
peali_producer_step(struct peal_link_producer *p)
{
	p->slot += p->slot_bytes;
	if (PEAL_UNLIKELY(++p->tail == p->wrap))
		peali_producer_place(p);
}

/*
 * Counts n messages as accepted. Before they are published: whoever then sees
 * one as delivered also sees it as accepted.
 */
static PEAL_DEV PEAL_INLINE void peali_link_count(struct peal_link_producer *p,
						  uint64_t n, uint64_t bytes)
{
	p->accepted += n;
	p->accepted_bytes += bytes;
	peal_store_relaxed_sys(&p->counts->accepted_bytes, p->accepted_bytes);
	peal_store_relaxed_sys(&p->counts->accepted, p->accepted);
}

/* Writes the descriptor of the reserved slab bytes behind the header. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_link_describe(const struct peal_link_producer *p, uint64_t bytes)
{
	struct peal_slab_descriptor *d =
		(struct peal_slab_descriptor *)(void *)(peali_producer_content(
								p) +
							8);

	d->offset = p->reserved_at;
	d->length = (uint32_t)bytes;
	d->reserved = 0;
	if (peali_policy(p->policy) != PEAL_POLICY_SEQUENCE)
		peal_fence_release_sys(); /* the slab bytes, once */
}

/*
 * First part of a commit, leader: header and descriptor; returns the kind.
 * The second (peali_link_publish, all lanes) makes it visible, the third
 * (peali_link_advance, leader) goes on.
 */
static PEAL_DEV PEAL_INLINE uint32_t
peali_link_prepare(struct peal_link_producer *p, struct peal_header header,
		   uint64_t bytes, uint32_t *length_out)
{
	peali_link_count(p, 1, bytes);
	peal_header_store(peali_producer_content(p), header);
	if (PEAL_UNLIKELY(bytes > p->payload_max)) {
		peali_link_describe(p, bytes);
		*length_out = (uint32_t)(sizeof(header) +
					 sizeof(struct peal_slab_descriptor));
		return peali_kind(PEAL_KIND_SLAB, header);
	}
	*length_out = (uint32_t)(sizeof(header) + bytes);
	return peali_kind(PEAL_KIND_DATA, header);
}

/* Third part of a commit, leader: goes on to the next slot. */
static PEAL_DEV PEAL_INLINE void
peali_link_advance(struct peal_link_producer *p, uint32_t kind, uint64_t bytes)
{
	if (PEAL_UNLIKELY(kind & PEAL_KIND_SLAB))
		p->slab_tail = p->reserved_at + PEAL_SLAB_ROUND(bytes);
	peali_producer_step(p);
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
}

/**
 * Sends what was written to the reserved place; `bytes` at most what was
 * reserved, and on the same side of the slot's payload_max. One lane.
 */
static PEAL_DEV PEAL_INLINE void peal_link_commit(struct peal_link_producer *p,
						  struct peal_header header,
						  uint64_t bytes)
{
	uint32_t length = 0;
	uint32_t kind = peali_link_prepare(p, header, bytes, &length);

	peali_link_publish(p, kind, length, 0, 1);
	peali_link_advance(p, kind, bytes);
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
	if (bytes > p->fits_slot || n > peal_link_capacity(p))
		return PEAL_EMSGSIZE;
	if (peal_link_free_slots(p, n) < n)
		return peali_link_note_full(p);
	peali_link_count(p, n, n * bytes);
	i = peali_producer_run(p, header, from, bytes, n);
	for (; i < n; i++) {
		uint8_t *content = peali_producer_content(p);
		uint32_t length = (uint32_t)(sizeof(header) + bytes);

		peal_header_store(content, header);
		peal_copy(content + sizeof(header), from + i * bytes, bytes);
		peali_link_publish(p, PEAL_KIND_DATA, length, 0, 1);
		peali_producer_step(p);
	}
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
	return 0;
}

/**
 * Counts a message as accepted and dead at once: the link is closed for it.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_drop_closed(struct peal_link_producer *p, uint64_t bytes)
{
	peali_link_count(p, 1, bytes);
	peali_store_count(&p->counts->closed, ++p->closed);
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
		return peali_link_note_full(p);
	peal_header_store(peali_producer_content(p), none);
	peali_link_publish(p, kind, (uint32_t)sizeof(none), 0, 1);
	peali_producer_step(p);
	if (kind == PEAL_KIND_END) {
		peali_producer_close(p, PEAL_EPIPE);
		peal_store_relaxed_sys(&p->counts->ended, 1);
	} else { /* release: who sees it may free the ring that was left */
		peal_store_release_sys(
			&p->counts->seals,
			peal_load_relaxed_sys(&p->counts->seals) + 1);
	}
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
	return 0;
}

#endif
