/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_CONSUMER_H
#define PEAL_DEVICE_LINK_CONSUMER_H

#include <peal/device/impl/queue/link.h>
#include <peal/device/impl/queue/slot_prefetch.h>

/* The receiving end of a link; see link.h for the protocol. */

/**
 * Gives back what was released so far. Called every capacity/4 releases, and
 * by the owner whenever it goes idle and now and then while it does not:
 * otherwise a sender that wants more room than is left can stall.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_link_flush_credit(struct peal_link_consumer *c)
{
	if (c->credit_sent == c->head && c->slab_sent == c->slab_head)
		return;
	if (c->slab_sent != c->slab_head)
		peal_store_release_sys(&c->credit_word->slab, c->slab_head);
	/* R2: pairs with A2 in peali_link_read_credit: content was read. */
	peal_store_release_sys(&c->credit_word->slots, c->head);
	peali_consumer_told(c);
#if PEAL_ON_HOST
	peal_bell_ring(c->bell);
#endif
}

static PEAL_DEV PEAL_INLINE int peali_link_fail(struct peal_link_consumer *c)
{
	peali_consumer_close(c, PEAL_EPROTO);
	peal_store_relaxed_sys(&c->counts->error, (uint64_t)-PEAL_EPROTO);
	return PEAL_EPROTO;
}

/* Checks a slab descriptor, the peer's word, and finds its bytes. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_link_open_slab(struct peal_link_consumer *c, const uint8_t *content,
		     struct peal_message *m)
{
	struct peal_slab_descriptor d;
	uint64_t at, round;

	peal_copy(&d, content + sizeof(struct peal_header), sizeof(d));
	if (!c->slab_bytes || d.offset % PEAL_SLAB_ALIGN ||
	    d.length > c->message_bytes)
		return peali_link_fail(c);
	round = PEAL_SLAB_ROUND(d.length);
	at = d.offset % c->slab_bytes;
	if (d.offset - c->slab_head >= c->slab_bytes ||
	    d.offset - c->slab_head + round > c->slab_bytes ||
	    at + round > c->slab_bytes)
		return peali_link_fail(c);
	if (peali_policy(c->policy) != PEAL_POLICY_SEQUENCE) {
		if (c->source) /* what the fence is for is a load of the tag */
			peali_mirror_has(c, peali_mirror_source(c, c->head),
					 c->head);
		peal_fence_acquire_sys();
	}
	c->slab_next = d.offset + round;
	m->data = c->slab + at;
	m->length = d.length;
	return 0;
}

/**
 * Whether there is something to peek at: one load, with a mirror that of a
 * slot. Says nothing of its kind, nor whether all atoms of a longer message are
 * there yet. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int peal_link_ready(struct peal_link_consumer *c)
{
	return peal_slot_ready(peali_policy(c->policy), c->slot, c->lap) ||
	       (PEAL_UNLIKELY(c->source != 0) && peali_mirror_read(c));
}

/* Unpacks the head slot's atoms into the stage. */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE int
peali_link_unpack(const struct peal_link_consumer *c,
		  struct peal_slot_view *view)
{
	uint32_t each = peali_atom_payload(peali_policy(c->policy));

	return peal_slot_unpack(peali_policy(c->policy), c->slot, c->lap,
				c->stage, (c->content_max + each - 1) / each,
				view);
}

/* A peek at what is not simply a payload in its slot, or not there yet. */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE int
peali_link_peek_slow(struct peal_link_consumer *c, struct peal_message *m)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	struct peal_slot_view view = { 0, 0, 0 };

	if (c->state)
		return c->state;
	if (peali_policy(c->policy) == PEAL_POLICY_SEQUENCE) {
		if (!peal_slot_peek(c->slot, c->lap, &view))
			return PEAL_EAGAIN;
	} else if (!peali_link_unpack(c, &view)) {
		/* where there is more, the lanes fetch it */
		if (!c->source || c->more || !peali_mirror_read(c) ||
		    !peali_link_unpack(c, &view))
			return PEAL_EAGAIN;
	}
	if (view.length > c->content_max || view.length < header)
		return peali_link_fail(c);
	m->kind = view.kind;
	m->header = *(const struct peal_header *)(const void *)view.content;
	m->sequence = c->sequence;
	m->data = 0;
	m->length = 0;
	c->slab_next = c->slab_head;
	view.kind &= ~(uint32_t)PEAL_KIND_TIMED; /* a bit of those two only */
	if (view.kind == PEAL_KIND_DATA) {
		m->data = view.content + header;
		m->length = view.length - header;
		return 0;
	}
	if (view.kind == PEAL_KIND_SLAB &&
	    view.length >= header + sizeof(struct peal_slab_descriptor))
		return peali_link_open_slab(c, view.content, m);
	if (m->kind == PEAL_KIND_END || m->kind == PEAL_KIND_SEAL)
		return 0;
	return peali_link_fail(c);
}

/*
 * peal_link_peek, and the header in a register of the caller. All that is
 * usual takes one load and one branch after the tag is there.
 */
static PEAL_DEV PEAL_INLINE int peali_link_peek(struct peal_link_consumer *c,
						struct peal_message *m,
						struct peal_header *header_out)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	uint32_t length;
	uint64_t tag;
	int result;

	if (PEAL_LIKELY(peali_policy(c->policy) == PEAL_POLICY_SEQUENCE)) {
		/* A1: pairs with R1 in peal_slot_publish. */
		tag = peal_load_acquire_sys(
			(const uint64_t *)(const void *)c->slot);
		length = (uint32_t)tag - header;
		if (PEAL_LIKELY((uint32_t)(tag >> 40) == c->expect) &&
		    PEAL_LIKELY(length <= c->content_max - header)) {
			const uint8_t *content = c->slot + 8;

			*header_out = *(
				const struct peal_header *)(const void *)content;
			m->header = *header_out;
			m->kind = PEAL_KIND_DATA;
			m->sequence = c->sequence;
			m->data = content + header;
			m->length = length;
			c->slab_next = c->slab_head;
			if (PEALI_SIM_FAULT(EARLY_CREDIT))
				peal_store_relaxed_sys(&c->credit_word->slots,
						       c->head + 1);
			return 0;
		}
	}
	result = peali_link_peek_slow(c, m);
	if (!result)
		*header_out = m->header;
	return result;
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
	struct peal_header header = { 0, 0, 0 };

	return peali_link_peek(c, m, &header);
}

/* Frees the head slot and its slab bytes. */
static PEAL_DEV PEAL_INLINE void peali_link_step(struct peal_link_consumer *c)
{
	c->slot += c->slot_bytes;
	if (PEAL_UNLIKELY(++c->head == c->wrap))
		peali_consumer_place(c);
	if (PEAL_UNLIKELY(c->slab_head != c->slab_next)) {
		c->slab_head = c->slab_next;
		if ((c->slab_head - c->slab_sent) * 4 > c->slab_bytes)
			peal_link_flush_credit(c);
	}
	if (PEAL_UNLIKELY(c->head == c->credit_due))
		peal_link_flush_credit(c);
}

/** Takes the peeked message off, as delivered. Its data is gone after this. */
static PEAL_DEV PEAL_INLINE void peal_link_release(struct peal_link_consumer *c,
						   const struct peal_message *m)
{
	c->sequence++;
	c->delivered++;
	c->delivered_bytes += m->length;
	peal_store_relaxed_sys(&c->counts->delivered_bytes, c->delivered_bytes);
	peali_store_count(&c->counts->delivered, c->delivered);
	peali_link_step(c);
}

/** Takes the peeked message off as dead, for that reason. */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_dead(struct peal_link_consumer *c, uint32_t reason)
{
	uint64_t *dead = &c->counts->dead[reason];

	c->sequence++;
	peali_store_count(dead, peal_load_relaxed_sys(dead) + 1);
	peali_link_step(c);
}

/** Takes a peeked END or SEAL off; END closes the link with PEAL_EEND. */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_mark(struct peal_link_consumer *c, uint32_t kind)
{
	peali_link_step(c);
	peal_link_flush_credit(c);
	if (kind == PEAL_KIND_END)
		peali_consumer_close(c, PEAL_EEND);
	else /* release: who sees it may free the ring that was left */
		peal_store_release_sys(&c->counts->switches, ++c->switches);
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
 *         of a mark or of a longer message, with 0 if that comes first.
 *         PEAL_EAGAIN if nothing is there, else as peal_link_peek.
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
		if (result || m.length > bytes || peali_kind_is_mark(m.kind))
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
