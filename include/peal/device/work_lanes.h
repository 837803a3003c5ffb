/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_LANES_H
#define PEAL_DEVICE_WORK_LANES_H

#include <peal/device/impl/queue/batch_slot.h>
#include <peal/device/impl/worker/batch_lanes.h>
#include <peal/device/work_consumer.h>

/*
 * Work queues by all lanes of a worker: a call moves a message of each lane. The
 * leader takes the tickets or claims for all lanes by one atomic addition. Each
 * lane then writes or reads a slot of its own. work.h has the protocol.
 *
 *	result = peal_work_push_lanes(w, q, &s->producer, has, header, &task,
 *				      sizeof(task));
 *	...
 *	if (peal_work_pop_lanes(w, q, &s->consumer, &task, sizeof(task),
 *				&got) == 1)
 *		run(&task);
 *
 * A worker has one producer and one consumer of a queue for all its lanes. They
 * lie in memory that the leader can access, such as the state of the actor. The
 * leader may use them by the calls of work.h and work_consumer.h, too.
 *
 * The first PEAL_WORK_BURST lanes of a worker can have messages. The other lanes
 * also call the functions, which are collective.
 */

/**
 * Puts a message of each lane that has one, all of them or none.
 *
 * The messages are adjacent in the queue, in the order of the lanes. Collective,
 * wait-free.
 *
 * @param w      the worker.
 * @param q      the queue.
 * @param p      the worker's producer.
 * @param has    1: the lane puts a message. 0: it puts none.
 * @param header header for the consumer. Lanes may pass different headers.
 * @param data   `bytes` bytes, the lane's own; copied.
 * @param bytes  at most the queue's message_bytes, equal in all lanes.
 * @return the lane's own result: 0, also if the lane has no message. Or a
 *         negative error code:
 * @retval PEAL_EAGAIN   too few slots are free. No lane has put a message.
 * @retval PEAL_EMSGSIZE `bytes` is too large, or the lanes have more messages
 *                       than peal_work_bulk_max. No lane has put a message.
 * @retval PEAL_EINVAL   the lane cannot have a message: it is beyond the first
 *                       PEAL_WORK_BURST.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_push_lanes(const struct peal_worker *w, struct peal_work *q,
		     struct peal_work_producer *p, int has,
		     struct peal_header header, const void *data,
		     uint64_t bytes)
{
	const int extra = has && peal_lane(w) >= PEAL_WORK_BURST;
	struct peali_batch_place place;
	uint64_t first = 0, number;
	uint32_t set;
	int result = 0;

	has = has && !extra;
	if (PEAL_UNLIKELY(bytes > q->message_bytes))
		return has ? PEAL_EMSGSIZE : extra ? PEAL_EINVAL : 0;
	set = peali_batch_ballot(w, has);
	if (set && peal_is_leader(w))
		result = peal_work_take_tickets(q, p, peali_batch_size(set),
						&first);
	result = (int)peali_batch_first(w, (uint32_t)result);
	number = peali_batch_from(w, first, 0);
	peali_batch_sync(w); /* the leader has seen that the slots are free */
	if (!has)
		return extra ? PEAL_EINVAL : 0;
	if (PEAL_UNLIKELY(result))
		return result;
	number += peali_batch_size(peali_batch_below(w, set));
	place.slot = peali_work_slot(q, number);
	place.lap = peali_work_lap(q, number);
	peali_batch_put_at(peali_policy(q->policy), place, q->slot_bytes,
			   header, data, (uint32_t)bytes);
	return 0;
}

/* ---- taking -------------------------------------------------------------- */

/* Looks at n slots from the number `from` on, a lane at each slot. Stops at a slot
 * without a message. Returns the number behind the last message. Collective. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_work_learn_lanes(const struct peal_worker *w, struct peal_work *q,
		       uint64_t from, uint32_t n)
{
	const uint32_t lane = peal_lane(w), most = peali_batch_lanes(w);
	uint32_t look, found;

	while (n) {
		look = n < most ? n : most;
		found = peali_batch_prefix(peali_batch_ballot(
			w, lane < look && peali_work_there(q, from + lane)));
		from += found;
		n -= found;
		if (found < look)
			break;
	}
	return from;
}

/* A consumer wants to claim n messages. Returns how many slots behind its limit it
 * must look at first, for the leader. This is at most a lap, also if the words
 * are damaged. */
static PEAL_DEV PEAL_INLINE uint32_t peali_work_unknown(
	struct peal_work *q, struct peal_work_consumer *c, uint32_t n)
{
	uint64_t turn, lap = peal_work_capacity(q);
	int64_t unknown;

	if (PEAL_LIKELY((int64_t)(c->limit - c->seen) >= (int64_t)n))
		return 0;
	c->seen = peal_load_relaxed_dev(&q->claimed);
	turn = peal_load_relaxed_dev(&q->turn);
	if ((int64_t)(turn - c->limit) > 0)
		c->limit = turn;
	unknown = (int64_t)(c->seen + n - c->limit);
	if (unknown <= 0)
		return 0;
	return (uint32_t)((uint64_t)unknown < lap ? (uint64_t)unknown : lap);
}

/* Claims up to a message for each lane. Returns how many, and the number of the
 * first. Collective. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_work_claim_lanes(const struct peal_worker *w, struct peal_work *q,
		       struct peal_work_consumer *c, uint64_t *first_out)
{
	uint32_t unknown = 0, n = 0;
	uint64_t limit = 0, first = 0;
	int64_t known;

	if (peal_is_leader(w)) {
		unknown = peali_work_unknown(q, c, peali_batch_lanes(w));
		limit = c->limit;
	}
	unknown = peali_batch_first(w, unknown);
	if (unknown)
		limit = peali_work_learn_lanes(
			w, q, peali_batch_from(w, limit, 0), unknown);
	if (peal_is_leader(w)) {
		c->limit = limit;
		known = (int64_t)(limit - c->seen);
		n = known <= 0			 ? 0 :
		    known < peali_batch_lanes(w) ? (uint32_t)known :
						   peali_batch_lanes(w);
		if (n)
			n = (uint32_t)peali_work_claim_seen(q, c, n, &first);
	}
	*first_out = peali_batch_from(w, first, 0);
	return peali_batch_first(w, n);
}

/* Reads the slot of a number. Returns 1 if it has a message. */
static PEAL_DEV PEAL_INLINE int
peali_work_read_slot(struct peal_work *q, uint64_t number,
		     struct peali_batch_slot *at)
{
	uint32_t policy = peali_policy(q->policy);
	struct peali_batch_place place = { peali_work_slot(q, number),
					   peali_work_lap(q, number) };

	return peali_batch_read(at, policy, place,
				q->message_bytes +
					(uint32_t)sizeof(struct peal_header),
				peali_slot_atoms(policy, q->slot_bytes));
}

/* Reads a claimed slot again until it shows its message. Returns 0 if its
 * producer is gone, or if memory is damaged. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_work_reread_slot(struct peal_work *q, uint64_t number,
		       struct peali_batch_slot *at)
{
	uint32_t reads = PEALI_WORK_READS;
	int there, found;

	do {
		there = peali_work_there(q, number);
		found = peali_work_read_slot(q, number, at);
	} while (!found && !there && --reads);
	return found;
}

/* Copies the message of a claimed number. Returns 0 as peali_work_reread_slot. */
static PEAL_DEV PEAL_INLINE int
peali_work_take_slot(struct peal_work *q, uint64_t number, void *to,
		     uint64_t bytes, struct peal_work_received *got_out)
{
	struct peali_batch_slot at;

	if (PEAL_UNLIKELY(!peali_work_read_slot(q, number, &at)) &&
	    !peali_work_reread_slot(q, number, &at))
		return 0;
	got_out->header.actor = at.word[0];
	got_out->header.type = (uint16_t)at.word[1];
	got_out->header.flags = (uint16_t)(at.word[1] >> 16);
	got_out->length = at.length;
	got_out->number = number;
	if (PEAL_LIKELY(at.length ==
			bytes)) /* a constant, if the caller's is */
		peali_batch_copy(&at, to, (uint32_t)bytes);
	else
		peali_batch_copy(&at, to, at.length);
	return 1;
}

/**
 * Takes a message for each lane, for the first lanes if there are too few. The
 * lane of a slot with a producer that is gone gets none.
 *
 * Collective, wait-free. Fast for a constant length below 29 bytes, if all
 * messages have it.
 *
 * @param w       the worker.
 * @param q       the queue.
 * @param c       the worker's consumer.
 * @param to      `bytes` bytes, the lane's own; receives the payload.
 * @param bytes   at least the queue's message_bytes, equal in all lanes.
 * @param got_out the lane's own, filled for a message: header, length, ticket.
 * @return the lane's own result. 1: it has a message. Or a negative error code:
 * @retval PEAL_EAGAIN   there is no message for this lane now, see work.h.
 * @retval PEAL_EMSGSIZE `bytes` is too small.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_pop_lanes(const struct peal_worker *w, struct peal_work *q,
		    struct peal_work_consumer *c, void *to, uint64_t bytes,
		    struct peal_work_received *got_out)
{
	uint32_t n, taken;
	uint64_t first;
	int found;

	if (PEAL_UNLIKELY(bytes < q->message_bytes))
		return PEAL_EMSGSIZE;
	n = peali_work_claim_lanes(w, q, c, &first);
	if (!n) {
		if (peal_is_leader(w))
			peal_work_flush(q, c);
		return PEAL_EAGAIN;
	}
	found = peal_lane(w) < n &&
		peali_work_take_slot(q, first + peal_lane(w), to, bytes,
				     got_out);
	taken = peali_batch_size(peali_batch_ballot(w, found));
	peali_batch_sync(w); /* all lanes have read their slots */
	if (peal_is_leader(w)) {
		c->taken += taken;
		c->dead += n - taken;
		peali_work_done_run(q, c, first, n);
		if (PEAL_UNLIKELY(!taken)) /* the caller may be idle now */
			peal_work_flush(q, c);
	}
	return found ? 1 : PEAL_EAGAIN;
}

#endif
