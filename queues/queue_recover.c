/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles threads that die inside a call on their end. The cause is a signal, a
 * cancellation, or an exception that leaves the call. Another thread then
 * closes the end. The end's call word shows the death (queues/call_guard.h).
 *
 * The state of a dead producer is unknown, and two things may be damaged:
 *
 * - A ticket may be taken and never published. Such a gap hides later messages.
 *   A consumer that finds no message determines the gaps and gives them up.
 * - A part of the lease may be returned already. So the leased slots are lost,
 *   and the end is not opened again. When all producers are closed, every
 *   unused slot is free, and the end can be opened again.
 */
#include "queues/call_guard.h"
#include "queues/queue.h"

#include <errno.h>

/* Restores the state that the lock protects after its owner died. */
static void relock(struct peal_queue *q)
{
	int role;

	for (role = 0; role < 2; role++) {
		struct peali_queue_side *s = &q->side[role];
		uint32_t i;

		s->closed = s->opened;
		for (i = 0; i < s->most; i++)
			s->closed -= (uint32_t)s->end[i].open;
	}
	q->look.deaths = 0; /* the search restarts */
	if (q->kind->relock)
		q->kind->relock(q);
	pthread_mutex_consistent(&q->lock);
}

void peali_queue_lock(struct peal_queue *q)
{
	if (PEAL_UNLIKELY(pthread_mutex_lock(&q->lock) == EOWNERDEAD))
		relock(q);
}

int peali_queue_trylock(struct peal_queue *q)
{
	int result = pthread_mutex_trylock(&q->lock);

	if (result == EOWNERDEAD)
		relock(q);
	return !result || result == EOWNERDEAD;
}

void peali_queue_owner_died(struct peal_queue_end *end)
{
	struct peal_queue *q = end->queue;

	peali_call_leave(&end->count->calls);
	end->lost = !q->kind->died || !q->kind->died(end);
	if (end->role == PEAL_QUEUE_PRODUCER && q->kind->skip_dead)
		atomic_fetch_add(&q->died, 1);
}

void peali_queue_reclaim_lock(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i, n = 0;

	for (i = 0; i < s->most; i++)
		n += (uint32_t)s->end[i].lost;
	if (!n || !q->kind->reclaim)
		return;
	q->kind->reclaim(q);
	for (i = 0; i < s->most; i++)
		s->end[i].lost = 0;
}

/*
 * Starts a search. Notes the tickets it covers and the producers' call words.
 * The caller holds q->lock.
 */
static void begin_look(struct peal_queue *q)
{
	const struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i;

	q->look.deaths = atomic_load(&q->died);
	q->look.until = q->kind->tickets(q);
	for (i = 0; i < s->most; i++)
		q->look.calls[i] =
			s->end[i].open ? peali_call_note(&s->counts[i].calls) :
					 0;
}

/* Returns 1 if each open producer has published its tickets of the search. */
static int passed(const struct peal_queue *q)
{
	const struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i;

	for (i = 0; i < s->most; i++)
		if (s->end[i].open &&
		    !peali_call_passed(&s->counts[i].calls, q->look.calls[i]))
			return 0;
	return 1;
}

int peali_queue_recover(struct peal_queue_end *end)
{
	struct peal_queue *q = end->queue;
	int found = 0;

	if (!atomic_load(&q->died) || !peali_queue_trylock(q))
		return 0;
	if (!q->look.deaths)
		begin_look(q);
	if (q->look.deaths && passed(q)) {
		found = q->kind->skip_dead(end, q->look.until);
		if (!found) {
			atomic_fetch_sub(&q->died, q->look.deaths);
			q->look.deaths = 0;
		}
	}
	pthread_mutex_unlock(&q->lock);
	if (found)
		peali_queue_ring(q, PEAL_QUEUE_CONSUMER, PEAL_QUEUE_ENDS);
	return found;
}
