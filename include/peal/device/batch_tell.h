/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_TELL_H
#define PEAL_DEVICE_BATCH_TELL_H

#include <peal/device/batch.h>
#include <peal/device/impl/worker/mailbox_put.h>

/*
 * How a batch handler sends to actors of its own kernel, by their mailboxes. The
 * lanes that send to one mailbox take their tickets by one addition. Each lane
 * then writes a slot of its own.
 *
 * A message to a pool, or to an actor with a mailbox limit, is told alone. The
 * lanes with such messages tell them one after another.
 */

/* Returns how many messages a batch may tell now, for the leader. The worker has
 * leased slots for all messages that its handlers declare. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_may_tell(const struct peal_worker *w, const struct peal_batch *b)
{
	uint64_t n = peali_has_mail(w) ? w->state->mail.lease.granted :
					 PEAL_BATCH_MOST;

#if PEALI_CHECK_LIMITS
	uint64_t none = w->state->count.handled << PEALI_RUN_SHIFT;
	uint64_t may = (uint64_t)w->actor->tells * b->n;
	uint64_t spent = peali_spent(w, w->state->run.tells_spent) - none;

	may = spent < may ? may - spent : 0;
	n = may < n ? may : n;
#else
	(void)b;
#endif
	return n < PEAL_BATCH_MOST ? (uint32_t)n : PEAL_BATCH_MOST;
}

/* Counts n messages that the lanes have told, for the leader. */
static PEAL_DEV PEAL_INLINE void peali_batch_told(struct peal_worker *w,
						  uint32_t n)
{
#if PEALI_CHECK_LIMITS
	uint64_t *word = &w->state->run.tells_spent;

	*word = peali_spent(w, *word) + n;
#else
	(void)w;
	(void)n;
#endif
}

/* Result of a search for a mailbox: the message must be told alone. */
#define PEALI_TOLD_ALONE 1

/* Finds the mailbox of the actor that gets a lane's message of so many bytes.
 * Returns 0, PEALI_TOLD_ALONE, or an error code. */
static PEAL_DEV PEAL_INLINE int
peali_batch_find_box(const struct peal_worker *w, uint32_t actor,
		     uint64_t bytes, uint32_t *box_out)
{
	uint64_t place = peali_location_of(w, actor);

	if (!PEAL_ENTRY_IS_OF(place, actor))
		return PEAL_ENOENT;
	*box_out = PEAL_ENTRY_WORKER(place);
	if (PEALI_USES(POOLS) && *box_out == PEAL_POOL_WORKER)
		return PEALI_TOLD_ALONE;
	if (PEAL_UNLIKELY(!peali_has_mail(w)))
		return PEAL_ENOTSUP;
	if (PEALI_USES(LIMITS) && PEAL_ENTRY_LIMIT(place))
		return PEALI_TOLD_ALONE;
	return bytes > peali_own_mailbox(w)->message_bytes ? PEAL_EMSGSIZE : 0;
}

/* Wakes the worker of a mailbox, after all lanes have written. Collective. */
static PEAL_DEV PEAL_INLINE void peali_batch_ring(const struct peal_worker *w,
						  int rings, uint32_t box)
{
#if PEAL_ON_HOST
	peal_sync(w);
	if (rings && box != w->index)
		peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, box));
#else
	(void)w;
	(void)rings;
	(void)box;
#endif
}

/* Puts a message of each lane that `sends` into a box. The worker has leased the
 * slots. Collective. */
static PEAL_DEV PEAL_INLINE void
peali_batch_put_boxes(struct peal_worker *w, int sends, uint32_t box,
		      struct peal_header header, const void *data,
		      uint64_t bytes)
{
	const uint32_t lane = peal_lane(w);
	uint32_t peers, first,
		n = peali_batch_size(peali_batch_ballot(w, sends));
	uint64_t number = 0;

	if (!n)
		return;
	if (peal_is_leader(w)) { /* told is counted before done */
		w->state->mail.lease.granted -= n;
		w->state->count.mailbox_sends += n;
		peal_store_relaxed_sys(&w->status->mailbox_sends,
				       w->state->count.mailbox_sends);
	}
	peali_batch_sync(w);
	peers = peali_batch_match(w, sends ? box : 0x80000000u | lane);
	first = peali_batch_lowest(peers);
	if (sends && lane == first)
		number = peali_mailbox_ticket(peali_mailbox(w, box),
					      peali_batch_size(peers));
	number = peali_batch_from(w, number, peers ? first : lane);
	if (sends)
		peali_batch_put_mail(
			peali_mailbox(w, box),
			number + peali_batch_size(peali_batch_below(w, peers)),
			header, data, (uint32_t)bytes);
	peali_batch_ring(w, sends && lane == first, box);
}

/* Tells a message of each lane that `sends`, one after another. Returns the
 * lane's own result. Collective. */
PEALI_SLOW(int, peali_batch_tell_alone, struct peal_worker *w, uint32_t due,
	   struct peal_header header, const void *data, uint64_t bytes)
{
	int result = 0;

	for (; due; due &= due - 1) {
		peali_batch_sync(w);
		if (peal_lane(w) == peali_batch_lowest(due))
			result = peali_tell(w, 0, header, data, bytes);
	}
	peali_batch_sync(w);
	return result;
}

/* Tells a message of each lane that `sends`, of a batch of several messages. */
static PEAL_DEV PEAL_INLINE int
peali_batch_tell_lanes(struct peal_worker *w, const struct peal_batch *b,
		       int sends, struct peal_header header, const void *data,
		       uint64_t bytes)
{
	uint32_t box = 0, may = 0, set;
	int result = 0, alone = 0;

	if (peal_is_leader(w))
		may = peali_batch_may_tell(w, b);
	may = peali_batch_first(w, may);
	if (sends)
		result = peali_batch_find_box(w, header.actor, bytes, &box);
	sends = sends && result >= 0;
	set = peali_batch_ballot(w, sends);
	if (sends && peali_batch_size(peali_batch_below(w, set)) >= may) {
		result = PEAL_EAGAIN;
		sends = 0;
	}
	if (result == PEALI_TOLD_ALONE) {
		alone = sends;
		result = 0;
	}
	peali_batch_put_boxes(w, sends && !alone, box, header, data, bytes);
	set = peali_batch_ballot(w, alone);
	if (PEAL_UNLIKELY(set))
		result |= peali_batch_tell_alone(w, set, header, data, bytes);
	set = peali_batch_ballot(w, sends && !result);
	if (peal_is_leader(w))
		peali_batch_told(w, peali_batch_size(set));
	peali_batch_sync(w);
	return result;
}

/**
 * Tells a message of each lane to an actor or a pool of the same kernel.
 *
 * A lane with `sends` 1 and a message of the batch tells one. It goes into the
 * mailbox of its actor's worker, or into the pool, as by peal_tell. Messages for
 * one actor arrive in the order of the lanes. This order may change while the
 * actor migrates. All messages of a batch share a limit: the sum of their
 * handler's limits. Collective, wait-free.
 *
 * @param w     the worker.
 * @param b     the batch.
 * @param sends 1: the lane tells a message, if it has one. 0: it tells none.
 * @param actor number of the actor or pool. Lanes may pass different numbers.
 * @param type  the program's own number.
 * @param data  `bytes` bytes, the lane's own; copied.
 * @param bytes at most the kernel's mailbox.message_bytes, or the pool's
 *              message_bytes.
 * @return the lane's own result. 0, also if the lane told none, or if the actor's
 *         limit made this or another message dead. Or a negative error code:
 * @retval PEAL_ENOENT   there is no such actor.
 * @retval PEAL_EMSGSIZE `bytes` is too large.
 * @retval PEAL_EAGAIN   more messages than the handler has declared. If another
 *                       lane has told too many, any lane may get this error.
 * @retval PEAL_ENOSPC   the actor's limit is reached (PEAL_OVERFLOW_FAIL).
 * @retval PEAL_ENOTSUP  the kernel was launched without mailboxes, and the
 *                       address is no pool.
 */
static PEAL_DEV PEAL_INLINE int
peal_batch_tell(struct peal_worker *w, const struct peal_batch *b, int sends,
		uint32_t actor, uint16_t type, const void *data, uint64_t bytes)
{
	const struct peal_header header = { actor, type, 0 };
	int result = 0;

	sends = sends && b->has;
	if (b->n > 1)
		return peali_batch_tell_lanes(w, b, sends, header, data, bytes);
	/* a tell may use w->message, which the other lanes can still read */
	peali_batch_sync(w);
	if (sends) /* lane 0 */
		result = peali_may_tell(w) ?
				 peali_tells(w, peali_tell(w, 0, header, data,
							   bytes)) :
				 PEAL_EAGAIN;
	peali_batch_sync(w);
	return result;
}

#endif
