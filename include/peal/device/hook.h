/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_HOOK_H
#define PEAL_DEVICE_HOOK_H

#include <peal/device/room.h>

/*
 * Init and exit. A handler that is declared PEAL_WITH_HOOKS (kernel.h) runs for
 * its actors' begin and end, too, with no message: peal_is_init or peal_is_exit
 * says so.
 *
 * Init: once an actor has been made, by the host or a handler, and before it has
 * any message; what is sent to it meanwhile waits. Again before its next message
 * when it has begun anew. One that fails there is failed as on a message: its
 * supervisor has it begin anew, or it is over.
 *
 * Exit: when it is retired, behind the messages that it had by then, and when its
 * kernel has drained: all messages were handled, and links lead on still. What is
 * sent to it meanwhile is dead, reason "no-actor". It has none if it has failed, is
 * to begin anew (as nothing came for it since), is stopped with its kernel, or has
 * not had its init (nor is there a message then that it could have had); whether it
 * fails there does not count.
 *
 * Both emit and tell as the handler declares; they do not run before there is room
 * for that, but in ports without a link there is none: PEAL_ENOTCONN. That is so of
 * the first init of who has ports of its own, which runs before the host can connect
 * them; an init emits by ports that it shares (ports_of). For room
 * in mailboxes they leave the actor's next message what its handler needs.
 *
 * The entry says what is due (PEAL_PLACE_HOOK); the worker knows between which
 * entries to look for it, and does so in every other turn at most. So messages
 * starve no hooks, nor hooks messages. For the leader.
 */

/* As `mail` of the worker's state: what is in hand is no message. */
#define PEALI_HOOK 0xffffffffu

/** Whether the handler runs for the actor's begin. */
static PEAL_DEV PEAL_INLINE int peal_is_init(const struct peal_worker *w)
{
	return (w->message.header.flags & PEAL_FLAG_INIT) != 0;
}

/** Whether the handler runs for the actor's end. */
static PEAL_DEV PEAL_INLINE int peal_is_exit(const struct peal_worker *w)
{
	return (w->message.header.flags & PEAL_FLAG_EXIT) != 0;
}

/* Whether the handler of one of the worker's actors has hooks. */
static PEAL_DEV PEAL_UNUSED inline int
peali_has_hooks(const struct peal_worker *w, uint64_t place)
{
	const struct peal_handler_entry *h =
		(const struct peal_handler_entry *)(uintptr_t)
			w->params->handlers;

	return w->params->hooks &&
	       PEAL_PLACE_HANDLER(place) != PEAL_NO_HANDLER &&
	       PEAL_PLACE_WORKER(place) == w->index &&
	       !PEAL_PLACE_IS_MOVED(place) &&
	       h[PEAL_PLACE_HANDLER(place) & PEAL_HANDLER_MASK].hooks;
}

/* The next round sees that entry. */
static PEAL_DEV PEAL_UNUSED inline void
peali_hook_later(struct peal_worker_state *s, uint32_t index)
{
	if (!s->hook_first || index + 1 < s->hook_first)
		s->hook_first = index + 1;
	if (index + 1 > s->hook_last)
		s->hook_last = index + 1;
}

/* There may be some due among those entries, from the first to the last. */
PEALI_SLOW(void, peali_hooks_due, struct peal_worker *w, uint32_t first,
	   uint32_t last)
{
	struct peal_worker_state *s = w->state;

	s->burst = 0;
	s->hook_may = 1;
	if (!s->hooks) {
		s->hook_at = first;
		s->hook_to = last + 1;
		/* who sees the message in hand as handled sees this, R3 */
		peal_store_relaxed_dev(&s->hooks, 1);
		return;
	}
	if (last >= s->hook_at && last >= s->hook_to)
		s->hook_to = last + 1;
	if (first >= s->hook_at)
		return;
	peali_hook_later(s, first);
	peali_hook_later(s, last < s->hook_at ? last : s->hook_at - 1);
}

/* The exit of one of the worker's actors, which has hooks, is due: 1; 0: it has
 * none, as it has failed or never was. Tries again only where somebody has just
 * marked it. */
static PEAL_DEV PEAL_UNUSED inline int peali_exit_due(struct peal_worker *w,
						      uint32_t index)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place, due;

	do {
		place = peal_load_relaxed_dev(&entry->place);
		if (PEAL_PLACE_IS_SHUT(place))
			return PEAL_PLACE_IS_EXIT(place);
		due = place | PEAL_PLACE_MARK | PEAL_PLACE_HOOK |
		      PEAL_PLACE_LATER;
	} while (!peal_cas_relaxed_dev(&entry->place, place, due));
	peal_fence_acquire_dev(); /* a GPU's first-level cache knows it, too */
	w->room_left = 0;
	peali_hooks_due(w, index, index);
	return 1;
}

/* Whether the message in w->message, for an actor that has none now, waits for its
 * init. */
static PEAL_DEV PEAL_UNUSED inline int peali_hook_holds(struct peal_worker *w)
{
	uint32_t actor = w->message.header.actor;
	uint64_t place;

	if (!w->params->hooks ||
	    PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(actor))->place);
	return PEAL_PLACE_IS_OF(place, actor) &&
	       PEAL_PLACE_WORKER(place) == w->index &&
	       PEAL_PLACE_IS_INIT(place);
}

#endif
