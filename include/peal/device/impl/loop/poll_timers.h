/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_TIMERS_H
#define PEAL_DEVICE_POLL_TIMERS_H

#include <peal/device/impl/loop/control.h>
#include <peal/device/impl/worker/mailbox_put.h>
#include <peal/device/impl/loop/termination.h>
#include <peal/device/timer.h>

/*
 * Timers in a worker's turns. Between two messages the leader checks whether a
 * timer is due. It sends due messages to mailboxes and pools in a deferred
 * turn, where this costs the loop no registers. For the leader. The loop calls
 * it.
 *
 * Share: at most every other turn is for timers. Such a turn comes before any
 * handler. For space in mailboxes, timers have a lease of their own, of one
 * slot. It is granted in turn with the leases of links. So messages starve no
 * timers, and timers starve no messages.
 *
 * A read of the clock costs 25 to 40 ns on the host. So a busy worker reads it
 * about once in PEALI_TIMER_POLL_NS. If handlers take that long, it reads
 * between any two messages. Else it reads once in up to PEALI_BURST messages.
 *
 * A timer is then late by one handler. It can be late by up to PEALI_BURST
 * handlers once: when messages get slow that were quick for long.
 */

#define PEALI_TIMER_POLL_NS 2000
#define PEALI_TIMER_QUICK 8 /* quick looks in a row until there are fewer */

/* ---- checks -------------------------------------------------------------- */

/* Sets the turns until the next read of the clock: more once the turns have
 * been quick for a while. A burst is no longer than that. */
static PEAL_DEV PEAL_INLINE void peali_timers_pace(struct peal_worker *w,
						   uint64_t now)
{
	struct peal_timers *t = peali_own_timers(w);

	if (now - t->polled_ns > PEALI_TIMER_POLL_NS) {
		t->every = 1;
		t->quick = 0;
	} else if (++t->quick >= PEALI_TIMER_QUICK && t->every < PEALI_BURST) {
		t->every *= 2;
		t->quick = 0;
	}
	t->polled_ns = now;
	t->turns = 0;
	w->state->source.burst_max = t->every - 1;
}

/* Returns the list (`way`) for an actor's mailbox or pool. If the actor is gone
 * it sets *gone and returns the worker's own mailbox: there the message is
 * found dead. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_timer_way_to(const struct peal_worker *w, uint32_t actor, int *gone)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	uint64_t place = peal_load_relaxed_dev(&entry->location);

	*gone = 0;
	if (PEAL_ENTRY_IS_OF(place, actor)) {
		if (PEAL_ENTRY_WORKER(place) != PEAL_POOL_WORKER)
			return PEAL_ENTRY_WORKER(place);
		if (PEAL_ENTRY_HANDLER(place) < peali_pools(w) &&
		    w->pools[PEAL_ENTRY_HANDLER(place)].set)
			return w->params->n_workers + PEAL_ENTRY_HANDLER(place);
	}
	*gone = 1;
	return w->index;
}

/* Returns 1 if there is a slot for the next message of a list. */
static PEAL_DEV PEAL_UNUSED inline int peali_timer_fits(struct peal_worker *w,
							uint32_t way)
{
	if (PEALI_USES(POOLS) && way >= w->params->n_workers)
		return peali_pool_fits(&w->pools[way - w->params->n_workers],
				       1);
	if (!peali_mail_open(w, way))
		return 0;
	return peal_admission_take_one(peali_admission(w),
				       &peali_own_timers(w)->lease);
}

/* Returns 1 if one of the due timers can send now. */
static PEAL_DEV PEAL_UNUSED inline int peali_timers_fit(struct peal_worker *w)
{
	struct peal_timers *t = peali_own_timers(w);
	uint32_t way, first, actor;
	int gone;

	for (way = 0; way < t->n_ways; way++) {
		first = peali_timer_way(t, way)->first;
		if (!first)
			continue;
		actor = peali_timer_entry(t, first - 1)->header.actor;
		if (peali_timer_fits(w, peali_timer_way_to(w, actor, &gone)))
			return 1;
		if (!w->state->published.blocked_now)
			w->state->published.blocked_now =
				PEAL_BLOCKED(actor, 0, PEAL_BLOCKED_TIMER);
	}
	return 0;
}

/* Called after `turns` more turns. Returns 1 if there is work for timers now.
 * If all due timers must wait, it stores the cause in published.blocked_now. */
PEALI_SLOW(int, peali_timers_ready, struct peal_worker *w, uint32_t turns)
{
	struct peal_timers *t = peali_own_timers(w);
	uint64_t now;

	t->turns += turns;
	if (t->fired) { /* the turn of messages */
		t->fired = 0;
		return 0;
	}
	if (t->turns < t->every && !t->n_held)
		return 0;
	now = peal_clock_ns();
	peali_timers_pace(w, now);
	if (t->n_heap && peali_timer_heap(t)->due_ns <= now)
		return 1;
	return t->n_held && peali_timers_fit(w);
}

#if PEAL_ON_HOST
/* Waits for one turn. If it sleeps, it wakes when the next timer is due. */
static PEAL_UNUSED PEAL_NOINLINE void peali_timers_wait(struct peal_worker *w,
							uint32_t looks)
{
	const struct peal_timers *t = peali_own_timers(w);
	struct peal_bell *bell = peali_bell_of(w, w->index);
	uint64_t now = peal_clock_ns(), left = 0;

	if (t->n_heap) {
		if (peali_timer_heap(t)->due_ns > now)
			left = (peali_timer_heap(t)->due_ns - now) / 1000;
		if (left < bell->max_sleep_us) /* 0 would be the default */
			bell->max_sleep_us = (uint32_t)left + 1;
	}
	peali_wait_turn(w, looks);
	peali_wait_limit(w);
}
#endif

/* ---- sends --------------------------------------------------------------- */

/* Puts the message of a timer, for which there is space. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_put(struct peal_worker *w, uint32_t way, uint32_t place)
{
	const struct peal_timer_entry *entry =
		peali_timer_entry(peali_own_timers(w), place);
	const uint8_t *message =
		peali_timer_message(peali_own_timers(w), place);

	if (PEALI_USES(POOLS) && way >= w->params->n_workers) {
		peali_pool_put(w, way - w->params->n_workers, entry->header,
			       message, entry->length);
		return;
	}
	peali_mail_put(w, way, &peali_own_timers(w)->lease, entry->header,
		       message, entry->length);
	peali_mail_sent(w, way);
}

/* Sets a periodic timer again after it has sent. It is due at the first future
 * multiple of its period. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_again(struct peal_worker *w, uint32_t place, uint64_t now)
{
	struct peal_timer_entry *entry =
		peali_timer_entry(peali_own_timers(w), place);
	uint64_t missed = 0, due;

	if (now - entry->due_ns >= entry->period_ns)
		missed = (now - entry->due_ns) / entry->period_ns;
	due = entry->due_ns + (missed + 1) * entry->period_ns;
	entry->due_ns = due < entry->due_ns ? ~0ULL : due;
	if (missed)
		peali_timer_count(w, PEAL_TIMERS_MISSED, (int64_t)missed);
	peali_timer_count(w, PEAL_TIMERS_TICKS, 1);
	peali_timer_add(peali_own_timers(w), place);
}

/* Returns 1 if a restart has ended the timer: its actor has failed since, and
 * the supervisor has PEAL_RESTART_ENDS_TIMERS. An actor that has ended, or has
 * migrated to another kernel, does not restart here. */
static PEAL_DEV PEAL_UNUSED inline int
peali_timer_is_stale(const struct peal_worker *w,
		     const struct peal_timer_entry *entry)
{
	uint32_t actor = entry->setter;
	const struct peal_supervision *s;
	uint64_t place, member;

	if (!peali_has_supervision(w) ||
	    PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	place = peali_actor_locate(w, &actor);
	if (!PEAL_ENTRY_IS_OF(place, actor))
		return 0;
	s = peali_supervision(w, PEAL_ACTOR_INDEX(actor));
	member = peal_load_relaxed_dev(&s->member);
	return member &&
	       peali_supervisor(w, PEAL_MEMBER_OF(member) - 1)->timers ==
		       PEAL_RESTART_ENDS_TIMERS &&
	       ((uint32_t)place & PEAL_ENTRY_RESTART_PENDING ||
		peal_load_relaxed_dev(&s->restarts) != entry->setter_restarts);
}

/* Sends the first timer of a list. Returns 0 if there is no space, else 1. */
static PEAL_DEV PEAL_UNUSED inline int
peali_timer_go(struct peal_worker *w, uint32_t way, uint64_t now)
{
	struct peal_timers *t = peali_own_timers(w);
	uint32_t place = peali_timer_way(t, way)->first - 1;
	struct peal_timer_entry *entry = peali_timer_entry(t, place);
	uint32_t to;
	int gone;

	if (peali_timer_is_stale(w, entry)) {
		peali_timer_unhold(t, place);
		peali_timer_count(w, PEAL_TIMERS_HELD, -1);
		peali_timer_over(w, place, PEAL_TIMERS_CANCELLED);
		return 1;
	}
	/* the actor may have ended since the timer was due */
	to = peali_timer_way_to(w, entry->header.actor, &gone);
	if (!peali_timer_fits(w, to))
		return 0;
	peali_timer_unhold(t, place);
	peali_timer_count(w, PEAL_TIMERS_HELD, -1);
	peali_timer_put(w, to, place);
	if (entry->period_ns && !gone)
		peali_timer_again(w, place, now);
	else
		peali_timer_over(w, place,
				 entry->period_ns ? PEAL_TIMERS_GONE :
						    PEAL_TIMERS_FIRED);
	return 1;
}

/* Moves due timers from the heap to the lists of timers that wait for space, in
 * their order. Timers of asks need no space and time out at once. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timers_line_up(struct peal_worker *w, uint64_t now)
{
	struct peal_timers *t = peali_own_timers(w);
	uint32_t n, place;
	int gone;

	for (n = 0; n < PEALI_BURST && t->n_heap; n++) {
		if (peali_timer_heap(t)->due_ns > now)
			break;
		place = peali_timer_heap(t)->place;
		peali_timer_remove(t, 0);
		if (peali_timer_entry(t, place)->header.flags &
		    PEAL_FLAG_ANSWER) {
			peali_ask_time_out(w, place);
			continue;
		}
		peali_timer_hold(
			t, place,
			peali_timer_way_to(
				w, peali_timer_entry(t, place)->header.actor,
				&gone));
		peali_timer_count(w, PEAL_TIMERS_HELD, 1);
	}
}

/* A worker is never idle if its timers tick faster than it handles ticks. So it
 * checks here whether all inputs have ended. It then ends periodic timers. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timers_ask_end(struct peal_worker *w, uint32_t ticks)
{
	peali_own_timers(w)->ticks += ticks;
	if (peali_own_timers(w)->ticks < PEALI_CONTROL_POLL_INTERVAL)
		return;
	peali_own_timers(w)->ticks = 0;
	if (peali_ticks_over(w))
		peali_timers_drained(w);
}

/* Sends due timers, up to a burst, as far as there is space. */
static PEAL_DEV PEAL_UNUSED inline void peali_timers_fire(struct peal_worker *w)
{
	struct peal_timers *t = peali_own_timers(w);
	uint64_t now = peal_clock_ns(), before = t->count[PEAL_TIMERS_TICKS];
	uint32_t way, n;

	w->state->source.idle = 0;
	t->fired = 1;
	peali_timers_line_up(w, now);
	for (way = 0; way < t->n_ways && t->n_held; way++)
		for (n = 0; n < PEALI_BURST && peali_timer_way(t, way)->first;
		     n++)
			if (!peali_timer_go(w, way, now))
				break;
	peali_timers_ask_end(w,
			     (uint32_t)(t->count[PEAL_TIMERS_TICKS] - before));
}

/* Collective: the leader does peali_timers_fire. */
PEALI_SLOW(void, peali_timers_turn, struct peal_worker *w)
{
	if (peal_is_leader(w))
		peali_timers_fire(w);
	peal_sync(w); /* all lanes have read the turn before the next one */
}

#endif
