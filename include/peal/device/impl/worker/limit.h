/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LIMIT_H
#define PEAL_DEVICE_LIMIT_H

#include <peal/abi/limit.h>
#include <peal/device/lanes.h>

/*
 * Mailbox limits. A limit is the most messages that may wait for one actor in
 * its worker's mailbox. The policy, enum peal_mailbox_overflow, selects the
 * effect of a further message. An actor's location says if the actor has a
 * limit. So a sender to an actor without a limit reads no additional word.
 *
 * One word of the actor's record holds all counts. Workers change it by
 * compare-and-swap. So the limit holds exactly, and a refused message needs no
 * correction of the counts. The sender adds a message before it puts it into
 * the mailbox. The actor's worker subtracts the message just before its handler
 * runs, or when it is dead. PEAL_FLAG_COUNTED marks a counted message, from its
 * slot to the subtraction.
 *
 * With PEAL_OVERFLOW_DROP_OLDEST, the oldest message lies somewhere in the
 * mailbox. The sender counts it as dropped at once. Its slot, its dead letter
 * and the kernel's counts follow when the worker reaches the message. The first
 * messages of the actor that the worker reaches are dead, as many as were
 * dropped. A mailbox of high priority counts for the same limit. Its messages
 * are dead before older messages of the other mailbox.
 *
 *	the sender				the actor's worker
 *	A19 word: the record is this actor's <-	R19 word: limit, policy, number
 */

/* Failed attempts of a compare-and-swap until the limit counts as reached. This
 * bounds the loop. */
#define PEALI_LIMIT_TRIES 4096

static PEAL_DEV PEAL_INLINE struct peal_limit_record *
peali_limit_record(const struct peal_worker *w, uint32_t index)
{
	return (struct peal_limit_record *)(uintptr_t)w->params->limits + index;
}

/* Returns the location of an actor's entry; that of a free entry if there is no
 * such actor. */
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

/* Returns the record of an actor; 0: it has no limit, or has ended. */
static PEAL_DEV PEAL_UNUSED inline struct peal_limit_record *
peali_limit_of(const struct peal_worker *w, uint32_t actor)
{
	uint64_t place = peali_limit_entry_word(w, actor);

	if (PEAL_ENTRY_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_ENTRY_LIMIT(place))
		return 0;
	return peali_limit_record(w, PEAL_ENTRY_LIMIT(place) - 1);
}

/* ---- the sender ---------------------------------------------------------- */

/* Raises `most` to the number of waiting messages. It repeats only if another
 * worker has just raised `most`. */
static PEAL_DEV PEAL_UNUSED inline void
peali_limit_most(struct peal_limit_record *r, uint32_t waiting)
{
	uint64_t most;

	do
		most = peal_load_relaxed_dev(&r->most);
	while (waiting > most &&
	       !peal_cas_relaxed_dev(&r->most, most, waiting));
}

/* Replaces the word. Returns 0 if another worker has changed it before. */
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
 * Takes a count back: the record was another actor's. Only its messages change
 * the word meanwhile, and each has a slot, which bounds the loop. `one`: 1 or
 * PEAL_LIMIT_DROPPED_ONE. A record with another turn has lost the count.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_limit_undo(struct peal_limit_record *r, uint64_t turn, uint64_t one)
{
	uint64_t word;

	do {
		word = peal_load_relaxed_dev(&r->word);
		if (PEAL_LIMIT_TURN(word) != turn ||
		    !(one == 1 ? PEAL_LIMIT_WAITING(word) :
				 PEAL_LIMIT_DROPPED(word)))
			return;
	} while (!peali_limit_cas(r, word, word - one));
}

/*
 * Returns 1 if the record is still the actor's, after a count was added to it.
 * The turn has 16 bits. It repeats after 32,768 actors that use the record.
 */
static PEAL_DEV PEAL_INLINE int peali_limit_is_of(struct peal_limit_record *r,
						  uint32_t actor)
{
	/* A19: pairs with R19 in peali_limit_begin, for a repeated turn. */
	(void)peal_load_acquire_dev(&r->word);
	return peal_load_relaxed_dev_u32(&r->actor) == actor;
}

/*
 * Counts a message before it is put into the mailbox of an actor with a limit.
 * Returns 0 if the message may be put. Returns PEAL_ENOSPC if the limit is
 * reached. Returns PEAL_ENOENT if the actor has ended.
 *
 * With PEAL_OVERFLOW_DROP_OLDEST the message replaces the oldest one. Then only
 * PEALI_LIMIT_TRIES failed attempts give PEAL_ENOSPC.
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
		if (PEAL_UNLIKELY(!peali_limit_is_of(r, actor))) {
			peali_limit_undo(r, PEAL_LIMIT_TURN(word), next - word);
			return PEAL_ENOENT;
		}
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
 * Subtracts the actor's first message in the mailbox from its count. Returns 1
 * if the message has been dropped. It then must be dead for that reason.
 *
 * `dead` 1: the message is dead in any case. `dead` 0: its handler is about to
 * run. If the message has been dropped, a call with `dead` 0 changes nothing.
 * The caller must then make the message dead, by a call with `dead` 1.
 *
 * It repeats only if another worker has just counted a message. Each such
 * message has a slot, which bounds the loop.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_limit_leave(const struct peal_worker *w, uint32_t actor, int dead)
{
	struct peal_limit_record *r = peali_limit_of(w, actor);
	uint64_t word, next;
	int dropped;

	if (!r)
		return 0; /* the actor has been retired, its count is gone */
	do {
		word = peal_load_relaxed_dev(&r->word);
		dropped = PEAL_LIMIT_DROPPED(word) != 0;
		if (dropped && !dead)
			return 1;
		next = word - (dropped ? PEAL_LIMIT_DROPPED_ONE : 1);
	} while (!peali_limit_cas(r, word, next));
	return dropped;
}

/* Prepares the record of a new actor. `place`: its location. `full`: enum
 * peal_mailbox_overflow. */
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

/* Ends the use of an actor's record. `place`: the actor's last location. The
 * turn in the word changes. So the compare-and-swap of a sender that still
 * holds the old word fails. */
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

/* Handles PEAL_CONTROL_LIMIT: writes the counters to the report. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_limit(const struct peal_worker *w,
		    const struct peal_control_limit *c)
{
	const struct peal_limit_record *r = peali_limit_record(w, c->index);
	struct peal_limit_report *out =
		(struct peal_limit_report *)(uintptr_t)c->report;

	if (!peali_has_limits(w) || c->index >= w->params->max_mailbox_limits)
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
