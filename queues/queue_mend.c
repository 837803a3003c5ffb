/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that die inside of a call on their end: by a signal, by being
 * cancelled, by an exception that passes through. Another thread closes the end,
 * and by its word (queues/calls.h) that is seen. What it was in the middle of is
 * not known: a ticket may be taken that is never put, which would hide what
 * others put behind it; of its lease it may have given some back. So consumers
 * who find nothing look for its gaps, once it is known which they are; and the
 * room that it had leased is lost, and its end not given again, until all
 * producers are closed: what nobody has then is free.
 */
#include "queues/queue.h"

#include <errno.h>

/* Who had the lock died. */
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
	q->look.deaths = 0; /* it begins again */
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

void peali_queue_died(struct peal_queue_end *end)
{
	struct peal_queue *q = end->queue;

	peali_calls_leave(&end->count->calls);
	end->lost = !q->kind->died || !q->kind->died(end);
	if (end->role == PEAL_QUEUE_PRODUCER && q->kind->bury)
		atomic_fetch_add(&q->died, 1);
}

void peali_queue_regain(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i, n = 0;

	for (i = 0; i < s->most; i++)
		n += (uint32_t)s->end[i].lost;
	if (!n || !q->kind->regain)
		return;
	q->kind->regain(q);
	for (i = 0; i < s->most; i++)
		s->end[i].lost = 0;
}

/* Which tickets are looked at, and who may still be putting some of them. */
static void begin_look(struct peal_queue *q)
{
	const struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i;

	q->look.deaths = atomic_load(&q->died);
	q->look.until = q->kind->tickets(q);
	for (i = 0; i < s->most; i++)
		q->look.calls[i] =
			s->end[i].open ? peali_calls_note(&s->counts[i].calls) :
					 0;
}

/* Whether all of them have put what they had tickets for. */
static int passed(const struct peal_queue *q)
{
	const struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i;

	for (i = 0; i < s->most; i++)
		if (s->end[i].open &&
		    !peali_calls_passed(&s->counts[i].calls, q->look.calls[i]))
			return 0;
	return 1;
}

int peali_queue_mend(struct peal_queue_end *end)
{
	struct peal_queue *q = end->queue;
	int found = 0;

	if (!atomic_load(&q->died) || !peali_queue_trylock(q))
		return 0;
	if (!q->look.deaths)
		begin_look(q);
	if (q->look.deaths && passed(q)) {
		found = q->kind->bury(end, q->look.until);
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
