/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_PRODUCER_H
#define PEAL_DEVICE_LINK_PRODUCER_H

#include <peal/device/impl/queue/link_write.h>

/* The sending end of a link; see impl/queue/link.h for the protocol. The
 * producer calls peal_link_push. Or it calls peal_link_reserve, writes the
 * message, then calls peal_link_commit. In all calls `p` is the sending end.
 * One lane of its owner calls them. All calls are wait-free.
 * peal_device_queue_link_producer makes the end of a placed queue. */

/* Reads the credit words. The peer writes them and may be hostile. */
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

/** Returns the number of slots that can be written now. Reads the credit if the
 * known number is below `wanted`. 0 also if the link is closed. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_link_free_slots(struct peal_link_producer *p, uint64_t wanted)
{
	if (PEAL_UNLIKELY(p->limit - p->tail < wanted))
		peali_link_read_credit(p);
	return p->limit - p->tail;
}

/* Returns the start of n contiguous slab bytes: slab_tail or the next wrap. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_slab_place(const struct peal_link_producer *p, uint64_t n)
{
	uint64_t at = p->slab_tail % p->slab_bytes;

	return at + n <= p->slab_bytes ? p->slab_tail :
					 p->slab_tail + p->slab_bytes - at;
}

/* Returns 1 if n messages fit for sure. If 0, peali_link_fits_slow decides. */
static PEAL_DEV PEAL_INLINE int
peali_link_fits_slots(const struct peal_link_producer *p, uint64_t n)
{
	return PEAL_LIKELY(p->limit - p->tail >= n) &&
	       PEAL_LIKELY(!p->slab_bytes);
}

/* peal_link_fits if it depends on the credit or the slab. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_link_fits_slow(struct peal_link_producer *p, uint64_t n)
{
	uint64_t each, need;

	if (p->state)
		return 1; /* closed: emitted messages are counted as dropped */
	if (peal_link_free_slots(p, n) < n)
		return 0;
	if (p->message_bytes <= p->payload_max)
		return 1;
	each = PEAL_SLAB_ROUND(p->message_bytes);
	need = n * each;
	if (p->slab_tail % p->slab_bytes + need > p->slab_bytes)
		need += each; /* one wrap at most, its gap is below `each` */
	if (p->slab_tail + need - p->slab_credit <= p->slab_bytes)
		return 1;
	peali_link_read_credit(p);
	return p->slab_tail + need - p->slab_credit <= p->slab_bytes;
}

/** Returns 1 if n messages of any lengths up to message_bytes fit now. Also
 * returns 1 if the link is closed. Else 0: call again later. */
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
		return p->state; /* the credit was invalid */
	peali_link_count_full(p);
	return PEAL_EAGAIN;
}

/* Returns 1 if the next slot is known to be free and the payload fits. */
static PEAL_DEV PEAL_INLINE int
peali_link_takes(const struct peal_link_producer *p, uint64_t bytes)
{
	return PEAL_LIKELY(bytes <= p->fits_slot) &&
	       PEAL_LIKELY(p->limit != p->tail);
}

/* Returns 1 if a message goes into the atoms of the next slot, which is known to
 * be free. */
static PEAL_DEV PEAL_INLINE int
peali_link_writes(const struct peal_link_producer *p, uint64_t bytes)
{
	return peali_policy(p->policy) != PEAL_POLICY_SEQUENCE &&
	       peali_link_takes(p, bytes);
}

/* Reserves if peali_link_takes has returned 0. */
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

/* Returns the memory that peali_link_reserve_slow has reserved. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void *
peali_link_reserved(const struct peal_link_producer *p, uint64_t bytes)
{
	if (bytes <= p->payload_max)
		return peali_link_payload(p);
	return p->slab + p->reserved_at % p->slab_bytes;
}

/**
 * Reserves memory for one message, in the consumer's slab, slot or the stage.
 *
 * A second reserve without a commit replaces the first: nothing was sent.
 *
 * @param p     the sending end.
 * @param bytes exact length of the message.
 * @param out   receives the address, valid until peal_link_commit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   no slot or slab space is free; call again later.
 * @retval PEAL_EMSGSIZE `bytes` exceeds the link's message_bytes.
 * @retval PEAL_EPIPE    the producer has written the END mark.
 * @retval PEAL_EPROTO   the peer's credit is invalid. The link is closed.
 * @retval PEAL_ESTOPPED the host has closed the worker's port.
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

/* First part of a commit, by the leader: writes header and descriptor, returns
 * the kind. Second part, by all lanes: peali_link_publish makes the message
 * visible. Third part, by the leader: peali_link_advance. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_link_prepare(struct peal_link_producer *p, struct peal_header header,
		   uint64_t bytes, uint32_t *length_out)
{
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

/* Third part of a commit, by the leader: advances to the next slot. */
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
 * Sends the message in the reserved memory.
 * @param p      the sending end.
 * @param header number of the receiving actor, type and flags.
 * @param bytes  at most the reserved length. Both lengths are above
 *               p->payload_max, or neither is.
 */
static PEAL_DEV PEAL_INLINE void peal_link_commit(struct peal_link_producer *p,
						  struct peal_header header,
						  uint64_t bytes)
{
	uint32_t length = 0, kind;

	peali_link_count(p, 1, bytes);
	kind = peali_link_prepare(p, header, bytes, &length);
	peali_link_publish(p, kind, length, 0, 1);
	peali_link_advance(p, kind, bytes);
}

/**
 * Sends one message. After an error nothing was written.
 * @param p      the sending end.
 * @param header as for peal_link_commit.
 * @param data   `bytes` bytes; copied.
 * @param bytes  length of the payload.
 * @return as peal_link_reserve.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_push(struct peal_link_producer *p, struct peal_header header,
	       const void *data, uint64_t bytes)
{
	void *to = 0;
	int result;

	if (peali_link_writes(p, bytes)) {
		peali_link_count(p, 1, bytes);
		peali_link_write(p, peali_kind(PEAL_KIND_DATA, header),
				 peali_content_of(header, data, bytes), 0, 1);
		peali_link_advance(p, PEAL_KIND_DATA, bytes);
		return 0;
	}
	result = peal_link_reserve(p, bytes, &to);
	if (PEAL_UNLIKELY(result))
		return result;
	peal_copy(to, data, bytes);
	peal_link_commit(p, header, bytes);
	return 0;
}

/**
 * Sends n messages of equal length, all of them or none.
 * @param p      the sending end.
 * @param header of all messages, without PEAL_FLAG_DEADLINE.
 * @param data   n * `bytes` bytes, one payload after another; copied.
 * @param bytes  length of each payload, at most p->fits_slot.
 * @param n      number of messages, at most the capacity of the link.
 * @return as peal_link_reserve, and:
 * @retval PEAL_EMSGSIZE `bytes` is too large, or n exceeds the capacity.
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
		peali_link_write(p, PEAL_KIND_DATA,
				 peali_content_of(header, from + i * bytes,
						  bytes),
				 0, 1);
		peali_producer_step(p);
	}
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
	return 0;
}

/** Counts a message of `bytes` bytes as accepted and as dead, since the link is
 * closed. */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_drop_closed(struct peal_link_producer *p, uint64_t bytes)
{
	peali_link_count(p, 1, bytes);
	p->accepted_base++; /* it takes no slot */
	peali_store_count(&p->counts->closed, ++p->closed);
}

/* peal_link_push_mark with `number` in the header. A GATE mark has one. */
static PEAL_DEV PEAL_UNUSED inline int
peali_link_push_mark(struct peal_link_producer *p, uint32_t kind,
		     uint32_t number)
{
	struct peal_header none = { number, 0, 0 };

	if (p->state)
		return p->state;
	if (!peal_link_free_slots(p, 1)) /* a mark does not count as full */
		return p->state ? p->state : PEAL_EAGAIN;
	peali_link_tell_sent(p);
	peal_header_store(peali_producer_content(p), none);
	peali_link_publish(p, kind, (uint32_t)sizeof(none), 0, 1);
	p->accepted_base--; /* it takes a slot, and is no message */
	peali_producer_step(p);
	if (kind == PEAL_KIND_END) {
		peali_producer_close(p, PEAL_EPIPE);
		peal_store_relaxed_sys(&p->counts->ended, 1);
	} else if (kind == PEAL_KIND_GATE) {
		peal_store_relaxed_sys(
			&p->counts->gates,
			peal_load_relaxed_sys(&p->counts->gates) + 1);
	} else { /* release: a thread that sees it may free the former ring */
		peal_store_release_sys(
			&p->counts->seals,
			peal_load_relaxed_sys(&p->counts->seals) + 1);
	}
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
	return 0;
}

/**
 * Writes a mark. It needs a free slot and does not count as a message.
 *
 * @param p    the sending end.
 * @param kind PEAL_KIND_SEAL; or PEAL_KIND_END, which closes the sending end.
 * @return as peal_link_reserve, but never PEAL_EMSGSIZE.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_push_mark(struct peal_link_producer *p, uint32_t kind)
{
	return peali_link_push_mark(p, kind, 0);
}

#endif
