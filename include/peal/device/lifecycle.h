/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LIFECYCLE_H
#define PEAL_DEVICE_LIFECYCLE_H

#include <peal/device/impl/worker/actor_slots.h>

/*
 * Init and exit hooks. A handler declared by PEAL_WITH_HOOKS (kernel.h) also
 * runs at the begin and end of its actors, without a message. It checks
 * peal_is_init and peal_is_exit.
 *
 * Init runs after the spawn of the actor and before all messages. Messages for
 * the actor wait. Init runs again after a restart, before the next message. If
 * init fails, the actor restarts by its supervisor. Without a supervisor the
 * actor ends.
 *
 * Exit runs at the retirement of the actor, after its earlier messages. It also
 * runs when its kernel has drained: all messages are handled, and links still
 * work. New messages for the actor are dead, reason "no-actor". The error of an
 * exit has no effect. Exit does not run in these cases:
 *
 * - The actor has failed, or is due for a restart.
 * - Its init has not run.
 * - Its kernel is stopped.
 *
 * A hook may emit and tell as many messages as the handler declares. It runs
 * once they all fit, with mailbox slots left for the actor's next message. A
 * port without a link does not delay it: peal_emit returns PEAL_ENOTCONN. At
 * the first init the actor's own ports have no link yet. Ports shared by
 * share_ports_with can have one.
 *
 * A due hook is marked in the location (PEAL_ENTRY_HOOK). The worker searches
 * a range of entries for it, at most every other turn. So neither messages nor
 * hooks starve. The internal functions are for the leader.
 */

/* As `mail` of the worker's state: a hook runs, without a message. */
#define PEALI_HOOK 0xffffffffu
/* As `mail`: an actor handles a message to all actors. */
#define PEALI_TO_ALL 0xfffffffeu

/** Returns 1 if the handler runs as init hook. Any lane. */
static PEAL_DEV PEAL_INLINE int peal_is_init(const struct peal_worker *w)
{
	return (w->message.header.flags & PEAL_FLAG_INIT) != 0;
}

/** Returns 1 if the handler runs as exit hook. Any lane. */
static PEAL_DEV PEAL_INLINE int peal_is_exit(const struct peal_worker *w)
{
	return (w->message.header.flags & PEAL_FLAG_EXIT) != 0;
}

/* Returns 1 if an actor of this worker has hooks. */
static PEAL_DEV PEAL_UNUSED inline int
peali_has_hooks(const struct peal_worker *w, uint64_t place)
{
	const struct peal_handler_entry *h =
		(const struct peal_handler_entry *)(uintptr_t)
			w->params->handlers;

	return peali_uses_hooks(w) &&
	       PEAL_ENTRY_HANDLER(place) != PEAL_NO_HANDLER &&
	       PEAL_ENTRY_WORKER(place) == w->index &&
	       !PEAL_ENTRY_IS_FORWARDED(place) &&
	       h[PEAL_ENTRY_HANDLER(place) & PEAL_HANDLER_MASK].hooks;
}

/* Adds an entry to the range of the next round. */
static PEAL_DEV PEAL_UNUSED inline void
peali_hook_later(struct peal_worker_state *s, uint32_t index)
{
	if (!s->hook.first || index + 1 < s->hook.first)
		s->hook.first = index + 1;
	if (index + 1 > s->hook.last)
		s->hook.last = index + 1;
}

/* Hooks may be due in entries first..last: adds them to the present or the next
 * round. */
PEALI_SLOW(void, peali_hooks_due, struct peal_worker *w, uint32_t first,
	   uint32_t last)
{
	struct peal_worker_state *s = w->state;

	s->source.burst_left = 0;
	s->hook.may = 1;
	if (!peali_has_due_hooks(w)) {
		s->hook.at = first;
		s->hook.to = last + 1;
		/* R3 orders it: visible once this message counts as handled */
		peal_store_relaxed_dev(peali_hooks_word(w), 1);
		return;
	}
	if (last >= s->hook.at && last >= s->hook.to)
		s->hook.to = last + 1;
	if (first >= s->hook.at)
		return;
	peali_hook_later(s, first);
	peali_hook_later(s, last < s->hook.at ? last : s->hook.at - 1);
}

/* Makes the exit of an actor of this worker due; the actor has hooks. Returns
 * 1, or 0 if no exit will run: the actor has failed, or its init has not run.
 * Repeats only if another worker has just set the mark. */
static PEAL_DEV PEAL_UNUSED inline int peali_exit_due(struct peal_worker *w,
						      uint32_t index)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place, due;

	do {
		place = peal_load_relaxed_dev(&entry->location);
		if (PEAL_ENTRY_IS_CLOSED(place))
			return PEAL_ENTRY_IS_EXIT(place);
		due = place | PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_HOOK |
		      PEAL_ENTRY_RESTART_ON_ARRIVAL;
	} while (!peal_cas_relaxed_dev(&entry->location, place, due));
	peal_fence_acquire_dev(); /* drops stale lines of a GPU's L1 cache */
	w->fits_left = 0;
	peali_hooks_due(w, index, index);
	return 1;
}

/* Returns 1 if the message in w->message waits for the init of its actor. */
static PEAL_DEV PEAL_UNUSED inline int peali_hook_holds(struct peal_worker *w)
{
	uint32_t actor = w->message.header.actor;
	uint64_t place;

	if (!peali_uses_hooks(w) ||
	    PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(actor))->location);
	return PEAL_ENTRY_IS_OF(place, actor) &&
	       PEAL_ENTRY_WORKER(place) == w->index &&
	       PEAL_ENTRY_IS_INIT(place);
}

#endif
