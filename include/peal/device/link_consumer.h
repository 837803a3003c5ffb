/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_CONSUMER_H
#define PEAL_DEVICE_LINK_CONSUMER_H

#include <peal/device/impl/queue/link_peek.h>

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
	/* not by `expect`: a topic's input expects nothing */
	return peal_slot_ready(peali_policy(c->policy), c->slot, c->lap) ||
	       (PEAL_UNLIKELY(c->source != 0) && peali_mirror_read(c));
}

/**
 * Looks at the next message or mark without taking it.
 *
 * The kind in m->kind decides the next call:
 *
 * - PEAL_KIND_DATA or PEAL_KIND_SLAB, also with the bit PEAL_KIND_TIMED: a
 *   message, for peal_link_release or peal_link_release_dead.
 * - PEAL_KIND_END, PEAL_KIND_SEAL or PEAL_KIND_GATE: a mark, for
 *   peal_link_release_mark.
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
	uint32_t actor = 0;
	int result = peali_link_peek(c, m, &actor);

	m->sequence = peali_link_sequence(c);
	return result == PEALI_PEEKED ? 0 : result;
}

/* As peal_link_peek, for slow functions of the loop. On a GPU it has no fast path,
 * because a call in a slow function needs more registers. */
static PEAL_DEV PEAL_INLINE int
peali_link_peek_slowly(struct peal_link_consumer *c, struct peal_message *m)
{
	return PEAL_ON_HOST ? peal_link_peek(c, m) : peali_link_peek_any(c, m);
}

/* The part of a release at the head `stop`, or behind it. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_link_stopped(struct peal_link_consumer *c)
{
	c->slab_head = c->slab_next;
	peali_consumer_place(c);
	if ((int64_t)(c->head - c->credit_due) >= 0 ||
	    (c->slab_head - c->slab_sent) * 4 > c->slab_bytes)
		peal_link_flush_credit(c);
}

/* Frees n slots, and the slab bytes of their messages. */
static PEAL_DEV PEAL_INLINE void peali_link_step(struct peal_link_consumer *c,
						 uint32_t n)
{
	c->slot += (uint64_t)n * c->slot_bytes;
	c->head += n;
	if (PEAL_UNLIKELY((int64_t)(c->head - c->stop) >= 0))
		peali_link_stopped(c);
}

/* Publishes the counts of delivered messages, with n messages more. */
static PEAL_DEV PEAL_INLINE void
peali_link_tell_received(const struct peal_link_consumer *c, uint32_t n)
{
	peal_store_relaxed_sys(&c->counts->delivered_bytes, c->delivered_bytes);
	peali_store_count(&c->counts->delivered,
			  c->head + c->delivered_base + n);
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
	c->delivered_bytes += m->length;
	peali_link_tell_received(c, 1);
	peali_link_step(c, 1);
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

	c->delivered_base--;
	peali_store_count(dead, peal_load_relaxed_sys(dead) + 1);
	peali_link_step(c, 1);
}

/**
 * Takes a peeked mark off and sends all credit. Wait-free, one lane.
 *
 * END closes the end with PEAL_EEND. After SEAL, messages continue in another
 * ring. The messages behind GATE may be handled once its gate is open.
 *
 * @param c    the receiving end.
 * @param kind PEAL_KIND_END, PEAL_KIND_SEAL or PEAL_KIND_GATE, from
 *             peal_link_peek.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_link_release_mark(struct peal_link_consumer *c, uint32_t kind)
{
	peali_link_tell_received(c, 0);
	c->delivered_base--;
	c->sequence_base--;
	peali_link_step(c, 1);
	peal_link_flush_credit(c);
	if (kind == PEAL_KIND_END)
		peali_consumer_close(c, PEAL_EEND);
	else if (kind == PEAL_KIND_SEAL)
		/* release: a thread that sees it may free the former ring */
		peal_store_release_sys(&c->counts->switches, ++c->switches);
}

/* peal_link_pop of a peeked message or mark. */
static PEAL_DEV PEAL_INLINE int
peali_link_pop_peeked(struct peal_link_consumer *c, void *to,
		      uint64_t buffer_bytes, struct peal_message *m)
{
	if (PEAL_UNLIKELY(peali_kind_is_mark(m->kind))) {
		if (m->kind != PEAL_KIND_END)
			return 0;
		peal_link_release_mark(c, PEAL_KIND_END);
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
 * Takes one message into a buffer.
 *
 * A SEAL or GATE mark stays in the link. The call then returns 0, and m->kind is
 * PEAL_KIND_SEAL or PEAL_KIND_GATE. After SEAL the caller continues in the other
 * ring. Only the host sends GATE, to workers. Wait-free, one lane.
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

	return result ? result : peali_link_pop_peeked(c, to, buffer_bytes, m);
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
