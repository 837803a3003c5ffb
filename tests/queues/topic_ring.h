/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_TOPIC_RING_H
#define TEST_TOPIC_RING_H

/* A topic in plain memory, and messages that contain their sequence number. */

#include <peal/device/topic_subscriber.h>

#include "identity.h"
#include "link_pair.h"
#include "queues/topic.h"

#define TOPIC_BYTES 100
#define TOPIC_PLACES 4

struct topic_ring {
	struct peal_topic *t;
	struct peal_topic_publisher p;
	struct {
		PEAL_ALIGNED(128) struct peal_topic_subscriber s;
		uint8_t stage[512];
	} at[TOPIC_PLACES];
};

static inline void topic_ring_open(struct topic_ring *r, uint32_t policy,
				   uint32_t slots, uint32_t mode)
{
	struct peali_topic_spec spec = { slots, TOPIC_BYTES, TOPIC_PLACES,
					 mode,	0,	     policy };

	memset(r, 0, sizeof(*r));
	CHECK_OK(peali_topic_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					   "test"));
	r->t = (struct peal_topic *)link_memory(peali_topic_bytes(&spec));
	peali_topic_header(r->t, &spec);
	peal_topic_publisher_init(r->t, &r->p);
}

/* Sets the topic to the state after `number` messages without subscribers. */
static inline void topic_ring_start_at(struct topic_ring *r, uint64_t number)
{
	uint64_t capacity = peal_topic_capacity(r->t), k;
	struct peal_header h = { 0, 0, 0 };
	const uint8_t none[8] = { 0 };

	for (k = 1; k <= capacity; k++) {
		uint64_t n = number - k;

		if (r->t->policy != PEAL_POLICY_SEQUENCE)
			peal_slot_refresh(r->t->policy,
					  peali_topic_slot(r->t, n),
					  r->t->slot_bytes,
					  peali_topic_lap(r->t, n), 8, 0, 1);
		peali_topic_write(r->t, n, h, none, 0);
	}
	r->t->first = r->t->tail = r->t->promised = number;
	peal_topic_publisher_init(r->t, &r->p);
}

static inline void topic_ring_close(struct topic_ring *r)
{
	free(r->t);
}

/* Returns a varying length, so that short messages overwrite longer ones. */
static inline uint64_t topic_length(uint64_t sequence)
{
	return 8 + sequence * 7 % (TOPIC_BYTES - 7);
}

static inline int topic_put(struct topic_ring *r, uint64_t sequence)
{
	struct peal_header h = { 99, (uint16_t)sequence, 5 };
	uint8_t data[TOPIC_BYTES];

	link_fill(data, TOPIC_BYTES, sequence);
	memcpy(data, &sequence, 8);
	return peal_topic_publish(r->t, &r->p, h, data, topic_length(sequence));
}

/* Returns 1 if a message is whole. Stores its number in *sequence. */
static inline int topic_whole(const uint8_t *data,
			      const struct peal_topic_received *got,
			      uint64_t *sequence)
{
	uint8_t want[TOPIC_BYTES];

	memcpy(sequence, data, 8);
	link_fill(want, TOPIC_BYTES, *sequence);
	memcpy(want, sequence, 8);
	return got->length == topic_length(*sequence) &&
	       got->type == (uint16_t)*sequence && got->flags == 5 &&
	       !memcmp(data, want, got->length);
}

static inline int topic_take(struct topic_ring *r, uint32_t index,
			     uint64_t *sequence, uint64_t *missed)
{
	struct peal_topic_received got;
	uint8_t data[TOPIC_BYTES];
	int result =
		peal_topic_take(r->t, &r->at[index].s, data, TOPIC_BYTES, &got);

	if (result == 1) {
		CHECK(topic_whole(data, &got, sequence));
		*missed = got.missed;
	}
	return result;
}

static inline int topic_join(struct topic_ring *r, uint32_t index, int oldest)
{
	return peal_topic_join(r->t, &r->at[index].s, index, oldest,
			       r->at[index].stage);
}

#endif
