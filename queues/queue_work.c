/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/work_abandon.h>

#include "queues/queue.h"
#include "queues/queue_select.h"
#include "queues/work.h"

/*
 * Queues of threads: the kind `work queue`. Many producers, many consumers;
 * each message goes to one consumer.
 */

static int plan(struct peali_queue_plan *plan, const char *call)
{
	struct peali_work_spec *spec = &plan->spec.work;
	int result;

	spec->slots = plan->options.capacity;
	spec->message_bytes = (uint32_t)plan->options.message_bytes;
	spec->policy = plan->options.policy;
	spec->n_producers = plan->options.max_producers;
	spec->bulk = plan->bulk;
	result = peali_work_spec_complete(spec, plan->policies, spec->policy,
					  call);
	if (result)
		return result;
	plan->stages = peali_work_bytes(spec);
	plan->stage = peali_queue_stage(spec->policy, spec->slot_bytes);
	plan->bytes = plan->stages + plan->options.max_consumers * plan->stage;
	return 0;
}

static uint64_t header(const struct peali_queue_plan *plan, void *out)
{
	peali_work_header(out, &plan->spec.work);
	return sizeof(struct peal_work);
}

static struct peal_work *work(const struct peal_queue_end *end)
{
	return (struct peal_work *)(void *)end->queue->memory;
}

static void make(struct peal_queue *q)
{
	struct peali_queue_side *s = q->side;
	struct peal_work *w = (struct peal_work *)(void *)q->memory;
	uint32_t i;

	for (i = 0; i < s[PEAL_QUEUE_PRODUCER].most; i++)
		peal_work_producer_init(
			w, &s[PEAL_QUEUE_PRODUCER].end[i].at.worker);
	for (i = 0; i < s[PEAL_QUEUE_CONSUMER].most; i++)
		peal_work_consumer_init(w,
					&s[PEAL_QUEUE_CONSUMER].end[i].at.taker,
					q->stages + i * q->stage);
}

static int push(struct peal_queue_end *end, const void *data, uint64_t bytes,
		uint32_t n)
{
	struct peal_header none = { 0, 0, 0 };
	struct peal_work_producer *p = &end->at.worker;
	uint64_t granted = p->granted, undone = p->undone;
	int result;

	result = peal_work_push_bulk(work(end), p, none, data, bytes, n);
	/* wake all: this message may have hidden later ones */
	if (!result)
		peali_queue_ring(end->queue, PEAL_QUEUE_CONSUMER,
				 PEAL_QUEUE_ENDS);
	/* slots are free that another producer has seen as leased */
	if (PEAL_UNLIKELY(p->undone != undone ||
			  (result && granted && !p->granted)))
		peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER,
				 PEAL_QUEUE_ENDS);
	return result;
}

/*
 * Publishes the freed slots that the consumer holds back. The caller may
 * process its messages for a long time. Held-back slots would stop all
 * producers one lap later. Returns 1 if the block is free now.
 */
static int tell(struct peal_queue_end *end)
{
	struct peal_work *w = work(end);
	uint64_t block = end->at.taker.block << w->block_log2;

	peal_work_flush(w, &end->at.taker);
	return !(peal_load_relaxed_dev(peali_work_taken(w, block)) &
		 ((1ull << w->block_log2) - 1));
}

static int pop(struct peal_queue_end *end, void *buffer, uint64_t each,
	       uint32_t n, uint64_t *lengths)
{
	struct peal_work_received got[PEAL_QUEUE_BURST];
	struct peal_work_consumer *c = &end->at.taker;
	uint64_t kept = c->kept, undone = c->undone;
	int taken, told, i;

	taken = peal_work_pop_burst(work(end), c, buffer, each, n, got);
	for (i = 0; i < taken; i++)
		lengths[i] = got[i].length;
	if (taken == PEAL_EMSGSIZE)
		*lengths = work(end)->message_bytes;
	/* 1: free slots were published, at the end of a block or when idle */
	told = kept + (taken > 0 ? (uint64_t)taken : 0) > c->kept;
	if (c->kept && end->queue->side[PEAL_QUEUE_CONSUMER].most > 1)
		told |= tell(end);
	if (told)
		peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER,
				 PEAL_QUEUE_ENDS);
	/* another consumer may have seen a message as claimed */
	if (PEAL_UNLIKELY(c->undone != undone))
		peali_queue_ring(end->queue, PEAL_QUEUE_CONSUMER,
				 PEAL_QUEUE_ENDS);
	return taken;
}

/*
 * Returns 1 if no message remains. A consumer inside a call may have claimed
 * messages. They must be delivered too.
 */
static int drained(const struct peal_queue_end *end)
{
	const struct peal_work *w = work(end);

	/* cheap check first: there are unclaimed messages */
	if ((int64_t)(peal_load_relaxed_dev(&w->ticket) -
		      peal_load_relaxed_dev(&w->claimed)) > 0)
		return 0;
	/* the claimed messages of a dead consumer never arrive */
	if (end->queue->side[PEAL_QUEUE_CONSUMER].broken)
		return 1;
	/* greater: a producer died before it counted its messages */
	return peali_queue_count(end->queue, PEAL_QUEUE_CONSUMER) >=
	       peali_queue_count(end->queue, PEAL_QUEUE_PRODUCER);
}

static uint64_t tickets(const struct peal_queue *q)
{
	return peal_load_acquire_dev(
		&((const struct peal_work *)(const void *)q->memory)->ticket);
}

static int skip_dead(struct peal_queue_end *end, uint64_t until)
{
	struct peal_work *w = work(end);
	uint64_t number = 0, from = 0;
	int found = 0;

	while (peal_work_open_ticket(w, from, &number) &&
	       (int64_t)(until - number) > 0) {
		found |= !peal_work_abandon_ticket(w, number);
		from = number + 1;
	}
	return found;
}

/*
 * The claimed messages of a dead consumer are unknown. Producers would wait for
 * their slots one lap later. So the consumers are broken. The lease of a dead
 * producer is unknown too. Neither end may be opened again.
 */
static int died(struct peal_queue_end *end)
{
	if (end->role == PEAL_QUEUE_CONSUMER)
		end->queue->side[PEAL_QUEUE_CONSUMER].broken = 1;
	return 0;
}

static void reclaim(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	struct peal_work *w = (struct peal_work *)(void *)q->memory;
	uint32_t i;

	for (i = 0; i < s->most; i++)
		s->end[i].at.worker.granted = 0;
	peal_store_relaxed_dev(&w->leased, tickets(q));
}

static void settle(struct peal_queue_end *end)
{
	uint64_t kept = end->at.taker.kept;

	if (end->role == PEAL_QUEUE_PRODUCER) {
		if (!end->at.worker.granted)
			return;
		peal_work_lease_release(work(end), &end->at.worker);
	} else {
		peal_work_flush(work(end), &end->at.taker);
		if (!kept)
			return;
	}
	peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER, PEAL_QUEUE_ENDS);
}

const struct peali_queue_kind peali_queue_work = {
	.kind = PEAL_QUEUE_WORK,
	.name = "work queue",
	.producers = PEAL_QUEUE_ENDS,
	.consumers = PEAL_QUEUE_ENDS,
	.leases = 1,
	.plan = plan,
	.header = header,
	.make = make,
	.push = push,
	.pop = pop,
	.drained = drained,
	.tickets = tickets,
	.skip_dead = skip_dead,
	.died = died,
	.reclaim = reclaim,
	.settle = settle,
};
