/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_POOLS_H
#define PEAL_DEVICE_POLL_POOLS_H

#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/worker/mailbox_put_word.h>
#include <peal/device/impl/worker/sender_word.h>
#include <peal/device/clock.h>
#include <peal/device/impl/loop/control.h>

/*
 * Pools in a worker's turn. Moves messages of inputs into pools, and takes
 * messages of pools for the worker's members. For the leader; poll_inputs.h and
 * the loop call it.
 */

/* Returns the index of the pool with this number. Returns -1 if this worker
 * knows no such pool. */
static PEAL_DEV PEAL_INLINE int64_t
peali_pool_index(const struct peal_worker *w, uint32_t actor)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	uint64_t place;

	if (!PEALI_USES(POOLS) ||
	    PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return -1;
	place = peal_load_relaxed_dev(&entry->location);
	if (PEAL_ENTRY_WORKER(place) != PEAL_POOL_WORKER ||
	    !PEAL_ENTRY_IS_OF(place, actor) ||
	    PEAL_ENTRY_HANDLER(place) >= peali_pools(w) ||
	    !w->pools[PEAL_ENTRY_HANDLER(place)].set)
		return -1;
	return PEAL_ENTRY_HANDLER(place);
}

/*
 * Treats a message of a link to a pool. If the worker's shard has a free slot,
 * a deferred action moves the message there. If the shard is full, the worker's
 * member handles the message: returns 1 if it can do so now. Without a member,
 * the message waits in the link. Returns 0 in the other cases.
 */
PEALI_SLOW(int, peali_input_pool, struct peal_worker *w, struct peal_input *in,
	   uint32_t pool)
{
	struct peal_pool_place *p = &w->pools[pool];
	uint32_t index = w->message.header.actor;

	if (peali_pool_fits(p, 1)) {
		w->state->deferred.action = PEALI_ACT_TO_POOL;
		w->state->deferred.arg = (uint32_t)(in - w->inputs);
		return 0;
	}
	if (!p->member) {
		w->state->published.blocked_now =
			PEAL_BLOCKED(index, 0, PEAL_BLOCKED_MAIL);
		return 0;
	}
	w->message.header.actor = p->member - 1;
	return peali_actor_take(w, p->member - 1) > 0;
}

/* Puts w->message, of that input, into a pool, with its sender if it has one.
 * Returns as peali_pool_put. */
PEALI_SLOW(int, peali_input_pool_put, struct peal_worker *w,
	   const struct peal_input *in, uint32_t pool)
{
	struct peal_header header = w->message.header;
	uint64_t sender = 0;

	if (pool < peali_pools(w) && w->pools[pool].set)
		sender = peali_sender_to_keep(w, in,
					      peali_pool_shard(&w->pools[pool],
							       w->index)
						      ->message_bytes);
	if (PEAL_LIKELY(!sender))
		return peali_pool_put(w, pool, header, w->message.data,
				      w->message.length);
	header.flags |= PEAL_FLAG_SENDER;
	return peali_pool_tell_word(w, pool, header, sender, w->message.data,
				    w->message.length);
}

/* Moves messages of an input to a pool into the worker's shard of the pool, at
 * most a burst. Stops at a message for another receiver, and at a mark. */
PEALI_SLOW(void, peali_pool_move, struct peal_worker *w, struct peal_input *in)
{
	struct peal_message *m = &w->message;
	uint32_t index = m->header.actor, n, most;
	int64_t pool = peali_pool_index(w, index);
	int result;

	most = peali_moves(w, peali_input_is_priority(in));
	for (n = 0; n < most; n++) {
		result = peali_input_pool_put(w, in, (uint32_t)pool);
		if (result == PEAL_EAGAIN)
			break;
		if (result) /* too long for the pool's slots */
			peali_input_dead(w, in, PEAL_REASON_TOO_LONG);
		else
			peal_link_release(&in->link, m);
		w->state->source.idle = 0;
		if (peali_link_peek_slowly(&in->link, m) ||
		    m->kind > PEAL_KIND_SLAB || m->header.actor != index) {
			n++; /* the next turn treats the next entry */
			break;
		}
	}
	peali_passed(w, peali_input_is_priority(in), n);
}

/* Makes the message taken from a pool the worker's current message. */
static PEAL_DEV PEAL_INLINE void peali_pool_run(struct peal_worker *w,
						uint32_t index)
{
	struct peal_pool_place *p = &w->pools[index];

	w->message.header = p->got.header;
	w->message.header.actor = p->member - 1;
	w->message.data = p->message;
	w->message.length = p->got.length;
	w->message.kind = PEAL_KIND_DATA;
	w->message.input = w->params->max_inputs + PEAL_INFLIGHT_POOL +
			   PEAL_INFLIGHT_NUMBER(p->got.number);
	w->message.sequence = p->got.number;
	w->state->source.current = 2 + index;
}

/* Drops the current message, of a pool: its deadline has passed. */
PEALI_SLOW(void, peali_pool_expired, struct peal_worker *w,
	   struct peal_pool_place *p)
{
	w->message.header.actor = p->got.header.actor; /* the pool's number */
	peali_dead_letter(w, 0, PEAL_REASON_EXPIRED, 0);
	peali_mail_died(w, PEAL_REASON_EXPIRED);
	p->handled++;
	w->state->source.current = 0;
	w->state->source.idle = 0;
}

/* Returns 1 if the worker's member can handle a message of the pool now. If the
 * member just became unable, the worker wakes another one. It may itself have
 * been woken for that message. */
PEALI_HOST_SLOW(int, peali_pool_able, struct peal_worker *w,
		struct peal_pool_place *p)
{
	int able = peali_actor_take(w, p->member - 1) > 0;

	if (PEAL_UNLIKELY(able == (int)p->waits)) {
		peal_store_relaxed_dev_u32(&p->waits, !able);
		if (!able)
			peali_pool_wake(w, p);
	}
	return able;
}

/*
 * Polls a pool for a message that the worker can handle. If there is one, a
 * deferred action takes it. The last poll before a sleep looks at all shards.
 */
static PEAL_DEV PEAL_INLINE void peali_pool_poll(struct peal_worker *w,
						 uint32_t index)
{
	struct peal_pool_place *p = &w->pools[index];
	uint32_t looks = peali_wait_announced(w) ? w->params->n_workers : 1;

	if (!p->member || (p->waits && !peali_pool_able(w, p)) ||
	    !peali_pool_ready(w, p, looks) || !peali_pool_able(w, p))
		return;
	w->state->deferred.action = PEALI_ACT_FROM_POOL;
	w->state->deferred.arg = index;
}

/*
 * Runs a deferred action for a pool. Runs between two turns, where it costs the
 * loop no registers. Returns 1 if there is a message to handle.
 */
PEALI_SLOW(int, peali_pool_deferred, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int32_t aside = s->deferred.action;

	s->deferred.action = 0;
	if (aside == PEALI_ACT_TO_POOL) {
		peali_pool_move(w, &w->inputs[s->deferred.arg]);
		return 0;
	}
	if (!peali_pool_pop(w, &w->pools[s->deferred.arg]))
		return 0; /* other workers were faster */
	peali_passed(w, 0, 1);
	peali_pool_run(w, s->deferred.arg);
	if (PEAL_LIKELY(!(w->message.header.flags & PEAL_FLAG_DEADLINE)) ||
	    !peali_expired(w))
		return 1;
	peali_pool_expired(w, &w->pools[s->deferred.arg]);
	return 0;
}

#endif
