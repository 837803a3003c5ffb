/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_RESTART_H
#define PEAL_DEVICE_ACTOR_RESTART_H

#include <peal/device/impl/worker/migrate.h>
#include <peal/device/impl/loop/poll_to_all.h>
#include <peal/device/impl/loop/supervision.h>

/* Restarts of actors. A marked actor restarts before its next message, on its
 * own worker. If its supervisor has given up, the message is dead instead. */

/* Results for the message in w->message. Others are reasons: it is dead. */
#define PEALI_RESTARTED 0 /* its actor restarts, and then handles it */
#define PEALI_KEPT 0xffffffffu /* was forwarded, or the worker looks again */

/* The source of w->message keeps its turn. So the worker takes this message
 * before those of other sources. */
static PEAL_DEV PEAL_UNUSED inline void peali_keep_turn(struct peal_worker *w)
{
	w->state->source.idle = 0;
	w->state->deferred.action = 0;
	/* with priorities, a source keeps its turn anyway */
	if (w->message.input < w->params->max_inputs)
		w->state->source.burst_quota = w->state->source.burst_left =
			!peali_prioritized(w);
	else
		w->state->source.mail_run = 1;
}

/* The actor that a message to all actors is for cannot handle it: it has ended,
 * or has just moved. The next turn searches for the next actor. */
static PEAL_DEV PEAL_UNUSED inline void peali_round_skip(struct peal_worker *w)
{
	struct peali_round *r = peali_round_of(w);

	if (!PEAL_ENTRY_IS_FORWARDED(
		    peal_load_relaxed_dev(&peali_entry(w, r->at)->location)))
		r->at++;
	r->step = PEALI_ROUND_SEARCHES;
	peali_keep_turn(w);
}

/* The leader's part of peali_restart. Returns PEALI_RESTARTED, PEALI_KEPT, or
 * the reason of a dead message. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_restart_leader(struct peal_worker *w)
{
	uint32_t index = PEAL_ACTOR_INDEX(w->message.header.actor);
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place, member;

	if (index >= w->params->max_actors)
		return PEAL_REASON_NO_ACTOR;
	place = peal_load_relaxed_dev(&entry->location);
	if (PEAL_ENTRY_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_ENTRY_IS_OF(place, w->message.header.actor) ||
	    PEAL_ENTRY_WORKER(place) != w->index)
		return PEAL_REASON_NO_ACTOR;
	if (PEAL_ENTRY_IS_FORWARDED(place)) {
		if (w->message.input < w->params->max_inputs ||
		    w->message.header.flags & PEAL_FLAG_TO_ALL ||
		    PEAL_ENTRY_IS_OTHER_KERNEL(place))
			return PEAL_REASON_NO_ACTOR; /* it could not be
						      * forwarded */
		peali_mail_redirect(w);
		return PEALI_KEPT;
	}
	if (PEAL_ENTRY_IS_ARRIVING(place)) {
		if (!peali_arrive(w, entry)) {
			w->state->deferred.action = 0;
			/* other sources do not wait meanwhile */
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
		    place)) { /* from now on it waits in poll_inputs.h */
		w->state->deferred.action = 0;
		return PEALI_KEPT;
	}
	if (!peali_is_supervised(w, w->message.header.actor))
		return PEAL_REASON_DOWN; /* failed: peali_fail_alone */
	member = peali_supervision(w, PEAL_ACTOR_INDEX(w->message.header.actor))
			 ->member;
	if (peali_is_given_up(w, member))
		return PEAL_REASON_DOWN;
	/* The mark goes first. A worker that marks the actor from now on means
	 * the new state. */
	peal_store_relaxed_dev(
		&entry->location,
		peali_has_hooks(w, place) ?
			place | PEAL_ENTRY_HOOK :
			place & ~(uint64_t)PEAL_ENTRY_RESTART_PENDING);
	/* A supervisor may have given up meanwhile. Its worker may have found
	 * the old mark still set. */
	if (peali_is_given_up(w, member)) {
		peali_mark_restart(w, w->message.header.actor);
		return PEAL_REASON_DOWN;
	}
	peal_add_relaxed_dev(
		&peali_supervisor(w, PEAL_MEMBER_OF(member) - 1)->restarted, 1);
	peal_add_relaxed_dev(
		&peali_supervision(w, PEAL_ACTOR_INDEX(w->message.header.actor))
			 ->restarts,
		1);
	peali_keep_turn(w);
	return PEALI_RESTARTED;
}

/* 1: an actor may restart, move, or wait for a hook. */
#define PEALI_ACTORS_CHANGE (PEALI_USES(SUPERVISION) || PEALI_USES(MIGRATION))

/* Collective. Restarts the actor of w->message if it is marked. Returns as
 * peali_restart_leader. */
static PEAL_DEV PEAL_UNUSED inline uint32_t peali_restart(struct peal_worker *w)
{
	const struct peal_supervision *supervision;
	struct peal_actor_entry *entry;
	uint64_t *state, words, i;
	uint32_t index, reason;

	reason = w->state->deferred.arg; /* from the code that drops it */
	if (!PEALI_ACTORS_CHANGE)
		return reason;
	if (peal_is_leader(w) && reason == PEAL_REASON_NO_ACTOR)
		reason = peali_restart_leader(w);
	reason = (uint32_t)peal_broadcast(w, reason);
	if (reason)
		return reason;
	/* The leader may have written the actor before its broadcast. */
	index = PEAL_ACTOR_INDEX(w->message.header.actor);
	entry = peali_entry(w, index);
	supervision = peali_supervision(w, index);
	state = (uint64_t *)(uintptr_t)entry->state;
	words = ((uint64_t)entry->state_bytes + 15) / 16 * 2;
	for (i = peal_lane(w); i < words; i += peal_lanes(w))
		state[i] = 0;
	peal_sync(w);
	if (supervision->init_bytes)
		peal_copy_lanes(w, state,
				(const void *)(uintptr_t)supervision->init,
				supervision->init_bytes);
	peal_sync(w);
	if (peal_is_leader(w) && peali_uses_hooks(w))
		peali_hooks_due(w, index, index);
	return PEALI_RESTARTED;
}

/*
 * Collective. No actor can handle w->message now. The message is dead, or its
 * actor has moved to another worker. Or the worker first restarts the actor, or
 * takes it over. A message to all actors goes on to the next actor.
 */
PEALI_SLOW(void, peali_drop_dead, struct peal_worker *w)
{
	uint32_t reason = peali_restart(w);

	if (peal_is_leader(w) && reason && reason != PEALI_KEPT) {
		if (PEALI_USES(MAIL) &&
		    w->message.header.flags & PEAL_FLAG_TO_ALL)
			peali_round_skip(w);
		else
			peali_dead_letter_current(w, reason);
	}
	peal_sync(w); /* all lanes have read the turn before the next one */
}

#endif
