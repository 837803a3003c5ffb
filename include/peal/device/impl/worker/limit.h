/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LIMIT_H
#define PEAL_DEVICE_LIMIT_H

#include <peal/abi/limit.h>
#include <peal/device/lanes.h>

/*
 * Limits: how many messages may wait for one actor in its worker's mailbox, and
 * what becomes of one more (enum peal_mailbox_overflow). An entry's place says
 * that its actor has one, so that who tells another actor looks at nothing more
 * than before.
 *
 * All that counts is one word of the actor's record, which is changed by
 * comparing first: so the limit holds exactly, and nothing that was refused is
 * to be taken back. Who tells adds the message before it puts it; the actor's
 * worker takes it away when its handler is about to run, or when it is dead. A
 * message carries that it was counted, PEAL_FLAG_COUNTED, from the slot to
 * there.
 *
 * Where the oldest is dropped it lies somewhere in the mailbox. Who tells
 * counts it as dropped, there and then; its slot, its letter, and what the
 * kernel counts of it, follow when the worker comes to it: as many of the
 * actor's messages as were dropped are dead, the first ones that it comes to:
 * where a mailbox of high priority is, which counts for the same limit, those
 * of it before older others.
 *
 *	who tells				the actor's worker
 *	A19 word: the record is this actor's <-	R19 word: limit, policy, number
 */

/* Where so many others were quicker, one after another, the limit is taken to
 * be reached: nobody tries for ever. */
#define PEALI_LIMIT_TRIES 4096

static PEAL_DEV PEAL_INLINE struct peal_limit_record *
peali_limit_record(const struct peal_worker *w, uint32_t index)
{
	return (struct peal_limit_record *)(uintptr_t)w->params->limits + index;
}

/* What an actor's entry says now; of nobody if the number is none. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_limit_entry_word(const struct peal_worker *w, uint32_t actor)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	uint64_t place = PEAL_ENTRY(0, 0, PEAL_NO_HANDLER);

	if (PEAL_ACTOR_INDEX(actor) < w->params->max_actors)
		place = peal_load_relaxed_dev(&entry->location);
	return PEAL_ENTRY_IS_OF(place, actor) ?
		       place :
		       PEAL_ENTRY(0, 0, PEAL_NO_HANDLER);
}

/* The record of a live actor; 0: it has none, or is no more. */
static PEAL_DEV PEAL_UNUSED inline struct peal_limit_record *
peali_limit_of(const struct peal_worker *w, uint32_t actor)
{
	uint64_t place = peali_limit_entry_word(w, actor);

	if (PEAL_ENTRY_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_ENTRY_LIMIT(place))
		return 0;
	return peali_limit_record(w, PEAL_ENTRY_LIMIT(place) - 1);
}

/* ---- who tells ----------------------------------------------------------- */

/* So many wait. It tries again only where another has just said more. */
static PEAL_DEV PEAL_UNUSED inline void
peali_limit_most(struct peal_limit_record *r, uint32_t waiting)
{
	uint64_t most;

	do
		most = peal_load_relaxed_dev(&r->most);
	while (waiting > most &&
	       !peal_cas_relaxed_dev(&r->most, most, waiting));
}

/* The word becomes another one, unless somebody was quicker. */
static PEAL_DEV PEAL_INLINE int peali_limit_cas(struct peal_limit_record *r,
						uint64_t word, uint64_t next)
{
	if (PEALI_SIM_FAULT(TORN_LIMIT)) {
		peal_store_relaxed_dev(&r->word, next);
		return 1;
	}
	return peal_cas_relaxed_dev(&r->word, word, next);
}

/*
 * Counts a message that is about to be put into the mailbox of an actor with a
 * limit: 0; PEAL_ENOSPC it is not let in; PEAL_ENOENT the actor has ended. In
 * place of the oldest it is always let in.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_limit_enter(const struct peal_worker *w, uint64_t place, uint32_t actor)
{
	struct peal_limit_record *r =
		peali_limit_record(w, PEAL_ENTRY_LIMIT(place) - 1);
	uint64_t word, next;
	uint32_t tries;
	int fits;

	for (tries = 0; tries < PEALI_LIMIT_TRIES; tries++) {
		/* A19: pairs with R19 in peali_limit_begin. */
		word = peal_load_acquire_dev(&r->word);
		if (peal_load_relaxed_dev_u32(&r->actor) != actor)
			return PEAL_ENOENT;
		fits = PEAL_LIMIT_WAITING(word) <
		       peal_load_relaxed_dev_u32(&r->limit);
		if (!fits && peal_load_relaxed_dev_u32(&r->full) !=
				     PEAL_OVERFLOW_DROP_OLDEST)
			return PEAL_ENOSPC;
		next = word + (fits ? 1 : PEAL_LIMIT_DROPPED_ONE);
		if (!peali_limit_cas(r, word, next))
			continue;
		if (fits)
			peali_limit_most(r, PEAL_LIMIT_WAITING(next));
		else
			peal_add_relaxed_dev(&r->dropped, 1);
		return 0;
	}
	return PEAL_ENOSPC;
}

/* ---- the actor's worker -------------------------------------------------- */

/*
 * The actor's first message in the mailbox is no more to wait: 1 it has been
 * dropped, and has to be dead for that reason; 0 else. `dead`: it is dead
 * anyway; else its handler runs, unless it has been dropped, which then is yet
 * to be said. It tries again only where a message has come in meanwhile, for
 * which there is a slot.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_limit_leave(const struct peal_worker *w, uint32_t actor, int dead)
{
	struct peal_limit_record *r = peali_limit_of(w, actor);
	uint64_t word, next;
	int dropped;

	if (!r)
		return 0; /* it has been retired, and its count with it */
	do {
		word = peal_load_relaxed_dev(&r->word);
		dropped = PEAL_LIMIT_DROPPED(word) != 0;
		if (dropped && !dead)
			return 1;
		next = word - (dropped ? PEAL_LIMIT_DROPPED_ONE : 1);
	} while (!peali_limit_cas(r, word, next));
	return dropped;
}

/* An actor begins, whose place is that, with such a limit. */
static PEAL_DEV PEAL_UNUSED inline void
peali_limit_begin(const struct peal_worker *w, uint64_t place, uint32_t actor,
		  uint32_t limit, uint32_t full)
{
	struct peal_limit_record *r =
		peali_limit_record(w, PEAL_ENTRY_LIMIT(place) - 1);
	uint64_t turn = PEAL_LIMIT_TURN(peal_load_relaxed_dev(&r->word)) + 1;

	peal_store_relaxed_dev_u32(&r->actor, actor);
	peal_store_relaxed_dev_u32(&r->limit, limit);
	peal_store_relaxed_dev_u32(&r->full, full);
	peal_store_relaxed_dev(&r->most, 0);
	peal_store_relaxed_dev(&r->dropped, 0);
	peal_store_relaxed_dev(&r->refused, 0);
	/* R19: pairs with A19 in peali_limit_enter. */
	peal_store_release_dev(&r->word, turn * PEAL_LIMIT_TURN_ONE);
}

/* An actor has ended, whose place was that: who was about to tell it finds
 * another turn. */
static PEAL_DEV PEAL_UNUSED inline void
peali_limit_end(const struct peal_worker *w, uint64_t place)
{
	struct peal_limit_record *r;

	if (PEAL_ENTRY_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_ENTRY_LIMIT(place))
		return;
	r = peali_limit_record(w, PEAL_ENTRY_LIMIT(place) - 1);
	peal_store_relaxed_dev(
		&r->word, (PEAL_LIMIT_TURN(peal_load_relaxed_dev(&r->word)) +
			   1) * PEAL_LIMIT_TURN_ONE);
}

/* PEAL_CONTROL_LIMIT. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_limit(const struct peal_worker *w,
		    const struct peal_control_limit *c)
{
	const struct peal_limit_record *r = peali_limit_record(w, c->index);
	struct peal_limit_report *out =
		(struct peal_limit_report *)(uintptr_t)c->report;

	if (!w->params->limits || c->index >= w->params->max_mailbox_limits)
		return PEAL_EINVAL;
	peal_store_relaxed_sys(
		&out->waiting,
		PEAL_LIMIT_WAITING(peal_load_relaxed_dev(&r->word)));
	peal_store_relaxed_sys(&out->most, peal_load_relaxed_dev(&r->most));
	peal_store_relaxed_sys(&out->dropped,
			       peal_load_relaxed_dev(&r->dropped));
	peal_store_relaxed_sys(&out->refused,
			       peal_load_relaxed_dev(&r->refused));
	return 0;
}

#endif
