/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the defaults, the sizes and the refusals of a work queue's options. */
#include <peal/device/impl/queue/slot.h>
#include <peal/errors.h>

#include "peal_test.h"
#include "proposed.h"
#include "queues/work.h"

static struct peali_work_spec spec(uint32_t slots, uint32_t message_bytes,
				   uint32_t n_producers, uint32_t bulk,
				   uint32_t lease)
{
	struct peali_work_spec s;

	memset(&s, 0, sizeof(s));
	s.slots = slots;
	s.message_bytes = message_bytes;
	s.n_producers = n_producers;
	s.bulk = bulk;
	s.lease = lease;
	return s;
}

/* Completes the options for a device with all policies. */
static int complete(struct peali_work_spec *s)
{
	return peali_work_spec_complete(s, 14, PEAL_POLICY_SEQUENCE, "call");
}

PEAL_TEST(defaults_are_48_bytes_blocks_of_a_32nd_and_leases_of_half)
{
	struct peali_work_spec s = spec(64, 0, 4, 0, 0);

	CHECK_OK(complete(&s));
	CHECK_EQ(s.message_bytes, 48);
	CHECK_EQ(s.slot_bytes, 64);
	CHECK_EQ(s.bulk, 1);
	CHECK_EQ(s.block, 2);
	CHECK_EQ(s.lease, 8);
	CHECK_EQ(peali_work_bytes(&s), 3 * 128 + 32 * 128 + 64 * 64);
	s = spec(1 << 16, 0, 4, 32, 0);
	CHECK_OK(complete(&s));
	CHECK_EQ(s.lease, 32);
	CHECK_EQ(s.block, 32);
	s = spec(16, 0, 1, 16, 0);
	CHECK_OK(complete(&s));
	CHECK_EQ(s.lease, 1); /* or a bulk of 16 would not fit */
	s = spec(1, 0, 1, 1, 0);
	CHECK_OK(complete(&s));
	CHECK_EQ(s.lease, 1);
}

PEAL_TEST(header_offsets_match_the_layout)
{
	struct peali_work_spec s = spec(128, 100, 3, 4, 0);
	struct peal_work q;

	CHECK_OK(complete(&s));
	peali_work_header(&q, &s);
	CHECK(q.magic == PEAL_WORK_MAGIC);
	CHECK_EQ(q.capacity_log2, 7);
	CHECK_EQ(q.block_log2, 2);
	CHECK_EQ(q.blocks_offset, sizeof(q));
	CHECK_EQ(q.slots_offset, sizeof(q) + 32 * 128);
	CHECK_EQ(peali_work_bytes(&s), q.slots_offset + 128ULL * s.slot_bytes);
	CHECK(!q.solo);
	s = spec(128, 100, 1, 4, 0);
	CHECK_OK(complete(&s));
	peali_work_header(&q, &s);
	CHECK(q.solo);
}

PEAL_TEST(set_places_shards_contiguously)
{
	struct peali_work_spec s = spec(16, 0, 2, 1, 0);
	struct peal_work_set set;

	CHECK_OK(complete(&s));
	peali_work_set_header(&set, &s, 5);
	CHECK(set.magic == PEAL_WORK_SET_MAGIC);
	CHECK_EQ(set.n_shards, 5);
	CHECK_EQ(set.shard_bytes % PEAL_SHARED_LINE, 0);
	CHECK_EQ(peali_work_set_bytes(&s, 5),
		 set.shards_offset + 5 * set.shard_bytes);
}

static void refused(struct peali_work_spec s, const char *text)
{
	struct peali_work_spec before = s;

	CHECK_EQ(complete(&s), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text, text);
	CHECK(!memcmp(&s, &before, sizeof(s)));
}

PEAL_TEST(refused_option_is_named)
{
	struct peali_work_spec s;

	refused(spec(0, 0, 1, 1, 0), "'capacity': must be a power of two (0, "
				     "allowed 1..1048576)");
	refused(spec(48, 0, 1, 1, 0), "'capacity': must be a power of two (48, "
				      "allowed 1..1048576)");
	refused(spec(1u << 21, 0, 1, 1, 0), "'capacity': is out of range "
					    "(2097152, allowed 1..1048576)");
	refused(spec(64, 4081, 1, 1, 0),
		"'message_bytes': is too large for "
		"policy sequence (4081, allowed 1..4080)");
	refused(spec(64, 0, 0, 1, 0), "'producers': is out of range (0, "
				      "allowed 1..1048576)");
	refused(spec(64, 0, 4, 16, 2),
		"'capacity': is too small for 4 "
		"producers with leases of 2 that put up to 16 messages at a "
		"time (64, allowed 128..1048576)");
	refused(spec(64, 0, ~0u, ~0u, ~0u),
		"'capacity': is too small for "
		"4294967295 producers with leases of 4294967295 that put up to "
		"4294967295 messages at a time (64, allowed none)");
	refused(spec(64, 0, ~0u, ~0u, ~0u),
		"; use fewer producers or messages");
	refused(spec(1u << 19, 0, (1u << 19) - 100, 2, 0), "; use 1048576");
	s = spec(64, 0, 1, 1, 0);
	s.policy = 9;
	refused(s, "'policy': is no policy (9, allowed 0 (default), 1 "
		   "(sequence), 2 (atom16) or 3 (atom8))");
}

PEAL_TEST(proposed_capacities_are_legal)
{
	unsigned seen = 0;

	for (uint32_t slots = 1; slots <= 4096; slots *= 2)
		for (uint32_t producers = 1; producers <= 130; producers += 3)
			for (uint32_t bulk = 0; bulk <= 40; bulk += 5) {
				struct peali_work_spec s = spec(
					slots, 0, producers, bulk, bulk / 3);

				if (!complete(&s))
					continue;
				s.slots = test_proposed();
				CHECK(s.slots > slots);
				CHECK_OK(complete(&s));
				seen++;
			}
	CHECK(seen > 100);
}

PEAL_TEST_MAIN(RUN(defaults_are_48_bytes_blocks_of_a_32nd_and_leases_of_half);
	       RUN(header_offsets_match_the_layout);
	       RUN(set_places_shards_contiguously);
	       RUN(refused_option_is_named);
	       RUN(proposed_capacities_are_legal);)
