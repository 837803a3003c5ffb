/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast parallel */
#include <peal/device/mailbox.h>

#include "link_pair.h"
#include "peal_test.h"
#include "queues/mailbox.h"

/*
 * Producers that keep room in a mailbox, as a kernel's workers do: they have it
 * from the start, do not give it back, and who takes from the mailbox comes to
 * its own before others.
 */

#define PRODUCERS 2 /* 0 takes, too */

struct box {
	struct peal_mailbox *m;
	struct peal_mailbox_lease lease[PRODUCERS];
	uint16_t put, taken; /* messages; each says which one it is */
};

static void box_open(struct box *b, uint32_t slots, uint32_t lease,
		     uint32_t keep)
{
	struct peali_mailbox_spec spec = { .slots = slots,
					   .message_bytes = 8,
					   .n_workers = PRODUCERS,
					   .tells = keep,
					   .lease = lease,
					   .keep = keep };
	uint32_t i;

	memset(b, 0, sizeof(*b));
	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	b->m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(b->m, &spec);
	for (i = 0; i < PRODUCERS; i++)
		b->lease[i].granted = keep;
}

static int put(struct box *b, uint32_t producer)
{
	struct peal_header header = { producer, b->put, 0 };
	uint64_t word = b->put;
	int result = peal_mailbox_put(b->m, &b->lease[producer], header, &word,
				      sizeof(word));

	b->put = (uint16_t)(b->put + !result);
	return result;
}

/* Takes the next one off; the producers hear of it, or not yet. */
static void take(struct box *b, int told)
{
	struct peal_slot_view view;
	struct peal_header header;

	CHECK(peal_mailbox_peek(b->m, &view));
	memcpy(&header, view.content, sizeof(header));
	CHECK_EQ(header.type, b->taken++);
	if (peali_mailbox_drop(b->m) || told)
		peal_mailbox_flush_own(b->m, &b->lease[0]);
}

/* Slots are free, granted, or hold a message: no more of them than there are. */
static void check_slots(const struct box *b)
{
	const struct peal_mailbox *m = b->m;
	uint64_t asked = b->lease[0].asked + b->lease[1].asked;
	uint64_t granted = b->lease[0].granted + b->lease[1].granted;

	CHECK_EQ(m->leased - m->returned - m->ticket, granted + asked);
	CHECK(m->ticket - m->taken + granted <= 1ULL << m->capacity_log2);
}

PEAL_TEST(what_is_kept_is_there_from_the_start_whoever_else_fills_it)
{
	struct box b;
	uint32_t i;

	box_open(&b, 8, 2, 2);
	for (i = 0; i < 6; i++)
		CHECK_EQ(put(&b, 0), 0);
	CHECK_EQ(put(&b, 0), PEAL_EAGAIN);
	CHECK_EQ(put(&b, 1), 0);
	CHECK_EQ(put(&b, 1), 0);
	CHECK_EQ(put(&b, 1), PEAL_EAGAIN);
	check_slots(&b);
	for (i = 0; i < 8; i++)
		take(&b, 0);
	check_slots(&b);
	free(b.m);
}

PEAL_TEST(what_is_kept_is_not_given_back)
{
	struct box b;

	box_open(&b, 8, 4, 1);
	peal_mailbox_return(b.m, &b.lease[1]);
	CHECK_EQ(b.m->returned, 0);
	CHECK_EQ(b.lease[1].granted, 1);
	CHECK_EQ(put(&b, 1), 0);
	CHECK_EQ(put(&b, 1), 0); /* the first of a lease of four */
	CHECK_EQ(b.lease[1].granted, 3);
	peal_mailbox_return(b.m, &b.lease[1]);
	CHECK_EQ(b.m->returned, 2);
	CHECK_EQ(b.lease[1].granted, 1);
	check_slots(&b);
	free(b.m);
}

/* Full, and another has asked first: who frees a slot has it nevertheless. */
PEAL_TEST(who_takes_has_what_it_frees_before_others_up_to_what_it_keeps)
{
	struct box b;
	uint32_t i;

	box_open(&b, 8, 3, 2);
	for (i = 0; i < 6; i++)
		CHECK_EQ(put(&b, 1), 0);
	CHECK_EQ(put(&b, 1), PEAL_EAGAIN);
	CHECK_EQ(put(&b, 0), 0);
	CHECK_EQ(put(&b, 0), 0);
	CHECK_EQ(put(&b, 0), PEAL_EAGAIN);
	check_slots(&b);
	take(&b, 1);
	CHECK_EQ(put(&b, 1), PEAL_EAGAIN);
	take(&b, 1);
	CHECK_EQ(put(&b, 1), PEAL_EAGAIN);
	check_slots(&b);
	CHECK_EQ(b.lease[0].granted, 2);
	take(&b, 1);
	CHECK_EQ(put(&b, 1), 0); /* the third is the other's */
	CHECK_EQ(put(&b, 0), 0);
	CHECK_EQ(put(&b, 0), 0);
	CHECK_EQ(put(&b, 0), PEAL_EAGAIN);
	check_slots(&b);
	for (i = 0; i < 8; i++)
		take(&b, i & 1);
	CHECK(!peal_mailbox_ready(b.m));
	check_slots(&b);
	free(b.m);
}

/* One message for each that is taken, as an actor does that tells itself, while
 * the other takes all that it can get: for laps, near the wrap of numbers. */
PEAL_TEST(a_circle_of_one_goes_on_in_a_full_mailbox)
{
	struct box b;
	uint32_t i;

	box_open(&b, 4, 1, 1);
	CHECK_EQ(put(&b, 0), 0);
	for (i = 0; i < 300000; i++) {
		while (!put(&b, 1))
			;
		take(&b, i % 3 == 0);
		if (b.lease[0].granted)
			CHECK_EQ(put(&b, 0), 0);
		else
			CHECK(i % 3);
		check_slots(&b);
	}
	free(b.m);
}

PEAL_TEST_MAIN(
	RUN(what_is_kept_is_there_from_the_start_whoever_else_fills_it);
	RUN(what_is_kept_is_not_given_back);
	RUN(who_takes_has_what_it_frees_before_others_up_to_what_it_keeps);
	RUN(a_circle_of_one_goes_on_in_a_full_mailbox);)
