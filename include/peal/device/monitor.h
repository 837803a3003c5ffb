/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MONITOR_H
#define PEAL_DEVICE_MONITOR_H

#include <peal/abi/monitor.h>
#include <peal/device/onward.h>

/*
 * Monitors: how a handler asks to be told when another actor of its kernel ends,
 * and who notices that. peal/monitor.h says what they promise.
 *
 * A monitor is a record of the kernel. Whoever ends an actor looks at all of them
 * that were ever used, and makes those due that are set on it; the worker that
 * has done so also sends their messages (device/down.h). Who sets one looks at the
 * actor behind that: one of the two sees the other.
 */

static PEAL_DEV PEAL_INLINE struct peal_monitors *
peali_monitors(const struct peal_worker *w)
{
	return (struct peal_monitors *)(uintptr_t)w->params->monitors;
}

static PEAL_DEV PEAL_INLINE struct peal_monitor_record *
peali_monitor(const struct peal_worker *w, uint32_t place)
{
	return (struct peal_monitor_record *)(void *)(peali_monitors(w) + 1) +
	       place;
}

/* The record is nobody's from now on. */
static PEAL_DEV PEAL_UNUSED inline void
peali_monitor_free(const struct peal_worker *w, uint32_t place)
{
	struct peal_monitor_record *r = peali_monitor(w, place);
	uint64_t state = peal_load_relaxed_dev(&r->state);

	/* R14: pairs with A14 in peali_monitor_take: it was read. */
	peal_store_release_dev(&r->state,
			       PEAL_MONITOR_STATE(PEAL_MONITOR_NUMBER(state), 0,
						  PEAL_MONITOR_FREE));
	peal_store_relaxed_dev(&peali_monitors(w)->hint, place);
}

/* ---- who is due -------------------------------------------------------------- */

static PEAL_DEV PEAL_UNUSED inline void
peali_down_say(const struct peal_worker *w, uint32_t place,
	       struct peal_down *out)
{
	const struct peal_monitor_record *r = peali_monitor(w, place);
	uint64_t state = peal_load_relaxed_dev(&r->state);

	out->actor = w->params->address |
		     (uint32_t)peal_load_relaxed_dev(&r->who);
	out->monitor = PEAL_MONITOR_HANDLE(PEAL_MONITOR_NUMBER(state), place);
	out->tag = r->tag;
	out->reason = r->reason;
	out->error = r->error;
}

/* An endpoint's message: its slot waits for it. */
static PEAL_DEV PEAL_UNUSED inline void
peali_down_post(const struct peal_worker *w, uint32_t place)
{
	struct peal_down_slot *slot =
		(struct peal_down_slot *)(uintptr_t)peali_monitors(w)->slots +
		peali_monitor(w, place)->slot;

	peali_down_say(w, place, &slot->down);
	/* R15: pairs with A15 in peali_monitors_look. */
	peal_store_release_sys(&slot->posted, 1);
	peali_monitor_free(w, place);
}

/*
 * A monitor in that state is due, unless somebody was quicker. An endpoint's
 * message is sent at once, all else when the worker has its turn for it: `open`
 * says until then that it will be, before the message counts as done for which
 * all this is.
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
	if (peal_load_relaxed_dev(&r->who) >> 32 == PEAL_MONITOR_HOST) {
		peali_down_post(w, place);
		return;
	}
	peal_add_acqrel_dev(&peali_monitors(w)->open, 1);
	if (s->downs++)
		peali_monitor(w, s->down_last - 1)->next = place + 1;
	else
		s->down_first = place + 1;
	s->down_last = place + 1;
}

/* From a place on the first monitor that is set: 1 and its state; 0 none. */
static PEAL_DEV PEAL_UNUSED inline int
peali_monitor_next(const struct peal_worker *w, uint32_t *place,
		   uint64_t *state_out)
{
	uint64_t used = peal_load_relaxed_dev(&peali_monitors(w)->used);

	for (; *place < used; ++*place) {
		/* A16: pairs with R16 in peali_monitor_set: it is filled in. */
		*state_out =
			peal_load_acquire_dev(&peali_monitor(w, *place)->state);
		if (PEAL_MONITOR_PHASE(*state_out) == PEAL_MONITOR_SET)
			return 1;
	}
	return 0;
}

/* So many actors, of one number after another, have ended: their entries say so.
 * Who monitors them hears of it; what they monitor they do not. */
PEALI_SLOW(void, peali_monitors_ended, struct peal_worker *w, uint32_t first,
	   uint32_t n, uint32_t reason, int error)
{
	uint64_t state, who;
	uint32_t place;

	if (!peali_monitors(w))
		return;
	/* R13: pairs with A13 in peali_monitor_set, and the other way round. */
	peal_add_acqrel_dev(&peali_monitors(w)->gate, 1);
	for (place = 0; peali_monitor_next(w, &place, &state); place++) {
		struct peal_monitor_record *r = peali_monitor(w, place);

		who = peal_load_relaxed_dev(&r->who);
		if (peali_is_among(w, (uint32_t)who, first, n))
			peali_monitor_due(w, place, state, reason, error);
		else if (peali_is_among(w, (uint32_t)(who >> 32), first, n) &&
			 peal_cas_relaxed_dev(&r->state, state,
					      state | PEAL_MONITOR_DUE))
			peali_monitor_free(w, place);
	}
}

/* ---- setting ------------------------------------------------------------------ */

/* Takes a record that is free; max_monitors: there is none. */
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
		do /* again only where another worker has just done so */
			used = peal_load_relaxed_dev(&t->used);
		while (used <= place &&
		       !peal_cas_relaxed_dev(&t->used, used,
					     (uint64_t)place + 1));
		return place;
	}
	return max;
}

/* Why there is nothing to monitor; 0: the actor lives. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_monitor_gone(const struct peal_worker *w, uint32_t actor)
{
	uint64_t place = peali_living(w, &actor), member = 0;

	if (!PEAL_PLACE_IS_OF(place, actor))
		return PEAL_DOWN_GONE;
	if (!PEAL_PLACE_IS_DUE(place))
		return 0;
	if (w->params->care)
		member = peal_load_relaxed_dev(
			&peali_care(w, PEAL_ACTOR_INDEX(actor))->member);
	if (!member)
		return PEAL_DOWN_FAILED;
	return peali_is_down(w, member) ? PEAL_DOWN_GIVEN_UP : 0;
}

/* For the leader: what handlers and the host ask for. */
PEALI_SLOW(int, peali_monitor_set, struct peal_worker *w,
	   const struct peal_control_monitor *c, uint64_t *handle_out)
{
	struct peal_monitor_record *r;
	uint64_t number = 0, state;
	uint32_t place, reason;

	if (!peali_monitors(w) ||
	    (!w->mailbox && c->owner != PEAL_MONITOR_HOST))
		return PEAL_ENOTSUP;
	if (PEAL_ACTOR_INDEX(c->actor) >= w->params->max_actors ||
	    PEAL_PLACE_WORKER(peal_load_relaxed_dev(
		    &peali_entry(w, PEAL_ACTOR_INDEX(c->actor))->place)) ==
		    PEAL_POOL_WORKER)
		return PEAL_ENOENT;
	place = peali_monitor_take(w, &number);
	if (place == w->params->max_monitors)
		return PEAL_ENOSPC;
	r = peali_monitor(w, place);
	peal_store_relaxed_dev(&r->who, (uint64_t)c->owner << 32 | c->actor);
	r->tag = c->tag;
	r->type = c->type;
	r->slot = c->slot;
	*handle_out = PEAL_MONITOR_HANDLE(number, place);
	state = PEAL_MONITOR_STATE(number, c->flags, PEAL_MONITOR_SET);
	/* R16: pairs with A16 in peali_monitor_next. */
	peal_store_release_dev(&r->state, state);
	/* A13: pairs with R13 in peali_monitors_ended: who ends later sees the
	 * record, and of who has ended before this sees it. */
	peal_add_acqrel_dev(&peali_monitors(w)->gate, 1);
	reason = peali_monitor_gone(w, c->actor);
	if (reason)
		peali_monitor_due(w, place, state, reason, 0);
	return 0;
}

/* Takes a monitor off: 0; PEAL_ENOENT it is over. */
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

/* PEAL_CONTROL_MONITOR. */
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

/* ---- what handlers call ---------------------------------------------------------- */

/**
 * Collective: the running actor gets a message, once, when another actor of its
 * kernel ends: see peal/monitor.h. A monitor outlives the beginning anew of who
 * has set it, and ends with it otherwise.
 *
 * @param w           the worker
 * @param actor       its number, the low half of its address. One that is no
 *                    more, or never was: the message comes at once
 * @param flags       of enum peal_monitor_flag
 * @param type        of the message, the program's own number; its payload is a
 *                    struct peal_down, see peal_down_in_hand
 * @param tag         comes back in the message
 * @param monitor_out each lane's own; 0: nobody will take it off
 * @return 0; PEAL_ENOSPC all of the kernel's max_monitors are set; PEAL_ENOENT
 *         the number is a pool's, or none that an actor of the kernel can have;
 *         PEAL_EINVAL the actor is the running one, or no such flags;
 *         PEAL_ENOTSUP the kernel was launched without max_monitors or without
 *         mailboxes. Looks at all of max_monitors at most.
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
 * Collective: takes a monitor off. Any actor of the kernel may.
 *
 * @param w       the worker
 * @param monitor as it was set
 * @return 0 no message of it will come; PEAL_ENOENT it was over: its message has
 *         been sent, or is about to be, it was taken off, or is none;
 *         PEAL_ENOTSUP the kernel was launched without max_monitors. Wait-free.
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

/** What the message in hand says of an actor that has ended; 0: it is no down
 * message. See peal/monitor.h. */
static PEAL_DEV PEAL_INLINE const struct peal_down *
peal_down_in_hand(const struct peal_worker *w)
{
	return w->message.header.flags & PEAL_FLAG_DOWN &&
			       w->message.length >= sizeof(struct peal_down) ?
		       (const struct peal_down *)w->message.data :
		       0;
}

#endif
