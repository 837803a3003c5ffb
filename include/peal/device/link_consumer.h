/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_CONSUMER_H
#define PEAL_DEVICE_LINK_CONSUMER_H

#include <peal/device/impl/queue/link.h>
#include <peal/device/impl/queue/slot_prefetch.h>

/*
 * The receiving end of a link; see impl/queue/link.h for the protocol. The
 * consumer calls peal_link_peek, handles the message, then peal_link_release.
 * Or it takes copies by peal_link_pop or peal_link_pop_burst. It calls
 * peal_link_flush_credit when it is idle. peal_device_queue_link_consumer
 * makes the end of a placed queue.
 *
 * All calls are wait-free. One lane calls them. Each end belongs to one thread
 * or worker at a time.
 */

/**
 * Sends the credit for all released slots to the producer.
 *
 * The release calls do this every capacity/4 slots. The owner does it before it
 * is idle, and from time to time while it is busy. Otherwise a producer that
 * waits for more free slots can stall. Wait-free, one lane.
 *
 * @param c the receiving end.
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

/* Checks a slab descriptor, which the peer has written, and finds its bytes. */
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
		if (c->source) /* the fence needs a load of the ring's tag */
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
 * Checks whether the next slot was written: one load.
 *
 * An end with a mirror may also read one slot of the ring. The result does not
 * tell the kind of the slot. With atoms, peal_link_peek may still find nothing,
 * as other atoms of the message are missing. Wait-free, one lane.
 *
 * @param c the receiving end.
 * @return 1: yes. 0: no.
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

/* Peeks if the fast path has found no payload in the slot. */
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
		/* if the ring has more, the lanes fetch it */
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
	view.kind &= ~(uint32_t)PEAL_KIND_TIMED; /* only with DATA or SLAB */
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
 * peal_link_peek that also returns the header in a register of the caller. The
 * usual case takes one load and one branch after the tag has arrived.
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
 * Looks at the next message or mark without taking it.
 *
 * The kind in m->kind decides the next call:
 *
 * - PEAL_KIND_DATA or PEAL_KIND_SLAB, also with the bit PEAL_KIND_TIMED: a
 *   message, for peal_link_release or peal_link_release_dead.
 * - PEAL_KIND_END or PEAL_KIND_SEAL: a mark, for peal_link_release_mark.
 *
 * Wait-free, one lane.
 *
 * @param c the receiving end.
 * @param m receives the message, but not m->input. m->data is valid until the
 *          release. A mark has no data.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN no message is there yet.
 * @retval PEAL_EEND   the END mark was released.
 * @retval PEAL_EPROTO the peer has written invalid data. The link is closed.
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

/**
 * Takes the peeked message off and counts it as delivered.
 *
 * The producer may then overwrite the message's data. Wait-free, one lane.
 *
 * @param c the receiving end.
 * @param m the message from peal_link_peek.
 */
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

/**
 * Takes the peeked message off and counts it as dead. Wait-free, one lane.
 *
 * @param c      the receiving end.
 * @param reason the cause, enum peal_reason.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_dead(struct peal_link_consumer *c, uint32_t reason)
{
	uint64_t *dead = &c->counts->dead[reason];

	c->sequence++;
	peali_store_count(dead, peal_load_relaxed_sys(dead) + 1);
	peali_link_step(c);
}

/**
 * Takes a peeked mark off and sends all credit. Wait-free, one lane.
 *
 * END closes the end with PEAL_EEND. After SEAL, messages continue in another
 * ring.
 *
 * @param c    the receiving end.
 * @param kind PEAL_KIND_END or PEAL_KIND_SEAL, from peal_link_peek.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_mark(struct peal_link_consumer *c, uint32_t kind)
{
	peali_link_step(c);
	peal_link_flush_credit(c);
	if (kind == PEAL_KIND_END)
		peali_consumer_close(c, PEAL_EEND);
	else /* release: a thread that sees it may free the former ring */
		peal_store_release_sys(&c->counts->switches, ++c->switches);
}

/**
 * Takes one message into a buffer.
 *
 * A SEAL mark stays in the link. The call then returns 0, and m->kind is
 * PEAL_KIND_SEAL. The caller continues in the other ring. Wait-free, one lane.
 *
 * @param c    the receiving end.
 * @param to   a buffer of `buffer_bytes` bytes.
 * @param buffer_bytes size of the buffer.
 * @param m    receives header, length and sequence. m->data is `to`.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   no message is there yet.
 * @retval PEAL_EMSGSIZE the buffer is too small. The message stays in the link,
 *                       and m->length tells its length.
 * @retval PEAL_EEND     the producer has ended the link.
 * @retval PEAL_EPROTO   as for peal_link_peek.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_link_pop(struct peal_link_consumer *c, void *to, uint64_t buffer_bytes,
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
	if (m->length > buffer_bytes)
		return PEAL_EMSGSIZE;
	peal_copy(to, m->data, m->length);
	m->data = to;
	peal_link_release(c, m);
	return 0;
}

/**
 * Takes up to n messages into a buffer.
 *
 * The call stops before a mark, and before a message longer than `bytes`.
 * Wait-free, one lane.
 *
 * @param c           the receiving end.
 * @param to          n * `bytes` bytes. Message i begins at i * `bytes`.
 * @param bytes       largest length of a message.
 * @param n           most messages.
 * @param lengths_out n numbers: receives the lengths of the messages in bytes.
 * @return the number of messages. 0: n is 0, or a mark or a longer message is
 *         first. Or a negative error code, and no message was taken:
 * @retval PEAL_EAGAIN no message is there yet.
 * @retval PEAL_EEND   the END mark was released.
 * @retval PEAL_EPROTO the peer has written invalid data. The link is closed.
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
