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
	c->limit = peal_load_relaxed_dev(&q->turn);
	c->seen = peal_load_relaxed_dev(&q->claimed);
	c->block = c->kept = c->taken = c->dead = c->undone = 0;
	c->stage = (uint8_t *)stage;
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

/* Returns 1 if all of a number's content is published. The take of the message
 * has the order: see peali_work_take_run. */
static PEAL_DEV PEAL_INLINE int peali_work_there(struct peal_work *q,
						 uint64_t number)
{
	uint32_t policy = peali_policy(q->policy);
	uint32_t lap = peali_work_lap(q, number);
	uint8_t *slot = peali_work_slot(q, number);

	if (policy == PEAL_POLICY_SEQUENCE)
		return peal_slot_ready(policy, slot, lap);
	return !peali_slot_open(policy, slot, q->slot_bytes, lap);
}

/*
 * Raises the limit up to `to`. The slots of numbers below `turn` were published
 * before. Looks at one lap at most, even if the words are damaged.
 */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE void
peali_work_learn(struct peal_work *q, struct peal_work_consumer *c, uint64_t to)
{
	uint64_t turn = peal_load_relaxed_dev(&q->turn), i;

	if ((int64_t)(turn - c->limit) > 0)
		c->limit = turn;
	for (i = peal_work_capacity(q); i; i--) {
		if ((int64_t)(to - c->limit) <= 0 ||
		    !peali_work_there(q, c->limit))
			break;
		c->limit++;
	}
}

/* Returns how many of the wanted messages a consumer may claim. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_look(
	struct peal_work *q, struct peal_work_consumer *c, uint64_t wanted)
{
	int64_t n;

	c->seen = peal_load_relaxed_dev(&q->claimed);
	peali_work_learn(q, c, c->seen + wanted);
	n = (int64_t)(c->limit - c->seen);
	if (n <= 0)
		return 0;
	return (uint64_t)n < wanted ? (uint64_t)n : wanted;
}

/* Returns the part of n claims that is beyond the limit: others were faster.
 * Returns how many claims are left. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE uint64_t
peali_work_undo(struct peal_work *q, struct peal_work_consumer *c, uint64_t n)
{
	int64_t over;

	peali_work_learn(q, c, c->seen);
	over = (int64_t)(c->seen - c->limit);
	if (over <= 0)
		return n;
	if (over > (int64_t)n)
		over = (int64_t)n;
	peal_add_relaxed_dev(&q->claimed, 0 - (uint64_t)over);
	c->undone++;
	return n - (uint64_t)over;
}

/* Takes the numbers of n claims. Returns the first. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_turn(struct peal_work *q,
						     uint64_t n)
{
#if PEAL_ON_HOST
	/* R5, A5: the consumers of earlier numbers have seen these tags. */
	return peal_add_acqrel_dev(&q->turn, n);
#else
	return peal_add_relaxed_dev(&q->turn, n);
#endif
}

/* Claims n messages, as few as the consumer has seen. Returns how many, and the
 * number of the first: others may be faster. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_work_claim_seen(struct peal_work *q, struct peal_work_consumer *c,
		      uint64_t n, uint64_t *first_out)
{
	c->seen = peal_add_relaxed_dev(&q->claimed, n) + n;
	if (PEAL_UNLIKELY((int64_t)(c->limit - c->seen) < 0)) {
		n = peali_work_undo(q, c, n);
		if (!n)
			return 0;
	}
	*first_out = peali_work_turn(q, n);
	return n;
}

/*
 * Claims up to n published messages. Returns how many, and the number of the
 * first. The caller must read all of them in the same call.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peali_work_claim(struct peal_work *q, struct peal_work_consumer *c, uint64_t n,
		 uint64_t *first_out)
{
	if ((int64_t)(c->limit - c->seen) < (int64_t)n)
		n = peali_work_look(q, c, n);
	return n ? peali_work_claim_seen(q, c, n, first_out) : 0;
}

/**
 * Ends the use of a consumer, at least for some time.
 *
 * A consumer has no claims between two calls. So this is peal_work_flush. Call
 * it before the consumer ends, or starts something long. Wait-free.
 *
 * @param q the queue.
 * @param c the consumer's private state, or that of a consumer that is gone.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_unclaim(struct peal_work *q, struct peal_work_consumer *c)
{
	peal_work_flush(q, c);
}

#endif
