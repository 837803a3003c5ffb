/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_REVIVE_H
#define PEAL_DEVICE_REVIVE_H

#include <peal/device/migrate.h>
#include <peal/device/supervise.h>

/* An actor that is marked begins anew before its next message, by its own worker,
 * if its supervisor has not given up; else the message is dead. */

/* What becomes of the message in w->message. */
#define PEALI_REVIVED 0 /* its actor begins anew, and then has it */
#define PEALI_STAYS 0xffffffffu /* it is looked at again, or was passed on */

/* Whoever has the message in w->message now has it before others have theirs. */
static PEAL_DEV PEAL_UNUSED inline void peali_has_it(struct peal_worker *w)
{
	w->state->idle = 0;
	w->state->aside = 0;
	if (w->message.input < w->params->max_inputs) /* ranked: its turn
						       * is still its */
		w->state->granted = w->state->burst = !w->state->ranked;
	else
		w->state->mails = 1;
}

/* The leader's part of peali_revive: why it is dead, a reason, or 0. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_revive_it(struct peal_worker *w, struct peal_actor_entry *entry)
{
	uint64_t place = peal_load_relaxed_dev(&entry->place), member;

	if (PEAL_PLACE_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_PLACE_IS_OF(place, w->message.header.actor) ||
	    PEAL_PLACE_WORKER(place) != w->index)
		return PEAL_REASON_NO_ACTOR;
	if (PEAL_PLACE_IS_MOVED(place)) {
		if (w->message.input < w->params->max_inputs ||
		    PEAL_PLACE_IS_AWAY(place))
			return PEAL_REASON_NO_ACTOR; /* take.h knows it */
		peali_mail_onward(w);
		return PEALI_STAYS;
	}
	if (PEAL_PLACE_IS_NEW(place)) {
		if (!peali_arrive(w, entry)) {
			w->state->aside = 0;
			/* holds up nobody meanwhile */
			peali_passed(w, peali_is_high(w), 1);
			return PEALI_STAYS;
		}
		place = peal_load_relaxed_dev(&entry->place);
		if (!PEAL_PLACE_IS_SHUT(place)) {
			peali_has_it(w);
			return PEALI_STAYS;
		}
	}
	if (PEAL_PLACE_IS_EXIT(place))
		return PEAL_REASON_NO_ACTOR;
	if (PEAL_PLACE_IS_INIT(place)) { /* take.h knows it from now on */
		w->state->aside = 0;
		return PEALI_STAYS;
	}
	if (!peali_is_cared_for(w, w->message.header.actor))
		return PEAL_REASON_DOWN; /* it has failed: peali_fail_alone */
	member =
		peali_care(w, PEAL_ACTOR_INDEX(w->message.header.actor))->member;
	if (peali_is_down(w, member))
		return PEAL_REASON_DOWN;
	/* First of all: who marks it from now on means its new state. */
	peal_store_relaxed_dev(&entry->place,
			       peali_has_hooks(w, place) ?
				       place | PEAL_PLACE_HOOK :
				       place & ~(uint64_t)PEAL_PLACE_MARK);
	/* Who gave up meanwhile may have found the mark still there. */
	if (peali_is_down(w, member)) {
		peali_mark(w, w->message.header.actor);
		return PEAL_REASON_DOWN;
	}
	peal_add_relaxed_dev(
		&peali_supervisor(w, PEAL_MEMBER_OF(member) - 1)->restarted, 1);
	peali_has_it(w);
	return PEALI_REVIVED;
}

/* Collective: if the actor of the message in w->message is to begin anew it does
 * so: 0; else why the message is dead. */
static PEAL_DEV PEAL_UNUSED inline uint32_t peali_revive(struct peal_worker *w)
{
	uint32_t index = PEAL_ACTOR_INDEX(w->message.header.actor), reason;
	struct peal_actor_entry *entry = peali_entry(w, index);
	const struct peal_care *care;
	uint64_t *state, words, i;

	reason = w->state->aside_at; /* as who has found it dead says */
	if (peal_is_leader(w) && reason == PEAL_REASON_NO_ACTOR &&
	    index < w->params->max_actors)
		reason = peali_revive_it(w, entry);
	reason = (uint32_t)peal_broadcast(w, reason);
	if (reason)
		return reason;
	care = peali_care(w, index);
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
	return PEALI_REVIVED;
}

/* Collective: the message in w->message is for nobody, for an actor that begins
 * anew or is taken over first, or for one that has moved. */
PEALI_SLOW(void, peali_bury, struct peal_worker *w)
{
	uint32_t reason = peali_revive(w);

	if (peal_is_leader(w) && reason && reason != PEALI_STAYS)
		peali_bury_it(w, reason);
	peal_sync(w); /* all have read the turn before there is another one */
}

#endif
