/* SPDX-License-Identifier: Apache-2.0 */
#include "work_pool.h"

/*
 * Shows producers that stop between ticket and tag. No consumer has a claim
 * between two calls.
 */

static void put_late(struct work_pool *w, uint64_t number, uint32_t producer,
		     uint64_t sequence)
{
	struct identity_message m = identity_make(producer, sequence);
	struct peal_header h = { producer, (uint16_t)sequence, 3 };

	peal_work_put_at(w->q, number, h, &m, sizeof(m));
}

/*
 * A producer stands between ticket and tag. Every consumer polls, by every form
 * of take. None of these calls keeps a claim. After the tag each consumer can
 * get the message, also if the others never call again.
 */
static void poll_late(uint32_t policy, uint64_t start, uint32_t heir)
{
	struct peal_work_received got[8];
	struct identity_message m[8];
	struct work_pool w;
	uint64_t number, i;

	work_pool_open(&w, policy, 16, 2, 4);
	work_pool_start_at(&w, start);
	number = work_vanish(&w, 0);
	for (i = 0; i < 40; i++)
		CHECK_EQ(peal_work_pop_burst(w.q, &w.at[i % 4].c, m,
					     sizeof(m[0]), 1 + (uint32_t)i % 8,
					     got),
			 PEAL_EAGAIN);
	CHECK_EQ(w.q->claimed, start);
	CHECK_EQ(w.q->turn, start);
	put_late(&w, number, 0, 5);
	CHECK_EQ(work_take(&w, heir, m), 1);
	CHECK_EQ(m[0].sequence, 5);
	work_pool_conserved(&w, start);
	work_pool_close(&w);
}

PEAL_TEST(message_of_a_late_producer_goes_to_any_consumer)
{
	uint32_t heir;

	EACH_POLICY(policy)
	for (heir = 0; heir < 5; heir++) {
		poll_late(policy, 0, heir);
		poll_late(policy, 13, heir);
		poll_late(policy, 0ULL - 2, heir);
	}
}

/* Messages behind a late slot wait, and then come in the order of tickets. */
PEAL_TEST(messages_behind_a_late_slot_keep_their_order)
{
	struct peal_work_received got[8];
	struct identity_message m[8];
	struct work_pool w;
	uint64_t numbers[2], i;

	EACH_POLICY(policy)
	{
		work_pool_open(&w, policy, 64, 2, 4);
		CHECK_EQ(work_put(&w, 1, 0), 0);
		for (i = 0; i < 2; i++)
			numbers[i] = work_vanish(&w, 0);
		for (i = 1; i < 4; i++)
			CHECK_EQ(work_put(&w, 1, i), 0);
		/* a burst ends in front of the late slot */
		CHECK_EQ(peal_work_pop_burst(w.q, &w.at[0].c, m, sizeof(m[0]),
					     8, got),
			 1);
		put_late(&w, numbers[1], 0, 1);
		CHECK_EQ(work_take(&w, 0, m), PEAL_EAGAIN);
		CHECK_EQ(work_take(&w, 1, m), PEAL_EAGAIN);
		put_late(&w, numbers[0], 0, 0);
		CHECK_EQ(work_take(&w, 1, m), 1);
		CHECK_EQ(got[0].number, 0);
		CHECK_EQ(m[0].producer, 0);
		CHECK_EQ(m[0].sequence, 0);
		CHECK_EQ(peal_work_pop_burst(w.q, &w.at[0].c, m, sizeof(m[0]),
					     8, got),
			 4);
		for (i = 0; i < 4; i++)
			CHECK_EQ(got[i].number, 2 + i);
		work_pool_conserved(&w, 0);
		work_pool_close(&w);
	}
}

/* Only whole messages count as published, whichever atom is missing. */
PEAL_TEST(half_written_message_is_not_claimed)
{
	const uint8_t content[24] = { 1 };
	struct identity_message m;
	struct work_pool w;
	uint32_t i;

	EACH_POLICY(policy)
	for (i = 0; i < 2; i++) {
		uint32_t each = peali_atom_payload(policy);
		uint64_t number;

		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		work_pool_open(&w, policy, 4, 1, 1);
		number = work_vanish(&w, 0);
		peali_atom_write(policy, peali_work_slot(w.q, number), i,
				 peali_atom_tag(each, 1, PEAL_KIND_DATA, i, 24),
				 content, each);
		CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
		CHECK_EQ(w.q->claimed, 0);
		put_late(&w, number, 0, 3);
		CHECK_EQ(work_take(&w, 1, &m), 1);
		CHECK_EQ(m.sequence, 3);
		work_pool_conserved(&w, 0);
		work_pool_close(&w);
	}
}

/* ---- producers that are gone --------------------------------------------- */

static void poison(uint32_t policy)
{
	struct identity_message m;
	uint64_t number, found = 99, i, lap;
	struct work_pool w;

	work_pool_open(&w, policy, 8, 2, 1);
	for (lap = 0; lap < 3; lap++) {
		CHECK(!peal_work_open_ticket(w.q, 0, &found));
		number = work_vanish(&w, 0);
		for (i = 0; i < 5; i++)
			CHECK_EQ(work_put(&w, 1, i), 0);
		CHECK(peal_work_open_ticket(w.q, 0, &found));
		CHECK_EQ(found, number);
		CHECK(!peal_work_open_ticket(w.q, found + 1, &found));
		CHECK_EQ(peal_work_abandon_ticket(w.q, number + 1),
			 PEAL_EINVAL);
		CHECK_EQ(peal_work_abandon_ticket(w.q, number + 6),
			 PEAL_EINVAL);
		CHECK_EQ(peal_work_abandon_ticket(w.q, number - 1),
			 PEAL_EINVAL);
		CHECK_EQ(peal_work_abandon_ticket(w.q, number), 0);
		CHECK_EQ(peal_work_abandon_ticket(w.q, number), PEAL_EINVAL);
		for (i = 0; i < 5; i++) {
			CHECK_EQ(work_take(&w, 0, &m), 1);
			CHECK_EQ(m.sequence, i);
		}
		CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
		CHECK_EQ(w.at[0].c.dead, lap + 1);
	}
	/* the lease of the dead producer is returned, too */
	peal_work_lease_release(w.q, &w.at[0].p);
	work_pool_conserved(&w, 0);
	work_pool_close(&w);
}

PEAL_TEST(abandoned_ticket_is_skipped_and_counted)
{
	EACH_POLICY(policy)
	poison(policy);
}

/* Without poison the queue stalls, with at most a lap of messages in it. */
PEAL_TEST(open_ticket_hides_later_messages_until_abandoned)
{
	struct identity_message m;
	struct work_pool w;
	uint64_t i, k;

	work_pool_open(&w, PEAL_POLICY_DEFAULT, 8, 2, 1);
	work_vanish(&w, 0);
	peal_work_lease_release(w.q, &w.at[0].p);
	for (i = 0; i < 100 && work_put(&w, 1, i) == 0; i++)
		CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
	CHECK_EQ(i, 7);
	CHECK_EQ(peal_work_abandon_ticket(w.q, 0), 0);
	for (k = 0; k < i; k++) { /* the first take also skips */
		CHECK_EQ(work_take(&w, 0, &m), 1);
		CHECK_EQ(m.sequence, k);
	}
	CHECK_EQ(w.at[0].c.dead, 1);
	CHECK_EQ(work_put(&w, 1, i), 0);
	work_pool_close(&w);
}

/* The producer had written one atom of its message: the first or the second. */
PEAL_TEST(half_written_ticket_is_abandoned)
{
	struct identity_message m;
	const uint8_t content[24] = { 1 };
	struct work_pool w;
	uint64_t found;
	uint32_t i;

	EACH_POLICY(policy)
	for (i = 0; i < 2; i++) {
		uint32_t each = peali_atom_payload(policy);
		uint8_t *slot;

		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		work_pool_open(&w, policy, 4, 1, 1);
		slot = peali_work_slot(w.q, work_vanish(&w, 0));
		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, 1, PEAL_KIND_DATA, i, 24),
				 content, each);
		CHECK_EQ(work_put(&w, 0, 5), 0);
		CHECK(peal_work_open_ticket(w.q, 0, &found));
		CHECK_EQ(found, 0);
		CHECK_EQ(peal_work_abandon_ticket(w.q, 0), 0);
		CHECK_EQ(work_take(&w, 0, &m), 1);
		CHECK_EQ(m.sequence, 5);
		CHECK_EQ(w.at[0].c.dead, 1);
		work_pool_close(&w);
	}
}

/*
 * Poison writes one atom. On a lap of refreshes all atoms must be written, so
 * that no old tag becomes valid. Then the other atoms get the tag of the lap
 * before. A tag of this lap could complete the producer's message. On another
 * lap the other atoms stay unchanged. `expected`: lap of the other atoms; 0:
 * unchanged.
 */
static void abandon_atoms(uint32_t policy, uint32_t lap, uint32_t expected)
{
	const uint32_t stale = lap - PEAL_SLOT_REFRESH_LAPS / 2;
	const uint32_t each = peali_atom_payload(policy);
	struct identity_message m;
	uint32_t word[3], atoms, i;
	struct work_pool w;
	uint8_t *slot;

	work_pool_open(&w, policy, 4, 1, 1);
	work_pool_start_at(&w, (lap - 1) * 4ull);
	slot = peali_work_slot(w.q, work_vanish(&w, 0));
	atoms = peal_slot_content_max(policy, w.q->slot_bytes) / each;
	CHECK(atoms > 1);
	for (i = 0; i < atoms; i++) /* atoms of an earlier message */
		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, stale, PEAL_KIND_DATA, i,
						24),
				 slot, each);
	CHECK_EQ(peal_work_abandon_ticket(w.q, w.q->ticket - 1), 0);
	CHECK_EQ(peali_atom_read(policy, slot, 0, word) >> 16, lap & 0xffff);
	for (i = 1; i < atoms; i++)
		CHECK_EQ(peali_atom_read(policy, slot, i, word) >> 16,
			 (expected ? expected : stale) & 0xffff);
	CHECK_EQ(work_put(&w, 0, 5), 0);
	CHECK_EQ(work_take(&w, 0, &m), 1);
	CHECK_EQ(m.sequence, 5);
	CHECK_EQ(w.at[0].c.dead, 1);
	work_pool_close(&w);
}

PEAL_TEST(abandon_leaves_no_stale_atoms)
{
	const uint32_t lap = PEAL_SLOT_REFRESH_LAPS;
	uint32_t n;

	EACH_POLICY(policy)
	for (n = 1; n <= 8; n++) {
		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		abandon_atoms(policy, n * lap, n * lap - 1);
		abandon_atoms(policy, n * lap + 1, 0);
	}
}

PEAL_TEST_MAIN(RUN(message_of_a_late_producer_goes_to_any_consumer);
	       RUN(messages_behind_a_late_slot_keep_their_order);
	       RUN(half_written_message_is_not_claimed);
	       RUN(abandoned_ticket_is_skipped_and_counted);
	       RUN(open_ticket_hides_later_messages_until_abandoned);
	       RUN(half_written_ticket_is_abandoned);
	       RUN(abandon_leaves_no_stale_atoms);)
