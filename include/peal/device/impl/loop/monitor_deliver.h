/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MONITOR_DELIVER_H
#define PEAL_DEVICE_MONITOR_DELIVER_H

#include <peal/device/impl/loop/supervision.h>

/*
 * Down messages. A worker sends the down messages of the monitors that it has
 * made due. A message stays in its record until there is space for it. So no
 * down message is lost, and nothing else waits for it.
 *
 * Down messages have a lease of their own for mailbox slots, of one slot. It is
 * granted in turn with the leases for links. A down message that waits for a
 * full mailbox delays only down messages to the same worker.
 *
 * All of this runs between two turns, where it costs the loop no registers.
 */

/* Whether the monitor is a binding: its owner fails, too, and gets no
 * message. */
static PEAL_DEV PEAL_INLINE int
peali_down_binds(const struct peal_monitor_record *r)
{
	return (PEAL_MONITOR_FLAGS(peal_load_relaxed_dev(&r->state)) &
		PEAL_MONITOR_BINDS) != 0;
}

static PEAL_DEV PEAL_INLINE uint32_t
peali_down_owner(const struct peal_monitor_record *r)
{
	return (uint32_t)(peal_load_relaxed_dev(&r->parties) >> 32);
}

/* Returns the index of the worker that gets the message: the owner's worker. If
 * the owner has ended, this worker gets the message and finds it dead. */
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

/* Whether the worker can handle a due record now. A binding needs no space. */
static PEAL_DEV PEAL_UNUSED inline int
peali_down_fits(struct peal_worker *w, const struct peal_monitor_record *r)
{
	return peali_down_binds(r) ||
	       (peali_mail_open(w, peali_down_way(w, peali_down_owner(r))) &&
		peal_admission_take_one(peali_admission(w),
					&w->state->down.lease));
}

/*
 * Finds the first due record that the worker can handle now. Returns 1 + its
 * index, or 0 if there is none. In `*before` it returns 1 + the index of the
 * previous record of the list; 0: there is no previous one. If it skips a
 * record and `blocked` is not set, `blocked` becomes the owner of this record.
 */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_down_find(struct peal_worker *w, uint32_t *before)
{
	const struct peal_monitor_record *r;
	uint32_t at;

	*before = 0;
	for (at = w->state->down.first; at; at = r->next) {
		r = peali_monitor(w, at - 1);
		if (peali_down_fits(w, r))
			return at;
		if (!w->state->published.blocked_now)
			w->state->published.blocked_now = PEAL_BLOCKED(
				peali_down_owner(r), 0, PEAL_BLOCKED_DOWN);
		*before = at;
	}
	return 0;
}

/* Whether a due record can be handled now. */
PEALI_SLOW(int, peali_downs_ready, struct peal_worker *w)
{
	uint32_t before;

	return peali_down_find(w, &before) != 0;
}

/* Removes a record from the list of due records. */
static PEAL_DEV PEAL_UNUSED inline void
peali_down_out(struct peal_worker *w, uint32_t at, uint32_t before)
{
	struct peal_worker_state *s = w->state;
	uint32_t next = peali_monitor(w, at - 1)->next;

	if (before)
		peali_monitor(w, before - 1)->next = next;
	else
		s->down.first = next;
	if (s->down.last == at)
		s->down.last = before;
	s->down.n_due--;
}

/* Puts a record's message into a mailbox that has space for it. */
static PEAL_DEV PEAL_UNUSED inline void peali_down_put(struct peal_worker *w,
						       uint32_t place)
{
	const struct peal_monitor_record *r = peali_monitor(w, place);
	uint32_t owner = peali_down_owner(r), way = peali_down_way(w, owner);
	struct peal_header header = { owner, r->type, PEAL_FLAG_DOWN };
	struct peal_down down;

	peali_down_fill(w, place, &down);
	peali_mail_put(w, way, &w->state->down.lease, header, &down,
		       sizeof(down));
	peali_mail_sent(w, way);
}

/* Makes the owner of a binding fail, as if its handler had returned the error.
 * If the owner has a supervisor, *f becomes the restart set. Returns 1 if the
 * owner fails by this call and has a supervisor. Then its monitors have not been
 * told yet. */
static PEAL_DEV PEAL_UNUSED inline int
peali_down_bound(struct peal_worker *w, uint32_t owner, int error,
		 struct peali_restart_set *f)
{
	uint64_t place = peali_actor_locate(w, &owner);

	if (PEAL_ENTRY_NEEDS_RESTART(place))
		return 0;
	if (peali_has_supervision(w) &&
	    peal_load_relaxed_dev(
		    &peali_supervision(w, PEAL_ACTOR_INDEX(owner))->member))
		return peali_escalate(
			w, (uint64_t)(uint32_t)error << 32 | owner, f);
	peali_mark_restart(w, owner);
	peali_monitors_ended(w, owner, 1, PEAL_DOWN_BOUND, error);
	return 0;
}

/* Sends the message of a record, or makes the owner of a binding fail. It does
 * nothing for a binding to an actor that was retired or gone. Returns as
 * peali_down_bound. */
static PEAL_DEV PEAL_UNUSED inline int
peali_down_go(struct peal_worker *w, uint32_t place,
	      struct peali_restart_set *f)
{
	const struct peal_monitor_record *r = peali_monitor(w, place);

	if (!peali_down_binds(r))
		peali_down_put(w, place);
	else if (r->reason != PEAL_DOWN_RETIRED && r->reason != PEAL_DOWN_GONE)
		return peali_down_bound(w, peali_down_owner(r), r->error, f);
	return 0;
}

/*
 * The leader's part of peali_downs_turn. Handles due records up to a burst, or
 * up to a binding that makes its owner fail. Returns 1 + the index of this
 * binding: all lanes first mark the actors in *f. Returns 0 if there was none.
 */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_downs_send(struct peal_worker *w, struct peali_restart_set *f)
{
	uint32_t n, at, before;

	w->state->source.idle = 0;
	w->state->deferred.action = 0;
	w->fits_left = 0;
	for (n = 0; n < PEALI_BURST; n++) {
		at = peali_down_find(w, &before);
		if (!at)
			break;
		peali_down_out(w, at, before);
		if (peali_down_go(w, at - 1, f))
			return at;
		peali_down_over(w, at - 1);
	}
	return 0;
}

/* Handles due records up to a burst, or up to a binding that makes its owner
 * fail. Collective. */
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
	peal_fence_acquire_dev(); /* it sees its own actors' marks at once */
	peali_monitors_supervised(w, &f, peali_down_owner(r), r->error);
	peali_down_over(w, at - 1);
}

#endif
