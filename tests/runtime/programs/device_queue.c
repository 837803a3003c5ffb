/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that put into and take from a queue that the host has placed. It is
 * a link, a mailbox, a work queue or a topic. */
#include <peal/device/kernel.h>

#include "../device_queue.h"

PEAL_TYPED_DEVICE_QUEUE(item, struct dq_item, 48)
PEAL_TYPED_DEVICE_QUEUE(big, struct dq_big, sizeof(struct dq_big))

struct dq_state {
	uint64_t put; /* messages put so far */
	struct peal_link_producer sender;
	struct peal_link_consumer receiver;
	struct peal_mailbox_lease lease;
	struct peal_work_producer producer;
	struct peal_work_consumer consumer;
	struct peal_topic_publisher publisher;
	struct peal_topic_subscriber subscriber;
	struct dq_item item[DQ_BURST];
	struct peal_work_received work_received[DQ_BURST];
	struct peal_topic_received topic_received[DQ_BURST];
	struct dq_big big;
};

/* Emits the result of the leader. */
static PEAL_DEV int entered(struct peal_worker *w, int result)
{
	int64_t said = (int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);

	return peal_emit(w, 0, DQ_ENTER, &said, sizeof(said), 0);
}

/* ---- the sender ---------------------------------------------------------- */

static PEAL_DEV int put_enter(struct dq_state *s, const struct dq_turn *turn)
{
	switch (turn->kind) {
	case DQ_LINK:
		return peal_device_queue_link_producer(turn->queue, &s->sender);
	case DQ_MAILBOX:
		return peal_device_queue_mailbox(turn->queue) ? 0 : PEAL_ENOENT;
	case DQ_WORK:
		return peal_device_queue_work_producer(turn->queue,
						       &s->producer);
	default:
		return peal_device_queue_publisher(turn->queue, &s->publisher);
	}
}

static PEAL_DEV int put_big(struct dq_state *s, const struct dq_item *it)
{
	struct peal_header none = { 0, 0, 0 };
	uint64_t i;

	s->big.m = it->m;
	for (i = 0; i < DQ_WORDS; i++)
		s->big.word[i] = it->m.check + i;
	return big_link_push(&s->sender, none, &s->big);
}

static PEAL_DEV int put_one(struct dq_state *s, const struct dq_turn *turn,
			    const struct dq_item *it)
{
	struct peal_header none = { 0, 0, 0 };

	switch (turn->kind) {
	case DQ_LINK:
		return turn->big ? put_big(s, it) :
				   item_link_push(&s->sender, none, it);
	case DQ_MAILBOX:
		return item_mailbox_put(peal_device_queue_mailbox(turn->queue),
					&s->lease, none, it);
	case DQ_WORK:
		return item_work_push(peal_device_queue_work(turn->queue),
				      &s->producer, none, it);
	default:
		return item_topic_publish(peal_device_queue_topic(turn->queue),
					  &s->publisher, none, it);
	}
}

/* Returns unused slots, so that others can use them until its next turn. */
static PEAL_DEV void put_pause(struct dq_state *s, const struct dq_turn *turn)
{
	if (turn->kind == DQ_MAILBOX)
		peal_mailbox_lease_release(
			peal_device_queue_mailbox(turn->queue), &s->lease);
	if (turn->kind == DQ_WORK)
		peal_work_lease_release(peal_device_queue_work(turn->queue),
					&s->producer);
}

static PEAL_DEV int put_some(struct dq_state *s, const struct dq_turn *turn)
{
	struct dq_item it;
	uint64_t sequence;
	int result = 0, i;

	it.missed = 0;
	for (i = 0; i < DQ_BURST && s->put < turn->each; i++) {
		sequence = s->put - (s->put == turn->doubled + 1);
		it.m.producer = turn->self;
		it.m.sequence = sequence;
		it.m.check = relay_check(turn->self, sequence);
		result = put_one(s, turn, &it);
		if (result)
			break;
		s->put++;
	}
	put_pause(s, turn);
	return result == PEAL_EAGAIN ? 0 : result;
}

static PEAL_DEV int put(struct peal_worker *w)
{
	struct dq_state *s = (struct dq_state *)peal_state(w);
	const struct dq_turn *turn = (const struct dq_turn *)peal_data(w);
	int result = 0;

	if (peal_type(w) == DQ_ENTER)
		return entered(w, peal_is_leader(w) ? put_enter(s, turn) : 0);
	if (peal_is_leader(w))
		result = put_some(s, turn);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

/* ---- the receiver -------------------------------------------------------- */

static PEAL_DEV int take_enter(struct dq_state *s, const struct dq_turn *turn)
{
	switch (turn->kind) {
	case DQ_LINK:
		return peal_device_queue_link_consumer(turn->queue,
						       &s->receiver);
	case DQ_MAILBOX:
		return peal_device_queue_mailbox(turn->queue) ? 0 : PEAL_ENOENT;
	case DQ_WORK:
		return peal_device_queue_work_consumer(turn->queue, turn->self,
						       &s->consumer);
	default:
		return peal_device_queue_subscriber(turn->queue, turn->self, 0,
						    &s->subscriber);
	}
}

static PEAL_DEV int take_link(struct dq_state *s, int is_big)
{
	struct peal_message message;
	uint64_t i;
	int result;

	if (!is_big)
		result = item_link_pop_burst(&s->receiver, s->item, DQ_BURST);
	else
		result = big_link_pop(&s->receiver, &s->big, &message);
	if (result == PEAL_EAGAIN)
		peal_link_flush_credit(&s->receiver);
	if (!is_big || result)
		return result;
	s->item[0].m = s->big.m;
	for (i = 0; i < DQ_WORDS; i++)
		if (s->big.word[i] != s->big.m.check + i)
			s->item[0].m.check = 0;
	return 1;
}

static PEAL_DEV int take_mailbox(struct dq_state *s, struct peal_mailbox *m)
{
	struct peal_header header;
	int n = 0, result = 0;

	while (n < DQ_BURST) {
		result = item_mailbox_take(m, &s->item[n], &header);
		if (result)
			break;
		n++;
	}
	if (n)
		return n;
	peal_mailbox_flush(m);
	return result;
}

static PEAL_DEV int take_topic(struct dq_state *s, struct peal_topic *t)
{
	int n = item_topic_take_burst(t, &s->subscriber, s->item, DQ_BURST,
				      s->topic_received);
	int i;

	for (i = 0; i < n; i++)
		s->item[i].missed = s->topic_received[i].missed;
	return n;
}

static PEAL_DEV int take_some(struct dq_state *s, const struct dq_turn *turn)
{
	switch (turn->kind) {
	case DQ_LINK:
		return take_link(s, (int)turn->big);
	case DQ_MAILBOX:
		return take_mailbox(s, peal_device_queue_mailbox(turn->queue));
	case DQ_WORK:
		return item_work_pop_burst(peal_device_queue_work(turn->queue),
					   &s->consumer, s->item, DQ_BURST,
					   s->work_received);
	default:
		return take_topic(s, peal_device_queue_topic(turn->queue));
	}
}

static PEAL_DEV int take(struct peal_worker *w)
{
	struct dq_state *s = (struct dq_state *)peal_state(w);
	const struct dq_turn *turn = (const struct dq_turn *)peal_data(w);
	int result = 0, n, i;

	if (peal_type(w) == DQ_ENTER)
		return entered(w, peal_is_leader(w) ? take_enter(s, turn) : 0);
	if (peal_is_leader(w))
		result = take_some(s, turn);
	n = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	if (n < 0)
		return n == PEAL_EAGAIN ? 0 : n;
	result = 0;
	for (i = 0; i < n && !result; i++)
		result = peal_emit(w, 0, DQ_TURN, &s->item[i],
				   sizeof(s->item[i]), 0);
	return result;
}

#define HANDLERS(X)                                                            \
	X(put, sizeof(struct dq_state), PEAL_EMITS(1, 1))                      \
	X(take, sizeof(struct dq_state), PEAL_EMITS(1, DQ_BURST))
PEAL_PROGRAM(device_queue, HANDLERS);
