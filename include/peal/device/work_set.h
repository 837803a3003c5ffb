/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_SET_H
#define PEAL_DEVICE_WORK_SET_H

#include <peal/device/work_consumer.h>

/*
 * A set of work queues: one shard per worker. A producer chooses the shard. A
 * worker takes from its own shard. If its shard is empty, the worker steals
 * from other shards. So work of uneven length is balanced, and workers share no
 * words while all shards have work. Messages are in order within a shard.
 *
 * A worker has no claims between two calls, in its own shard or in others. So a
 * worker that handles a message for long delays no other message. All calls are
 * wait-free and for one lane.
 */

/** Returns the work queue of a worker. Any lane. */
static PEAL_DEV PEAL_INLINE struct peal_work *
peal_work_set_shard(struct peal_work_set *set, uint32_t worker)
{
	return (struct peal_work *)(void *)((uint8_t *)set +
					    set->shards_offset +
					    worker * set->shard_bytes);
}

/**
 * Initializes a worker's private state for a set.
 *
 * @param m     the worker's private state.
 * @param set   the set.
 * @param own   index of the worker's shard.
 * @param stage atom policies: a private buffer for a slot's content; else 0.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_member_init(struct peal_work_member *m, struct peal_work_set *set,
		      uint32_t own, void *stage)
{
	m->set = set;
	m->own = own;
	m->victim = own + 1 == set->n_shards ? 0 : own + 1;
	m->rounds = m->stolen = 0;
	peal_work_consumer_init(peal_work_set_shard(set, own), &m->mine, stage);
	peal_work_consumer_init(peal_work_set_shard(set, m->victim), &m->guest,
				stage);
}

/* Selects the next shard to steal from, not the worker's own. */
static PEAL_DEV PEAL_UNUSED inline void
peali_work_next_victim(struct peal_work_member *m)
{
	struct peal_work_consumer *g = &m->guest;
	uint64_t taken = g->taken, dead = g->dead;

	do
		m->victim = m->victim + 1 == m->set->n_shards ? 0 :
								m->victim + 1;
	while (m->victim == m->own);
	peal_work_consumer_init(peal_work_set_shard(m->set, m->victim), g,
				g->stage);
	g->taken = taken;
	g->dead = dead;
}

/* Takes from other shards, as peal_work_set_pop_burst. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_work_steal(struct peal_work_member *m, void *to, uint64_t bytes,
		 uint32_t n, struct peal_work_received *got_out)
{
	int result = PEAL_EAGAIN;
	uint32_t i;

	m->rounds++;
	for (i = 1; i < m->set->n_shards; i++) {
		struct peal_work *q = peal_work_set_shard(m->set, m->victim);

		result = peal_work_pop_burst(q, &m->guest, to, bytes, n,
					     got_out);
		peal_work_flush(q, &m->guest);
		if (result != PEAL_EAGAIN)
			break;
		peali_work_next_victim(m);
	}
	if (result > 0)
		m->stolen += (uint64_t)result;
	return result;
}

/**
 * Takes up to n messages from one shard: the worker's own, or another if that
 * is empty.
 *
 * The search in other shards begins at the shard of the last stolen message.
 * One lane, wait-free.
 *
 * @param m       the worker's private state.
 * @param to      buffer of n * bytes bytes; payload i is at i * bytes.
 * @param bytes   bytes per payload, at least the shards' message_bytes.
 * @param n       1 or more. A call takes at most PEAL_WORK_BURST messages.
 * @param got_out n elements, filled for each message: header, length, ticket.
 * @return as peal_work_pop_burst.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_set_pop_burst(struct peal_work_member *m, void *to, uint64_t bytes,
			uint32_t n, struct peal_work_received *got_out)
{
	int result = peal_work_pop_burst(peal_work_set_shard(m->set, m->own),
					 &m->mine, to, bytes, n, got_out);

	if (PEAL_LIKELY(result != PEAL_EAGAIN))
		return result;
	return peali_work_steal(m, to, bytes, n, got_out);
}

/**
 * Flushes the slots that the worker has freed in its own shard.
 *
 * Call it before long work, or before the worker leaves the set. Wait-free.
 *
 * @param m the worker's private state.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_set_unclaim(struct peal_work_member *m)
{
	peal_work_flush(peal_work_set_shard(m->set, m->own), &m->mine);
}

#endif
