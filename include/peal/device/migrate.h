/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MIGRATE_H
#define PEAL_DEVICE_MIGRATE_H

#include <peal/device/ask_table.h>
#include <peal/device/tell.h>
#include <peal/device/onward.h>

/*
 * An actor moves to another worker of its kernel; peal/migrate.h says what that
 * promises. It has an entry there, made before and marked as awaited, and then
 * its worker lets go of it between two messages: from there on its own entry says
 * the next one. State and ports do not move: the new entry has them.
 *
 * All who know the former entry go on sending to its worker, which passes their
 * messages on, by the mailbox of the other one, in the order in which they come.
 * Each message of a mailbox takes the slot along that it had: so passing on never
 * waits for room, and no circle can stand still by it. What lies in that of high
 * priority goes on to such a one. What comes by a link
 * waits for room as all that comes by links (forward.h). So what one sender sends
 * to one number stays in order, however often the actor moves meanwhile, and a
 * number leads to the actor for ever.
 *
 * The actor's new worker takes it over before its first message:
 *
 *	former worker				new worker
 *	entry moved; R22 awaited no more ---->	A22 state, care may be read
 *	first message passed on ------------->	finds it new
 *
 * That a message is there may be known before the actor is: it waits then.
 */

/* ---- letting go ------------------------------------------------------------ */

/* Who supervises the actor does so at its next entry. That is said at the first
 * one, too, from which peali_mark_all finds it. */
static PEAL_DEV PEAL_UNUSED inline void
peali_move_care(struct peal_worker *w, const struct peal_control_move *c)
{
	const struct peal_care *care;
	struct peal_care *next;

	if (!w->params->care)
		return;
	care = peali_care(w, PEAL_ACTOR_INDEX(c->actor));
	next = peali_care(w, PEAL_ACTOR_INDEX(c->next));
	next->init = care->init;
	next->init_bytes = care->init_bytes;
	peal_store_relaxed_dev(&next->member,
			       peal_load_relaxed_dev(&care->member));
}

/* The worker has an actor from now on that awaited it: 1; 0 not yet. A mark that
 * it got on its way is then a usual one. */
static PEAL_DEV PEAL_UNUSED inline int
peali_arrive(struct peal_worker *w, struct peal_actor_entry *entry)
{
	uint64_t place, has;

	(void)w;
	/* A22: pairs with R22 in peali_control_move. */
	if ((uint32_t)peal_load_acquire_dev(&entry->place) & PEAL_PLACE_AWAITED)
		return 0;
	do { /* again only where somebody has just marked it */
		place = peal_load_relaxed_dev(&entry->place);
		has = place & ~(uint64_t)(PEAL_PLACE_MARK | PEAL_PLACE_NEW |
					  PEAL_PLACE_LATER);
		if ((uint32_t)place & PEAL_PLACE_LATER)
			has |= PEAL_PLACE_MARK;
	} while (!peal_cas_relaxed_dev(&entry->place, place, has));
	peal_fence_acquire_dev(); /* a GPU's first-level cache knows it, too */
	return 1;
}

/* The entry says where the actor is from now on; 1: it had the mark. */
static PEAL_DEV PEAL_UNUSED inline int
peali_move_on(struct peal_actor_entry *entry, uint32_t next)
{
	uint64_t place, moved;

	do { /* again only where somebody has just marked it */
		place = peal_load_relaxed_dev(&entry->place);
		moved = PEAL_PLACE_TO(place, next);
	} while (!peal_cas_relaxed_dev(&entry->place, place, moved));
	return PEAL_PLACE_IS_SHUT(place) != 0;
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

/* Whether an entry is that of the actor, here, and has not moved; or else why it
 * cannot: 0 or PEAL_E... */
static PEAL_DEV PEAL_UNUSED inline int
peali_move_check(struct peal_worker *w, const struct peal_control_move *c)
{
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors ||
	    PEAL_ACTOR_INDEX(c->next) >= w->params->max_actors || !w->mailbox)
		return PEAL_EINVAL;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(c->actor));
	place = peal_load_relaxed_dev(&entry->place);
	if (!PEAL_PLACE_IS_OF(place, c->actor) ||
	    PEAL_PLACE_WORKER(place) != w->index ||
	    PEAL_PLACE_IS_MOVED(place) || PEAL_PLACE_LIMIT(place))
		return PEAL_EINVAL;
	if (entry->shares && !(entry->shares & PEAL_SHARES))
		return PEAL_EBUSY;
	if (PEAL_PLACE_IS_HOOK(place) || peali_move_asks(w, c->actor))
		return PEAL_EAGAIN;
	if (PEAL_PLACE_IS_NEW(place) && !peali_arrive(w, entry))
		return PEAL_EINVAL;
	place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(c->next))->place);
	if (!PEAL_PLACE_IS_OF(place, c->next) || !PEAL_PLACE_IS_NEW(place) ||
	    !((uint32_t)place & PEAL_PLACE_AWAITED))
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
	place = peal_load_relaxed_dev(&entry->place);
	if (PEAL_PLACE_IS_OF(place, c->actor) && PEAL_PLACE_IS_MOVED(place) &&
	    PEAL_PLACE_NEXT(place) == PEAL_ACTOR_INDEX(c->next))
		return 0;
	result = peali_move_check(w, c);
	if (result)
		return result;
	peali_move_care(w, c);
	if (peali_move_on(entry, c->next))
		peali_mark(w, c->next);
	/* R22: pairs with A22 in peali_arrive: what its handler wrote here. */
	peal_add_acqrel_dev(&peali_entry(w, PEAL_ACTOR_INDEX(c->next))->place,
			    0 - (uint64_t)PEAL_PLACE_AWAITED);
	peal_fence_acquire_dev(); /* a GPU's first-level cache knows it, too */
	return 0;
}

/* ---- passing on ------------------------------------------------------------ */

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

/* Puts the message in w->message, the next one of w->box, into such a box of its
 * actor's worker, by the slot that it has. */
static PEAL_DEV PEAL_UNUSED inline void peali_mail_pass(struct peal_worker *w)
{
	const struct peal_message *m = &w->message;
	uint64_t place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(m->header.actor))->place);
	uint32_t box = PEAL_PLACE_WORKER(place);

	if (w->box != w->mailbox)
		box += w->params->high_boxes;
	w->state->mail_lease.granted++; /* nothing is read of it behind that */
	peali_mail_put(w, box, &w->state->mail_lease, m->header, m->data,
		       m->length);
}

/* The message in w->message, the next one of w->box, is for an actor that has
 * moved: passes it on, and such as are behind it, as many as may be moved at a time.
 * Each is counted as told before it is counted as done. */
PEALI_SLOW(void, peali_mail_onward, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int high = w->box != w->mailbox;
	uint32_t n, most = peali_moves(w, high);

	s->aside = 0;
	s->idle = 0;
	for (n = 0; n < most && peali_onward(w); n++) {
		peali_mail_pass(w);
		if (PEALI_SIM_FAULT(ONWARD_TWICE) && !(s->told & 7))
			peali_mail_pass(w);
		w->box->taken++;
		if (w->box->taken - w->box->head >= s->mail_tell)
			peali_mail_flush(w, w->box);
		s->mail_done++;
		if (!peali_mail_next(w)) {
			n++;
			break;
		}
	}
	peali_passed(w, high, n);
}

#endif
