/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_HOOKS_H
#define PEAL_DEVICE_POLL_HOOKS_H

#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/loop/control.h>
#include <peal/device/lifecycle.h>
#include <peal/device/impl/loop/loop_action.h>

/* Init and exit hooks in a worker's turns. Selects a hook to run, and completes
 * the hook after its return. For the leader; the loop calls it. */

/* Most entries searched in one turn. */
#define PEALI_HOOK_SCAN_MAX 64

/* Returns 1 if this turn looks for a hook: every other call. */
static PEAL_DEV PEAL_INLINE int peali_hooks_ready(struct peal_worker *w)
{
	w->state->hook.tried = !w->state->hook.tried;
	return (int)w->state->hook.tried;
}

/* Returns 1 if all messages that the handler may send fit now. Otherwise sets
 * hook_blocked to the cause. */
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
		w->state->hook.blocked =
			peali_port_blocks(w, actor, entry, port);
		return 0;
	}
	for (i = 0; tells && i < peali_pools(w); i++)
		if (w->pools[i].set)
			fit &= peali_pool_fits(&w->pools[i], tells);
	if (tells && peali_has_mail(w)) /* also for its next message */
		fit &= peal_admission_admit(peali_admission(w),
					    &w->state->mail.lease, 2 * tells,
					    1);
	if (!fit)
		w->state->hook.blocked =
			PEAL_BLOCKED(actor, 0, PEAL_BLOCKED_MAIL);
	return fit;
}

/* Prepares the run of an init. The restart mark is cleared first. So a mark
 * that another worker sets from now on applies to the state of this init.
 * Returns 0 if the init must not run: its supervisor has given up, or the actor
 * is to restart. */
static PEAL_DEV PEAL_UNUSED inline int
peali_init_begins(struct peal_worker *w, uint32_t index, uint64_t place)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t member = 0;

	if (peali_has_supervision(w))
		member = peal_load_relaxed_dev(
			&peali_supervision(w, index)->member);
	if (!peal_cas_relaxed_dev(
		    &entry->location, place,
		    place & ~(uint64_t)(PEAL_ENTRY_RESTART_PENDING |
					PEAL_ENTRY_HOOK)))
		return 0;
	peal_fence_acquire_dev(); /* drops stale lines of a GPU's L1 cache */
	if (!member || !peali_is_given_up(w, member))
		return 1;
	peali_mark_restart(w, PEAL_ACTOR_GENERATION(place >> 32) | index);
	return 0;
}

/* Makes a run of an init or exit hook the worker's current message. */
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
			   PEAL_INFLIGHT_NUMBER(s->hook.inits + s->hook.exits);
	w->message.sequence = 0;
	s->source.current = PEALI_HOOK;
	s->hook.blocked = 0;
	s->source.idle = 0;
	peali_publish_inflight(w, PEAL_INFLIGHT(actor, 0, w->message.input));
}

/* Starts the hook that is due at an entry. Returns 0 if no hook is due there,
 * or it cannot run now. */
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

/* Starts the next hook that can run. Returns 0 if this turn finds none. */
static PEAL_DEV PEAL_UNUSED inline int peali_hook_poll(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t n;

	for (n = 0; n < PEALI_HOOK_SCAN_MAX && s->hook.at < s->hook.to; n++)
		if (peali_hook_try(w, s->hook.at++))
			return 1;
	if (s->hook.at < s->hook.to)
		return 0;
	/* The round is over. The next one need not wait if no hook of this
	 * round lacked free slots. */
	s->hook.may = !s->hook.blocked;
	if (s->hook.first) {
		s->hook.at = s->hook.first - 1;
		s->hook.to = s->hook.last;
		s->hook.first = s->hook.last = 0;
	} else {
		s->hook.blocked = 0;
		/* R23: pairs with A23 in peali_hooks_open. A worker that sees
		 * 0 sees all messages that the hooks have told. */
		peal_store_release_dev(peali_hooks_word(w), 0);
	}
	return 0;
}

/* Ends an actor after its exit. At the end of the kernel no monitor gets a down
 * message. */
static PEAL_DEV PEAL_UNUSED inline void peali_exited(struct peal_worker *w,
						     uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor);

	if (w->state->hook.exiting) {
		peal_store_relaxed_dev(&peali_entry(w, index)->location,
				       PEAL_ENTRY(actor, w->index,
						  PEAL_NO_HANDLER));
		return;
	}
	peali_control_end(w, actor);
	if (!peali_is_actor_slot(w, index))
		peali_monitors_ended(w, actor, 1, PEAL_DOWN_RETIRED, 0);
}

/* Completes an init or exit after the handler has returned. */
PEALI_SLOW(void, peali_hook_over, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t actor = w->message.header.actor;

	s->source.current = 0;
	peali_publish_links(w); /* before it counts as run */
	if (w->message.header.flags & PEAL_FLAG_INIT) {
		peal_store_relaxed_sys(&w->status->inits, ++s->hook.inits);
		if (s->hook.exiting)
			peali_exit_due(w, PEAL_ACTOR_INDEX(actor));
		return;
	}
	peal_store_relaxed_sys(&w->status->exits, ++s->hook.exits);
	peali_exited(w, actor);
}

/* Collective: starts an init or exit that can run now. Returns 0 if there is
 * none. */
PEALI_SLOW(int, peali_hooks_turn, struct peal_worker *w)
{
	int turn = 0;

	peal_sync(w); /* all lanes have read this turn before the next one */
	if (peal_is_leader(w))
		turn = peali_hook_poll(w) ? PEALI_ACT_HANDLE :
					    PEALI_ACT_RUN_HOOKS;
	turn = peali_broadcast_action(w, turn);
	if (turn != PEALI_ACT_HANDLE)
		peal_sync(w);
	return turn == PEALI_ACT_HANDLE;
}

#endif
