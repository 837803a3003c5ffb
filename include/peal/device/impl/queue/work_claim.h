/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_CLAIM_H
#define PEAL_DEVICE_WORK_CLAIM_H

#include <peal/device/work.h>

/*
 * A consumer of a work queue: its private state and its claims. It also tells
 * the producers which slots are free. work.h has the protocol.
 */

/**
 * Initializes a consumer without claims, at any time.
 *
 * @param q     the queue.
 * @param c     the consumer's private state.
 * @param stage atom policies: a private buffer for the content of one slot.
 *              Other policies: NULL.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_consumer_init(struct peal_work *q, struct peal_work_consumer *c,
			void *stage)
{
	c->limit = c->seen = peal_load_relaxed_dev(&q->claimed);
	if ((int64_t)(peal_load_relaxed_dev(&q->ticket) - c->limit) < 0)
		c->limit = peal_load_relaxed_dev(&q->ticket);
	c->block = c->kept = c->taken = c->dead = 0;
	c->stage = (uint8_t *)stage;
	c->looks = c->n_pending = 0;
}

/**
 * Tells the producers which messages were taken: they may reuse those slots.
 *
 * The functions of the queue call it when a block ends, and when there is no
 * message. Call it before the consumer starts something long. Wait-free.
 *
 * @param q the queue.
 * @param c the consumer's private state.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_work_flush(struct peal_work *q, struct peal_work_consumer *c)
{
	/* R4: pairs with A4 in peali_work_look_free: contents were read. */
	if (c->kept)
		peal_add_acqrel_dev(peali_work_taken(q,
						     c->block << q->block_log2),
				    c->kept);
	c->kept = 0;
}

/* Counts n messages as taken. All are of one block. */
static PEAL_DEV PEAL_INLINE void peali_work_done(struct peal_work *q,
						 struct peal_work_consumer *c,
						 uint64_t number, uint64_t n)
{
	uint64_t block = number >> q->block_log2;

	if (PEAL_UNLIKELY(block != c->block)) {
		peal_work_flush(q, c);
		c->block = block;
	}
	c->kept += n;
	if (PEAL_UNLIKELY(!((number + n) & ((1ULL << q->block_log2) - 1))))
		peal_work_flush(q, c);
}

/* ---- claims -------------------------------------------------------------- */

/* Returns 1 if a number's slot is published. */
static PEAL_DEV PEAL_INLINE int peali_work_there(struct peal_work *q,
						 uint64_t number)
{
	return peal_slot_ready(peali_policy(q->policy),
			       peali_work_slot(q, number),
			       peali_work_lap(q, number));
}

/*
 * Returns how many of the wanted messages may be there. A published slot shows
 * that its ticket was taken. It thus saves a read of `ticket`, the word that
 * producers add to. That word is read only now and then.
 */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE uint64_t peali_work_look(
	struct peal_work *q, struct peal_work_consumer *c, uint64_t wanted)
{
	uint64_t n;

	c->seen = peal_load_relaxed_dev(&q->claimed);
	if ((int64_t)(c->limit - c->seen) >= (int64_t)wanted)
		return wanted;
	/* the last slot first: its ticket implies all earlier ones */
	n = peali_work_there(q, c->seen + wanted - 1) ? wanted : 0;
	while (n < wanted && peali_work_there(q, c->seen + n))
		n++;
	if (n && (int64_t)(c->limit - c->seen - n) < 0)
		c->limit = c->seen + n;
	if ((int64_t)(c->limit - c->seen) <= 0 &&
	    ++c->looks % PEAL_WORK_LOOKS == 0)
		c->limit = peal_load_relaxed_dev(&q->ticket);
	if ((int64_t)(c->limit - c->seen) <= 0)
		return 0;
	return c->limit - c->seen < wanted ? c->limit - c->seen : wanted;
}

/* Claims up to n messages. Returns how many, and the number of the first. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_work_claim(struct peal_work *q, struct peal_work_consumer *c, uint64_t n,
		 uint64_t *first_out)
{
	int64_t over;

	if ((int64_t)(c->limit - c->seen) < (int64_t)n)
		n = peali_work_look(q, c, n);
	if (!n)
		return 0;
	c->seen = peal_add_relaxed_dev(&q->claimed, n) + n;
	if (PEAL_UNLIKELY((int64_t)(c->limit - c->seen) < 0)) {
		/* others were faster */
		c->limit = peal_load_relaxed_dev(&q->ticket);
		over = (int64_t)(c->seen - c->limit);
		if (over > (int64_t)n)
			over = (int64_t)n;
		if (over > 0) {
			peal_add_relaxed_dev(&q->claimed, 0 - (uint64_t)over);
			n -= (uint64_t)over;
		}
		if (!n)
			return 0;
	}
	*first_out = peal_add_relaxed_dev(&q->turn, n);
	return n;
}

/* ---- returned claims ----------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint32_t *peali_work_handed(struct peal_work *q,
							uint64_t index)
{
	return (uint32_t *)(void *)((uint8_t *)q + q->handed_offset) + index;
}

/**
 * Returns all claims of a consumer for which it has not got the message.
 *
 * Other consumers take these claims over once they find nothing else. The call
 * also flushes, as peal_work_flush. After it the consumer may end, or start
 * something long. Wait-free.
 *
 * @param q the queue.
 * @param c the consumer's private state, or that of a consumer that is gone.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_work_unclaim(struct peal_work *q, struct peal_work_consumer *c)
{
	uint64_t mask = peal_work_capacity(q) - 1;
	uint32_t i;

	peal_work_flush(q, c);
	for (i = 0; i < c->n_pending; i++)
		peal_add_acqrel_dev_u32(
			peali_work_handed(q, c->pending[i] & mask), 1);
	/* R5: pairs with A5 in peali_work_adopt: as many are marked. */
	if (c->n_pending)
		peal_add_acqrel_dev(&q->handed, c->n_pending);
	c->n_pending = 0;
}

/* Takes over a claim of the slot at index, if one was returned. */
static PEAL_DEV PEAL_INLINE int
peali_work_adopt_at(struct peal_work *q, struct peal_work_consumer *c,
		    uint64_t index)
{
	uint32_t *word = peali_work_handed(q, index);
	uint64_t back;

	if (peal_load_relaxed_dev_u32(word) != 1)
		return 0;
	/* acquire: with the mark it sees the turn that was taken before */
	if (peal_add_acqrel_dev_u32(word, 0u - 1) != 1) {
		peal_add_acqrel_dev_u32(word, 1); /* another consumer has it */
		return 0;
	}
	/* of this slot only one number can be claimed and not taken */
	back = peal_load_relaxed_dev(&q->turn) - 1;
	back -= (back - index) & (peal_work_capacity(q) - 1);
	c->pending[c->n_pending++] = back;
	return 1;
}

/* Takes over claims that other consumers have returned. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_work_adopt(struct peal_work *q, struct peal_work_consumer *c)
{
	int64_t n = PEAL_WORK_BURST - c->n_pending, there;
	uint64_t i;

	there = (int64_t)peal_load_relaxed_dev(&q->handed);
	if (there < n)
		n = there;
	if (n <= 0)
		return;
	/* A5: pairs with R5 in peal_work_unclaim. */
	there = (int64_t)peal_add_acqrel_dev(&q->handed, 0 - (uint64_t)n);
	if (there < n) { /* others were faster */
		there = there < 0 ? 0 : there;
		peal_add_acqrel_dev(&q->handed, (uint64_t)(n - there));
		n = there;
	}
	for (i = 0; n && i < peal_work_capacity(q); i++)
		n -= peali_work_adopt_at(q, c, i);
	if (n) /* one was returned again behind the look */
		peal_add_acqrel_dev(&q->handed, (uint64_t)n);
}

#endif
