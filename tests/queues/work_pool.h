/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_WORK_POOL_H
#define TEST_WORK_POOL_H

/* A work queue in plain memory, with the state of both its sides. */

#include <peal/device/work_abandon.h>
#include <peal/device/work_consumer.h>

#include "identity.h"
#include "link_pair.h"
#include "queues/work.h"

#define WORK_PLACES 8

struct work_pool {
	struct peal_work *q;
	struct peali_work_spec spec;
	struct {
		PEAL_ALIGNED(128) struct peal_work_producer p;
		struct peal_work_consumer c;
		uint8_t stage[256];
	} at[WORK_PLACES];
};

static inline void work_pool_places(struct work_pool *w)
{
	uint32_t i;

	for (i = 0; i < WORK_PLACES; i++) {
		peal_work_producer_init(w->q, &w->at[i].p);
		peal_work_consumer_init(w->q, &w->at[i].c, w->at[i].stage);
	}
}

/* Makes the queue as one allocation, for the checks of AddressSanitizer. */
static inline void work_pool_make(struct work_pool *w,
				  struct peali_work_spec spec)
{
	memset(w, 0, sizeof(*w));
	CHECK_OK(peali_work_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					  "test"));
	w->q = (struct peal_work *)link_memory(peali_work_bytes(&spec));
	peali_work_header(w->q, &spec);
	w->spec = spec;
	work_pool_places(w);
}

static inline void work_pool_open(struct work_pool *w, uint32_t policy,
				  uint32_t slots, uint32_t producers,
				  uint32_t bulk)
{
	struct peali_work_spec spec = { slots, 16, producers, bulk,
					0,     0,  0,	      policy };

	work_pool_make(w, spec);
}

static inline void work_pool_close(struct work_pool *w)
{
	free(w->q);
}

/* Sets a queue to the state after `number` messages, all taken and reported. */
static inline void work_queue_start_at(struct peal_work *q, uint64_t number)
{
	uint64_t capacity = peal_work_capacity(q), k;
	static const uint8_t content[8];

	for (k = 1; k <= capacity; k++) {
		uint64_t n = number - k;
		uint8_t *slot = peali_work_slot(q, n);
		uint32_t lap = peali_work_lap(q, n);

		/* number of messages taken from this slot */
		*peali_work_taken(q, n) += (n >> q->capacity_log2) + 1;
		if (q->policy == PEAL_POLICY_SEQUENCE) {
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, 8);
			continue;
		}
		peal_slot_refresh(q->policy, slot, q->slot_bytes, lap, 8, 0, 1);
		peal_slot_pack(q->policy, slot, lap, PEAL_KIND_DATA, content, 8,
			       0, 1);
	}
	q->leased = q->ticket = number;
	q->claimed = q->turn = number;
}

static inline void work_pool_start_at(struct work_pool *w, uint64_t number)
{
	work_queue_start_at(w->q, number);
	work_pool_places(w);
}

static inline int work_put(struct work_pool *w, uint32_t producer,
			   uint64_t sequence)
{
	struct identity_message m = identity_make(producer, sequence);
	struct peal_header h = { producer, (uint16_t)sequence, 3 };

	return peal_work_push(w->q, &w->at[producer].p, h, &m, sizeof(m));
}

/* Takes a ticket of a producer that then stops. Returns the ticket. */
static inline uint64_t work_vanish(struct work_pool *w, uint32_t producer)
{
	uint64_t number = 0;

	CHECK_EQ(peal_work_take_tickets(w->q, &w->at[producer].p, 1, &number),
		 0);
	return number;
}

static inline int work_take(struct work_pool *w, uint32_t consumer,
			    struct identity_message *m)
{
	struct peal_work_received got;
	int result =
		peal_work_pop(w->q, &w->at[consumer].c, m, sizeof(*m), &got);

	if (result == 1) {
		CHECK_EQ(got.length, sizeof(*m));
		CHECK_EQ(got.header.actor, m->producer);
		CHECK_EQ(got.header.type, (uint16_t)m->sequence);
		CHECK_EQ(got.header.flags, 3);
	}
	return result;
}

/* Checks that all messages were taken, by the queue's own counters. */
static inline void work_pool_conserved(struct work_pool *w, uint64_t start)
{
	uint64_t out = 0, leased = 0;
	uint32_t i;

	for (i = 0; i < WORK_PLACES; i++) {
		out += w->at[i].c.taken + w->at[i].c.dead;
		leased += w->at[i].p.granted;
	}
	CHECK_EQ(w->q->ticket - start, out);
	CHECK_EQ(w->q->turn, w->q->ticket);
	CHECK_EQ(w->q->claimed, w->q->ticket);
	CHECK_EQ(w->q->leased - w->q->ticket, leased);
}

#endif
