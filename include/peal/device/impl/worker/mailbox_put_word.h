/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAILBOX_PUT_WORD_H
#define PEAL_DEVICE_MAILBOX_PUT_WORD_H

#include <peal/device/impl/worker/mailbox_put.h>

/* Tells a message with a word in front of its payload. The word is a deadline,
 * the number of an ask, or a sender. For the leader. */

/* Puts such a message into a pool. The caller counts it as told. */
static PEAL_DEV PEAL_UNUSED inline int
peali_pool_put_word(struct peal_worker *w, uint32_t pool,
		    struct peal_header header, uint64_t first, const void *data,
		    uint64_t bytes)
{
	struct peal_pool_place *p = &w->pools[pool];
	struct peal_work *q;
	uint64_t number = 0;
	int result;

	if (pool >= peali_pools(w) || !p->set)
		return PEAL_ENOENT;
	q = peali_pool_shard(p, w->index);
	if (sizeof(first) + bytes > q->message_bytes)
		return PEAL_EMSGSIZE;
	result = peal_work_take_tickets(q, &p->producer, 1, &number);
	if (result)
		return result;
	peali_slot_put(peali_policy(q->policy), peali_work_slot(q, number),
		       q->slot_bytes, peali_work_lap(q, number),
		       peali_content_word(header, first, data, bytes));
	peali_pool_wake(w, p);
	return 0;
}

/* Puts such a message into a box, and counts it as told. */
static PEAL_DEV PEAL_UNUSED inline int
peali_mailbox_put_word(struct peal_worker *w, uint32_t box,
		       struct peal_header header, uint64_t first,
		       const void *data, uint64_t bytes)
{
	struct peal_mailbox *m = peali_mailbox(w, box);
	uint64_t number;

	if (sizeof(first) + bytes > m->message_bytes)
		return PEAL_EMSGSIZE;
	if (!w->state->mail.lease.granted)
		return PEAL_EAGAIN;
	number = peali_mail_ticket(w, box, &w->state->mail.lease);
	peali_slot_put(peali_policy(m->policy), peali_mailbox_slot(m, number),
		       m->slot_bytes, peali_mailbox_lap(m, number),
		       peali_content_word(header, first, data, bytes));
#if PEAL_ON_HOST
	if (box >= w->params->n_workers)
		box -= w->params->n_workers;
	peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, box));
#endif
	return 0;
}

/* Puts such a message into the mailbox of an actor with a limit. */
PEALI_SLOW(int, peali_tell_word_limited, struct peal_worker *w,
	   uint32_t further, uint64_t place, struct peal_header header,
	   uint64_t first, const void *data, uint64_t bytes)
{
	int result =
		peali_limit_admit(w, place, sizeof(first), header, data, bytes);

	if (result)
		return result > 0 ? 0 : result;
	header.flags |= PEAL_FLAG_COUNTED;
	return peali_mailbox_put_word(w, PEAL_ENTRY_WORKER(place) + further,
				      header, first, data, bytes);
}

/* Tells such a message to a pool. Told is counted before done, as in
 * peali_mail_ticket. */
PEALI_SLOW(int, peali_pool_tell_word, struct peal_worker *w, uint32_t pool,
	   struct peal_header header, uint64_t first, const void *data,
	   uint64_t bytes)
{
	int result;

	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       w->state->count.mailbox_sends + 1);
	result = peali_pool_put_word(w, pool, header, first, data, bytes);
	if (PEAL_UNLIKELY(result))
		peal_store_relaxed_sys(&w->status->mailbox_sends,
				       w->state->count.mailbox_sends);
	else
		w->state->count.mailbox_sends++;
	return result;
}

/* peali_tell of such a message. The flags of its header name the word. */
static PEAL_DEV PEAL_UNUSED inline int
peali_put_word(struct peal_worker *w, uint32_t further,
	       struct peal_header header, uint64_t first, const void *data,
	       uint64_t bytes)
{
	uint64_t place = peali_location_of(w, header.actor);

	if (!PEAL_ENTRY_IS_OF(place, header.actor))
		return PEAL_ENOENT;
	if (PEAL_UNLIKELY(PEAL_ENTRY_LIMIT(place)))
		return peali_tell_word_limited(w, further, place, header, first,
					       data, bytes);
	if (!PEALI_USES(POOLS) || PEAL_ENTRY_WORKER(place) != PEAL_POOL_WORKER)
		return peali_has_mail(w) ?
			       peali_mailbox_put_word(
				       w, PEAL_ENTRY_WORKER(place) + further,
				       header, first, data, bytes) :
			       PEAL_ENOTSUP;
	return peali_pool_tell_word(w, PEAL_ENTRY_HANDLER(place), header, first,
				    data, bytes);
}

/* As peali_put_word, within the limits of the running handler. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_word(struct peal_worker *w, uint32_t further,
		struct peal_header header, uint64_t first, const void *data,
		uint64_t bytes)
{
	if (PEAL_UNLIKELY(!peali_may_tell(w)))
		return PEAL_EAGAIN;
	return peali_tells(w, peali_put_word(w, further, header, first, data,
					     bytes));
}

/* As peali_tell_word, by all lanes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_word_lanes(struct peal_worker *w, uint32_t further,
		      struct peal_header header, uint64_t first,
		      const void *data, uint64_t bytes)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result =
			peali_tell_word(w, further, header, first, data, bytes);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
