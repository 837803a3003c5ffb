/* SPDX-License-Identifier: Apache-2.0 */
#include "work_pool.h"

/* Shows the results of each work queue call in one thread. */

static void fill_and_drain(uint32_t policy, uint32_t slots)
{
	struct identity_message m;
	struct work_pool w;
	uint8_t *image;
	uint64_t bytes, i, lap;

	work_pool_open(&w, policy, slots, 1, 1);
	bytes = (uint64_t)slots * w.q->slot_bytes;
	image = (uint8_t *)malloc(bytes);
	CHECK(image);
	for (lap = 0; lap < 3; lap++) {
		CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
		for (i = 0; i < slots; i++)
			CHECK_EQ(work_put(&w, 0, lap * slots + i), 0);
		memcpy(image, peali_work_slot(w.q, 0), bytes);
		CHECK_EQ(work_put(&w, 0, 99), PEAL_EAGAIN);
		CHECK(!memcmp(image, peali_work_slot(w.q, 0), bytes));
		CHECK_EQ(w.q->ticket, (lap + 1) * slots);
		CHECK_EQ(w.q->leased, (lap + 1) * slots);
		for (i = 0; i < slots; i++) {
			CHECK_EQ(work_take(&w, 0, &m), 1);
			CHECK_EQ(m.sequence, lap * slots + i);
		}
	}
	CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
	work_pool_conserved(&w, 0);
	free(image);
	work_pool_close(&w);
}

PEAL_TEST(push_to_full_queue_returns_eagain_and_writes_nothing)
{
	static const uint32_t slots[] = { 1, 2, 16, 32, 256 };
	size_t i;

	EACH_POLICY(policy)
	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		fill_and_drain(policy, slots[i]);
}

PEAL_TEST(one_slot_queue_carries_70000_messages)
{
	struct identity_message m;
	struct work_pool w;
	uint64_t i;

	EACH_POLICY(policy)
	{
		work_pool_open(&w, policy, 1, 1, 1);
		for (i = 0; i < 70000; i++) { /* past the lap's 16 bits */
			CHECK_EQ(work_put(&w, 0, i), 0);
			CHECK_EQ(work_put(&w, 0, i), PEAL_EAGAIN);
			CHECK_EQ(work_take(&w, 1, &m), 1);
			CHECK_EQ(m.sequence, i);
		}
		work_pool_conserved(&w, 0);
		work_pool_close(&w);
	}
}

/* Puts bulks and takes bursts of every length, at every offset. */
static void bulks(uint32_t policy)
{
	struct identity_message in[32], out[40];
	struct peal_work_received got[40];
	struct peal_header h = { 5, 6, 7 };
	uint64_t put = 0, taken = 0;
	unsigned long long random = 5;
	struct work_pool w;
	int k, r;

	work_pool_open(&w, policy, 64, 1, 32);
	while (taken < 20000) {
		uint64_t n = 1 + test_random(&random) % 32, i;

		for (i = 0; i < n; i++)
			in[i] = identity_make(0, put + i);
		r = peal_work_push_bulk(w.q, &w.at[0].p, h, in, sizeof(in[0]),
					n);
		CHECK(r == 0 || r == PEAL_EAGAIN);
		put += r ? 0 : n;
		CHECK_EQ(w.q->ticket, put); /* all or nothing */
		n = 1 + test_random(&random) % 40;
		r = peal_work_pop_burst(w.q, &w.at[0].c, out, sizeof(out[0]),
					(uint32_t)n, got);
		CHECK(r <= (int)n && r <= PEAL_WORK_BURST);
		for (k = 0; k < r; k++) {
			CHECK_EQ(out[k].sequence, taken);
			CHECK_EQ(got[k].number, taken++);
			CHECK_EQ(got[k].length, sizeof(out[0]));
			CHECK_EQ(got[k].header.flags, 7);
		}
		CHECK(r > 0 || taken == put);
	}
	work_pool_close(&w);
}

PEAL_TEST(bulks_are_atomic_and_bursts_take_available)
{
	EACH_POLICY(policy)
	bulks(policy);
}

static void carry(struct work_pool *w, uint32_t bytes, uint32_t off)
{
	PEAL_ALIGNED(8) uint8_t data[112], to[400];
	struct peal_header h = { 0x01020304u + bytes, (uint16_t)(7 * off), 9 };
	struct peal_work_received got;

	link_fill(data + off, bytes, bytes);
	CHECK_EQ(peal_work_push(w->q, &w->at[0].p, h, data + off, bytes), 0);
	CHECK_EQ(peal_work_pop(w->q, &w->at[0].c, to, 100, &got), 1);
	CHECK_EQ(got.length, bytes);
	CHECK_EQ(got.header.actor, h.actor);
	CHECK_EQ(got.header.type, h.type);
	CHECK_EQ(got.header.flags, h.flags);
	CHECK(!memcmp(to, data + off, bytes));
}

PEAL_TEST(messages_of_every_size_and_alignment_arrive_whole)
{
	struct work_pool w;
	uint32_t bytes, off;

	EACH_POLICY(policy)
	{
		struct peali_work_spec spec = { 4, 100, 1, 1, 0, 0, 1, policy };

		work_pool_make(&w, spec);
		for (bytes = 0; bytes <= 100; bytes++)
			for (off = 0; off < 8; off++)
				carry(&w, bytes, off);
		/* each overwrites a longer message */
		for (bytes = 101; bytes--;)
			carry(&w, bytes, bytes % 4);
		work_pool_close(&w);
	}
}

PEAL_TEST(oversized_messages_and_bulks_are_refused)
{
	struct peal_header h = { 0, 0, 0 };
	struct peal_work_received got;
	static uint8_t data[32 * 65];
	struct work_pool w;

	work_pool_open(&w, PEAL_POLICY_DEFAULT, 64, 1, 32);
	CHECK_EQ(peal_work_bulk_max(w.q), 63);
	CHECK_EQ(peal_work_push(w.q, &w.at[0].p, h, data, 17), PEAL_EMSGSIZE);
	CHECK_EQ(peal_work_push(w.q, &w.at[0].p, h, data, ~0ULL),
		 PEAL_EMSGSIZE);
	CHECK_EQ(peal_work_push_bulk(w.q, &w.at[0].p, h, data, 16, 64),
		 PEAL_EMSGSIZE);
	CHECK_EQ(w.q->ticket, 0);
	CHECK_EQ(w.q->leased, 0);
	CHECK_EQ(peal_work_push_bulk(w.q, &w.at[0].p, h, data, 16, 0), 0);
	CHECK_EQ(peal_work_push_bulk(w.q, &w.at[0].p, h, data, 16, 63), 0);
	CHECK_EQ(peal_work_pop_burst(w.q, &w.at[0].c, data, 15, 1, &got),
		 PEAL_EMSGSIZE);
	CHECK_EQ(w.q->claimed, 0);
	work_pool_close(&w);
}

/*
 * The largest bulk fits at any number if all messages were taken and reported.
 */
PEAL_TEST(largest_bulk_fits_at_every_ticket)
{
	struct identity_message m;
	struct peal_header h = { 0, 0, 0 };
	static uint8_t data[16 * 128];
	struct work_pool w;
	uint64_t at, i;

	for (at = 0; at < 128; at++) {
		work_pool_open(&w, PEAL_POLICY_DEFAULT, 128, 1, 1);
		CHECK_EQ(peal_work_bulk_max(w.q), 125);
		for (i = 0; i < at; i++) {
			CHECK_EQ(work_put(&w, 0, i), 0);
			CHECK_EQ(work_take(&w, 0, &m), 1);
		}
		/* reports the taken slots */
		CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
		CHECK_EQ(peal_work_push_bulk(w.q, &w.at[0].p, h, data, 16, 125),
			 0);
		work_pool_close(&w);
	}
}

PEAL_TEST(returned_leases_admit_other_producers)
{
	struct peali_work_spec spec = { 16, 16, 3, 1, 0, 0, 4, 0 };
	struct work_pool w;
	uint32_t i;

	/* lease 4, three producers: 16 slots */
	spec.lease = 4;
	work_pool_make(&w, spec);
	for (i = 0; i < 3; i++)
		CHECK_EQ(work_put(&w, i, 0), 0);
	for (i = 1; i < 8; i++) /* its lease and all free slots */
		CHECK_EQ(work_put(&w, 0, i), 0);
	CHECK_EQ(work_put(&w, 0, 8), PEAL_EAGAIN); /* others hold 2 * 3 slots */
	CHECK_EQ(w.q->leased, 16);
	peal_work_lease_release(w.q, &w.at[1].p);
	CHECK_EQ(w.q->leased, 13);
	CHECK_EQ(work_put(&w, 0, 8), 0);
	work_pool_close(&w);
}

/*
 * A refused producer keeps no slot. Otherwise two producers could wait forever.
 */
PEAL_TEST(refused_producer_holds_no_slot)
{
	struct peali_work_spec spec = { 8, 16, 2, 2, 0, 0, 2, 0 };
	struct work_pool w;

	spec.lease = 2;
	work_pool_make(&w, spec);
	CHECK(peal_work_admit(w.q, &w.at[0].p, 5));
	CHECK(peal_work_admit(w.q, &w.at[1].p, 2));
	CHECK(!peal_work_admit(w.q, &w.at[1].p, 4));
	CHECK_EQ(w.at[1].p.granted, 0);
	CHECK_EQ(w.q->leased, 5);
	peal_work_lease_release(w.q, &w.at[0].p);
	CHECK(peal_work_admit(w.q, &w.at[1].p, 8));
	CHECK_EQ(w.q->leased, 8);
	work_pool_close(&w);
}

PEAL_TEST(free_slots_are_published_by_blocks_and_when_idle)
{
	struct identity_message m;
	struct work_pool w;
	uint64_t i;

	work_pool_open(&w, PEAL_POLICY_DEFAULT, 128, 1, 1); /* blocks of 4 */
	for (i = 0; i < 10; i++)
		CHECK_EQ(work_put(&w, 0, i), 0);
	for (i = 1; i <= 10; i++) {
		CHECK_EQ(work_take(&w, 0, &m), 1);
		CHECK_EQ(*peali_work_taken(w.q, 0), i < 4 ? 0 : 4);
		CHECK_EQ(*peali_work_taken(w.q, 8), 0);
	}
	CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
	CHECK_EQ(*peali_work_taken(w.q, 8), 2);
	work_pool_close(&w);
}

/* ---- numbers near their ends --------------------------------------------- */

static void pass_the_wrap(uint32_t policy, uint32_t slots, uint64_t start)
{
	struct identity_message m;
	struct work_pool w;
	uint64_t put = 0, taken = 0;
	unsigned long long random = start;
	uint32_t turns = 0;

	work_pool_open(&w, policy, slots, 1, 1);
	work_pool_start_at(&w, start);
	CHECK_EQ(work_take(&w, 0, &m), PEAL_EAGAIN);
	while (taken < 5ULL * slots) {
		CHECK(turns++ < 100000);
		uint64_t n = test_random(&random) % (slots + 1);

		while (n-- && work_put(&w, 0, put) == 0)
			put++;
		CHECK(put - taken <= slots);
		n = test_random(&random) % (slots + 1);
		while (n-- && work_take(&w, 0, &m) == 1)
			CHECK_EQ(m.sequence, taken++);
	}
	while (work_take(&w, 0, &m) == 1)
		CHECK_EQ(m.sequence, taken++);
	CHECK_EQ(put, taken);
	work_pool_conserved(&w, start);
	work_pool_close(&w);
}

PEAL_TEST(number_wrap_loses_and_duplicates_nothing)
{
	static const uint32_t slots[] = { 1, 2, 16, 128 };
	uint64_t off;
	size_t i;

	EACH_POLICY(policy)
	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		for (off = 0; off < 7; off++) {
			/*
			 * the numbers wrap, the lap wraps, a lap of refreshes
			 */
			pass_the_wrap(policy, slots[i], 0ULL - slots[i] - off);
			pass_the_wrap(policy, slots[i],
				      65536ULL * slots[i] - slots[i] - off);
			pass_the_wrap(policy, slots[i],
				      1ULL * PEAL_SLOT_REFRESH_LAPS * slots[i] -
					      off);
		}
}

static void be_late(uint32_t slots, uint64_t messages)
{
	struct identity_message m;
	struct work_pool w;
	uint64_t n;

	work_pool_open(&w, PEAL_POLICY_DEFAULT, slots, 2, 1);
	CHECK_EQ(work_put(&w, 0, 0), 0);
	CHECK_EQ(work_take(&w, 0, &m), 1);
	peal_work_lease_release(w.q, &w.at[0].p);
	for (n = 0; n < messages; n++) {
		while (work_put(&w, 1, n)) /* reports the last block, too */
			peal_work_flush(w.q, &w.at[0].c);
		CHECK_EQ(work_take(&w, 0, &m), 1);
	}
	peal_work_flush(w.q, &w.at[0].c);
	peal_work_lease_release(w.q, &w.at[1].p);
	CHECK_EQ(work_put(&w, 0, 1), 0);
	CHECK_EQ(work_take(&w, 0, &m), 1);
	CHECK_EQ(m.sequence, 1);
	work_pool_conserved(&w, 0);
	work_pool_close(&w);
}

/*
 * Others used the queue for one or many laps. The producer then gets slots by
 * one request.
 */
PEAL_TEST(idle_producer_gets_slots_by_one_request)
{
	static const uint32_t slots[] = { 2, 16, 128 };
	uint64_t n;
	size_t i;

	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		for (n = 0; n < 6ull * slots[i]; n++)
			be_late(slots[i], n);
		be_late(slots[i], 100ull * slots[i]);
	}
}

PEAL_TEST_MAIN(RUN(push_to_full_queue_returns_eagain_and_writes_nothing);
	       RUN(one_slot_queue_carries_70000_messages);
	       RUN(bulks_are_atomic_and_bursts_take_available);
	       RUN(messages_of_every_size_and_alignment_arrive_whole);
	       RUN(oversized_messages_and_bulks_are_refused);
	       RUN(largest_bulk_fits_at_every_ticket);
	       RUN(returned_leases_admit_other_producers);
	       RUN(refused_producer_holds_no_slot);
	       RUN(free_slots_are_published_by_blocks_and_when_idle);
	       RUN(idle_producer_gets_slots_by_one_request);
	       RUN(number_wrap_loses_and_duplicates_nothing);)
