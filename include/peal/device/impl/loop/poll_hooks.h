/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_HOOKS_H
#define PEAL_DEVICE_POLL_HOOKS_H

#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/loop/control.h>
#include <peal/device/lifecycle.h>
#include <peal/device/impl/loop/loop_action.h>

/* Inits and exits in a worker's turns: which one can run now, and what follows
 * when it has. For the leader; the loop calls it. */

/* Entries that are looked at in one turn. */
#define PEALI_HOOK_SCAN_MAX 64

/* Whether it is time to look for one. */
static PEAL_DEV PEAL_INLINE int peali_hooks_ready(struct peal_worker *w)
{
	w->state->hook_tried = !w->state->hook_tried;
	return (int)w->state->hook_tried;
}

/* Whether what the handler may send fits. Says what it waits for. */
static PEAL_DEV PEAL_UNUSED inline int
peali_hook_fits(struct peal_worker *w, uint32_t actor,
		const struct peal_actor_entry *entry)
{
	uint32_t port, tells = entry->tells, i;
	int fit = 1;

	for (port = 0; port < entry->ports; port++) {
		struct peal_output *o = &w->outputs[entry->port_base + port];

		if (!o->used || peali_port_fits(o, entry->emits))
			continue;
		w->state->hook_blocked = PEAL_BLOCKED(actor, 0, port);
		return 0;
	}
	for (i = 0; tells && i < peali_pools(w); i++)
		if (w->pools[i].set)
			fit &= peali_pool_fits(&w->pools[i], tells);
	if (tells && w->params->mailboxes) /* and its next message */
		fit &= peal_admission_admit(peali_admission(w),
					    &w->state->mail_lease, 2 * tells,
					    1);
	if (!fit)
		w->state->hook_blocked =
			PEAL_BLOCKED(actor, 0, PEAL_BLOCKED_MAIL);
	return fit;
}

/* An init is about to run: first of all the mark goes, so that who sets it from
 * now on means the state that it makes. 0: its supervisor has given up, or it
 * is to restart. */
static PEAL_DEV PEAL_UNUSED inline int
peali_init_begins(struct peal_worker *w, uint32_t index, uint64_t place)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t member = 0;

	if (w->params->supervision)
		member = peal_load_relaxed_dev(
			&peali_supervision(w, index)->member);
	if (!peal_cas_relaxed_dev(
		    &entry->location, place,
		    place & ~(uint64_t)(PEAL_ENTRY_RESTART_PENDING |
					PEAL_ENTRY_HOOK)))
		return 0;
	peal_fence_acquire_dev(); /* a GPU's first-level cache knows it, too */
	if (!member || !peali_is_given_up(w, member))
		return 1;
	peali_mark_restart(w, PEAL_ACTOR_GENERATION(place >> 32) | index);
	return 0;
}

/* Puts an init or an exit into the worker's hand. */
static PEAL_DEV PEAL_UNUSED inline void
peali_hook_run(struct peal_worker *w, uint32_t actor, uint16_t flag)
{
	struct peal_worker_state *s = w->state;

	w->actor = peali_entry(w, PEAL_ACTOR_INDEX(actor));
	w->fits_left = 0;
	w->message.header.actor = actor;
	w->message.header.type = 0;
	w->message.header.flags = flag;
	w->message.data = (const void *)(uintptr_t)w->actor->state;
	w->message.length = 0;
	w->message.kind = PEAL_KIND_DATA;
	w->message.input = w->params->max_inputs + PEAL_INFLIGHT_MAIL +
			   PEAL_INFLIGHT_NUMBER(s->inits + s->exits);
	w->message.sequence = 0;
	s->mail = PEALI_HOOK;
	s->hook_blocked = 0;
	s->idle = 0;
	peali_publish_inflight(w, PEAL_INFLIGHT(actor, 0, w->message.input));
}

/* What is due of an entry runs now: 1; 0 not now, or nothing is. */
static PEAL_DEV PEAL_UNUSED inline int peali_hook_try(struct peal_worker *w,
						      uint32_t index)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place = peal_load_relaxed_dev(&entry->location);
	uint32_t actor = PEAL_ACTOR_GENERATION(place >> 32) | index;

	if (PEAL_ENTRY_WORKER(place) != w->index || !PEAL_ENTRY_IS_HOOK(place))
		return 0;
	if (!peali_hook_fits(w, actor, entry)) {
		peali_hook_later(w->state, index);
		return 0;
	}
	if (PEAL_ENTRY_IS_EXIT(place)) {
		peali_hook_run(w, actor, PEAL_FLAG_EXIT);
		return 1;
	}
	if (!peali_init_begins(w, index, place))
		return 0;
	peali_hook_run(w, actor, PEAL_FLAG_INIT);
	return 1;
}

/* The next one that can run into the worker's hand: 1; 0: there is none in this
 * turn. */
static PEAL_DEV PEAL_UNUSED inline int peali_hook_poll(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t n;

	for (n = 0; n < PEALI_HOOK_SCAN_MAX && s->hook_at < s->hook_to; n++)
		if (peali_hook_try(w, s->hook_at++))
			return 1;
	if (s->hook_at < s->hook_to)
		return 0;
	/* the round is over; the next one need not wait, if nobody in it lacks
	 * space */
	s->hook_may = !s->hook_blocked;
	if (s->hook_first) {
		s->hook_at = s->hook_first - 1;
		s->hook_to = s->hook_last;
		s->hook_first = s->hook_last = 0;
	} else {
		s->hook_blocked = 0;
		/* R23: pairs with A23 in peali_hooks_open: who sees that there
		 * is none sees what they have told. */
		peal_store_release_dev(&s->hooks, 0);
	}
	return 0;
}

/* An actor's exit has run: it is no more. With its kernel's end nobody is
 * told. */
static PEAL_DEV PEAL_UNUSED inline void peali_exited(struct peal_worker *w,
						     uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor);

	if (w->state->exiting) {
		peal_store_relaxed_dev(&peali_entry(w, index)->location,
				       PEAL_ENTRY(actor, w->index,
						  PEAL_NO_HANDLER));
		return;
	}
	peali_control_end(w, actor);
	if (!peali_is_actor_slot(w, index))
		peali_monitors_ended(w, actor, 1, PEAL_DOWN_RETIRED, 0);
}

/* The handler has returned from an init or an exit. */
PEALI_SLOW(void, peali_hook_over, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t actor = w->message.header.actor;

	s->mail = 0;
	if (w->message.header.flags & PEAL_FLAG_INIT) {
		peal_store_relaxed_sys(&w->status->inits, ++s->inits);
		if (s->exiting)
			peali_exit_due(w, PEAL_ACTOR_INDEX(actor));
		return;
	}
	peal_store_relaxed_sys(&w->status->exits, ++s->exits);
	peali_exited(w, actor);
}

/* Collective: an init or an exit that can run now: 1; 0 there is none. */
PEALI_SLOW(int, peali_hooks_turn, struct peal_worker *w)
{
	int turn = 0;

	peal_sync(w); /* all have read the turn before there is another one */
	if (peal_is_leader(w))
		turn = peali_hook_poll(w) ? PEALI_ACT_HANDLE :
					    PEALI_ACT_RUN_HOOKS;
	turn = peali_broadcast_action(w, turn);
	if (turn != PEALI_ACT_HANDLE)
		peal_sync(w);
	return turn == PEALI_ACT_HANDLE;
}

#endif
