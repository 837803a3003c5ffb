/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_DEATHS_H
#define TEST_DEATHS_H

/*
 * Simulates producers of thread queues that stop or die between ticket and tag.
 */

#include "front.h"

static inline uint64_t *ticket_of(struct peal_queue *q)
{
	struct peal_mailbox *m = (struct peal_mailbox *)(void *)q->memory;
	struct peal_work *w = (struct peal_work *)(void *)q->memory;

	return q->kind->kind == PEAL_QUEUE_WORK ? &w->ticket : &m->ticket;
}

/* Enters a push and takes `tickets` tickets. Writes no message. */
static inline void stop_in_push(struct peal_queue_end *end, uint64_t tickets)
{
	peali_call_enter(&end->count->calls);
	peal_add_acqrel_dev(ticket_of(end->queue), tickets);
}

static inline void die_in_push(struct peal_queue_end *end, uint64_t tickets)
{
	stop_in_push(end, tickets);
	CHECK_OK(peal_queue_close(end));
}

static inline struct peal_queue *make_of(uint32_t kind, uint32_t producers,
					 uint32_t consumers)
{
	struct peal_queue_options o = of_kind(kind);

	o.max_producers = producers;
	o.max_consumers = consumers;
	return make(o);
}

/* Completes a stopped push: writes the message of ticket `number`. */
static inline void put_late(struct peal_queue_end *end, uint64_t number,
			    uint64_t word)
{
	struct peal_header none = { 0, 0, 0 };

	if (end->queue->kind->kind == PEAL_QUEUE_WORK)
		peal_work_put_at((struct peal_work *)(void *)end->queue->memory,
				 number, none, &word, 8);
	else
		peali_mailbox_write(
			(struct peal_mailbox *)(void *)end->queue->memory,
			number, none, &word, 8);
	peali_call_leave(&end->count->calls);
	peal_store_release_sys(&end->count->messages, end->count->messages + 1);
}

#endif
