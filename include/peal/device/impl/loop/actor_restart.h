/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_RESTART_H
#define PEAL_DEVICE_ACTOR_RESTART_H

#include <peal/device/impl/worker/migrate.h>
#include <peal/device/impl/loop/supervision.h>

/* An actor that is marked restarts before its next message, by its own worker,
 * if its supervisor has not given up; else the message is dead. */

/* What becomes of the message in w->message. */
#define PEALI_RESTARTED 0 /* its actor restarts, and then has it */
#define PEALI_KEPT 0xffffffffu /* it is looked at again, or was passed on */

/* Whoever has the message in w->message now has it before others have
 * theirs. */
static PEAL_DEV PEAL_UNUSED inline void peali_keep_turn(struct peal_worker *w)
{
	w->state->idle = 0;
	w->state->deferred_action = 0;
	if (w->message.input < w->params->max_inputs) /* ranked: its turn
						       * is still its */
		w->state->burst_quota = w->state->burst_left =
			!w->state->has_priority;
	else
		w->state->mails = 1;
}

/* The leader's part of peali_restart: why it is dead, a reason, or 0. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_restart_leader(struct peal_worker *w, struct peal_actor_entry *entry)
{
	uint64_t place = peal_load_relaxed_dev(&entry->location), member;

	if (PEAL_ENTRY_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_ENTRY_IS_OF(place, w->message.header.actor) ||
	    PEAL_ENTRY_WORKER(place) != w->index)
		return PEAL_REASON_NO_ACTOR;
	if (PEAL_ENTRY_IS_FORWARDED(place)) {
		if (w->message.input < w->params->max_inputs ||
		    PEAL_ENTRY_IS_OTHER_KERNEL(place))
			return PEAL_REASON_NO_ACTOR; /* poll_inputs.h knows
						      * it */
		peali_mail_redirect(w);
		return PEALI_KEPT;
	}
	if (PEAL_ENTRY_IS_ARRIVING(place)) {
		if (!peali_arrive(w, entry)) {
			w->state->deferred_action = 0;
			/* holds up nobody meanwhile */
			peali_passed(w, peali_is_priority(w), 1);
			return PEALI_KEPT;
		}
		place = peal_load_relaxed_dev(&entry->location);
		if (!PEAL_ENTRY_IS_CLOSED(place)) {
			peali_keep_turn(w);
			return PEALI_KEPT;
		}
	}
	if (PEAL_ENTRY_IS_EXIT(place))
		return PEAL_REASON_NO_ACTOR;
	if (PEAL_ENTRY_IS_INIT(
		    place)) { /* poll_inputs.h knows it from now on */
		w->state->deferred_action = 0;
		return PEALI_KEPT;
	}
	if (!peali_is_supervised(w, w->message.header.actor))
		return PEAL_REASON_DOWN; /* it has failed: peali_fail_alone */
	member = peali_supervision(w, PEAL_ACTOR_INDEX(w->message.header.actor))
			 ->member;
	if (peali_is_given_up(w, member))
		return PEAL_REASON_DOWN;
	/* First of all: who marks it from now on means its new state. */
	peal_store_relaxed_dev(
		&entry->location,
		peali_has_hooks(w, place) ?
			place | PEAL_ENTRY_HOOK :
			place & ~(uint64_t)PEAL_ENTRY_RESTART_PENDING);
	/* Who gave up meanwhile may have found the mark still there. */
	if (peali_is_given_up(w, member)) {
		peali_mark_restart(w, w->message.header.actor);
		return PEAL_REASON_DOWN;
	}
	peal_add_relaxed_dev(
		&peali_supervisor(w, PEAL_MEMBER_OF(member) - 1)->restarted, 1);
	peali_keep_turn(w);
	return PEALI_RESTARTED;
}

/* Collective: if the actor of the message in w->message is to restart it does
 * so: 0; else why the message is dead. */
static PEAL_DEV PEAL_UNUSED inline uint32_t peali_restart(struct peal_worker *w)
{
	uint32_t index = PEAL_ACTOR_INDEX(w->message.header.actor), reason;
	struct peal_actor_entry *entry = peali_entry(w, index);
	const struct peal_supervision *care;
	uint64_t *state, words, i;

	reason = w->state->deferred_arg; /* as who has found it dead says */
	if (peal_is_leader(w) && reason == PEAL_REASON_NO_ACTOR &&
	    index < w->params->max_actors)
		reason = peali_restart_leader(w, entry);
	reason = (uint32_t)peal_broadcast(w, reason);
	if (reason)
		return reason;
	care = peali_supervision(w, index);
	state = (uint64_t *)(uintptr_t)entry->state;
	words = ((uint64_t)entry->state_bytes + 15) / 16 * 2;
	for (i = peal_lane(w); i < words; i += peal_lanes(w))
		state[i] = 0;
	peal_sync(w);
	if (care->init_bytes)
		peal_copy_lanes(w, state, (const void *)(uintptr_t)care->init,
				care->init_bytes);
	peal_sync(w);
	if (peal_is_leader(w) && w->params->hooks)
		peali_hooks_due(w, index, index);
	return PEALI_RESTARTED;
}

/* Collective: the message in w->message is for nobody, for an actor that begins
 * anew or is taken over first, or for one that has moved. */
PEALI_SLOW(void, peali_drop_dead, struct peal_worker *w)
{
	uint32_t reason = peali_restart(w);

	if (peal_is_leader(w) && reason && reason != PEALI_KEPT)
		peali_dead_letter_current(w, reason);
	peal_sync(w); /* all have read the turn before there is another one */
}

#endif
