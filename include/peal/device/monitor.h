/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MONITOR_H
#define PEAL_DEVICE_MONITOR_H

#include <peal/abi/monitor.h>
#include <peal/device/impl/worker/actor_resolve.h>
#include <peal/device/message.h>

/*
 * Monitors: a handler gets a message when another actor of its kernel ends. See
 * peal/monitor.h for the guarantees.
 *
 * 1. A monitor is a record of the kernel. A worker sets it, then checks that
 *    the actor still lives.
 * 2. A worker that ends an actor then scans all records that were ever used. It
 *    makes the actor's monitors due, and sends their messages
 *    (impl/loop/monitor_deliver.h).
 * 3. Both add to `gate` in between. So at least one of them sees the other.
 */

static PEAL_DEV PEAL_INLINE struct peal_monitors *
peali_monitors(const struct peal_worker *w)
{
	return PEALI_USES(SUPERVISION) ?
		       (struct peal_monitors *)(uintptr_t)w->params->monitors :
		       0;
}

static PEAL_DEV PEAL_INLINE struct peal_monitor_record *
peali_monitor(const struct peal_worker *w, uint32_t place)
{
	return (struct peal_monitor_record *)(void *)(peali_monitors(w) + 1) +
	       place;
}

/* Frees a record. */
static PEAL_DEV PEAL_UNUSED inline void
peali_monitor_free(const struct peal_worker *w, uint32_t place)
{
	struct peal_monitor_record *r = peali_monitor(w, place);
	uint64_t state = peal_load_relaxed_dev(&r->state);

	/* R14: pairs with A14 in peali_monitor_take: the record was read. */
	peal_store_release_dev(&r->state,
			       PEAL_MONITOR_STATE(PEAL_MONITOR_NUMBER(state), 0,
						  PEAL_MONITOR_FREE));
	peal_store_relaxed_dev(&peali_monitors(w)->hint, place);
}

/* ---- due monitors ----------------------------------------------------- */

static PEAL_DEV PEAL_UNUSED inline void
peali_down_fill(const struct peal_worker *w, uint32_t place,
		struct peal_down *out)
{
	const struct peal_monitor_record *r = peali_monitor(w, place);
	uint64_t state = peal_load_relaxed_dev(&r->state);

	out->actor = w->params->address |
		     (uint32_t)peal_load_relaxed_dev(&r->parties);
	out->monitor = PEAL_MONITOR_HANDLE(PEAL_MONITOR_NUMBER(state), place);
	out->tag = r->tag;
	out->reason = r->reason;
	out->error = r->error;
}

/* Sends the message of an endpoint's monitor to its reserved slot. */
static PEAL_DEV PEAL_UNUSED inline void
peali_down_post(const struct peal_worker *w, uint32_t place)
{
	struct peal_down_slot *slot =
		(struct peal_down_slot *)(uintptr_t)peali_monitors(w)->slots +
		peali_monitor(w, place)->slot;

	peali_down_fill(w, place, &slot->down);
	/* R15: pairs with A15 in peali_monitors_look. */
	peal_store_release_sys(&slot->posted, 1);
	peali_monitor_free(w, place);
}

/*
 * Makes a monitor due, unless its state has changed. An endpoint's message is
 * sent at once, others in a later turn of the worker. Until then `open` counts
 * the monitor. It does so before the message that ended the actor counts as
 * done, so the kernel cannot end in between.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_monitor_due(struct peal_worker *w, uint32_t place, uint64_t state,
		  uint32_t reason, int error)
{
	struct peal_monitor_record *r = peali_monitor(w, place);
	struct peal_worker_state *s = w->state;

	if (PEALI_SIM_FAULT(TWO_TELL))
		peal_store_relaxed_dev(&r->state, state | PEAL_MONITOR_DUE);
	else if (!peal_cas_relaxed_dev(&r->state, state,
				       state | PEAL_MONITOR_DUE))
		return;
	r->reason = reason;
	r->error = error;
	r->next = 0;
	if (peal_load_relaxed_dev(&r->parties) >> 32 == PEAL_MONITOR_HOST) {
		peali_down_post(w, place);
		return;
	}
	peal_add_acqrel_dev(&peali_monitors(w)->open, 1);
	if (s->down.n_due++)
		peali_monitor(w, s->down.last - 1)->next = place + 1;
	else
		s->down.first = place + 1;
	s->down.last = place + 1;
}

/* Finds the first set monitor from *place on. Returns 1, or 0 if there is
 * none. */
static PEAL_DEV PEAL_UNUSED inline int
peali_monitor_next(const struct peal_worker *w, uint32_t *place,
		   uint64_t *state_out)
{
	uint64_t used = peal_load_relaxed_dev(&peali_monitors(w)->used);

	for (; *place < used; ++*place) {
		/* A16: pairs with R16 in peali_monitor_set: the record is
		 * filled in. */
		*state_out =
			peal_load_acquire_dev(&peali_monitor(w, *place)->state);
		if (PEAL_MONITOR_PHASE(*state_out) == PEAL_MONITOR_SET)
			return 1;
	}
	return 0;
}

/* Handles the end of n actors with successive numbers, after their entries were
 * changed. Makes the monitors on them due, and frees their own monitors. */
PEALI_SLOW(void, peali_monitors_ended, struct peal_worker *w, uint32_t first,
	   uint32_t n, uint32_t reason, int error)
{
	uint64_t state, parties;
	uint32_t place;

	if (!peali_monitors(w))
		return;
	/* R13: pairs with A13 in peali_monitor_set, in both directions. */
	peal_add_acqrel_dev(&peali_monitors(w)->gate, 1);
	for (place = 0; peali_monitor_next(w, &place, &state); place++) {
		struct peal_monitor_record *r = peali_monitor(w, place);

		parties = peal_load_relaxed_dev(&r->parties);
		if (peali_is_among(w, (uint32_t)parties, first, n))
			peali_monitor_due(w, place, state, reason, error);
		else if (peali_is_among(w, (uint32_t)(parties >> 32), first,
					n) &&
			 peal_cas_relaxed_dev(&r->state, state,
					      state | PEAL_MONITOR_DUE))
			peali_monitor_free(w, place);
	}
}

/* ---- setting ---------------------------------------------------------- */

/* Takes a free record and returns its index; max_monitors: there is none. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_monitor_take(struct peal_worker *w, uint64_t *number_out)
{
	struct peal_monitors *t = peali_monitors(w);
	uint32_t max = w->params->max_monitors, i;
	uint64_t hint = peal_load_relaxed_dev(&t->hint), used;

	for (i = 0; i < max; i++) {
		uint32_t place = (uint32_t)((hint + i) % max);
		uint64_t *word = &peali_monitor(w, place)->state;
		/* A14: pairs with R14 in peali_monitor_free. */
		uint64_t state = peal_load_acquire_dev(word);

		*number_out = PEAL_MONITOR_NUMBER(state) + 1;
		if (PEAL_MONITOR_PHASE(state) != PEAL_MONITOR_FREE ||
		    !peal_cas_relaxed_dev(
			    word, state,
			    PEAL_MONITOR_STATE(*number_out, 0,
					       PEAL_MONITOR_TAKEN)))
			continue;
		peal_store_relaxed_dev(&t->hint, place + 1);
		do /* repeats only if another worker has just changed it */
			used = peal_load_relaxed_dev(&t->used);
		while (used <= place &&
		       !peal_cas_relaxed_dev(&t->used, used,
					     (uint64_t)place + 1));
		return place;
	}
	return max;
}

/* Returns the reason for a down message at once; 0: the actor lives. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_monitor_gone(const struct peal_worker *w, uint32_t actor)
{
	uint64_t place = peali_actor_locate(w, &actor), member = 0;

	if (!PEAL_ENTRY_IS_OF(place, actor))
		return PEAL_DOWN_GONE;
	if (!PEAL_ENTRY_NEEDS_RESTART(place))
		return 0;
	if (peali_has_supervision(w))
		member = peal_load_relaxed_dev(
			&peali_supervision(w, PEAL_ACTOR_INDEX(actor))->member);
	if (!member)
		return PEAL_DOWN_FAILED;
	return peali_is_given_up(w, member) ? PEAL_DOWN_GIVEN_UP : 0;
}

/* Sets a monitor for a handler or the host. For the leader. */
PEALI_SLOW(int, peali_monitor_set, struct peal_worker *w,
	   const struct peal_control_monitor *c, uint64_t *handle_out)
{
	struct peal_monitor_record *r;
	uint64_t number = 0, state;
	uint32_t place, reason;

	if (!peali_monitors(w) ||
	    (!peali_own_mailbox(w) && c->owner != PEAL_MONITOR_HOST))
		return PEAL_ENOTSUP;
	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors ||
	    PEAL_ENTRY_WORKER(peal_load_relaxed_dev(
		    &peali_entry(w, PEAL_ACTOR_INDEX(c->actor))->location)) ==
		    PEAL_POOL_WORKER)
		return PEAL_ENOENT;
	place = peali_monitor_take(w, &number);
	if (place == w->params->max_monitors)
		return PEAL_ENOSPC;
	r = peali_monitor(w, place);
	peal_store_relaxed_dev(&r->parties,
			       (uint64_t)c->owner << 32 | c->actor);
	r->tag = c->tag;
	r->type = c->type;
	r->slot = c->slot;
	*handle_out = PEAL_MONITOR_HANDLE(number, place);
	state = PEAL_MONITOR_STATE(number, c->flags, PEAL_MONITOR_SET);
	/* R16: pairs with A16 in peali_monitor_next. */
	peal_store_release_dev(&r->state, state);
	/* A13: pairs with R13 in peali_monitors_ended. The worker of a later
	 * end sees the record. This worker sees an earlier end. */
	peal_add_acqrel_dev(&peali_monitors(w)->gate, 1);
	reason = peali_monitor_gone(w, c->actor);
	if (reason)
		peali_monitor_due(w, place, state, reason, 0);
	return 0;
}

/* Removes a monitor. Returns 0, or PEAL_ENOENT if it is over. */
PEALI_SLOW(int, peali_monitor_cancel, struct peal_worker *w, uint64_t handle)
{
	uint32_t place = PEAL_MONITOR_PLACE(handle);
	uint64_t state;

	if (!peali_monitors(w))
		return PEAL_ENOTSUP;
	if (place >= w->params->max_monitors)
		return PEAL_ENOENT;
	state = peal_load_acquire_dev(&peali_monitor(w, place)->state);
	if (PEAL_MONITOR_PHASE(state) != PEAL_MONITOR_SET ||
	    PEAL_MONITOR_HANDLE(PEAL_MONITOR_NUMBER(state), place) != handle ||
	    !peal_cas_relaxed_dev(&peali_monitor(w, place)->state, state,
				  state | PEAL_MONITOR_DUE))
		return PEAL_ENOENT;
	peali_monitor_free(w, place);
	return 0;
}

/* Handles PEAL_CONTROL_MONITOR. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_monitor(struct peal_worker *w,
		      const struct peal_control_monitor *c)
{
	uint64_t handle = 0;
	int result;

	if (c->handle)
		return peali_monitor_cancel(w, c->handle);
	result = peali_monitor_set(w, c, &handle);
	if (!result)
		peal_store_relaxed_sys((uint64_t *)(uintptr_t)c->report,
				       handle);
	return result;
}

/* ---- functions for handlers ------------------------------------------- */

/**
 * Sets a monitor: the running actor gets one message when an actor ends.
 *
 * See peal/monitor.h. The monitor survives a restart of the running actor, and
 * ends with the running actor. Collective. Does not block, but scans at most
 * max_monitors records.
 *
 * @param w           the worker.
 * @param actor       number of another actor of this kernel, the low half of
 *                    its address. If there is none, the message comes at once.
 * @param flags       mask of enum peal_monitor_flag.
 * @param type        type of the message, the program's own number. Its payload
 *                    is a struct peal_down, see peal_down_current.
 * @param tag         any value; the message returns it.
 * @param monitor_out each lane's own: receives the monitor, for
 *                    peal_monitor_cancel. 0: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOSPC   all max_monitors of the kernel are set.
 * @retval PEAL_ENOENT   `actor` is a pool, or no actor can have that number.
 * @retval PEAL_EINVAL   `actor` is the running actor, or a flag is unknown.
 * @retval PEAL_ENOTSUP  the kernel was launched without max_monitors or without
 *                       mailboxes.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_monitor_set(struct peal_worker *w, uint32_t actor, uint32_t flags,
		 uint16_t type, uint64_t tag, uint64_t *monitor_out)
{
	struct peal_control_monitor c = { 0, 0, 0, 0, 0, 0, 0, 0 };
	uint64_t handle = 0;
	int result;

	if (actor == peal_self(w) ||
	    flags > (PEAL_MONITOR_RESTARTS | PEAL_MONITOR_BINDS))
		return PEAL_EINVAL;
	c.owner = peal_self(w);
	c.actor = actor;
	c.flags = (uint16_t)flags;
	c.type = type;
	c.tag = tag;
	result = 0;
	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_monitor_set(w, &c, &handle);
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	handle = peal_broadcast(w, handle);
	if (!result && monitor_out)
		*monitor_out = handle;
	return result;
}

/**
 * Removes a monitor. Any actor of the kernel may call this.
 *
 * Collective, wait-free.
 *
 * @param w       the worker.
 * @param monitor the value from peal_monitor_set.
 * @return 0: the monitor sends no message. Or a negative error code:
 * @retval PEAL_ENOENT   the monitor is over: it has sent its message or is
 *                       about to send it. Or it was removed, or is none.
 * @retval PEAL_ENOTSUP  the kernel was launched without max_monitors.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_monitor_cancel(struct peal_worker *w, uint64_t monitor)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_monitor_cancel(w, monitor);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

/** Returns the down message being handled, or 0 if it is none. Any lane. See
 * peal/monitor.h. */
static PEAL_DEV PEAL_INLINE const struct peal_down *
peal_down_current(const struct peal_worker *w)
{
	return w->message.header.flags & PEAL_FLAG_DOWN &&
			       w->message.length >= sizeof(struct peal_down) ?
		       (const struct peal_down *)w->message.data :
		       0;
}

#endif
