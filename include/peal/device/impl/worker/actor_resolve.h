/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_RESOLVE_H
#define PEAL_DEVICE_ACTOR_RESOLVE_H

#include <peal/device/impl/worker/supervisor_records.h>

/*
 * Where an actor lives that has moved. Its former entry says the next one, and
 * that one the next again, up to the one where it is: a line that no entry is
 * in twice. What an entry says is one word, so that any worker may look at it,
 * and find the actor, at any time.
 */

/* The number of the actor at the next entry of one that has moved. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_actor_next(const struct peal_worker *w, uint64_t place)
{
	uint32_t next = PEAL_ENTRY_NEXT(place);

	return PEAL_ACTOR_GENERATION(
		       peal_load_relaxed_dev(&peali_entry(w, next)->location) >>
		       32) |
	       next;
}

/* What the entry says where an actor lives by now, whose number is then in
 * *actor; that of a free entry if there is no such actor. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_actor_locate(const struct peal_worker *w, uint32_t *actor)
{
	uint64_t place;
	uint32_t n;

	for (n = 0; n < w->params->max_actors; n++) {
		if (PEAL_ACTOR_INDEX(*actor) >= w->params->max_actors)
			break;
		/* A11: pairs with R11 in peali_spawn_entries. */
		place = peal_load_acquire_dev(
			&peali_entry(w, PEAL_ACTOR_INDEX(*actor))->location);
		if (!PEAL_ENTRY_IS_OF(place, *actor))
			break;
		if (!PEAL_ENTRY_IS_FORWARDED(place))
			return place;
		if (PEAL_ENTRY_IS_OTHER_KERNEL(place))
			break;
		*actor = peali_actor_next(w, place);
	}
	return PEAL_ENTRY(*actor, 0, PEAL_NO_HANDLER);
}

/* A planted mistake: straight to where the actor lives, if that is
 * elsewhere. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_actor_shortcut(const struct peal_worker *w, uint32_t next)
{
	uint32_t actor = next;

	return PEAL_ENTRY_WORKER(peali_actor_locate(w, &actor)) == w->index ?
		       next :
		       actor;
}

/* If the message in w->message is for an actor that has moved from this worker,
 * it is for that one at its next entry from now on: 1; not so in another
 * kernel. Not at a later one: what was passed on before may be on its way to
 * that still. */
static PEAL_DEV PEAL_UNUSED inline int
peali_message_redirect(struct peal_worker *w)
{
	uint32_t actor = w->message.header.actor;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(actor))->location);
	if (!PEAL_ENTRY_IS_OF(place, actor) ||
	    !PEAL_ENTRY_IS_FORWARDED(place) ||
	    PEAL_ENTRY_WORKER(place) != w->index ||
	    PEAL_ENTRY_IS_OTHER_KERNEL(place))
		return 0;
	actor = peali_actor_next(w, place);
	w->message.header.actor = PEALI_SIM_FAULT(OVERTAKES) ?
					  peali_actor_shortcut(w, actor) :
					  actor;
	return 1;
}

/* Makes an actor restart before its next message, wherever it lives, unless it
 * is to do so, or gone. Tries again only where another has just changed
 * that. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mark_restart(const struct peal_worker *w, uint32_t actor)
{
	uint64_t place, marked;

	do {
		place = peali_actor_locate(w, &actor);
		marked = place | (PEAL_ENTRY_IS_ARRIVING(place) ?
					  PEAL_ENTRY_RESTART_ON_ARRIVAL :
					  PEAL_ENTRY_RESTART_PENDING);
		if (PEAL_ENTRY_IS_INIT(place)) /* not before it is anew */
			marked = place & ~(uint64_t)PEAL_ENTRY_HOOK;
	} while (place != marked &&
		 !peal_cas_relaxed_dev(
			 &peali_entry(w, PEAL_ACTOR_INDEX(actor))->location,
			 place, marked));
}

/* Whether an actor has that number, or one of the n - 1 behind it, where it
 * lives or lived. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_among(const struct peal_worker *w, uint32_t actor, uint32_t first,
	       uint32_t n)
{
	uint32_t living = actor;

	if (actor - first < n)
		return 1;
	peali_actor_locate(w, &living);
	return living - first < n;
}

#endif
