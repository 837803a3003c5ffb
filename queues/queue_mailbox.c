/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "queues/mailbox.h"
#include "queues/queue.h"
#include "queues/queue_select.h"

/* Queues of threads: the kind `mailbox`, many producers and one consumer. */

static int plan(struct peali_queue_plan *plan, const char *call)
{
	struct peali_mailbox_spec *spec = &plan->spec.mailbox;
	int result;

	spec->slots = plan->options.capacity;
	spec->message_bytes = (uint32_t)plan->options.message_bytes;
	spec->policy = plan->options.policy;
	spec->n_workers = plan->options.max_producers;
	spec->tells = plan->bulk;
	result = peali_mailbox_spec_complete(spec, plan->policies, spec->policy,
					     call);
	if (!result)
		plan->bytes = peali_mailbox_bytes(spec);
	return result;
}

static uint64_t header(const struct peali_queue_plan *plan, void *out)
{
	peali_mailbox_header(out, &plan->spec.mailbox);
	return sizeof(struct peal_mailbox);
}

static struct peal_mailbox *mailbox(const struct peal_queue_end *end)
{
	return (struct peal_mailbox *)(void *)end->queue->memory;
}

static void make(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i;

	for (i = 0; i < s->most; i++)
		memset(&s->end[i].at.lease, 0, sizeof(s->end[i].at.lease));
}

/*
 * Returns the leases of closed producers. Returns 1 if slots became free.
 *
 * A producer cannot cancel a lease request before it is granted, because later
 * requests depend on it. So a closed producer may leave a request behind. A
 * producer that finds no slot calls this function. The function returns each
 * such lease that is granted now.
 */
static int return_owed(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i, n = 0;

	if (!atomic_load(&q->owed) || !peali_queue_trylock(q))
		return 0;
	for (i = 0; i < s->most; i++) {
		struct peal_queue_end *end = &s->end[i];

		if (end->open || !end->at.lease.asked)
			continue;
		peal_mailbox_lease_release(mailbox(end), &end->at.lease);
		n += !end->at.lease.asked;
	}
	atomic_fetch_sub(&q->owed, (int)n);
	pthread_mutex_unlock(&q->lock);
	if (n)
		peali_queue_ring(q, PEAL_QUEUE_PRODUCER, PEAL_QUEUE_ENDS);
	return n != 0;
}

/*
 * Repairs the leases of closed ends after the death of a lock owner, perhaps in
 * return_owed(). A granted lease may or may not be returned already. So that
 * lease is lost, with its end.
 */
static void relock(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	uint32_t i;
	int owed = 0;

	for (i = 0; i < s->most; i++) {
		struct peal_mailbox_lease *lease = &s->end[i].at.lease;

		if (s->end[i].open)
			continue;
		if (lease->granted) {
			memset(lease, 0, sizeof(*lease));
			s->end[i].lost = 1;
		}
		owed += lease->asked != 0;
	}
	atomic_store(&q->owed, owed);
}

static void enter(struct peal_queue_end *end)
{
	if (end->role == PEAL_QUEUE_PRODUCER && end->at.lease.asked)
		atomic_fetch_sub(&end->queue->owed, 1);
}

static void leave(struct peal_queue_end *end)
{
	if (end->role == PEAL_QUEUE_PRODUCER && end->at.lease.asked)
		atomic_fetch_add(&end->queue->owed, 1);
}

static int push(struct peal_queue_end *end, const void *data, uint64_t bytes,
		uint32_t n)
{
	struct peal_header none = { 0, 0, 0 };
	int result;

	do {
		result = peal_mailbox_put_bulk(mailbox(end), &end->at.lease,
					       none, data, bytes, n);
	} while (PEAL_UNLIKELY(result == PEAL_EAGAIN) &&
		 return_owed(end->queue));
	if (!result)
		peali_queue_ring(end->queue, PEAL_QUEUE_CONSUMER, 1);
	return result;
}

/* Wakes the waiting producers if the consumer has published more free slots. */
static void told(struct peal_queue_end *end, uint64_t head)
{
	if (mailbox(end)->head != head)
		peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER,
				 PEAL_QUEUE_ENDS);
}

static int pop(struct peal_queue_end *end, void *buffer, uint64_t each,
	       uint32_t n, uint64_t *lengths)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	struct peal_mailbox *m = mailbox(end);
	struct peal_slot_view view = { 0, 0, 0 };
	uint64_t head = m->head;
	int result = PEAL_EAGAIN;
	uint8_t *to = buffer;
	uint32_t i;

	for (i = 0; i < n && peal_mailbox_peek(m, &view); i++) {
		if (PEAL_UNLIKELY(view.kind == PEAL_KIND_DEAD)) {
			peal_mailbox_release(m);
			i--;
			continue;
		}
		result = PEAL_EPROTO;
		if (view.kind != PEAL_KIND_DATA)
			break;
		lengths[i] = view.length - header;
		result = PEAL_EMSGSIZE;
		if (lengths[i] > each)
			break;
		peal_copy(to + i * each, view.content + header, lengths[i]);
		peal_mailbox_release(m);
	}
	if (!i) /* idle: publish the freed slots */
		peal_mailbox_flush(m);
	told(end, head);
	return i ? (int)i : result;
}

static uint64_t tickets(const struct peal_queue *q)
{
	return peal_load_acquire_dev(
		&((const struct peal_mailbox *)(const void *)q->memory)->ticket);
}

static int skip_dead(struct peal_queue_end *end, uint64_t until)
{
	struct peal_slot_view view = { 0, 0, 0 };

	return peal_mailbox_peek(mailbox(end), &view) ||
	       peal_mailbox_abandon(mailbox(end), until);
}

/*
 * Returns 1 for a consumer: its only state is one counter. Returns 0 for a
 * producer: the state of its lease is unknown.
 */
static int died(struct peal_queue_end *end)
{
	return end->role == PEAL_QUEUE_CONSUMER;
}

static void reclaim(struct peal_queue *q)
{
	struct peali_queue_side *s = &q->side[PEAL_QUEUE_PRODUCER];
	struct peal_mailbox *m = (struct peal_mailbox *)(void *)q->memory;
	uint32_t i;

	for (i = 0; i < s->most; i++)
		memset(&s->end[i].at.lease, 0, sizeof(s->end[i].at.lease));
	atomic_store(&q->owed, 0);
	peal_store_release_dev(&m->returned,
			       peal_load_relaxed_dev(&m->leased) - tickets(q));
}

static void settle(struct peal_queue_end *end)
{
	if (end->role == PEAL_QUEUE_CONSUMER) {
		uint64_t head = mailbox(end)->head;

		peal_mailbox_flush(mailbox(end));
		told(end, head);
	} else if (end->at.lease.granted) {
		peal_mailbox_lease_release(mailbox(end), &end->at.lease);
		peali_queue_ring(end->queue, PEAL_QUEUE_PRODUCER,
				 PEAL_QUEUE_ENDS);
	}
}

const struct peali_queue_kind peali_queue_mailbox = {
	.kind = PEAL_QUEUE_MAILBOX,
	.name = "mailbox",
	.producers = PEAL_QUEUE_ENDS,
	.consumers = 1,
	.leases = 1,
	.plan = plan,
	.header = header,
	.make = make,
	.push = push,
	.pop = pop,
	.tickets = tickets,
	.skip_dead = skip_dead,
	.died = died,
	.relock = relock,
	.reclaim = reclaim,
	.settle = settle,
	.enter = enter,
	.leave = leave,
};
