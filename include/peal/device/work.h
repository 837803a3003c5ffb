/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_H
#define PEAL_DEVICE_WORK_H

#include <peal/abi/work.h>
#include <peal/device/pack.h>
#include <peal/errors.h>

/*
 * The work queue: many producers, many consumers, each message to one of them;
 * taking is in claim_work.h and take_work.h, sets of queues in steal.h, the end
 * of producers in poison.h.
 *
 * Both sides first make sure that a ticket will be good, then take it, each by
 * one add (the test-decrement-retest of Gottlieb, Lubachevsky and Rudolph,
 * 1983). A producer leases slots: it adds what it wants to `leased`, and takes
 * off again what lies past the free slots. A consumer claims messages: it adds
 * to `claimed`, and takes off what lies past the tickets. In the order of the
 * adds to such a word, what was granted up to any of them is within a bound
 * that had been reached by then, so never are there more tickets than slots,
 * nor more turns than tickets, without a compare-and-swap.
 *
 * Slots are published one by one, and told to be free by blocks: a block is
 * free when all its messages were taken, in whatever order. So a producer that
 * stops between ticket and tag delays the one consumer that claimed its slot,
 * which skips it and keeps the claim; and all of them a lap later.
 *
 *	producer				consumer
 *	ticket, content, tag (R1) ---------->	A1 tag: content may be read
 *	A4 block: its slots are free <------	R4 block: contents were read
 *
 * The slot of a ticket may be known to be free by another producer only, but
 * that one took an earlier ticket after it knew: see peali_work_ticket. With
 * atoms, as in the mailbox, nothing but leases and blocks has an order.
 *
 * Order: tickets are taken in turn, so first in, first out for all of them;
 * a message that was late, or was handed back, comes out of turn. One consumer
 * gets the messages of a producer in order, on GPUs but for late ones.
 *
 * Progress: every call is wait-free. PEAL_EAGAIN from a producer says that
 * slots - block + 1 or more are taken, leased or being leased. PEAL_EAGAIN
 * from a consumer says that nothing is there, or that what is there is claimed
 * or being claimed, or that it looked too early: after PEAL_WORK_LOOKS calls
 * in vain it looks past a slot that is late. Who stops inside of a call keeps
 * from others what it had leased or claimed (at most lease + n slots, at most
 * PEAL_WORK_BURST messages), and nothing else until the queue has gone round.
 * One lane, unless it says any lane.
 */

/** Fruitless looks at the next slot before one at the tickets. */
#define PEAL_WORK_LOOKS 8

/** Slots of a work queue. Wait-free, any lane. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_work_capacity(const struct peal_work *q)
{
	return 1ULL << q->capacity_log2;
}

/** The most messages that are put at a time. Wait-free, any lane. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_work_bulk_max(const struct peal_work *q)
{
	/* as many are free for sure when all has been taken and told */
	return peal_work_capacity(q) - (1ULL << q->block_log2) + 1;
}

static PEAL_DEV PEAL_INLINE uint8_t *peali_work_slot(struct peal_work *q,
						     uint64_t number)
{
	return (uint8_t *)q + q->slots_offset +
	       (number & (peal_work_capacity(q) - 1)) * q->slot_bytes;
}

static PEAL_DEV PEAL_INLINE uint32_t peali_work_lap(const struct peal_work *q,
						    uint64_t number)
{
	return (uint32_t)(number >> q->capacity_log2) + 1;
}

/* Slots from that of a number to the end of the ring. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_left(const struct peal_work *q,
						     uint64_t number)
{
	return peal_work_capacity(q) - (number & (peal_work_capacity(q) - 1));
}

/* The block that a slot is of. */
static PEAL_DEV PEAL_INLINE uint64_t *peali_work_taken(struct peal_work *q,
						       uint64_t number)
{
	uint64_t index = (number & (peal_work_capacity(q) - 1)) >>
			 q->block_log2;

	return &((struct peal_work_block *)(void *)((uint8_t *)q +
						    q->blocks_offset))[index]
			.taken;
}

/* All slots before that number are free: whoever took the latest ticket knew
 * it of those before its own. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_freed(struct peal_work *q)
{
	return (peal_load_relaxed_dev(&q->ticket) - peal_work_capacity(q)) &
	       ~((1ULL << q->block_log2) - 1);
}

/**
 * Makes a producer's place, at any time. It has leased nothing.
 *
 * @param q the queue
 * @param p the producer's own
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_producer_init(struct peal_work *q, struct peal_work_producer *p)
{
	p->granted = 0;
	p->freed = peali_work_freed(q);
}

/*
 * Looks which blocks have become free: at most two laps. A block's count wraps
 * later than the numbers do: what they have in common is compared.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_work_look_free(struct peal_work *q, struct peal_work_producer *p)
{
	uint32_t shift = q->capacity_log2 - q->block_log2;
	uint64_t i, done, taken;

	for (i = 0; i < 2ULL << shift; i++) {
		done = (p->freed + peal_work_capacity(q)) >>
		       q->capacity_log2 << q->block_log2;
		/* A4: pairs with R4 in peal_work_flush: they were read. */
		taken = peal_load_acquire_dev(peali_work_taken(q, p->freed));
		if ((int64_t)((taken - done) << shift) < 0)
			break;
		p->freed += 1ULL << q->block_log2;
	}
}

/**
 * Gives back what a producer has leased and not used; it calls this when it
 * goes idle, so that others find room. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_return(struct peal_work *q, struct peal_work_producer *p)
{
	if (p->granted)
		peal_add_relaxed_dev(&q->leased, 0 - p->granted);
	p->granted = 0;
}

/* After others have gone round more than once: no look is that long. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_work_catch_up(struct peal_work *q, struct peal_work_producer *p)
{
	uint64_t freed = peali_work_freed(q);

	if ((int64_t)(freed - p->freed) > 0)
		p->freed = freed;
}

/* Leases as much as a lease, at least `more`, or nothing. */
static PEAL_DEV PEAL_UNUSED inline int
peali_work_lease(struct peal_work *q, struct peal_work_producer *p,
		 uint64_t more)
{
	uint64_t want = more < q->lease ? q->lease : more, limit, ask;
	int64_t room, over;

	room = (int64_t)(p->freed + peal_work_capacity(q) -
			 peal_load_relaxed_dev(&q->leased));
	if (room < (int64_t)want) {
		if (PEAL_UNLIKELY(room < -(int64_t)peal_work_capacity(q)))
			peali_work_catch_up(q, p);
		peali_work_look_free(q, p);
		room = (int64_t)(p->freed + peal_work_capacity(q) -
				 peal_load_relaxed_dev(&q->leased));
	}
	if (room < (int64_t)more)
		return 0;
	limit = p->freed + peal_work_capacity(q);
	ask = room < (int64_t)want ? (uint64_t)room : want;
	over = (int64_t)(peal_add_relaxed_dev(&q->leased, ask) + ask - limit);
	if (over > 0) { /* others were quicker */
		if (over > (int64_t)(ask - more))
			over = (int64_t)ask;
		peal_add_relaxed_dev(&q->leased, 0 - (uint64_t)over);
		ask -= (uint64_t)over;
	}
	p->granted += ask;
	return ask != 0;
}

/* An admission that is not simply granted already. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_work_admit_slow(struct peal_work *q, struct peal_work_producer *p,
		      uint64_t n)
{
	if (peali_work_lease(q, p, n - p->granted))
		return 1;
	peal_work_return(q, p); /* who waits keeps nothing from others */
	return 0;
}

/**
 * Whether a producer may put n messages; leases slots if it may not.
 *
 * @param q the queue
 * @param p the producer's own
 * @param n at most peal_work_bulk_max
 * @return 1 it may; 0 not yet, ask again. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_admit(struct peal_work *q, struct peal_work_producer *p, uint64_t n)
{
	return PEAL_LIKELY(p->granted >= n) || peali_work_admit_slow(q, p, n);
}

/* The first of n numbers, for n slots that are granted. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_ticket(struct peal_work *q,
						       uint64_t n)
{
	if (PEAL_LIKELY(q->solo)) {
		uint64_t first = peal_load_relaxed_dev(&q->ticket);

		peal_store_relaxed_dev(&q->ticket, first + n);
		return first;
	}
#if PEAL_ON_HOST
	/* acq_rel: who takes a later ticket knows what was free for this one */
	return peal_add_acqrel_dev(&q->ticket, n);
#else
	return peal_add_relaxed_dev(&q->ticket, n);
#endif
}

/**
 * Takes n tickets; each must be put by peal_work_put_at. Wait-free.
 *
 * @param q         the queue
 * @param p         the producer's own
 * @param n         from 1 to peal_work_bulk_max
 * @param first_out the first of n successive tickets
 * @return 0; PEAL_EAGAIN not admitted, nothing taken; PEAL_EMSGSIZE for more.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_take_tickets(struct peal_work *q, struct peal_work_producer *p,
		       uint64_t n, uint64_t *first_out)
{
	if (PEAL_UNLIKELY(p->granted < n)) {
		if (n > peal_work_bulk_max(q))
			return PEAL_EMSGSIZE;
		if (!peali_work_admit_slow(q, p, n))
			return PEAL_EAGAIN;
	}
	p->granted -= n;
	*first_out = peali_work_ticket(q, n);
	return 0;
}

/* Writes a message to a slot and publishes it. */
static PEAL_DEV PEAL_INLINE void
peali_work_put(struct peal_work *q, uint8_t *slot, uint32_t lap,
	       struct peal_header header, const void *data, uint64_t bytes)
{
	if (peali_policy(q->policy) == PEAL_POLICY_SEQUENCE) {
		peal_header_store(slot + 8, header);
		peal_copy(slot + 8 + sizeof(header), data, bytes);
		peal_slot_publish(slot, lap, PEAL_KIND_DATA,
				  (uint32_t)(sizeof(header) + bytes));
	} else {
		peali_pack(peali_policy(q->policy), slot, q->slot_bytes, lap,
			   peali_header_word(header), (const uint8_t *)data,
			   (uint32_t)bytes);
	}
}

/**
 * Puts the message of a ticket. Any lane; wait-free.
 *
 * @param q      the queue
 * @param number a ticket of the caller's, once
 * @param header with what the consumer should know
 * @param data   `bytes` bytes
 * @param bytes  at most the queue's message_bytes
 */
static PEAL_DEV PEAL_INLINE void
peal_work_put_at(struct peal_work *q, uint64_t number,
		 struct peal_header header, const void *data, uint64_t bytes)
{
	peali_work_put(q, peali_work_slot(q, number), peali_work_lap(q, number),
		       header, data, bytes);
}

/* Puts the messages of n successive tickets. */
static PEAL_DEV PEAL_INLINE void peali_work_put_run(struct peal_work *q,
						    uint64_t first,
						    struct peal_header header,
						    const uint8_t *from,
						    uint64_t bytes, uint64_t n)
{
	/* kept here, as what is written to slots might be the queue's words */
	uint64_t slot_bytes = q->slot_bytes;
	uint64_t left = peali_work_left(q, first), i;
	uint8_t *slot = peali_work_slot(q, first);
	uint32_t lap = peali_work_lap(q, first);

	for (i = 0; i < n; i++, left--) {
		if (PEAL_UNLIKELY(!left)) { /* it goes round */
			slot = peali_work_slot(q, 0);
			left = n;
			lap++;
		}
		peali_work_put(q, slot, lap, header, from + i * bytes, bytes);
		slot += slot_bytes;
	}
}

/**
 * Puts n messages of `bytes` each, laid out one after another at data, all or
 * none of them.
 *
 * @param q      the queue
 * @param p      the producer's own
 * @param header of each
 * @param data   n * bytes
 * @param bytes  of each, at most the queue's message_bytes
 * @param n      at most peal_work_bulk_max
 * @return 0; PEAL_EAGAIN not all are admitted, nothing was written;
 *         PEAL_EMSGSIZE too long or too many. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_push_bulk(struct peal_work *q, struct peal_work_producer *p,
		    struct peal_header header, const void *data, uint64_t bytes,
		    uint64_t n)
{
	uint64_t first = 0;
	int result;

	if (PEAL_UNLIKELY(bytes > q->message_bytes))
		return PEAL_EMSGSIZE;
	if (!n)
		return 0;
	result = peal_work_take_tickets(q, p, n, &first);
	if (PEAL_UNLIKELY(result))
		return result;
	peali_work_put_run(q, first, header, (const uint8_t *)data, bytes, n);
	return 0;
}

/** Puts one message: peal_work_push_bulk of one. */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_push(struct peal_work *q, struct peal_work_producer *p,
	       struct peal_header header, const void *data, uint64_t bytes)
{
	return peal_work_push_bulk(q, p, header, data, bytes, 1);
}

#endif
