/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SUPERVISION_H
#define PEAL_DEVICE_SUPERVISION_H

#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/loop/control.h>
#include <peal/device/impl/worker/dead_letter.h>
#include <peal/device/impl/loop/poll_inputs.h>

/*
 * Supervisors. When a handler fails, its worker climbs from the actor to the
 * first supervisor that may restart once more. The worker marks all members
 * that the strategy of this supervisor selects, on all workers. A marked actor
 * restarts before its next message: its own worker fills its state again. So
 * no worker waits for another one. Only the message of the failed handler is
 * lost.
 *
 * A supervisor gives up after too many restarts. Its members then stay marked.
 * Their messages become dead letters with reason "down". This ends when a
 * supervisor above it, or the host, restarts the members.
 *
 * All functions run between two turns, where they cost the loop no registers.
 * The limit follows Erlang/OTP's supervisor: more than `restarts` restarts
 * within `period_ns` are too many.
 */

/* ---- restart sets -------------------------------------------------------- */

/* Members of a supervisor, by their orders. `of` is 1 + the index of the
 * supervisor; 0: the set is empty. */
struct peali_restart_set {
	uint32_t of, first, last;
};

/* Returns 1 if a member, or a supervisor above it, is in the set. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_in_restart_set(const struct peal_worker *w, uint64_t member,
			const struct peali_restart_set *f)
{
	uint32_t depth;

	for (depth = 0; depth < PEAL_SUPERVISOR_DEPTH; depth++) {
		if (PEAL_MEMBER_OF(member) == f->of)
			return PEAL_MEMBER_ORDER(member) >= f->first &&
			       PEAL_MEMBER_ORDER(member) <= f->last;
		if (!peali_supervisor_above(w, &member))
			return 0;
	}
	return 0;
}

/* Replaces the time of an earlier failure. Returns the earlier time. Repeats
 * only if another worker has just replaced it. */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_exchange_time(uint64_t *when,
								uint64_t now)
{
	uint64_t before;

	do
		before = peal_load_relaxed_dev(when);
	while (!peal_cas_relaxed_dev(when, before, now));
	return before;
}

/* Counts a failure. Returns 1 if the period has too many failures now. */
static PEAL_DEV PEAL_UNUSED inline int
peali_restarts_exhausted(struct peal_supervisor_record *s)
{
	uint64_t n = peal_add_relaxed_dev(&s->failures, 1);
	uint64_t now = peal_clock_ns() | 1, before;

	if (!s->restarts || s->restarts == PEAL_RESTARTS_UNLIMITED)
		return !s->restarts;
	before = peali_exchange_time(&s->when[n % s->restarts], now);
	/* `before` may be later than `now`: another worker read its clock
	 * after this worker did, but stored its time earlier */
	return before &&
	       (before > now ? before - now : now - before) <= s->period_ns;
}

/*
 * Climbs from a failed actor to the first supervisor that has not given up and
 * may restart. Stores in *f the members that restart with the actor.
 *
 * - No supervisor may restart: *f has all members of the last one that gave up
 *   now. All supervisors below it have given up, too.
 * - The actor is marked already, or has ended: *f is empty. The failure of
 *   another actor has marked it, and that failure was counted. The mark is for
 *   a restart, or a supervisor has given up.
 * - The actor restarts alone, or its supervisor gave up before: *f is empty.
 *   The function marks the actor at once.
 *
 * Returns 0 if the actor was marked or had ended before, else 1.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_escalate(struct peal_worker *w, uint64_t failure,
	       struct peali_restart_set *f)
{
	uint32_t actor = (uint32_t)failure, depth;
	uint64_t place = peali_actor_locate(w, &actor);
	uint64_t member = peal_load_relaxed_dev(
		&peali_supervision(w, PEAL_ACTOR_INDEX(actor))->member);

	f->of = 0;
	if (PEAL_ENTRY_NEEDS_RESTART(place))
		return 0;
	for (depth = 0; depth < PEAL_SUPERVISOR_DEPTH; depth++) {
		uint32_t of = PEAL_MEMBER_OF(member);
		uint32_t order = PEAL_MEMBER_ORDER(member);
		struct peal_supervisor_record *s =
			peali_supervisor_above(w, &member);

		if (!s || peal_load_relaxed_dev(&s->given_up)) {
			/* the worker that gives up may not have marked this
			 * actor yet */
			peali_mark_restart(w, actor);
			return 1;
		}
		f->of = of;
		f->first = 0;
		f->last = 0xffffffffu;
		peal_store_relaxed_dev(&s->last, failure);
		if (!peali_restarts_exhausted(s)) {
			if (s->strategy != PEAL_ONE_FOR_ALL)
				f->first = order;
			if (s->strategy == PEAL_ONE_FOR_ONE)
				f->last = order;
			if (f->last == f->first && !depth) {
				peali_mark_restart(w, actor);
				f->of = 0;
			}
			return 1;
		}
		peal_store_relaxed_dev(&s->given_up, 1);
		peali_failure_note(w, PEAL_FAILED_SUPERVISOR, of - 1,
				   (uint32_t)failure, (int32_t)(failure >> 32));
		/* R12: pairs with A12 in peali_is_given_up. */
		peal_add_acqrel_dev(&s->gate, 1);
	}
	return 1;
}

/* Ends the giving up of a supervisor. Forgets the times of its failures. */
static PEAL_DEV PEAL_UNUSED inline void
peali_restart_clear(struct peal_supervisor_record *s)
{
	uint32_t i;

	for (i = 0; i < PEAL_RESTARTS_MAX; i++)
		peal_store_relaxed_dev(&s->when[i], 0);
	peal_store_relaxed_dev(&s->given_up, 0);
}

/* Clears the supervisors in the set that have given up. */
static PEAL_DEV PEAL_UNUSED inline void
peali_failure_clear(struct peal_worker *w, const struct peali_restart_set *f)
{
	uint32_t i;

	for (i = 0; i < w->params->max_supervisors; i++) {
		struct peal_supervisor_record *s = peali_supervisor(w, i);

		if (peal_load_relaxed_dev(&s->given_up) &&
		    peali_is_in_restart_set(
			    w, peal_load_relaxed_dev(&s->member), f))
			peali_restart_clear(s);
	}
}

/* All lanes: marks the actors in the set. An actor that has migrated is found
 * only from its first entry. So each actor is marked once, even if it migrates
 * during the search. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mark_restart_all(struct peal_worker *w, const struct peali_restart_set *f)
{
	uint64_t range =
		peal_load_relaxed_dev(&peali_supervisor(w, f->of - 1)->range);
	uint64_t i, place, end = range >> 32;

	for (i = (uint32_t)range + (uint64_t)peal_lane(w); i < end;
	     i += peal_lanes(w)) {
		struct peal_actor_entry *entry = peali_entry(w, (uint32_t)i);

		/* A11: pairs with R11 in peali_spawn_entries: `member` is of
		 * this actor. */
		place = peal_load_acquire_dev(&entry->location);
		if (PEAL_ENTRY_HANDLER(place) == PEAL_NO_HANDLER ||
		    (uint32_t)place & PEAL_ENTRY_MIGRATED_IN ||
		    PEAL_ENTRY_WORKER(place) == PEAL_POOL_WORKER ||
		    !peali_is_in_restart_set(
			    w,
			    peal_load_relaxed_dev(
				    &peali_supervision(w, (uint32_t)i)->member),
			    f))
			continue;
		peali_mark_restart(w, PEAL_ACTOR_GENERATION(place >> 32) |
					      (uint32_t)i);
	}
}

/* Returns 1 if an actor has a supervisor. */
static PEAL_DEV PEAL_INLINE int peali_is_supervised(const struct peal_worker *w,
						    uint32_t actor)
{
	return peali_has_supervision(w) &&
	       peal_load_relaxed_dev(
		       &peali_supervision(w, PEAL_ACTOR_INDEX(actor))->member);
}

/*
 * Returns 1 if a failure ends an actor that has no supervisor. A failure of its
 * init always ends it. Another failure ends it if the kernel's option
 * on_failure says so. A member of a pool does not end, because the other
 * members would have to handle its messages.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_ends_by_failure(const struct peal_worker *w, uint32_t actor)
{
	uint32_t i;

	if (peal_is_init(w))
		return 1;
	for (i = 0; i < peali_pools(w); i++)
		if (w->pools[i].set && w->pools[i].member == 1 + actor)
			return 0;
	return w->params->on_failure != 0;
}

/* The handler of the current message has failed. Returns 1 if a supervisor or
 * monitors must learn of it. The worker then does this before anything else.
 * For the leader. */
static PEAL_DEV PEAL_INLINE int peali_note_failure(struct peal_worker *w,
						   int error)
{
	struct peal_worker_state *s = w->state;
	uint32_t actor = w->message.header.actor;

	if (!PEALI_USES(SUPERVISION) || peal_is_exit(w) ||
	    (!peali_is_supervised(w, actor) &&
	     !peali_ends_by_failure(w, actor)))
		return 0;
	s->failure = (uint64_t)(uint32_t)error << 32 | actor;
	s->source.burst_left = 0;
	return 1;
}

/* The current message becomes a dead letter. Its handler has returned an error,
 * or PEAL_EDUPLICATE: the actor has handled this message before. If the handler
 * ran as a hook, the hook is over. */
static PEAL_DEV PEAL_UNUSED inline void
peali_fail_message(struct peal_worker *w, int error)
{
	struct peal_link_consumer *c = 0;
	uint32_t reason = PEAL_REASON_HANDLER;

	peal_store_relaxed_sys(&w->status->handler_error,
			       (uint64_t) - (int64_t)error);
	if (PEALI_USES(HOOKS) && w->state->source.current == PEALI_HOOK) {
		peali_hook_over(w);
		return;
	}
	if (error == PEAL_EDUPLICATE)
		reason = PEAL_REASON_DUPLICATE;
	if (!PEALI_HAS_OTHER_SOURCES || !w->state->source.current)
		c = &w->inputs[w->message.input].link;
	peali_dead_letter(w, c, reason, error);
	if (!PEALI_HAS_OTHER_SOURCES || c) {
		peal_link_release_dead(c, reason);
		return;
	}
	if (reason == PEAL_REASON_DUPLICATE)
		peal_store_relaxed_sys(
			&w->status->mailbox_duplicates,
			peal_load_relaxed_sys(&w->status->mailbox_duplicates) +
				1);
	peali_mail_done(w, error);
}

/* Ends an actor without a supervisor after its failure. */
static PEAL_DEV PEAL_UNUSED inline void peali_fail_alone(struct peal_worker *w,
							 uint64_t failure)
{
	uint32_t actor = (uint32_t)failure;

	peali_mark_restart(w, actor);
	peali_monitors_ended(w, actor, 1, PEAL_DOWN_FAILED,
			     (int32_t)(failure >> 32));
}

/*
 * Makes the monitors of a failed actor due, and the monitors of the actors that
 * were marked with it. The down message says if they are given up or restart.
 * Only monitors with PEAL_MONITOR_RESTARTS get a message about a restart. The
 * marks are not read: some of the actors may have restarted since.
 */
PEALI_SLOW(void, peali_monitors_supervised, struct peal_worker *w,
	   const struct peali_restart_set *f, uint32_t failed, int error)
{
	uint64_t state, member;
	uint32_t place, actor;

	if (!peali_monitors(w) || !peali_has_supervision(w))
		return;
	/* R13: pairs with A13, as in peali_monitors_ended. */
	peal_add_acqrel_dev(&peali_monitors(w)->gate, 1);
	for (place = 0; peali_monitor_next(w, &place, &state); place++) {
		actor = (uint32_t)peal_load_relaxed_dev(
			&peali_monitor(w, place)->parties);
		peali_actor_locate(w, &actor);
		member = peal_load_relaxed_dev(
			&peali_supervision(w, PEAL_ACTOR_INDEX(actor))->member);
		if (!member ||
		    (actor != failed &&
		     !(f->of && peali_is_in_restart_set(w, member, f))))
			continue;
		if (peali_is_given_up(w, member))
			peali_monitor_due(w, place, state, PEAL_DOWN_GIVEN_UP,
					  error);
		else if (PEAL_MONITOR_FLAGS(state) & PEAL_MONITOR_RESTARTS)
			peali_monitor_due(w, place, state, PEAL_DOWN_RESTARTED,
					  error);
	}
}

/* Frees a record that was due, after its message or its binding is done. */
static PEAL_DEV PEAL_UNUSED inline void peali_down_over(struct peal_worker *w,
							uint32_t place)
{
	peali_monitor_free(w, place);
	/* R17: pairs with A17 in peali_downs_open. A worker that no longer
	 * counts the record as open sees the ticket of its message. It also
	 * sees everything else that the record has made due. */
	peal_add_acqrel_dev(&peali_monitors(w)->open, ~0ULL);
}

/* The leader's part of peali_supervise. Returns 0 if the failed actor was marked
 * before: the worker that marked it tells its monitors. */
static PEAL_DEV PEAL_UNUSED inline int
peali_supervise_leader(struct peal_worker *w, struct peali_restart_set *f)
{
	struct peal_worker_state *s = w->state;
	int marked = 1;

	s->deferred.action = 0;
	s->source.idle = 0;
	w->fits_left = 0;
	if (s->failure && !peali_is_supervised(w, (uint32_t)s->failure)) {
		peali_fail_alone(w, s->failure);
	} else if (s->failure) {
		marked = peali_escalate(w, s->failure, f);
	} else {
		f->of = 1 + s->deferred.arg;
		peali_restart_clear(peali_supervisor(w, s->deferred.arg));
	}
	if (f->of &&
	    !peal_load_relaxed_dev(&peali_supervisor(w, f->of - 1)->given_up))
		peali_failure_clear(w, f);
	return marked;
}

/* Collective: broadcasts the leader's set and marks its actors. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mark_restart_set(struct peal_worker *w, struct peali_restart_set *f)
{
	f->of = (uint32_t)peal_broadcast(w, f->of);
	f->first = (uint32_t)peal_broadcast(w, f->first);
	f->last = (uint32_t)peal_broadcast(w, f->last);
	if (f->of)
		peali_mark_restart_all(w, f);
	peal_sync(w);
}

/* Collective: handles a failure of the current message, in s->failure, or a
 * restart by the host. Marks the actors that restart. Only then it counts the
 * message as dead. */
PEALI_SLOW(void, peali_supervise, struct peal_worker *w)
{
	struct peali_restart_set f = { 0, 0, 0xffffffffu };
	int marked = 0;

	if (peal_is_leader(w))
		marked = peali_supervise_leader(w, &f);
	peali_mark_restart_set(w, &f);
	if (!peal_is_leader(w))
		return;
	peal_fence_acquire_dev(); /* the worker sees its actors' marks now */
	if (marked)
		peali_monitors_supervised(w, &f,
					  w->state->failure ?
						  (uint32_t)w->state->failure :
						  PEAL_MONITOR_HOST,
					  (int32_t)(w->state->failure >> 32));
	if (w->state->failure)
		peali_fail_message(w, (int32_t)(w->state->failure >> 32));
	else
		peali_control_done(w, &w->message, 0);
	w->state->failure = 0;
}

#endif
