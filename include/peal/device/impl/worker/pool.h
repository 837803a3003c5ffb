/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POOL_H
#define PEAL_DEVICE_POOL_H

#include <peal/device/impl/worker/dead_letter.h>

/*
 * Pools. Several actors of a kernel handle the messages for one address. Each
 * actor has a worker of its own. The first free worker takes the next message.
 *
 * A pool is a set of work queues with a shard for each worker. A worker puts
 * messages for the pool into its own shard. They come from its handlers and
 * from its links. It is the only producer of this shard. The worker of a member
 * takes from its own shard. If that is empty, the worker takes from the shards
 * of its neighbours.
 *
 * A message counts as told when a worker puts it, and as done after its
 * handler. So a pool is empty if the count of done messages equals the count of
 * tickets (impl/loop/termination.h).
 *
 * All functions are for the leader.
 */

/* Returns a worker's shard of a pool. */
static PEAL_DEV PEAL_INLINE struct peal_work *
peali_pool_shard(const struct peal_pool_place *p, uint32_t worker)
{
	return peal_work_set_shard((struct peal_work_set *)(uintptr_t)p->set,
				   worker);
}

/* Returns another worker's place at the same pool. */
static PEAL_DEV PEAL_INLINE const struct peal_pool_place *
peali_pool_place_of(const struct peal_worker *w,
		    const struct peal_pool_place *p, uint32_t worker)
{
	return (const struct peal_pool_place
			*)((uintptr_t)p +
			   (uintptr_t)((uint64_t)worker *
				       w->params->worker_stride) -
			   (uintptr_t)((uint64_t)w->index *
				       w->params->worker_stride));
}

/* ---- putting ------------------------------------------------------------- */

/*
 * Leases space for n messages in the worker's shard. Returns 1 if there is
 * enough space, else 0. This worker is the shard's only producer, so it first
 * flushes the slots that it has freed there itself.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_pool_lease(struct peal_pool_place *p, uint32_t n)
{
	struct peal_work *q = peali_pool_shard(p, p->taker.own);

	peal_work_flush(q, &p->taker.mine);
	return peali_work_lease(q, &p->producer, n - p->producer.granted);
}

/* Whether n messages fit into the worker's shard of a pool. */
static PEAL_DEV PEAL_INLINE int peali_pool_fits(struct peal_pool_place *p,
						uint32_t n)
{
	return p->producer.granted >= n || peali_pool_lease(p, n);
}

/* Whether a worker would take from the pool. Any worker may call it. */
static PEAL_DEV PEAL_INLINE int
peali_pool_serves(const struct peal_pool_place *p)
{
	return peal_load_relaxed_dev_u32(&p->member) &&
	       !peal_load_relaxed_dev_u32(&p->waits);
}

/* Wakes the next sleeping worker of a member, in cyclic order. */
static PEAL_DEV PEAL_INLINE void peali_pool_wake(struct peal_worker *w,
						 struct peal_pool_place *p)
{
#if PEAL_ON_HOST
	uint32_t n = w->params->n_workers, i;

	peal_compiler_barrier(); /* the message is there before */
	for (i = 1; i <= n; i++) {
		uint32_t worker = (p->woken + i) % n;
		struct peal_bell *bell = peali_bell_of(w, worker);

		if (worker == w->index ||
		    !peal_load_relaxed_sys_u32(&bell->asleep) ||
		    !peali_pool_serves(peali_pool_place_of(w, p, worker)))
			continue;
		p->woken = worker;
		peal_host_wake(bell);
		break;
	}
#else
	(void)w;
	(void)p;
#endif
}

/* Puts a message into a pool, and counts it as told. */
PEALI_SLOW(int, peali_pool_put, struct peal_worker *w, uint32_t pool,
	   struct peal_header header, const void *data, uint64_t bytes)
{
	struct peal_pool_place *p = &w->pools[pool];
	int result;

	if (pool >= peali_pools(w) || !p->set)
		return PEAL_ENOENT;
	/* Counted first, so no reader sees it done and not yet told. */
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       w->state->count.mailbox_sends + 1);
	result = peal_work_push(peali_pool_shard(p, w->index), &p->producer,
				header, data, bytes);
	if (PEAL_UNLIKELY(result)) {
		peal_store_relaxed_sys(&w->status->mailbox_sends,
				       w->state->count.mailbox_sends);
		return result;
	}
	w->state->count.mailbox_sends++;
	peali_pool_wake(w, p);
	return 0;
}

/* ---- taking -------------------------------------------------------------- */

/* Takes one message. Returns 1 if there was a message, else 0. It takes one at
 * a time, because another worker may be free earlier for the next message. */
PEALI_SLOW(int, peali_pool_pop, struct peal_worker *w,
	   struct peal_pool_place *p)
{
	uint64_t stolen = p->taker.stolen;

	if (peal_work_set_pop_burst(&p->taker, p->message, p->message_bytes, 1,
				    &p->got) <= 0)
		return 0;
	/* after a steal, the shard may have more messages, and its worker has
	 * space now */
	if (p->taker.stolen != stolen) {
		peali_pool_wake(w, p);
		peali_wake_waiting(w, p->taker.victim);
	}
	return 1;
}

/* Whether a shard may have a message to take. No message follows a slot that is
 * not published. `claimed` would not do: a worker may add to it too much, and
 * take that back without a wake. */
static PEAL_DEV PEAL_INLINE int peali_pool_shard_ready(struct peal_work *q)
{
	return peali_work_there(q, peal_load_relaxed_dev(&q->turn));
}

/* Whether a member may find a message in its own shard, or in the shards of
 * the next `neighbours` workers. The next call checks other neighbours. */
PEALI_SLOW(int, peali_pool_ready, struct peal_worker *w,
	   struct peal_pool_place *p, uint32_t neighbours)
{
	struct peal_work_member *m = &p->taker;

	if (peali_pool_shard_ready(peali_pool_shard(p, w->index)))
		return 1;
	if (w->params->n_workers == 1)
		return 0;
	while (neighbours--) {
		if (peali_pool_shard_ready(peali_pool_shard(p, m->victim)))
			return 1;
		peali_work_next_victim(m);
	}
	return 0;
}

/* Returns the index of the first pool that is ready; n_pools: none. */
PEALI_SLOW(uint32_t, peali_pools_poll, struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < peali_pools(w); i++)
		if (w->pools[i].member && peali_pool_ready(w, &w->pools[i], 1))
			break;
	return i;
}

/* ---- the end ------------------------------------------------------------- */

/* Returns the number of messages that were put into a pool. Returns -1 if some
 * are not done. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_pool_handled(const struct peal_worker *w, const struct peal_pool_place *p)
{
	uint64_t done = 0, tickets = 0;
	uint32_t i;

	/* A3: pairs with R3 in peali_pool_flush. All `done` counts are read
	 * before the tickets. Between the two loops, at least `done` messages
	 * were done, and at most `tickets` messages were put. */
	for (i = 0; i < w->params->n_workers; i++)
		done += peal_load_acquire_dev(
			&peali_pool_place_of(w, p, i)->done);
	for (i = 0; i < w->params->n_workers; i++)
		tickets +=
			peal_load_relaxed_dev(&peali_pool_shard(p, i)->ticket);
	return done == tickets ? done : ~0ULL;
}

/* ---- control ------------------------------------------------------------- */

static PEAL_DEV PEAL_UNUSED inline void
peali_pool_attach(struct peal_worker *w, struct peal_pool_place *p,
		  const struct peal_pool_view *view)
{
	p->set = view->set;
	p->message = (uint8_t *)(uintptr_t)view->message;
	p->message_bytes = view->message_bytes;
	peal_store_relaxed_dev_u32(&p->member, 0);
	peal_store_relaxed_dev_u32(&p->waits, 0);
	p->woken = w->index;
	p->handled = 0;
	peal_store_relaxed_dev(&p->done, 0);
	peal_work_producer_init(peali_pool_shard(p, w->index), &p->producer);
	peal_work_member_init(&p->taker,
			      (struct peal_work_set *)(uintptr_t)view->set,
			      w->index, (void *)(uintptr_t)view->stage);
	if (view->index >= w->state->table.n_pools)
		w->state->table.n_pools = view->index + 1;
}

/* Sends dead letters about all messages in the worker's shard, and ends their
 * requests. */
PEALI_SLOW(void, peali_pool_letters, struct peal_worker *w,
	   struct peal_pool_place *p, struct peal_work *q)
{
	while (peal_work_pop(q, &p->taker.mine, p->message, p->message_bytes,
			     &p->got) > 0) {
		w->message.header = p->got.header;
		w->message.data = p->message;
		w->message.length = p->got.length;
		w->message.sequence = p->got.number;
		peali_dead_letter(w, 0, PEAL_REASON_NO_ACTOR, 0);
	}
}

/* Counts the messages in the worker's shard as dead. The host has ensured that
 * no worker puts or takes there any more. */
static PEAL_DEV PEAL_UNUSED inline void
peali_pool_detach(struct peal_worker *w, struct peal_pool_place *p)
{
	struct peal_work *q;
	uint64_t n;

	if (!p->set)
		return; /* detached before */
	q = peali_pool_shard(p, w->index);
	n = peal_load_relaxed_dev(&q->ticket) - peal_load_relaxed_dev(&q->turn);
	w->state->count.mailbox_done += n;
	w->state->count.mailbox_dead += n;
	peali_pool_letters(w, p, q);
	peal_store_relaxed_dev_u32(&p->member, 0);
	p->set = 0;
}

/* Handles a control message of a pool. Worker 0 gets the message last, after
 * all other workers. So worker 0 changes the entry of the pool's address. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_pool(struct peal_worker *w, uint32_t type,
		   const struct peal_pool_view *view)
{
	struct peal_pool_place *p = &w->pools[view->index];
	struct peal_actor_entry *entry =
		(struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(view->actor);

	if (!PEALI_USES(POOLS) || view->index >= w->params->max_pools ||
	    PEAL_ACTOR_INDEX(view->actor) >= w->params->max_actors)
		return PEAL_EINVAL;
	if (type == PEAL_CONTROL_POOL_MEMBER) {
		if (!p->set)
			return PEAL_EINVAL; /* the pool's end has begun */
		peal_store_relaxed_dev_u32(&p->waits, 0);
		peal_store_relaxed_dev_u32(&p->member, view->member);
		return 0;
	}
	if (type == PEAL_CONTROL_POOL)
		peali_pool_attach(w, p, view);
	else
		peali_pool_detach(w, p);
	if (w->index == 0)
		peal_store_relaxed_dev(
			&entry->location,
			type == PEAL_CONTROL_POOL ?
				PEAL_ENTRY(view->actor, PEAL_POOL_WORKER,
					   view->index) :
				PEAL_ENTRY(view->actor, 0, PEAL_NO_HANDLER));
	return 0;
}

#endif
