/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAILBOX_PUT_H
#define PEAL_DEVICE_MAILBOX_PUT_H

#include <peal/device/lanes.h>
#include <peal/device/impl/worker/pool.h>
#include <peal/device/impl/worker/send_limits.h>

/*
 * Puts messages into mailboxes and pools, for peal_tell and for the loop. A
 * handler tells at most as many messages as it has declared. The loop takes its
 * message only if there is space for those.
 */

/*
 * Takes a leased slot for a message into a worker's mailbox, and returns its
 * number. The message is counted as told first, so no count is too low when the
 * receiver counts it as done.
 */
static PEAL_DEV PEAL_INLINE uint64_t peali_mail_ticket(
	struct peal_worker *w, uint32_t box, struct peal_mailbox_lease *lease)
{
	lease->granted--;
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       ++w->state->count.mailbox_sends);
	return peali_mailbox_ticket(peali_mailbox(w, box), 1);
}

/* Puts a message into a box, by a leased slot. */
static PEAL_DEV PEAL_UNUSED inline int
peali_mail_put(struct peal_worker *w, uint32_t box,
	       struct peal_mailbox_lease *lease, struct peal_header header,
	       const void *data, uint64_t bytes)
{
	struct peal_mailbox *m = peali_mailbox(w, box);

	if (PEAL_UNLIKELY(bytes > m->message_bytes))
		return PEAL_EMSGSIZE;
	if (PEAL_UNLIKELY(!lease->granted))
		return PEAL_EAGAIN;
	peali_mailbox_write(m, peali_mail_ticket(w, box, lease), header, data,
			    bytes);
#if PEAL_ON_HOST
	if (box >= w->params->n_workers)
		box -= w->params->n_workers;
	if (box != w->index)
		peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, box));
#endif
	return 0;
}

/*
 * Admits a message to the mailbox of an actor with a limit. Returns 0: the
 * message is counted. 1: the message is dead, since the limit drops the newest
 * one. Else an error. `before`: bytes in front of its data. A dead letter does
 * not keep a deadline or a sender there. An ask gets the error instead of a dead letter.
 */
PEALI_SLOW(int, peali_limit_admit, struct peal_worker *w, uint64_t place,
	   uint32_t before, struct peal_header header, const void *data,
	   uint64_t bytes)
{
	struct peal_limit_record *r =
		peali_limit_record(w, PEAL_ENTRY_LIMIT(place) - 1);
	int result;

	if (before + bytes > peali_own_mailbox(w)->message_bytes)
		return PEAL_EMSGSIZE;
	if (!w->state->mail.lease.granted)
		return PEAL_EAGAIN;
	result = peali_limit_enter(w, place, header.actor);
	if (result != PEAL_ENOSPC)
		return result;
	if (peal_load_relaxed_dev_u32(&r->full) == PEAL_OVERFLOW_FAIL ||
	    (before && header.flags & PEAL_FLAG_REQUEST)) {
		peal_add_relaxed_dev(&r->refused, 1);
		return PEAL_ENOSPC;
	}
	if (before)
		header.flags &=
			(uint16_t) ~(PEAL_FLAG_DEADLINE | PEAL_FLAG_SENDER);
	peali_limit_drop_told(w, header, data, bytes);
	return 1;
}

/* The leader's part of peal_tell to an actor with a limit. */
PEALI_SLOW(int, peali_tell_limited, struct peal_worker *w, uint32_t further,
	   uint64_t place, struct peal_header header, const void *data,
	   uint64_t bytes)
{
	int result = peali_limit_admit(w, place, 0, header, data, bytes);

	if (result)
		return result > 0 ? 0 : result;
	header.flags |= PEAL_FLAG_COUNTED;
	return peali_mail_put(w, PEAL_ENTRY_WORKER(place) + further,
			      &w->state->mail.lease, header, data, bytes);
}

/* Returns the location of the entry of an actor's number, of any worker. It is not
 * of the actor if there is no such actor. Any lane may call it. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_location_of(const struct peal_worker *w, uint32_t actor)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);

	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return PEAL_NO_HANDLER;
	return peal_load_relaxed_dev(&entry->location);
}

/* The leader's part of peal_tell. `further`: priority_boxes for the second
 * mailbox of the actor's worker, or 0. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell(struct peal_worker *w, uint32_t further, struct peal_header header,
	   const void *data, uint64_t bytes)
{
	uint64_t place = peali_location_of(w, header.actor);
	uint32_t worker = PEAL_ENTRY_WORKER(place);

	if (!PEAL_ENTRY_IS_OF(place, header.actor))
		return PEAL_ENOENT;
	if (PEALI_USES(POOLS) && PEAL_UNLIKELY(worker == PEAL_POOL_WORKER))
		return peali_pool_put(w, PEAL_ENTRY_HANDLER(place), header,
				      data, bytes);
	if (!peali_has_mail(w))
		return PEAL_ENOTSUP;
	if (PEAL_UNLIKELY(PEAL_ENTRY_LIMIT(place)))
		return peali_tell_limited(w, further, place, header, data,
					  bytes);
	return peali_mail_put(w, worker + further, &w->state->mail.lease,
			      header, data, bytes);
}

/* peali_tell by all lanes, within the limits of the running handler. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_lanes(struct peal_worker *w, uint32_t further,
		 struct peal_header header, const void *data, uint64_t bytes)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_may_tell(w) ?
				 peali_tells(w, peali_tell(w, further, header,
							   data, bytes)) :
				 PEAL_EAGAIN;
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
