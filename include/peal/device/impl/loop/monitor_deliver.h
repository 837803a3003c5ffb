/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MONITOR_DELIVER_H
#define PEAL_DEVICE_MONITOR_DELIVER_H

#include <peal/device/impl/loop/supervision.h>

/*
 * Down messages: a worker sends those of the monitors that it has made due.
 * Each lies in its record until there is space for it, so none is lost, and
 * nothing else waits for it: for space in mailboxes they have a lease of their
 * own, of one slot, granted in turn with those of links. Who waits for a full
 * mailbox holds up only what goes to the same worker.
 *
 * All of it is done between two turns, where it costs the loop no registers.
 */

/* Whether the monitor's owner is to end too, and nobody gets a message. */
static PEAL_DEV PEAL_INLINE int
peali_down_binds(const struct peal_monitor_record *r)
{
	return (PEAL_MONITOR_FLAGS(peal_load_relaxed_dev(&r->state)) &
		PEAL_MONITOR_BINDS) != 0;
}

static PEAL_DEV PEAL_INLINE uint32_t
peali_down_owner(const struct peal_monitor_record *r)
{
	return (uint32_t)(peal_load_relaxed_dev(&r->who) >> 32);
}

/* Whose mailbox the message goes into; its own, to be found dead there, if the
 * owner is no more. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_down_way(const struct peal_worker *w, uint32_t owner)
{
	uint64_t place = peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(owner))->location);

	return PEAL_ENTRY_IS_OF(place, owner) &&
			       PEAL_ENTRY_WORKER(place) < w->params->n_workers ?
		       PEAL_ENTRY_WORKER(place) :
		       w->index;
}

/* Whether a record's message can be sent now. */
static PEAL_DEV PEAL_UNUSED inline int
peali_down_fits(struct peal_worker *w, const struct peal_monitor_record *r)
{
	return peali_down_binds(r) ||
	       (peali_mail_open(w, peali_down_way(w, peali_down_owner(r))) &&
		peal_admission_take_one(peali_admission(w),
					&w->state->down_lease));
}

/* The first of those that are due that can be sent: 1 + its place, and of the
 * one before it in *before; 0: none. Says what the others wait for. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_down_find(struct peal_worker *w, uint32_t *before)
{
	const struct peal_monitor_record *r;
	uint32_t at;

	*before = 0;
	for (at = w->state->down_first; at; at = r->next) {
		r = peali_monitor(w, at - 1);
		if (peali_down_fits(w, r))
			return at;
		if (!w->state->blocked)
			w->state->blocked = PEAL_BLOCKED(peali_down_owner(r), 0,
							 PEAL_BLOCKED_DOWN);
		*before = at;
	}
	return 0;
}

/* Whether there is something to be sent now. */
PEALI_SLOW(int, peali_downs_ready, struct peal_worker *w)
{
	uint32_t before;

	return peali_down_find(w, &before) != 0;
}

/* It is out of the line of those that are due. */
static PEAL_DEV PEAL_UNUSED inline void
peali_down_out(struct peal_worker *w, uint32_t at, uint32_t before)
{
	struct peal_worker_state *s = w->state;
	uint32_t next = peali_monitor(w, at - 1)->next;

	if (before)
		peali_monitor(w, before - 1)->next = next;
	else
		s->down_first = next;
	if (s->down_last == at)
		s->down_last = before;
	s->downs--;
}

/* Puts a message for which there is space. */
static PEAL_DEV PEAL_UNUSED inline void peali_down_put(struct peal_worker *w,
						       uint32_t place)
{
	const struct peal_monitor_record *r = peali_monitor(w, place);
	uint32_t owner = peali_down_owner(r), way = peali_down_way(w, owner);
	struct peal_header header = { owner, r->type, PEAL_FLAG_DOWN };
	struct peal_down down;

	peali_down_fill(w, place, &down);
	peali_mail_put(w, way, &w->state->down_lease, header, &down,
		       sizeof(down));
	peali_mail_sent(w, way);
}

/* The owner of a binding ends as if its handler had failed with that error; who
 * restarts with it, if it has a supervisor, is then in *f. */
static PEAL_DEV PEAL_UNUSED inline void
peali_down_bound(struct peal_worker *w, uint32_t owner, int error,
		 struct peali_restart_set *f)
{
	uint64_t place = peali_actor_locate(w, &owner);

	if (PEAL_ENTRY_NEEDS_RESTART(place))
		return;
	if (w->params->supervision &&
	    peal_load_relaxed_dev(
		    &peali_supervision(w, PEAL_ACTOR_INDEX(owner))->member)) {
		peali_escalate(w, (uint64_t)(uint32_t)error << 32 | owner, f);
		return;
	}
	peali_mark_restart(w, owner);
	peali_monitors_ended(w, owner, 1, PEAL_DOWN_BOUND, error);
}

/* What is due of one record is done, or dropped if it says nothing. */
static PEAL_DEV PEAL_UNUSED inline void
peali_down_go(struct peal_worker *w, uint32_t place,
	      struct peali_restart_set *f)
{
	const struct peal_monitor_record *r = peali_monitor(w, place);

	if (!peali_down_binds(r))
		peali_down_put(w, place);
	else if (r->reason != PEAL_DOWN_RETIRED && r->reason != PEAL_DOWN_GONE)
		peali_down_bound(w, peali_down_owner(r), r->error, f);
}

/* Leader part of peali_downs_turn: 1 + the place of a binding that has made
 * an actor of a supervisor fail, which the lanes come to first; 0: none. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_downs_send(struct peal_worker *w, struct peali_restart_set *f)
{
	uint32_t n, at, before;

	w->state->idle = 0;
	w->state->deferred_action = 0;
	w->fits_left = 0;
	for (n = 0; n < PEALI_BURST; n++) {
		at = peali_down_find(w, &before);
		if (!at)
			break;
		peali_down_out(w, at, before);
		peali_down_go(w, at - 1, f);
		if (peali_down_binds(peali_monitor(w, at - 1)))
			return at;
		peali_down_over(w, at - 1);
	}
	return 0;
}

/* Collective: sends what is due, up to a burst or a binding. */
PEALI_SLOW(void, peali_downs_turn, struct peal_worker *w)
{
	struct peali_restart_set f = { 0, 0, 0xffffffffu };
	const struct peal_monitor_record *r;
	uint32_t at = 0;

	if (peal_is_leader(w))
		at = peali_downs_send(w, &f);
	peali_mark_restart_set(w, &f);
	if (!peal_is_leader(w) || !at)
		return;
	r = peali_monitor(w, at - 1);
	peal_fence_acquire_dev(); /* it knows its own actors' marks at once */
	peali_monitors_supervised(w, &f, peali_down_owner(r), r->error);
	peali_down_over(w, at - 1);
}

#endif
