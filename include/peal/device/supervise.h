/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SUPERVISE_H
#define PEAL_DEVICE_SUPERVISE_H

#include <peal/device/choose.h>
#include <peal/device/control.h>
#include <peal/device/dead_letter.h>
#include <peal/device/take.h>

/*
 * Supervisors. When a handler fails, its worker climbs from the actor to the
 * first supervisor that may restart once more, and marks all that this one's
 * strategy names, wherever they are. A marked actor begins anew before its next
 * message: its own worker fills its state again. So nobody waits for anybody, and
 * no message is lost but the one that was failed on. A supervisor that had to
 * restart too often gives up: its members are marked and stay so, their messages
 * are dead, reason "down", until one above it, or the host, begins anew.
 *
 * All of it is done between two turns, where it costs the loop no registers.
 * What is counted in periods follows Erlang/OTP's supervisor: more than so many
 * restarts within so long.
 */

/* ---- who is to begin anew -------------------------------------------------- */

/* Members of a supervisor: `of` is 1 + its number, 0 nobody. */
struct peali_fallout {
	uint32_t of, first, last;
};

/* Whether a member is below one of those. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_below(const struct peal_worker *w, uint64_t member,
	       const struct peali_fallout *f)
{
	uint32_t depth;

	for (depth = 0; depth < PEAL_SUPERVISOR_DEPTH; depth++) {
		if (PEAL_MEMBER_OF(member) == f->of)
			return PEAL_MEMBER_ORDER(member) >= f->first &&
			       PEAL_MEMBER_ORDER(member) <= f->last;
		if (!peali_above(w, &member))
			return 0;
	}
	return 0;
}

/* Puts the time of a failure where the one before in turn has its, and says what
 * that was. It tries again only where another has just done so. */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_exchange_time(uint64_t *when,
								uint64_t now)
{
	uint64_t before;

	do
		before = peal_load_relaxed_dev(when);
	while (!peal_cas_relaxed_dev(when, before, now));
	return before;
}

/* Counts a failure: 1 if it is one too many for the period. */
static PEAL_DEV PEAL_UNUSED inline int
peali_too_often(struct peal_supervisor_record *s)
{
	uint64_t n = peal_add_relaxed_dev(&s->failures, 1);
	uint64_t now = peal_clock_ns() | 1, before;

	if (!s->restarts)
		return 1;
	before = peali_exchange_time(&s->when[n % s->restarts], now);
	/* the other may have read its clock a little later */
	return before && (before > now || now - before <= s->period_ns);
}

/* Makes an actor begin anew before its next message, unless it is to do so, or
 * gone. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mark(struct peal_actor_entry *entry, uint64_t place)
{
	peal_cas_relaxed_dev(&entry->place, place, place | PEAL_PLACE_MARK);
}

/*
 * From an actor that has failed to the first supervisor that goes on: who begins
 * anew with it. Where none goes on it is all of the last one's, which is given
 * up as those below it. Nobody if it is to begin anew anyway, for the failure of
 * another, or has been given up with it: that was counted. It alone is marked at
 * once.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_climb(struct peal_worker *w, uint64_t failure, struct peali_fallout *f)
{
	uint32_t index = PEAL_ACTOR_INDEX(failure), depth;
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place = peal_load_relaxed_dev(&entry->place);
	uint64_t member = peali_care(w, index)->member;

	f->of = 0;
	for (depth = 0;
	     depth < PEAL_SUPERVISOR_DEPTH && !PEAL_PLACE_IS_SHUT(place);
	     depth++) {
		uint32_t of = PEAL_MEMBER_OF(member);
		uint32_t order = PEAL_MEMBER_ORDER(member);
		struct peal_supervisor_record *s = peali_above(w, &member);

		if (!s || peal_load_relaxed_dev(&s->given_up))
			return;
		f->of = of;
		f->first = 0;
		f->last = 0xffffffffu;
		peal_store_relaxed_dev(&s->last, failure);
		if (!peali_too_often(s)) {
			if (s->strategy != PEAL_ONE_FOR_ALL)
				f->first = order;
			if (s->strategy == PEAL_ONE_FOR_ONE)
				f->last = order;
			if (f->last == f->first && !depth) {
				peali_mark(entry, place);
				f->of = 0;
			}
			return;
		}
		peal_store_relaxed_dev(&s->given_up, 1);
		/* R12: pairs with A12 in peali_is_down. */
		peal_add_acqrel_dev(&s->gate, 1);
	}
}

/* A supervisor begins anew, and counts from then on. */
static PEAL_DEV PEAL_UNUSED inline void
peali_pardon(struct peal_supervisor_record *s)
{
	uint32_t i;

	for (i = 0; i < PEAL_RESTARTS_MAX; i++)
		peal_store_relaxed_dev(&s->when[i], 0);
	peal_store_relaxed_dev(&s->given_up, 0);
}

/* And so do those below it, if they have given up. */
static PEAL_DEV PEAL_UNUSED inline void
peali_forgive(struct peal_worker *w, const struct peali_fallout *f)
{
	uint32_t i;

	for (i = 0; i < w->params->max_supervisors; i++) {
		struct peal_supervisor_record *s = peali_supervisor(w, i);

		if (peal_load_relaxed_dev(&s->given_up) &&
		    peali_is_below(w, peal_load_relaxed_dev(&s->member), f))
			peali_pardon(s);
	}
}

/* All lanes: marks the actors that are below. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mark_all(struct peal_worker *w, const struct peali_fallout *f)
{
	uint64_t range =
		peal_load_relaxed_dev(&peali_supervisor(w, f->of - 1)->range);
	uint64_t i, place, end = range >> 32;

	for (i = (uint32_t)range + (uint64_t)peal_lane(w); i < end;
	     i += peal_lanes(w)) {
		struct peal_actor_entry *entry = peali_entry(w, (uint32_t)i);

		/* A11: pairs with R11 in peali_spawn_entries: the member is
		 * this actor. */
		place = peal_load_acquire_dev(&entry->place);
		if (PEAL_PLACE_IS_SHUT(place) ||
		    PEAL_PLACE_WORKER(place) == PEAL_POOL_WORKER ||
		    !peali_is_below(w,
				    peal_load_relaxed_dev(
					    &peali_care(w, (uint32_t)i)->member),
				    f))
			continue;
		peali_mark(entry, place);
	}
}

/* The message in hand was failed on: 1 if that is a supervisor's business, which
 * the worker comes to before anything else. For the leader. */
static PEAL_DEV PEAL_INLINE int peali_note_failure(struct peal_worker *w,
						   int error)
{
	struct peal_worker_state *s = w->state;
	uint32_t actor = w->message.header.actor;

	if (!w->params->care ||
	    !peal_load_relaxed_dev(
		    &peali_care(w, PEAL_ACTOR_INDEX(actor))->member))
		return 0;
	s->failure = (uint64_t)(uint32_t)error << 32 | actor;
	s->burst = 0;
	return 1;
}

/* The message in hand is dead: its handler has returned an error. */
static PEAL_DEV PEAL_UNUSED inline void
peali_fail_message(struct peal_worker *w, int error)
{
	struct peal_link_consumer *c = 0;

	if (!w->state->mail)
		c = &w->inputs[w->message.input].link;
	peali_dead_letter(w, c, PEAL_REASON_HANDLER, error);
	if (c)
		peal_link_release_dead(c, PEAL_REASON_HANDLER);
	else
		peali_mail_done(w, error);
}

/* The leader's part of peali_supervise. */
static PEAL_DEV PEAL_UNUSED inline void
peali_supervise_it(struct peal_worker *w, struct peali_fallout *f)
{
	struct peal_worker_state *s = w->state;

	s->aside = 0;
	s->idle = 0;
	w->room_left = 0;
	if (s->failure) {
		peali_climb(w, s->failure, f);
	} else {
		f->of = 1 + s->aside_at;
		peali_pardon(peali_supervisor(w, s->aside_at));
	}
	if (f->of &&
	    !peal_load_relaxed_dev(&peali_supervisor(w, f->of - 1)->given_up))
		peali_forgive(w, f);
}

/* Collective: an actor has failed on the message in hand, s->failure; or the host
 * wants a supervisor's to begin anew. Once the message is counted as dead those
 * that begin anew are marked. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_supervise(struct peal_worker *w)
{
	struct peali_fallout f = { 0, 0, 0xffffffffu };

	if (peal_is_leader(w))
		peali_supervise_it(w, &f);
	f.of = (uint32_t)peal_broadcast(w, f.of);
	f.first = (uint32_t)peal_broadcast(w, f.first);
	f.last = (uint32_t)peal_broadcast(w, f.last);
	if (f.of)
		peali_mark_all(w, &f);
	peal_sync(w);
	if (!peal_is_leader(w))
		return;
	peal_fence_acquire_dev(); /* it knows its own actors' marks at once */
	if (w->state->failure)
		peali_fail_message(w, (int32_t)(w->state->failure >> 32));
	else
		peali_control_done(w, &w->message, 0);
	w->state->failure = 0;
}

/* ---- beginning anew --------------------------------------------------------- */

/* What becomes of the message in w->message. */
#define PEALI_REVIVED 0 /* its actor begins anew, and then has it */

/* The leader's part of peali_revive: why it is dead, a reason, or 0. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_revive_it(struct peal_worker *w, struct peal_actor_entry *entry)
{
	uint64_t place = peal_load_relaxed_dev(&entry->place), member;

	if (PEAL_PLACE_HANDLER(place) == PEAL_NO_HANDLER ||
	    !PEAL_PLACE_IS_OF(place, w->message.header.actor) ||
	    PEAL_PLACE_WORKER(place) != w->index || !w->params->care)
		return PEAL_REASON_NO_ACTOR;
	member =
		peali_care(w, PEAL_ACTOR_INDEX(w->message.header.actor))->member;
	if (peali_is_down(w, member))
		return PEAL_REASON_DOWN;
	/* First of all: who marks it from now on means its new state. */
	peal_store_relaxed_dev(&entry->place,
			       place & ~(uint64_t)PEAL_PLACE_MARK);
	/* Who gave up meanwhile may have found the mark still there. */
	if (peali_is_down(w, member)) {
		peali_mark(entry, place & ~(uint64_t)PEAL_PLACE_MARK);
		return PEAL_REASON_DOWN;
	}
	peal_add_relaxed_dev(
		&peali_supervisor(w, PEAL_MEMBER_OF(member) - 1)->restarted, 1);
	w->state->idle = 0;
	w->state->aside = 0;
	/* and has this message before others have their turns */
	if (w->message.input < w->params->max_inputs)
		w->state->granted = w->state->burst = 1;
	else
		w->state->mails = 1;
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
	return PEALI_REVIVED;
}

/* Collective: the message in w->message is for nobody, or for an actor that
 * begins anew first. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void peali_bury(struct peal_worker *w)
{
	uint32_t reason = peali_revive(w);

	if (peal_is_leader(w) && reason)
		peali_bury_it(w, reason);
	peal_sync(w); /* all have read the turn before there is another one */
}

#endif
