/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LINK_PEEK_H
#define PEAL_DEVICE_LINK_PEEK_H

#include <peal/device/impl/queue/link.h>
#include <peal/device/impl/queue/slot_prefetch.h>
#include <peal/device/impl/queue/slot_write_direct.h>

/* How the receiving end of a link looks at its next slot. For one lane. */

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
	c->stop = c->head + 1; /* its release frees the slab bytes */
	m->data = c->slab + at;
	m->length = d.length;
	return 0;
}

/* Unpacks the head slot's atoms into the stage. Also returns the words of the
 * first atom. */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE int
peali_link_unpack(const struct peal_link_consumer *c,
		  struct peal_slot_view *view, uint32_t word_out[3])
{
	return peali_slot_unpack(peali_policy(c->policy), c->slot, c->expect,
				 c->stage, c->atoms_max, view, word_out);
}

/* Reads the head slot from the ring of a mirror, unless the mirror has it. If the
 * ring has more slots, the lanes fetch them. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_mirror_refill(struct peal_link_consumer *c)
{
	if (!c->more && peali_slot_open(peali_policy(c->policy), c->slot,
					c->slot_bytes, c->lap))
		peali_mirror_read(c);
}

/* Looks for the next slot if the fast path has found none. Returns 0 with *view,
 * or an error. */
static PEAL_DEV PEAL_UNUSED inline int
peali_link_look(struct peal_link_consumer *c, struct peal_slot_view *view)
{
	uint64_t found;

	if (c->state)
		return c->state;
	if (peali_policy(c->policy) == PEAL_POLICY_SEQUENCE)
		return peal_slot_peek(c->slot, c->lap, view) ? 0 : PEAL_EAGAIN;
	if (PEAL_UNLIKELY(c->source != 0))
		peali_mirror_refill(c);
	found = peali_slot_unpacked(peali_policy(c->policy), c->slot, c->lap,
				    c->stage, c->atoms_max);
	view->kind = (uint32_t)(found >> 32) & 0xff;
	view->length = (uint32_t)found;
	view->content = c->stage;
	return found ? 0 : PEAL_EAGAIN;
}

/* A peek for all cases. */
static PEAL_DEV PEAL_UNUSED inline int
peali_link_peek_any(struct peal_link_consumer *c, struct peal_message *m)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	struct peal_slot_view view = { 0, 0, 0 };
	int result = peali_link_look(c, &view);

	if (result)
		return result;
	if (view.length > c->content_max || view.length < header)
		return peali_link_fail(c);
	m->kind = view.kind;
	m->header = *(const struct peal_header *)(const void *)view.content;
	m->data = 0;
	m->length = 0;
	view.kind &= ~(uint32_t)PEAL_KIND_TIMED; /* only with DATA or SLAB */
	if (view.kind == PEAL_KIND_DATA) {
		m->data = view.content + header;
		m->length = view.length - header;
		return 0;
	}
	if (view.kind == PEAL_KIND_SLAB &&
	    view.length >= header + sizeof(struct peal_slab_descriptor))
		return peali_link_open_slab(c, view.content, m);
	if (m->kind == PEAL_KIND_END || m->kind == PEAL_KIND_SEAL ||
	    m->kind == PEAL_KIND_GATE)
		return 0;
	return peali_link_fail(c);
}

/* Peeks if the fast path has found no payload in the slot. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_link_peek_slow(struct peal_link_consumer *c, struct peal_message *m)
{
	return peali_link_peek_any(c, m);
}

/* The usual case of a peek: the slot holds a payload. Returns 0 with *m. Else
 * PEAL_EAGAIN: no slot. 1: a case for peali_link_peek_slow. */
static PEAL_DEV PEAL_INLINE int
peali_link_peek_atoms(struct peal_link_consumer *c, struct peal_message *m,
		      uint32_t *actor_out)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	struct peal_slot_view view = { 0, 0, 0 };
	uint32_t word[3] = { 0, 0, 0 };

	if (PEAL_UNLIKELY(!peali_link_unpack(c, &view, word)))
		return c->state || c->source ? 1 : PEAL_EAGAIN;
	if (PEAL_UNLIKELY(view.kind != PEAL_KIND_DATA) ||
	    PEAL_UNLIKELY(view.length - header > c->content_max - header))
		return 1;
	if (peali_policy(c->policy) != PEAL_POLICY_ATOM16)
		peali_copy_bytes(word, view.content, header);
	*actor_out = word[0];
	__builtin_memcpy(&m->header, word, sizeof(m->header));
	m->kind = PEAL_KIND_DATA;
	m->data = view.content + header;
	m->length = view.length - header;
	return 0;
}

/* Result of a peek that has found any other message than a payload in a slot. */
#define PEALI_PEEKED 3

/*
 * peal_link_peek that also returns the number of the actor in a register of the
 * caller. The usual case takes one load and one branch after the tag has
 * arrived. For other messages and marks it returns PEALI_PEEKED, and no actor.
 * It does not set m->sequence.
 */
static PEAL_DEV PEAL_INLINE int peali_link_peek(struct peal_link_consumer *c,
						struct peal_message *m,
						uint32_t *actor_out)
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
			uint64_t word = peali_header_load(content);

			*actor_out = (uint32_t)word;
			peali_header_store(&m->header, word);
			m->kind = PEAL_KIND_DATA;
			m->data = content + header;
			m->length = length;
			if (PEALI_SIM_FAULT(EARLY_CREDIT))
				peal_store_relaxed_sys(&c->credit_word->slots,
						       c->head + 1);
			return 0;
		}
	} else {
		result = peali_link_peek_atoms(c, m, actor_out);
		if (PEAL_LIKELY(result <= 0))
			return result;
	}
	result = peali_link_peek_slow(c, m);
	return result ? result : PEALI_PEEKED;
}

#endif
