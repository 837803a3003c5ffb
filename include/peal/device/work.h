/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_H
#define PEAL_DEVICE_WORK_H

#include <peal/abi/work.h>
#include <peal/device/impl/queue/slot_write_direct.h>
#include <peal/errors.h>

/*
 * The work queue: many producers, many consumers. One consumer gets each
 * message. Consumers use work_claim.h and work_consumer.h. Sets of queues are
 * in work_set.h, and the end of producers is in work_abandon.h.
 *
 * A producer leases slots, then takes tickets:
 *
 * 1. It adds the number of slots to `leased`.
 * 2. It subtracts the slots beyond the free ones. The rest is its lease.
 * 3. It takes tickets for leased slots by one add to `ticket`.
 *
 * A consumer claims messages in the same way:
 *
 * 1. It looks how far all slots are published, without a gap: its limit.
 * 2. It adds the number of messages to `claimed`.
 * 3. It subtracts the messages beyond its limit. The rest is its claim.
 * 4. It takes the numbers of its claim by one add to `turn`, and reads them.
 *
 * Granted leases never exceed the free slots. No compare-and-swap is needed.
 * Source (test-decrement-retest): Gottlieb, Lubachevsky and Rudolph, 1983.
 *
 * Invariant: every number below `turn` is published, and has been claimed.
 * Proof: order the adds to `claimed`. The claims up to an add are together
 * within its limit, as refused parts still count or were subtracted. Numbers
 * from `turn` belong to claims, and the last claim's limit is above all. So:
 *
 * - A call reads all messages that it claims. No claim outlives its call. A
 *   message that no running call has claimed is open to every consumer.
 * - The messages of the ring are the slots from `turn` to `ticket`, without a
 *   gap. So a circle of threads that take and put messages never stalls.
 *
 * Between two calls a producer has at most a lease, and no ticket, except by
 * peal_work_take_tickets.
 *
 * Producers publish single slots. Consumers free slots in blocks: a block is
 * free when all its messages were taken, in any order. A producer can stall
 * between ticket and tag. It then delays its message and all later ones, as in
 * a mailbox. Consumers never pass over such a slot. Otherwise the ring could go
 * around to it, and a circle of threads would stall.
 *
 *	producer				consumer
 *	ticket, content, tag (R1) ---------->	A1 tag: content may be read
 *	A4 block: its slots are free <------	R4 block: contents were read
 *						R5 turn ----> A5 turn: another
 *						consumer has seen the tags
 *
 * A producer may write to a slot that only another producer has seen free. That
 * other producer then took an earlier ticket: see peali_work_ticket. A consumer
 * may read a slot that only another consumer has seen published. That other
 * consumer then took an earlier number: see peali_work_turn. With atoms only
 * leases, blocks and turns have an order, as in the mailbox.
 *
 * Order: first in, first out, as consumers claim tickets in order.
 *
 * Progress: every call is wait-free.
 *
 * - A producer gets PEAL_EAGAIN if slots - block + 1 or more are taken, leased
 *   or being leased.
 * - A consumer gets PEAL_EAGAIN if the next message is not published. It also
 *   gets it if running calls have claimed all messages, or are claiming them.
 * - A thread that stalls in a call blocks its leased slots, at most lease + n.
 *   Or it blocks its claimed messages, at most PEAL_WORK_BURST. It blocks more
 *   once the queue has gone around, and between ticket and tag.
 *
 * One lane calls each function, unless its comment says "any lane".
 */

/** Returns the number of slots of a work queue. Wait-free, any lane. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_work_capacity(const struct peal_work *q)
{
	return 1ULL << q->capacity_log2;
}

/** Returns the most messages in one put. Wait-free, any lane. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_work_bulk_max(const struct peal_work *q)
{
	/* as many are free for sure if all messages were taken and flushed */
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

/* Returns the slots from a number's slot to the end of the ring. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_left(const struct peal_work *q,
						     uint64_t number)
{
	return peal_work_capacity(q) - (number & (peal_work_capacity(q) - 1));
}

/* Returns the word of the block of a slot. */
static PEAL_DEV PEAL_INLINE uint64_t *peali_work_taken(struct peal_work *q,
						       uint64_t number)
{
	uint64_t index = (number & (peal_work_capacity(q) - 1)) >>
			 q->block_log2;

	return &((struct peal_work_block *)(void *)((uint8_t *)q +
						    q->blocks_offset))[index]
			.taken;
}

/* Returns a number before which all slots are free. The producer with the
 * latest ticket knew it for the slots before its own. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_freed(struct peal_work *q)
{
	return (peal_load_relaxed_dev(&q->ticket) - peal_work_capacity(q)) &
	       ~((1ULL << q->block_log2) - 1);
}

/**
 * Initializes a producer without leased slots, at any time.
 *
 * @param q the queue.
 * @param p the producer's private state.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_producer_init(struct peal_work *q, struct peal_work_producer *p)
{
	p->granted = p->undone = 0;
	p->freed = peali_work_freed(q);
}

/*
 * Finds blocks that have become free, at most two laps of them. A block's count
 * wraps later than the numbers, so only their common bits are compared.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_work_look_free(struct peal_work *q, struct peal_work_producer *p)
{
	uint32_t shift = q->capacity_log2 - q->block_log2;
	uint64_t i, done, taken;

	for (i = 0; i < 2ULL << shift; i++) {
		done = (p->freed + peal_work_capacity(q)) >>
		       q->capacity_log2 << q->block_log2;
		/* A4: pairs with R4 in peal_work_flush: slots were read. */
		taken = peal_load_acquire_dev(peali_work_taken(q, p->freed));
		if ((int64_t)((taken - done) << shift) < 0)
			break;
		p->freed += 1ULL << q->block_log2;
	}
}

/**
 * Returns leased slots that a producer has not used.
 *
 * Call it before the producer is idle, so that others can lease the slots.
 * Wait-free.
 *
 * @param q the queue.
 * @param p the producer's private state.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_lease_release(struct peal_work *q, struct peal_work_producer *p)
{
	if (p->granted)
		peal_add_relaxed_dev(&q->leased, 0 - p->granted);
	p->granted = 0;
}

/* Updates `freed` if others have gone around more than once: a look covers at
 * most two laps. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_work_catch_up(struct peal_work *q, struct peal_work_producer *p)
{
	uint64_t freed = peali_work_freed(q);

	if ((int64_t)(freed - p->freed) > 0)
		p->freed = freed;
}

/* Leases at least `more` slots, up to a whole lease if free, or nothing. */
static PEAL_DEV PEAL_UNUSED inline int
peali_work_lease(struct peal_work *q, struct peal_work_producer *p,
		 uint64_t more)
{
	uint64_t want = more < q->lease ? q->lease : more, limit, ask;
	int64_t n_free, over;

	n_free = (int64_t)(p->freed + peal_work_capacity(q) -
			   peal_load_relaxed_dev(&q->leased));
	if (n_free < (int64_t)want) {
		if (PEAL_UNLIKELY(n_free < -(int64_t)peal_work_capacity(q)))
			peali_work_catch_up(q, p);
		peali_work_look_free(q, p);
		n_free = (int64_t)(p->freed + peal_work_capacity(q) -
				   peal_load_relaxed_dev(&q->leased));
	}
	if (n_free < (int64_t)more)
		return 0;
	limit = p->freed + peal_work_capacity(q);
	ask = n_free < (int64_t)want ? (uint64_t)n_free : want;
	over = (int64_t)(peal_add_relaxed_dev(&q->leased, ask) + ask - limit);
	if (over > 0) { /* others were faster */
		if (over > (int64_t)(ask - more))
			over = (int64_t)ask;
		peal_add_relaxed_dev(&q->leased, 0 - (uint64_t)over);
		ask -= (uint64_t)over;
		p->undone++;
	}
	p->granted += ask;
	return ask != 0;
}

/* The slow path of peal_work_admit. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_work_admit_slow(struct peal_work *q, struct peal_work_producer *p,
		      uint64_t n)
{
	if (peali_work_lease(q, p, n - p->granted))
		return 1;
	peal_work_lease_release(q, p); /* a waiting producer keeps no slots */
	return 0;
}

/**
 * Checks whether a producer may put n messages. Leases slots if needed.
 *
 * Wait-free.
 *
 * @param q the queue.
 * @param p the producer's private state.
 * @param n number of messages, at most peal_work_bulk_max.
 * @return 1: it may. 0: not now; call again later.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_admit(struct peal_work *q, struct peal_work_producer *p, uint64_t n)
{
	return PEAL_LIKELY(p->granted >= n) || peali_work_admit_slow(q, p, n);
}

/* Takes n tickets for granted slots. Returns the first. */
static PEAL_DEV PEAL_INLINE uint64_t peali_work_ticket(struct peal_work *q,
						       uint64_t n)
{
	if (PEAL_LIKELY(q->solo)) {
		uint64_t first = peal_load_relaxed_dev(&q->ticket);

		peal_store_relaxed_dev(&q->ticket, first + n);
		return first;
	}
#if PEAL_ON_HOST
	/* acq_rel: producers of later tickets know that these are free */
	return peal_add_acqrel_dev(&q->ticket, n);
#else
	return peal_add_relaxed_dev(&q->ticket, n);
#endif
}

/**
 * Takes n successive tickets. Put each of them by peal_work_put_at.
 *
 * Wait-free.
 *
 * @param q         the queue.
 * @param p         the producer's private state.
 * @param n         1..peal_work_bulk_max.
 * @param first_out receives the first ticket.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   too few slots are free. No ticket was taken.
 * @retval PEAL_EMSGSIZE n is too large.
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
	peali_slot_put(peali_policy(q->policy), slot, q->slot_bytes, lap,
		       peali_content_of(header, data, bytes));
}

/**
 * Puts the message of a ticket. Any lane, wait-free.
 *
 * @param q      the queue.
 * @param number a ticket of the caller; put it once.
 * @param header header for the consumer.
 * @param data   `bytes` bytes, copied.
 * @param bytes  at most the queue's message_bytes.
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
	/* local copies: the compiler must assume that slots alias *q */
	uint64_t slot_bytes = q->slot_bytes;
	uint64_t left = peali_work_left(q, first), i;
	uint8_t *slot = peali_work_slot(q, first);
	uint32_t lap = peali_work_lap(q, first);

	for (i = 0; i < n; i++, left--) {
		if (PEAL_UNLIKELY(!left)) { /* the ring wraps */
			slot = peali_work_slot(q, 0);
			left = n;
			lap++;
		}
		peali_work_put(q, slot, lap, header, from + i * bytes, bytes);
		slot += slot_bytes;
	}
}

/**
 * Puts n messages of equal length, all or none.
 *
 * Wait-free.
 *
 * @param q      the queue.
 * @param p      the producer's private state.
 * @param header header of each message.
 * @param data   n payloads of `bytes` bytes, one after another; copied.
 * @param bytes  length of each, at most the queue's message_bytes.
 * @param n      number of messages, at most peal_work_bulk_max.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   too few slots are free. Nothing was written.
 * @retval PEAL_EMSGSIZE `bytes` or n is too large.
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

/** Puts one message, as peal_work_push_bulk. */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_push(struct peal_work *q, struct peal_work_producer *p,
	       struct peal_header header, const void *data, uint64_t bytes)
{
	return peal_work_push_bulk(q, p, header, data, bytes, 1);
}

#endif
