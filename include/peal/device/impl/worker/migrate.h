/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MIGRATE_H
#define PEAL_DEVICE_MIGRATE_H

#include <peal/device/impl/worker/ask_table.h>
#include <peal/device/impl/worker/mailbox_put.h>
#include <peal/device/impl/worker/actor_resolve.h>

/*
 * An actor moves to another worker of its kernel; peal/migration.h says what
 * that promises. It has an entry there, made before and marked as awaited, and
 * then its worker lets go of it between two messages: from there on its own
 * entry says the next one. State and ports do not move: the new entry has them.
 *
 * All who know the former entry go on sending to its worker, which passes their
 * messages on, by the mailbox of the other one, in the order in which they
 * come. Each message of a mailbox takes the slot along that it had: so passing
 * on never waits for space, and no circle can stand still by it. What lies in
 * that of high priority goes on to such a one. What comes by a link waits for
 * space as all that comes by links (mailbox_forward.h). So what one sender
 * sends to one number stays in order, however often the actor moves meanwhile,
 * and a number leads to the actor for ever.
 *
 * The actor's new worker takes it over before its first message:
 *
 *	former worker				new worker
 *	entry moved; R22 awaited no more ---->	A22 state, care may be read
 *	first message passed on ------------->	finds it new
 *
 * That a message is there may be known before the actor is: it waits then.
 */

/* ---- letting go ---------------------------------------------------------- */

/* Who supervises the actor does so at its next entry. That is said at the first
 * one, too, from which peali_mark_restart_all finds it. */
static PEAL_DEV PEAL_UNUSED inline void
peali_move_supervision(struct peal_worker *w, const struct peal_control_move *c)
{
	const struct peal_supervision *care;
	struct peal_supervision *next;

	if (!w->params->supervision)
		return;
	care = peali_supervision(w, PEAL_ACTOR_INDEX(c->actor));
	next = peali_supervision(w, PEAL_ACTOR_INDEX(c->next));
	next->init = care->init;
	next->init_bytes = care->init_bytes;
	peal_store_relaxed_dev(&next->member,
			       peal_load_relaxed_dev(&care->member));
}

/* The worker has an actor from now on that awaited it: 1; 0 not yet. A mark
 * that it got on its way is then a usual one. */
static PEAL_DEV PEAL_UNUSED inline int
peali_arrive(struct peal_worker *w, struct peal_actor_entry *entry)
{
	uint64_t place, has;

	(void)w;
	/* A22: pairs with R22 in peali_control_move. */
	if ((uint32_t)peal_load_acquire_dev(&entry->location) &
	    PEAL_ENTRY_STATE_PENDING)
		return 0;
	do { /* again only where somebody has just marked it */
		place = peal_load_relaxed_dev(&entry->location);
		has = place & ~(uint64_t)(PEAL_ENTRY_RESTART_PENDING |
					  PEAL_ENTRY_ARRIVING |
					  PEAL_ENTRY_RESTART_ON_ARRIVAL);
		if ((uint32_t)place & PEAL_ENTRY_RESTART_ON_ARRIVAL)
			has |= PEAL_ENTRY_RESTART_PENDING;
	} while (!peal_cas_relaxed_dev(&entry->location, place, has));
	peal_fence_acquire_dev(); /* a GPU's first-level cache knows it, too */
	return 1;
}

/* The entry says where the actor is from now on; 1: it had the mark. */
static PEAL_DEV PEAL_UNUSED inline int
peali_entry_forward(struct peal_actor_entry *entry, uint32_t next)
{
	uint64_t place, moved;

	do { /* again only where somebody has just marked it */
		place = peal_load_relaxed_dev(&entry->location);
		moved = PEAL_ENTRY_FORWARD_TO(place, next);
	} while (!peal_cas_relaxed_dev(&entry->location, place, moved));
	return PEAL_ENTRY_IS_CLOSED(place) != 0;
}

/* Whether an actor waits for answers, which come to this worker alone. */
static PEAL_DEV PEAL_UNUSED inline int
peali_move_asks(const struct peal_worker *w, uint32_t actor)
{
	uint32_t i;

	for (i = 0; w->asks && i < w->asks->fresh; i++)
		if (peali_ask_entry(w->asks, i)->actor == actor)
			return 1;
	return 0;
}

/* Whether an entry is that of the actor, here, and has not moved; or else why
 * it cannot: 0 or PEAL_E... */
static PEAL_DEV PEAL_UNUSED inline int
peali_move_check(struct peal_worker *w, const struct peal_control_move *c)
{
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors ||
	    PEAL_ACTOR_INDEX(c->next) >= w->params->max_actors || !w->mailbox)
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

/* PEAL_CONTROL_MOVE. One that was done already, whose answer nobody has waited
 * for, may come again. */
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
	if (peali_entry_forward(entry, c->next))
		peali_mark_restart(w, c->next);
	/* R22: pairs with A22 in peali_arrive: what its handler wrote here. */
	peal_add_acqrel_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(c->next))->location,
		0 - (uint64_t)PEAL_ENTRY_STATE_PENDING);
	peal_fence_acquire_dev(); /* a GPU's first-level cache knows it, too */
	return 0;
}

/* ---- passing on ---------------------------------------------------------- */

/* The next message of w->box into w->message, if there is one that may be
 * passed on as it is: 1. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_next(struct peal_worker *w)
{
	struct peal_slot_view view = { 0, 0, 0 };

	if (!peal_mailbox_peek(w->box, &view))
		return 0;
	w->message.header =
		*(const struct peal_header *)(const void *)view.content;
	w->message.data = view.content + sizeof(struct peal_header);
	w->message.length = view.length - sizeof(struct peal_header);
	w->message.kind = view.kind;
	return !(w->message.header.flags &
		 (PEAL_FLAG_DEADLINE | PEAL_FLAG_ANSWER));
}

/* Puts the message in w->message, the next one of w->box, into such a box of
 * its actor's worker, by the slot that it has. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mail_redirect_one(struct peal_worker *w)
{
	const struct peal_message *m = &w->message;
	uint64_t place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(m->header.actor))->location);
	uint32_t box = PEAL_ENTRY_WORKER(place);

	if (w->box != w->mailbox)
		box += w->params->priority_boxes;
	w->state->mail_lease.granted++; /* nothing is read of it behind that */
	peali_mail_put(w, box, &w->state->mail_lease, m->header, m->data,
		       m->length);
}

/* The message in w->message, the next one of w->box, is for an actor that has
 * moved: passes it on, and such as are behind it, as many as may be moved at a
 * time. Each is counted as told before it is counted as done. */
PEALI_SLOW(void, peali_mail_redirect, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int high = w->box != w->mailbox;
	uint32_t n, most = peali_moves(w, high);

	s->deferred_action = 0;
	s->idle = 0;
	for (n = 0; n < most && peali_message_redirect(w); n++) {
		peali_mail_redirect_one(w);
		if (PEALI_SIM_FAULT(REDIRECT_TWICE) && !(s->mailbox_sends & 7))
			peali_mail_redirect_one(w);
		w->box->taken++;
		if (w->box->taken - w->box->head >= s->mail_flush_every)
			peali_mail_flush(w, w->box);
		s->mailbox_done++;
		if (!peali_mail_next(w)) {
			n++;
			break;
		}
	}
	peali_passed(w, high, n);
}

#endif
