/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MIGRATE_H
#define PEAL_DEVICE_MIGRATE_H

#include <peal/device/impl/worker/ask_table.h>
#include <peal/device/impl/worker/mailbox_put.h>
#include <peal/device/impl/worker/actor_resolve.h>

/*
 * Migration of an actor to another worker of its kernel. See peal/migration.h
 * for its guarantees, and abi/actor_entry.h for the flags of an entry.
 *
 * The actor first gets a new entry at the new worker, with PEAL_ENTRY_ARRIVING
 * and PEAL_ENTRY_STATE_PENDING. Between two messages, the former worker gives
 * the actor up. From then on its old entry has the index of the new entry.
 * State and ports do not move: the new entry has them.
 *
 * All senders that know the old entry continue to send to the former worker. It
 * forwards their messages to the mailbox of the new worker, in the order of
 * their arrival. A message from a mailbox keeps its slot. So it never waits for
 * space, and no cycle of forwarding workers can stall. A message from a
 * high-priority mailbox goes to a high-priority mailbox. A message from a link
 * waits for space, as all messages from links do (mailbox_forward.h).
 *
 * So messages from one sender to one number stay in order, however often the
 * actor migrates meanwhile. Every number leads to the actor for ever.
 *
 * The new worker takes the actor over before its first message:
 *
 *	former worker				new worker
 *	old entry forwards;
 *	R22 STATE_PENDING cleared ----------->	A22 may read state, supervision
 *	first message forwarded ------------->	finds the actor arriving
 *
 * The new worker may see a message before it sees R22. The message then waits.
 *
 * Messages to all actors have numbers (`to_all` of the admission). After R22
 * the former worker reads the next number. This number becomes the arrival of
 * the new entry. It also becomes the `state` of the old entry, which needs no
 * address of a state any more. The former worker tells the actor all messages
 * with lower numbers. The new worker tells it all others
 * (impl/loop/poll_to_all.h).
 */

/* As arrival of an entry: the former worker has not stored it yet. */
#define PEALI_ARRIVAL_UNKNOWN (~0ULL)

/* Returns the arrival of an entry with PEAL_ENTRY_MIGRATED_IN. */
static PEAL_DEV PEAL_INLINE uint64_t *peali_arrival(const struct peal_worker *w,
						    uint32_t index)
{
	return (uint64_t *)(uintptr_t)w->params->arrivals + index;
}

/* ---- giving up ----------------------------------------------------------- */

/*
 * Copies the actor's supervision record to its new entry. The record of the
 * first entry stays, since peali_mark_restart_all finds the actor from there.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_move_supervision(struct peal_worker *w, const struct peal_control_move *c)
{
	const struct peal_supervision *supervision;
	struct peal_supervision *next;

	if (!peali_has_supervision(w))
		return;
	supervision = peali_supervision(w, PEAL_ACTOR_INDEX(c->actor));
	next = peali_supervision(w, PEAL_ACTOR_INDEX(c->next));
	next->init = supervision->init;
	next->init_bytes = supervision->init_bytes;
	peal_store_relaxed_dev(&next->restarts,
			       peal_load_relaxed_dev(&supervision->restarts));
	peal_store_relaxed_dev(&next->member,
			       peal_load_relaxed_dev(&supervision->member));
}

/*
 * Takes over an arriving actor. Returns 1: this worker has the actor from now
 * on. Returns 0: its state is still pending. RESTART_ON_ARRIVAL, set during the
 * migration, becomes RESTART_PENDING.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_arrive(struct peal_worker *w, struct peal_actor_entry *entry)
{
	uint64_t place, has;

	(void)w;
	/* A22: pairs with R22 in peali_control_move. */
	if ((uint32_t)peal_load_acquire_dev(&entry->location) &
	    PEAL_ENTRY_STATE_PENDING)
		return 0;
	do { /* repeats only if another worker has just marked it */
		place = peal_load_relaxed_dev(&entry->location);
		has = place & ~(uint64_t)(PEAL_ENTRY_RESTART_PENDING |
					  PEAL_ENTRY_ARRIVING |
					  PEAL_ENTRY_RESTART_ON_ARRIVAL);
		if ((uint32_t)place & PEAL_ENTRY_RESTART_ON_ARRIVAL)
			has |= PEAL_ENTRY_RESTART_PENDING;
	} while (!peal_cas_relaxed_dev(&entry->location, place, has));
	peal_fence_acquire_dev(); /* also for a GPU's first-level cache */
	return 1;
}

/* Makes the old entry forward to the entry `next`. Returns 1 if the old entry
 * had RESTART_PENDING, else 0. */
static PEAL_DEV PEAL_UNUSED inline int
peali_entry_forward(struct peal_actor_entry *entry, uint32_t next)
{
	uint64_t place, moved;

	entry->tells = 0; /* of a forwarding entry: looks that a hold still
			   * lasts, see impl/loop/actor_shortcut.h */
	do { /* repeats only if another worker has just marked it */
		place = peal_load_relaxed_dev(&entry->location);
		moved = PEAL_ENTRY_FORWARD_TO(place, next);
	} while (!peal_cas_relaxed_dev(&entry->location, place, moved));
	return PEAL_ENTRY_IS_CLOSED(place) != 0;
}

/* Whether an actor has open asks. Their answers come to this worker alone. */
static PEAL_DEV PEAL_UNUSED inline int
peali_move_asks(const struct peal_worker *w, uint32_t actor)
{
	uint32_t i;

	for (i = 0; peali_own_asks(w) && i < peali_own_asks(w)->fresh; i++)
		if (peali_ask_entry(peali_own_asks(w), i)->actor == actor)
			return 1;
	return 0;
}

/*
 * Checks whether the actor can migrate. Returns 0 if this worker has the actor,
 * and its new entry waits for it. Returns PEAL_EINVAL, PEAL_EBUSY or
 * PEAL_EAGAIN otherwise.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_move_check(struct peal_worker *w, const struct peal_control_move *c)
{
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors ||
	    PEAL_ACTOR_INDEX(c->next) >= w->params->max_actors ||
	    !peali_own_mailbox(w))
		return PEAL_EINVAL;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	place = peal_load_relaxed_dev(&entry->location);
	if (!PEAL_ENTRY_IS_OF(place, c->actor) ||
	    PEAL_ENTRY_WORKER(place) != w->index ||
	    PEAL_ENTRY_IS_FORWARDED(place) || PEAL_ENTRY_LIMIT(place))
		return PEAL_EINVAL;
	if (entry->shares && !(entry->shares & PEAL_SHARES_PORTS))
		return PEAL_EBUSY;
	if (PEAL_ENTRY_IS_HOOK(place) || peali_move_asks(w, c->actor))
		return PEAL_EAGAIN;
	if (PEAL_ENTRY_IS_ARRIVING(place) && !peali_arrive(w, entry))
		return PEAL_EINVAL;
	place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(c->next))->location);
	if (!PEAL_ENTRY_IS_OF(place, c->next) ||
	    !PEAL_ENTRY_IS_ARRIVING(place) ||
	    !((uint32_t)place & PEAL_ENTRY_STATE_PENDING))
		return PEAL_EINVAL;
	return 0;
}

/* Handles PEAL_CONTROL_MOVE. The host may repeat a request if it did not wait
 * for the answer. If the actor has already moved there, the result is 0. */
PEALI_SLOW(int, peali_control_move, struct peal_worker *w,
	   const struct peal_control_move *c)
{
	struct peal_actor_entry *entry =
		peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	uint64_t place;
	int result;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors)
		return PEAL_EINVAL;
	place = peal_load_relaxed_dev(&entry->location);
	if (PEAL_ENTRY_IS_OF(place, c->actor) &&
	    PEAL_ENTRY_IS_FORWARDED(place) &&
	    PEAL_ENTRY_NEXT(place) == PEAL_ACTOR_INDEX(c->next))
		return 0;
	result = peali_move_check(w, c);
	if (result)
		return result;
	peali_move_supervision(w, c);
	peal_store_relaxed_dev(peali_arrival(w, PEAL_ACTOR_INDEX(c->next)),
			       PEALI_ARRIVAL_UNKNOWN);
	if (peali_entry_forward(entry, c->next))
		peali_mark_restart(w, c->next);
	/* R22: pairs with A22 in peali_arrive and peali_round_look: the new worker sees all words
	 * that the actor's handler wrote here. */
	peal_add_acqrel_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(c->next))->location,
		0 - (uint64_t)PEAL_ENTRY_STATE_PENDING);
	peal_fence_acquire_dev(); /* also for a GPU's first-level cache */
	entry->state = peal_load_relaxed_dev(&peali_admission(w)->to_all);
	/* R29: pairs with A29 in peali_round_look. */
	peal_store_release_dev(peali_arrival(w, PEAL_ACTOR_INDEX(c->next)),
			       entry->state);
	return 0;
}

/* ---- forwarding ---------------------------------------------------------- */

/*
 * Reads the next message of w->box into w->message. Returns 1 if the worker may
 * forward it unchanged. Returns 0 if there is no message. Also returns 0 if it
 * has a deadline, is an answer or is for all actors.
 */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_next(struct peal_worker *w)
{
	if (!peali_mail_read(w))
		return 0;
	return !(w->message.header.flags &
		 (PEAL_FLAG_DEADLINE | PEAL_FLAG_ANSWER | PEAL_FLAG_TO_ALL));
}

/* Forwards the next message of w->box, in w->message, to its actor's worker.
 * The mailbox there has the same priority. The message keeps its slot. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mail_redirect_one(struct peal_worker *w)
{
	const struct peal_message *m = &w->message;
	uint64_t place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(m->header.actor))->location);
	uint32_t box = PEAL_ENTRY_WORKER(place);

	if (peali_box_is_high(w))
		box += peali_high_boxes(w);
	w->state->mail.lease.granted++; /* it is not read after the put */
	peali_mail_put(w, box, &w->state->mail.lease, m->header, m->data,
		       m->length);
}

/*
 * Forwards the message in w->message, the next one of w->box, if its actor has
 * migrated. Also forwards further such messages that directly follow it, up to
 * peali_moves. Each message counts as told before it counts as done.
 */
PEALI_SLOW(void, peali_mail_redirect, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int high = peali_box_is_high(w);
	uint32_t n, most = peali_moves(w, high);

	s->deferred.action = 0;
	s->source.idle = 0;
	for (n = 0; n < most && peali_message_redirect(w); n++) {
		peali_mail_redirect_one(w);
		if (PEALI_SIM_FAULT(REDIRECT_TWICE) &&
		    !(s->count.mailbox_sends & 7))
			peali_mail_redirect_one(w);
		w->box->taken++;
		if (w->box->taken - w->box->head >= s->mail.flush_every)
			peali_mail_flush(w, w->box);
		s->count.mailbox_done++;
		if (!peali_mail_next(w)) {
			n++;
			break;
		}
	}
	peali_passed(w, high, n);
}

#endif
