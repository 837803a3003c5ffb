/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TAKE_POOL_H
#define PEAL_DEVICE_TAKE_POOL_H

#include <peal/device/choose.h>
#include <peal/device/control.h>

/*
 * Pools in a worker's turn: what an input has for one, and what its member is
 * to handle. For the leader; take.h and the loop call it.
 */

/* The pool that an index in the table of actors stands for; -1: none. */
static PEAL_DEV PEAL_INLINE int64_t
peali_pool_index(const struct peal_worker *w, uint32_t index)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		index;
	uint64_t place;

	if (!PEAL_USES_POOLS || index >= w->params->max_actors)
		return -1;
	place = peal_load_relaxed_dev(&entry->place);
	if (PEAL_PLACE_WORKER(place) != PEAL_POOL_WORKER ||
	    PEAL_PLACE_HANDLER(place) >= peali_pools(w))
		return -1;
	return PEAL_PLACE_HANDLER(place);
}

/*
 * A message of a link that is for a pool: goes into the worker's shard. Where
 * that is full and the worker has a member, this one handles it: 1. Where it
 * has none, the link holds it back.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_input_pool(struct peal_worker *w, struct peal_input *in, uint32_t pool)
{
	struct peal_pool_place *p = &w->pools[pool];
	uint32_t index = w->message.header.actor;

	if (peali_pool_fits(p, 1)) {
		w->state->aside = PEALI_TO_POOL;
		w->state->aside_at = (uint32_t)(in - w->inputs);
		return 0;
	}
	if (!p->member) {
		w->state->blocked = PEAL_BLOCKED(index, 0, PEAL_BLOCKED_MAIL);
		return 0;
	}
	w->message.header.actor = p->member - 1;
	return 0;
}

/* Moves messages of an input that are for a pool into the worker's shard, as
 * many as there are, up to a burst. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_pool_move(struct peal_worker *w, struct peal_input *in)
{
	struct peal_message *m = &w->message;
	uint32_t index = m->header.actor, n;
	int64_t pool = peali_pool_index(w, index);
	int result;

	for (n = 0; n < PEALI_BURST; n++) {
		result = peali_pool_put(w, (uint32_t)pool, m->header, m->data,
					m->length);
		if (result == PEAL_EAGAIN)
			break;
		if (result) /* longer than it takes */
			peal_link_release_dead(&in->link, PEAL_REASON_NO_ACTOR);
		else
			peal_link_release(&in->link, m);
		w->state->idle = 0;
		if (peal_link_peek(&in->link, m) || m->kind > PEAL_KIND_SLAB ||
		    m->header.actor != index)
			break; /* the next turn sees what it is */
	}
}

/* The message of a pool that the worker holds: 1 it can be handled. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_pool_run(struct peal_worker *w, uint32_t index)
{
	struct peal_pool_place *p = &w->pools[index];

	w->message.header = p->got.header;
	w->message.header.actor = p->member - 1;
	w->message.data = p->message;
	w->message.length = p->got.length;
	w->message.kind = PEAL_KIND_DATA;
	w->message.input = w->params->max_inputs;
	w->message.sequence = p->got.number;
	if (peali_actor_take(w, p->member - 1) <= 0)
		return 0;
	w->state->mail = 2 + index;
	return 1;
}

/* The same as peali_input_take for a pool. */
static PEAL_DEV PEAL_INLINE int peali_pool_take(struct peal_worker *w,
						uint32_t index)
{
	struct peal_pool_place *p = &w->pools[index];

	if (p->member && p->holds)
		return peali_pool_run(w, index);
	if (p->member ? peali_pool_ready(w, p) : p->holds != 0) {
		w->state->aside = PEALI_FROM_POOL;
		w->state->aside_at = index;
	}
	return 0;
}

/*
 * What is done for pools between two turns, where it costs the loop no
 * registers: 1 there is a message to be handled.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_pool_aside(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	struct peal_pool_place *p = &w->pools[s->aside_at];
	int32_t aside = s->aside;

	s->aside = 0;
	if (aside == PEALI_TO_POOL) {
		peali_pool_move(w, &w->inputs[s->aside_at]);
		return 0;
	}
	if (p->member)
		return peali_pool_hold(w, p) && peali_pool_run(w, s->aside_at);
	/* it has no member for it any more */
	if (!peal_work_push(peali_pool_shard(p, w->index), &p->producer,
			    p->got.header, p->message, p->got.length)) {
		p->holds = 0;
		peali_pool_wake(w, p);
	}
	return 0;
}

#endif
