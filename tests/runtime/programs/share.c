/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that share a work queue or a topic, each with all of its lanes. */
#include <peal/device/kernel.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_consumer.h>

#include "../../queues/stress_word.h"
#include "../share.h"

/* Writes every stride-th word of a message, beginning with word `first`. */
static PEAL_DEV void share_fill(const struct share_turn *turn,
				uint64_t sequence, uint8_t *to, uint32_t first,
				uint32_t stride)
{
	uint64_t *out = (uint64_t *)(void *)to, id;
	uint32_t i;

	if (sequence == turn->doubled + 1)
		sequence--;
	id = stress_id(turn->self, sequence);
	for (i = first; i < turn->bytes / 8; i += stride)
		out[i] = stress_word(id, i);
}

static PEAL_DEV uint8_t *share_at(uint64_t address,
				  const struct share_turn *turn, uint64_t i)
{
	return (uint8_t *)(uintptr_t)address + i * turn->bytes;
}

/* Writes the queue's header, which came in the message. */
static PEAL_DEV int share_make(struct peal_worker *w,
			       const struct share_turn *turn)
{
	peal_copy_lanes(w, (void *)(uintptr_t)turn->queue, turn->header,
			sizeof(turn->header));
	peal_sync(w);
	return peal_emit(w, 0, SHARE_MAKE, &turn->each, sizeof(turn->each), 0);
}

/* Emits the messages that the leader took. */
static PEAL_DEV int share_emit(struct peal_worker *w,
			       const struct share_turn *turn, int taken)
{
	uint32_t n, i;
	int result = 0;

	n = (uint32_t)peal_broadcast(w, taken > 0 ? (uint64_t)taken : 0);
	for (i = 0; i < n && !result; i++)
		result = peal_emit(w, 0, SHARE_TURN,
				   share_at(turn->buffer, turn, i), turn->bytes,
				   0);
	return result;
}

/* ---- a work queue: the leader takes tickets, each lane puts one message ---- */

static PEAL_DEV void work_put(struct peal_worker *w, struct share_state *s,
			      const struct share_turn *turn,
			      struct peal_work *q)
{
	struct peal_header header = { turn->self, 0, 3 };
	uint64_t n = turn->each - s->put, first = 0, number, i;

	if (n > peal_lanes(w))
		n = peal_lanes(w);
	if (peal_is_leader(w) &&
	    (!n || peal_work_take_tickets(q, &s->producer, n, &first))) {
		peal_work_lease_release(q, &s->producer);
		n = 0;
	}
	n = peal_broadcast(w, n);
	first = peal_broadcast(w, first);
	for (i = peal_lane(w); i < n; i += peal_lanes(w)) {
		number = s->put + i;
		share_fill(turn, number, share_at(turn->body, turn, i), 0, 1);
		peal_work_put_at(q, first + i, header,
				 share_at(turn->body, turn, i), turn->bytes);
	}
	peal_sync(w);
	if (peal_is_leader(w))
		s->put += n;
}

static PEAL_DEV int work(struct peal_worker *w)
{
	const struct share_turn *turn = (const struct share_turn *)peal_data(w);
	struct share_state *s = (struct share_state *)peal_state(w);
	struct peal_work *q = (struct peal_work *)(uintptr_t)turn->queue;
	struct peal_work_received got[SHARE_BURST];
	int taken = 0;

	if (peal_type(w) == SHARE_MAKE)
		return share_make(w, turn);
	if (peal_type(w) == SHARE_ENTER) {
		if (peal_is_leader(w)) {
			peal_work_producer_init(q, &s->producer);
			peal_work_consumer_init(q, &s->consumer,
						(void *)(uintptr_t)turn->stage);
		}
		return peal_emit(w, 0, SHARE_ENTER, &turn->each,
				 sizeof(turn->each), 0);
	}
	work_put(w, s, turn, q);
	if (peal_is_leader(w))
		taken = peal_work_pop_burst(q, &s->consumer,
					    (void *)(uintptr_t)turn->buffer,
					    turn->bytes, SHARE_BURST, got);
	return share_emit(w, turn, taken);
}

/* ---- a topic: worker 0 publishes, the others subscribe ------------------- */

static PEAL_DEV int topic_put(struct peal_worker *w, struct share_state *s,
			      const struct share_turn *turn,
			      struct peal_topic *t)
{
	struct peal_header header = { 0, 0, 3 };
	uint64_t n = turn->each - s->put, i;

	if (n > SHARE_BURST)
		n = SHARE_BURST;
	for (i = 0; i < n; i++)
		share_fill(turn, s->put + i, share_at(turn->body, turn, i),
			   peal_lane(w), peal_lanes(w));
	peal_sync(w);
	if (peal_is_leader(w) && n &&
	    !peal_topic_publish_bulk(t, &s->publisher, header,
				     (void *)(uintptr_t)turn->body, turn->bytes,
				     n))
		s->put += n;
	peal_sync(w);
	return 0;
}

static PEAL_DEV int topic(struct peal_worker *w)
{
	const struct share_turn *turn = (const struct share_turn *)peal_data(w);
	struct share_state *s = (struct share_state *)peal_state(w);
	struct peal_topic *t = (struct peal_topic *)(uintptr_t)turn->queue;
	struct peal_topic_received got[SHARE_BURST];
	int taken = 0;

	if (peal_type(w) == SHARE_MAKE)
		return share_make(w, turn);
	if (peal_type(w) == SHARE_ENTER) {
		if (peal_is_leader(w) && !turn->self)
			peal_topic_publisher_init(t, &s->publisher);
		else if (peal_is_leader(w))
			taken = peal_topic_join(t, &s->subscriber,
						turn->self - 1, 1,
						(void *)(uintptr_t)turn->stage);
		return peal_emit(w, 0, SHARE_ENTER, &turn->each,
				 sizeof(turn->each), 0);
	}
	if (!turn->self)
		return topic_put(w, s, turn, t);
	if (peal_is_leader(w))
		taken = peal_topic_take_burst(t, &s->subscriber,
					      (void *)(uintptr_t)turn->buffer,
					      turn->bytes, SHARE_BURST, got);
	return share_emit(w, turn, taken);
}

#define HANDLERS(X)                                                            \
	X(work, sizeof(struct share_state), PEAL_EMITS(1, SHARE_BURST))        \
	X(topic, sizeof(struct share_state), PEAL_EMITS(1, SHARE_BURST))
PEAL_PROGRAM(share, HANDLERS);
