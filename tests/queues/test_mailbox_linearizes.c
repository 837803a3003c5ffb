/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "history.h"

#include <peal/device/mailbox.h>

#include "link_pair.h"
#include "queues/mailbox.h"
#include "yield.h"

/*
 * Shows that a mailbox with several producers is linearizable (history.h). This
 * is more than order per producer. A put that ended before another put began
 * comes out first, and a bulk comes out in a row.
 */

#define PRODUCERS 3
#define ROUNDS IDENTITY_COUNT(300)

struct boxes {
	struct peal_mailbox *at[PRODUCERS];
	/* more than 1: one mailbox per producer (negative control) */
	uint32_t n;
	struct {
		PEAL_ALIGNED(128) struct peal_mailbox_lease lease;
	} producers[PRODUCERS];
};

/* Opens n mailboxes. `slots` is at least the fewest that the options allow. */
static struct boxes *boxes_open(uint32_t policy, uint32_t slots, uint32_t bulk,
				uint32_t n)
{
	struct peali_mailbox_spec spec = { slots, 16,	PRODUCERS, bulk,
					   0,	  bulk, policy };
	struct boxes *b = (struct boxes *)aligned_alloc(128, sizeof(*b));
	uint32_t i;

	CHECK(b);
	memset(b, 0, sizeof(*b));
	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	b->n = n;
	for (i = 0; i < n; i++) {
		b->at[i] = (struct peal_mailbox *)link_memory(
			peali_mailbox_bytes(&spec));
		peali_mailbox_header(b->at[i], &spec);
	}
	return b;
}

/* Checks that every message was taken, and no other. Frees the mailboxes. */
static void boxes_close(struct boxes *b, uint64_t messages)
{
	uint32_t i;

	for (i = 0; i < b->n; i++) {
		CHECK_EQ(b->at[i]->ticket, messages / b->n);
		CHECK_EQ(b->at[i]->taken, messages / b->n);
		free(b->at[i]);
	}
	free(b);
}

static int put(struct history_actor *a, const struct identity_message *from,
	       uint32_t n)
{
	struct boxes *b = (struct boxes *)a->h->queue;
	struct peal_mailbox *m = b->at[a->index % b->n];
	struct peal_mailbox_lease *lease = &b->producers[a->index].lease;
	struct peal_header h = { a->index, 0, 3 };
	int r;

	r = peal_mailbox_put_bulk(m, lease, h, from, sizeof(*from), n);
	if (test_random(&a->random) % 8 == 0)
		peal_mailbox_lease_release(m, lease);
	return r;
}

static void take(struct history_actor *a)
{
	struct boxes *b = (struct boxes *)a->h->queue;
	struct peal_mailbox *m = b->at[test_random(&a->random) % b->n];
	struct history_call call = { { 0 }, 1, 1, 0, 0 };
	struct identity_message got;
	struct peal_slot_view view;

	identity_disturb(&a->random);
	call.begin = history_now(a);
	if (!peal_mailbox_peek(m, &view)) {
		peal_mailbox_flush(m); /* as an idle worker does */
		test_yield();
		return;
	}
	CHECK_EQ(view.kind, PEAL_KIND_DATA);
	CHECK_EQ(view.length, sizeof(struct peal_header) + sizeof(got));
	memcpy(&got, view.content + sizeof(struct peal_header), sizeof(got));
	peal_mailbox_release(m);
	call.end = history_now(a);
	call.values[0] = history_value(&got);
	history_note(a, &call);
}

/* ---- recorded histories -------------------------------------------------- */

/* Returns the number of histories that are not linearizable. */
static uint64_t histories(struct history h, uint32_t policy, uint32_t slots,
			  uint32_t n_boxes, uint64_t rounds, uint64_t seed)
{
	uint64_t bad;

	h.queue = boxes_open(policy, slots, h.bulk, n_boxes);
	h.putters = PRODUCERS;
	h.takers = 1;
	h.ops = HISTORY_BULK;
	h.take = take;
	bad = history_run(&h, rounds, seed);
	boxes_close((struct boxes *)h.queue, rounds * history_messages(&h));
	return bad;
}

PEAL_TEST(every_history_is_linearizable)
{
	static const struct {
		uint32_t slots, bulk;
	} cases[] = { { 4, 1 }, { 16, 1 }, { 16, 3 }, { 64, 3 } };
	struct stress_clock clock = stress_begin(1);
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct history h = { .bulk = cases[i].bulk, .put = put };

		CHECK_EQ(histories(h, policy, cases[i].slots, 1, ROUNDS, round),
			 0);
	}
}

/* ---- negative controls --------------------------------------------------- */

static void caught(struct history h, uint32_t n_boxes)
{
	HISTORY_CAUGHT(
		histories(h, PEAL_POLICY_SEQUENCE, 64, n_boxes, 200, tries));
}

/*
 * Each producer's messages stay in order and none is lost, but it is no queue.
 */
PEAL_TEST(mailbox_per_producer_is_caught)
{
	struct history h = { .bulk = 1, .put = put };

	caught(h, PRODUCERS);
}

/* Takes the tickets of a bulk one by one, so other messages come in between. */
static int put_apart(struct history_actor *a, const struct identity_message *m,
		     uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		while (put(a, &m[i], 1))
			test_yield();
	return 0;
}

PEAL_TEST(interleaved_bulk_is_caught)
{
	struct history h = { .bulk = 3, .put = put_apart };

	caught(h, 1);
}

PEAL_TEST_MAIN(RUN(every_history_is_linearizable);
	       RUN(mailbox_per_producer_is_caught);
	       RUN(interleaved_bulk_is_caught); stress_print_total();)
