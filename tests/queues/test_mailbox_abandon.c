/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that messages behind a dead producer's ticket are delivered. */
#include <peal/device/mailbox.h>

#include "identity.h"
#include "link_pair.h"
#include "queues/mailbox.h"

#define SLOTS 16
#define BYTES 40 /* several atoms */

struct box {
	struct peal_mailbox *m;
	struct peal_mailbox_lease lease;
};

static void box_open(struct box *b, uint32_t policy)
{
	struct peali_mailbox_spec spec = { .slots = SLOTS,
					   .message_bytes = BYTES,
					   .n_workers = 1,
					   .tells = 1,
					   .policy = policy };

	memset(b, 0, sizeof(*b));
	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	b->m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(b->m, &spec);
}

/* Takes a ticket as a put does, and writes nothing. */
static uint64_t take_ticket(struct box *b)
{
	CHECK(peal_mailbox_admit(b->m, &b->lease, 1));
	b->lease.granted--;
	return peali_mailbox_ticket(b->m, 1);
}

static void write_at(struct box *b, uint64_t number, uint64_t sequence)
{
	struct peal_header h = { 0, (uint16_t)sequence, 0 };
	uint8_t data[BYTES];

	link_fill(data, BYTES, sequence);
	peali_mailbox_write(b->m, number, h, data, BYTES);
}

static void put(struct box *b, uint64_t sequence)
{
	write_at(b, take_ticket(b), sequence);
}

/*
 * Takes all messages, and gives up missing tickets below `until`. Returns the
 * number of whole messages, which must be in order from `next`. Adds the number
 * of dead messages to *dead.
 */
static uint64_t take_all(struct box *b, uint64_t next, uint64_t until,
			 uint64_t *dead)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	struct peal_slot_view view;
	struct peal_header h;
	uint64_t n = 0;

	while (peal_mailbox_peek(b->m, &view) ||
	       peal_mailbox_abandon(b->m, until)) {
		CHECK(peal_mailbox_peek(b->m, &view));
		memcpy(&h, view.content, header);
		if (view.kind == PEAL_KIND_DEAD) {
			CHECK_EQ(h.actor, ~0u);
			++*dead;
		} else {
			CHECK_EQ(h.type, (uint16_t)(next + n));
			CHECK(link_filled(view.content + header, BYTES,
					  next + n));
			n++;
		}
		peal_mailbox_release(b->m);
	}
	peal_mailbox_flush(b->m);
	return n;
}

static void abandon_one(uint32_t policy)
{
	uint64_t dead = 0, lap, number;
	struct box b;

	box_open(&b, policy);
	for (lap = 0; lap < 3; lap++) {
		put(&b, 0);
		number = take_ticket(&b); /* its producer dies */
		put(&b, 1);
		put(&b, 2);
		CHECK_EQ(take_all(&b, 0, b.m->taken, &dead), 1);
		CHECK_EQ(b.m->taken, number);
		CHECK_EQ(dead, lap);
		CHECK_EQ(take_all(&b, 1, b.m->ticket, &dead), 2);
		CHECK_EQ(dead, lap + 1);
		CHECK_EQ(b.m->head, b.m->ticket);
	}
	free(b.m);
}

PEAL_TEST(messages_behind_a_dead_ticket_arrive)
{
	EACH_POLICY(policy)
	abandon_one(policy);
}

PEAL_TEST(abandon_keeps_published_messages)
{
	uint64_t dead = 0, i;
	struct box b;

	EACH_POLICY(policy)
	{
		box_open(&b, policy);
		for (i = 0; i < 10; i++)
			put(&b, i);
		CHECK_EQ(take_all(&b, 0, b.m->ticket, &dead), 10);
		CHECK_EQ(dead, 0);
		/* the noted tickets were taken meanwhile */
		CHECK_EQ(take_all(&b, 0, b.m->taken - 3, &dead), 0);
		CHECK_EQ(dead, 0);
		free(b.m);
	}
}

/* The producer dies after it has written some atoms. */
PEAL_TEST(half_written_message_is_dead)
{
	uint8_t content[BYTES + 8];
	uint64_t dead = 0, number;
	struct box b;

	memset(content, 0xee, sizeof(content));
	EACH_POLICY(policy)
	{
		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		box_open(&b, policy);
		number = take_ticket(&b);
		peal_slot_pack(policy, peali_mailbox_slot(b.m, number),
			       peali_mailbox_lap(b.m, number), PEAL_KIND_DATA,
			       content, sizeof(content), 0, 2);
		put(&b, 0);
		CHECK(peal_mailbox_ready(b.m));
		CHECK_EQ(take_all(&b, 0, b.m->taken, &dead), 0);
		CHECK_EQ(take_all(&b, 0, b.m->ticket, &dead), 1);
		CHECK_EQ(dead, 1);
		dead = 0;
		free(b.m);
	}
}

PEAL_TEST(dead_tickets_may_fill_the_mailbox_at_the_wrap)
{
	uint64_t dead = 0, i;
	struct box b;

	EACH_POLICY(policy)
	{
		box_open(&b, policy);
		/* the slots as the last lap left them */
		for (i = 9; i <= SLOTS + 8; i++)
			peali_mailbox_drop_dead(b.m, 0ULL - i);
		b.m->ticket = b.m->leased = b.m->head = b.m->taken = 0ULL - 8;
		dead = 0;
		for (i = 0; i < SLOTS; i++)
			take_ticket(&b);
		CHECK_EQ(take_all(&b, 0, b.m->ticket, &dead), 0);
		CHECK_EQ(dead, SLOTS);
		put(&b, 7);
		CHECK_EQ(take_all(&b, 7, b.m->taken, &dead), 1);
		free(b.m);
	}
}

/*
 * On a lap of refreshes the writer of a slot writes all its atoms. So does the
 * consumer that gives the slot up.
 */
PEAL_TEST(abandoned_slot_keeps_no_stale_atoms)
{
	const uint64_t laps = PEAL_SLOT_REFRESH_LAPS;
	uint32_t word[3], each, atoms, i;
	uint64_t dead = 0;
	uint8_t *slot;
	struct box b;

	EACH_POLICY(policy)
	{
		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		box_open(&b, policy);
		b.m->ticket = b.m->leased = b.m->head = b.m->taken =
			(laps - 1) * SLOTS;
		each = peali_atom_payload(policy);
		atoms = peal_slot_content_max(policy, b.m->slot_bytes) / each;
		slot = peali_mailbox_slot(b.m, take_ticket(&b));
		for (i = 0; i < atoms; i++)
			peali_atom_write(policy, slot, i,
					 peali_atom_tag(each, 7, PEAL_KIND_DATA,
							i, BYTES),
					 slot, each);
		put(&b, 0);
		CHECK_EQ(take_all(&b, 0, b.m->ticket, &dead), 1);
		CHECK_EQ(dead, 1);
		for (i = 0; i < atoms; i++)
			CHECK_EQ(peali_atom_read(policy, slot, i, word) >> 16,
				 laps);
		dead = 0;
		free(b.m);
	}
}

/* Negative control: a slow producer loses a message with a given-up ticket. */
PEAL_TEST(abandon_without_liveness_check_is_caught)
{
	uint64_t dead = 0, number;
	struct box b;

	EACH_POLICY(policy)
	{
		box_open(&b, policy);
		number = take_ticket(&b);
		put(&b, 1);
		CHECK_EQ(take_all(&b, 1, b.m->ticket, &dead), 1);
		write_at(&b, number, 0); /* the producer was only slow */
		CHECK_EQ(take_all(&b, 0, b.m->taken, &dead), 0);
		CHECK_EQ(dead, 1);
		dead = 0;
		free(b.m);
	}
}

PEAL_TEST_MAIN(RUN(messages_behind_a_dead_ticket_arrive);
	       RUN(abandon_keeps_published_messages);
	       RUN(half_written_message_is_dead);
	       RUN(dead_tickets_may_fill_the_mailbox_at_the_wrap);
	       RUN(abandoned_slot_keeps_no_stale_atoms);
	       RUN(abandon_without_liveness_check_is_caught);)
