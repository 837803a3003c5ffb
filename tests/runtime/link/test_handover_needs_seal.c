/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Negative control of the link hand-over, on two rings. With the SEAL each
 * message comes once and in order. The check detects a sender without the SEAL.
 * It also detects a receiver that does not wait for the SEAL.
 */
#include "queues/link_pair.h"

#include "queues/identity.h"

#define COUNT 2000ULL
#define EVERY 7 /* messages in a ring before the next hand-over */

enum fault {
	NONE,
	NO_SEAL, /* the sender writes no SEAL */
	NO_WAIT /* the receiver changes rings at once */
};

/* The two rings, used in turn, and the receiver's check. */
struct rings {
	struct link_pair ring[2];
	struct identity id;
	uint32_t writing, reading, hand_overs;
	enum fault fault;
};

/* Opens a new ring in place of the unused ring `which`. */
static void renew(struct rings *r, uint32_t which)
{
	struct peali_ring_spec spec = { .capacity = 16, .message_bytes = 24 };
	struct link_pair *l = &r->ring[which];
	struct peal_link_counts *counts = r->ring[0].own_counts;

	if (l->ring) {
		l->own_counts = NULL;
		link_pair_close(l);
	}
	link_pair_open_next(l, spec, counts);
	if (which == 0)
		l->own_counts = counts;
}

static void send(struct rings *r, uint64_t sequence)
{
	struct identity_message m = identity_make(0, sequence);
	struct peal_header header = { 0, 0, 0 };

	CHECK_OK(peal_link_push(&r->ring[r->writing].p, header, &m, sizeof(m)));
}

static void hand_over(struct rings *r)
{
	uint32_t next = 1 - r->writing;

	renew(r, next);
	if (r->fault != NO_SEAL)
		CHECK_OK(peal_link_push_mark(&r->ring[r->writing].p,
					     PEAL_KIND_SEAL));
	peal_link_producer_init(&r->ring[next].p, &r->ring[next].views[0]);
	r->writing = next;
	r->hand_overs++;
}

/* Moves the receiver to the next ring. A correct one does so at the SEAL. */
static void follow(struct rings *r)
{
	struct link_pair *l = &r->ring[1 - r->reading];

	peal_link_consumer_init(&l->c, &l->views[1]);
	r->reading = 1 - r->reading;
}

/* Takes up to n messages. */
static void take(struct rings *r, uint32_t n)
{
	struct identity_message in;
	struct peal_message m;

	while (n--) {
		struct peal_link_consumer *c = &r->ring[r->reading].c;

		if (r->fault == NO_WAIT && r->reading != r->writing)
			follow(r);
		else if (peal_link_peek(c, &m))
			return;
		else if (m.kind == PEAL_KIND_SEAL) {
			peal_link_release_mark(c, m.kind);
			follow(r);
		} else {
			CHECK_EQ(m.length, sizeof(in));
			memcpy(&in, m.data, sizeof(in));
			identity_tick(&r->id, &in, 1);
			peal_link_release(c, &m);
		}
	}
}

/* Returns 1 if each message came once and in order. */
static int sound(enum fault fault)
{
	struct rings r;
	uint64_t accepted = COUNT, i, n = 0;
	int result;

	memset(&r, 0, sizeof(r));
	r.fault = fault;
	identity_begin(&r.id, 1, COUNT);
	renew(&r, 0);
	r.ring[0].own_counts = r.ring[0].counts;
	for (i = 0; i < COUNT; i++) {
		send(&r, i);
		if (++n == 3) /* the reader lags, but by one ring only */
			take(&r, 64);
		if (n == EVERY) {
			n = 0;
			hand_over(&r);
		}
	}
	take(&r, 64);
	CHECK(r.hand_overs > 50);
	result = identity_end(&r.id, &accepted);
	r.ring[1].own_counts = NULL;
	link_pair_close(&r.ring[0]);
	if (r.ring[1].ring)
		link_pair_close(&r.ring[1]);
	return result;
}

PEAL_TEST(handover_with_seal_keeps_message_order)
{
	CHECK(sound(NONE));
}

PEAL_TEST(sender_without_seal_is_caught)
{
	CHECK(!sound(NO_SEAL));
}

PEAL_TEST(receiver_without_seal_wait_is_caught)
{
	CHECK(!sound(NO_WAIT));
}

PEAL_TEST_MAIN(RUN(handover_with_seal_keeps_message_order);
	       RUN(sender_without_seal_is_caught);
	       RUN(receiver_without_seal_wait_is_caught);)
