/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_LINK_PAIR_H
#define TEST_LINK_PAIR_H

/*
 * Both ends of a link in plain memory, without a runtime. Each part is a
 * separate allocation, so that AddressSanitizer finds accesses beyond it.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>

#include "peal_test.h"
#include "queues/ring.h"

/* The policies that this host has. */
static const uint32_t link_policies[] = { PEAL_POLICY_SEQUENCE,
#if PEAL_HAVE_ATOM16
					  PEAL_POLICY_ATOM16,
#endif
					  PEAL_POLICY_ATOM8 };
#define LINK_POLICIES (sizeof(link_policies) / sizeof(link_policies[0]))

/* Runs a case once per policy of this host. */
#define EACH_POLICY(policy)                                                    \
	for (size_t each_ = 0; each_ < LINK_POLICIES; each_++)                 \
		for (uint32_t policy = link_policies[each_]; policy; policy = 0)

struct link_pair {
	struct peali_ring_spec spec;
	struct peal_ring *ring;
	struct peal_credit *credit;
	struct peal_link_counts *counts, *own_counts;
	void *stages[2];
	struct peal_link_view views[2]; /* the producer's, the consumer's */
	struct peal_link_producer p;
	struct peal_link_consumer c;
};

static inline void *link_memory(uint64_t bytes)
{
	void *p = aligned_alloc(PEAL_SHARED_LINE, (bytes + 127) / 128 * 128);

	CHECK(p);
	memset(p, 0, (bytes + 127) / 128 * 128);
	return p;
}

/* Initializes both ends again, as after a launch. The slots do not change. */
static inline void link_pair_init(struct link_pair *l)
{
	peal_link_producer_init(&l->p, &l->views[0]);
	peal_link_consumer_init(&l->c, &l->views[1]);
}

/* Opens a ring. `counts`: those of the link's earlier rings; NULL: new ones. */
static inline void link_pair_open_next(struct link_pair *l,
				       struct peali_ring_spec spec,
				       struct peal_link_counts *counts)
{
	uint64_t stage;
	int i;

	memset(l, 0, sizeof(*l));
	CHECK_OK(peali_ring_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					  "test"));
	l->spec = spec;
	l->ring = (struct peal_ring *)link_memory(peali_ring_bytes(&spec));
	peali_ring_header(l->ring, &spec, 1);
	l->credit = (struct peal_credit *)link_memory(sizeof(*l->credit));
	if (!counts)
		counts = l->own_counts =
			(struct peal_link_counts *)link_memory(sizeof(*counts));
	l->counts = counts;
	stage = peali_ring_stage_bytes(&spec);
	for (i = 0; i < 2; i++) {
		if (stage)
			CHECK(!posix_memalign(&l->stages[i], 16, stage));
		l->views[i].ring = (uintptr_t)l->ring;
		l->views[i].credit = (uintptr_t)l->credit;
		l->views[i].counts = (uintptr_t)counts;
		l->views[i].stage = (uintptr_t)l->stages[i];
		l->views[i].message_bytes = spec.message_bytes;
	}
	link_pair_init(l);
}

static inline void link_pair_open(struct link_pair *l,
				  struct peali_ring_spec spec)
{
	link_pair_open_next(l, spec, NULL);
}

static inline void link_pair_close(struct link_pair *l)
{
	free(l->ring);
	free(l->credit);
	free(l->own_counts);
	free(l->stages[0]);
	free(l->stages[1]);
}

/*
 * Sets both ends to the state after `number` messages, and the slab to the
 * state after `position` bytes. Each atom carries the tag of its slot's latest
 * lap.
 */
static inline void link_pair_start_at(struct link_pair *l, uint64_t number,
				      uint64_t position)
{
	uint32_t log2 = l->ring->capacity_log2, policy = l->spec.policy;
	uint32_t bytes = l->spec.slot_bytes;
	uint32_t length = peal_slot_content_max(policy, bytes);
	uint8_t *content = (uint8_t *)calloc(1, length);
	uint64_t k;

	CHECK(content);
	for (k = 1; k <= l->spec.capacity; k++) {
		uint64_t n = number - k;
		uint32_t lap = (uint32_t)(n >> log2) + 1;
		uint8_t *slot =
			l->p.slots + (n & (l->spec.capacity - 1)) * bytes;

		if (policy == PEAL_POLICY_SEQUENCE)
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		else
			peal_slot_pack(policy, slot, lap, PEAL_KIND_DATA,
				       content, length, 0, 1);
	}
	free(content);
	l->credit->slots = number;
	l->credit->slab = position;
	l->p.tail = l->p.credit = number;
	l->p.accepted_base -= number;
	l->p.slab_tail = l->p.slab_credit = position;
	peali_producer_place(&l->p);
	l->c.head = number;
	l->c.sequence_base -= number;
	l->c.delivered_base -= number;
	l->c.slab_head = l->c.slab_next = position;
	peali_consumer_place(&l->c);
	peali_consumer_told(&l->c);
}

/* Fills `to` with bytes that depend on the sequence number of the message. */
static inline void link_fill(void *to, uint64_t bytes, uint64_t sequence)
{
	uint8_t *out = (uint8_t *)to;
	uint64_t i;

	for (i = 0; i < bytes; i++)
		out[i] = (uint8_t)(sequence * 31 + i + (i >> 8) * 7);
}

static inline int link_filled(const void *from, uint64_t bytes,
			      uint64_t sequence)
{
	const uint8_t *in = (const uint8_t *)from;
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (in[i] != (uint8_t)(sequence * 31 + i + (i >> 8) * 7))
			return 0;
	return 1;
}

/* Checks accepted = delivered + dead + closed. The link must be empty. */
static inline void link_pair_conserved(const struct link_pair *l)
{
	const struct peal_link_counts *n = l->counts;
	uint64_t out = n->delivered + n->closed;
	int i;

	for (i = 0; i < PEAL_REASON_COUNT; i++)
		out += n->dead[i];
	CHECK_EQ(n->accepted, out);
	CHECK_EQ(l->p.tail, l->c.head);
}

#endif
