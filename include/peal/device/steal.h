/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_STEAL_H
#define PEAL_DEVICE_STEAL_H

#include <peal/device/take_work.h>

/*
 * A set of work queues, one per worker: its shard. Whoever puts chooses the
 * shard; a worker takes from its own, and from its neighbours' when that is
 * empty, so that work of uneven length spreads by itself and nobody meets on
 * one word as long as each has enough. Messages are in order within a shard.
 *
 * A worker that has taken from a neighbour keeps nothing there: what it has
 * claimed and not got is handed back at once. Wait-free, as the queues are.
 */

/** The work queue of a worker. Any lane. */
static PEAL_DEV PEAL_INLINE struct peal_work *
peal_work_set_shard(struct peal_work_set *set, uint32_t worker)
{
	return (struct peal_work *)(void *)((uint8_t *)set +
					    set->shards_offset +
					    worker * set->shard_bytes);
}

/**
 * Makes a worker's place in a set.
 *
 * @param m     the worker's own
 * @param set   the set
 * @param own   its shard
 * @param stage for atom policies room for a slot's content, its own; else NULL
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

/* Goes to the next shard that is not its own. */
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

/* Takes from the neighbours, as peal_work_set_pop_burst. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_work_steal(struct peal_work_member *m, void *to, uint64_t bytes,
		 uint32_t n, struct peal_work_got *got_out)
{
	int result = PEAL_EAGAIN;
	uint32_t i;

	m->rounds++;
	for (i = 1; i < m->set->n_shards; i++) {
		struct peal_work *q = peal_work_set_shard(m->set, m->victim);

		/* all of them in the same round, or some would never be */
		m->guest.looks =
			m->rounds % PEAL_WORK_LOOKS ? 0 : PEAL_WORK_LOOKS - 1;
		result = peal_work_pop_burst(q, &m->guest, to, bytes, n,
					     got_out);
		peal_work_hand_back(q, &m->guest);
		if (result != PEAL_EAGAIN)
			break;
		peali_work_next_victim(m);
	}
	if (result > 0)
		m->stolen += (uint64_t)result;
	return result;
}

/**
 * Takes as many messages as there are, up to n: from the worker's own shard;
 * from a neighbour's if that is empty, the one that gave last first.
 *
 * @param m       the worker's own
 * @param to      n * bytes: the payloads, each at a multiple of bytes
 * @param bytes   room for each; at least the shards' message_bytes
 * @param n       at least 1; more than PEAL_WORK_BURST are not taken at a time
 * @param got_out n of them: header, length and ticket of each
 * @return how many, at least 1; PEAL_EAGAIN, PEAL_EMSGSIZE as for
 *         peal_work_pop_burst. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peal_work_set_pop_burst(struct peal_work_member *m, void *to, uint64_t bytes,
			uint32_t n, struct peal_work_got *got_out)
{
	int result = peal_work_pop_burst(peal_work_set_shard(m->set, m->own),
					 &m->mine, to, bytes, n, got_out);

	if (PEAL_LIKELY(result != PEAL_EAGAIN))
		return result;
	return peali_work_steal(m, to, bytes, n, got_out);
}

/**
 * Before a worker turns to something long, or leaves: others get what it has
 * claimed and not got, producers the room of what it has taken. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_work_set_hand_back(struct peal_work_member *m)
{
	peal_work_hand_back(peal_work_set_shard(m->set, m->own), &m->mine);
}

#endif
