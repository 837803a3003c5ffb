/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_RESOLVE_H
#define PEAL_DEVICE_ACTOR_RESOLVE_H

#include <peal/device/impl/worker/supervisor_records.h>

/*
 * Finds an actor that has migrated. Its first entry has the index of its next
 * entry, and so on, up to its present entry. No entry occurs twice in this
 * chain. The location of an entry is one word. So any worker may read it and
 * find the actor at any time.
 */

/* Returns the number that a migrated actor has at its next entry. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_actor_next(const struct peal_worker *w, uint64_t place)
{
	uint32_t next = PEAL_ENTRY_NEXT(place);

	return PEAL_ACTOR_GENERATION(
		       peal_load_relaxed_dev(&peali_entry(w, next)->location) >>
		       32) |
	       next;
}

/* Returns the location of an actor's present entry. Stores the actor's present
 * number in *actor. Returns the location of a free entry if this kernel has no
 * such actor. */
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

/* A planted mistake for the simulator. Returns the actor's present number if
 * the actor is at another worker, else `next`. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_actor_shortcut(const struct peal_worker *w, uint32_t next)
{
	uint32_t actor = next;

	return PEAL_ENTRY_WORKER(peali_actor_locate(w, &actor)) == w->index ?
		       next :
		       actor;
}

/* Returns the worker's own entry of an actor that has migrated, else 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_actor_entry *
peali_forward_entry(const struct peal_worker *w, uint32_t actor)
{
	struct peal_actor_entry *entry;
	uint64_t place;

	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	entry = peali_entry(w, PEAL_ACTOR_INDEX(actor));
	place = peal_load_relaxed_dev(&entry->location);
	return PEAL_ENTRY_IS_OF(place, actor) &&
			       PEAL_ENTRY_IS_FORWARDED(place) &&
			       PEAL_ENTRY_WORKER(place) == w->index ?
		       entry :
		       0;
}

/* Returns 1 if w->message waits because of a hold of its actor's old entry
 * (impl/loop/actor_shortcut.h). Each look shortens the hold. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward_waits(const struct peal_worker *w)
{
	struct peal_actor_entry *entry =
		peali_forward_entry(w, w->message.header.actor);

	return entry && entry->tells && --entry->tells;
}

/*
 * Redirects the message in w->message if its actor has migrated from this
 * worker. Returns 1 if it does. Returns 0 also if the actor is now in another
 * kernel. The message gets the actor's number at the next entry, not at a later
 * one. Earlier forwarded messages may still be in flight to the next entry.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_message_redirect(struct peal_worker *w)
{
	uint32_t actor = w->message.header.actor;
	const struct peal_actor_entry *entry = peali_forward_entry(w, actor);
	uint64_t place;

	if (!entry || entry->tells) /* a hold: impl/loop/actor_shortcut.h */
		return 0;
	place = peal_load_relaxed_dev(&entry->location);
	if (PEAL_ENTRY_IS_OTHER_KERNEL(place))
		return 0;
	actor = peali_actor_next(w, place);
	w->message.header.actor = PEALI_SIM_FAULT(OVERTAKES) ?
					  peali_actor_shortcut(w, actor) :
					  actor;
	return 1;
}

/* Marks an actor for a restart before its next message, at its present entry.
 * Does nothing if the actor is marked already, waits for its exit, or has
 * ended. Repeats only if another worker has just changed the entry. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mark_restart(const struct peal_worker *w, uint32_t actor)
{
	uint64_t place, marked;

	do {
		place = peali_actor_locate(w, &actor);
		marked = place | (PEAL_ENTRY_IS_ARRIVING(place) ?
					  PEAL_ENTRY_RESTART_ON_ARRIVAL :
					  PEAL_ENTRY_RESTART_PENDING);
		if (PEAL_ENTRY_IS_INIT(place)) /* init waits for the restart */
			marked = place & ~(uint64_t)PEAL_ENTRY_HOOK;
	} while (place != marked &&
		 !peal_cas_relaxed_dev(
			 &peali_entry(w, PEAL_ACTOR_INDEX(actor))->location,
			 place, marked));
}

/* Returns 1 if an actor's number is one of the n numbers from `first` on. The
 * given number counts, and the number at the actor's present entry. */
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
