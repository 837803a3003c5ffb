/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the defaults, sizes, refusals and header of a link's ring. */
#include <peal/device/impl/queue/slot.h>
#include <peal/errors.h>

#include "peal_test.h"
#include "proposed.h"
#include "queues/ring.h"

#define BIT(policy) (1u << PEAL_POLICY_##policy)
#define ALL (BIT(SEQUENCE) | BIT(ATOM16) | BIT(ATOM8))

static int complete(struct peali_ring_spec *s)
{
	return peali_ring_spec_complete(s, ALL, PEAL_POLICY_SEQUENCE, "call");
}

static uint32_t payload(const struct peali_ring_spec *s)
{
	return peal_slot_content_max(s->policy, s->slot_bytes) - 8;
}

PEAL_TEST(all_zero_gives_the_documented_defaults)
{
	struct peali_ring_spec s = { 0, 0, 0, 0, 0 };

	CHECK_OK(complete(&s));
	CHECK_EQ(s.capacity, 64);
	CHECK_EQ(s.message_bytes, 48);
	CHECK_EQ(s.slot_bytes, 64);
	CHECK_EQ(s.policy, PEAL_POLICY_SEQUENCE);
	CHECK_EQ(s.slab_bytes, 0);
	CHECK_EQ(peali_ring_bytes(&s), 128 + 64 * 64);
	CHECK_EQ(peali_ring_stage_bytes(&s), 0);
}

/* A completed spec stays unchanged if it is completed again. */
PEAL_TEST(default_slot_holds_messages_up_to_table_limit)
{
	uint32_t policy, bytes;

	CHECK_EQ(peali_ring_in_slot_max(PEAL_POLICY_SEQUENCE), 256);
	CHECK_EQ(peali_ring_in_slot_max(PEAL_POLICY_ATOM16), 512);
	CHECK_EQ(peali_ring_in_slot_max(PEAL_POLICY_ATOM8), 512);
	for (policy = 1; policy <= 3; policy++) {
		const uint32_t most = peali_ring_in_slot_max(policy);

		for (bytes = 1; bytes <= most; bytes++) {
			struct peali_ring_spec s = { 0, 0, policy, bytes, 0 };
			struct peali_ring_spec again;

			CHECK_OK(complete(&s));
			CHECK(payload(&s) >= bytes);
			CHECK_EQ(s.slab_bytes, 0);
			CHECK_EQ(s.slot_bytes % (s.slot_bytes > 64 ? 64 : 16),
				 0);
			again = s;
			CHECK_OK(complete(&again));
			CHECK(!memcmp(&again, &s, sizeof(s)));
			if (s.slot_bytes > 64)
				s.slot_bytes -= 64;
			else if (s.slot_bytes > 16)
				s.slot_bytes -= 16;
			else
				continue;
			CHECK(payload(&s) < bytes);
		}
	}
}

PEAL_TEST(larger_messages_get_slots_of_64_bytes_and_a_slab)
{
	uint32_t policy;

	for (policy = 1; policy <= 3; policy++) {
		const uint32_t bytes = peali_ring_in_slot_max(policy) + 1;
		struct peali_ring_spec s = { 0, 0, policy, bytes, 0 };

		CHECK_OK(complete(&s));
		CHECK_EQ(s.slot_bytes, 64);
		CHECK_EQ(s.slab_bytes, 65 * PEAL_SLAB_ROUND(bytes));
		CHECK(payload(&s) >= sizeof(struct peal_slab_descriptor));
		/* a given slot_bytes stays */
		s = (struct peali_ring_spec){ 0, 1088, policy, bytes, 0 };
		CHECK_OK(complete(&s));
		CHECK_EQ(s.slot_bytes, 1088);
		CHECK_EQ(s.slab_bytes, 0);
		s = (struct peali_ring_spec){ 0, 64, policy, 200, 0 };
		CHECK_OK(complete(&s));
		CHECK_EQ(s.slot_bytes, 64);
		CHECK(s.slab_bytes > 0);
	}
}

PEAL_TEST(default_slab_is_64_mib_or_nine_messages)
{
	struct peali_ring_spec s = { 1024, 0, 0, 1 << 20, 0 };

	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 64 << 20);
	s = (struct peali_ring_spec){ 64, 0, 0, 256 << 20, 0 };
	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 9ULL * (256 << 20));
	s = (struct peali_ring_spec){ 1, 0, 0, 256 << 20, 0 };
	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 2ULL * (256 << 20));
	s = (struct peali_ring_spec){ 1, 0, 0, 10 << 20, 0 };
	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 20 << 20);
}

PEAL_TEST(slab_is_rounded_up_and_omitted_if_slots_suffice)
{
	struct peali_ring_spec s = { 4, 0, 0, 1000, 5001 };

	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 5008);
	s = (struct peali_ring_spec){ 4, 64, 0, 48, 4096 };
	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 0);
	s = (struct peali_ring_spec){ 4, 64, 0, 49, 0 };
	CHECK_OK(complete(&s));
	CHECK_EQ(s.slab_bytes, 5 * 64);
}

PEAL_TEST(policy_is_the_default_or_the_best_of_both_ends)
{
	struct peali_ring_spec s = { 0, 0, 0, 0, 0 };

	CHECK_OK(peali_ring_spec_complete(&s, ALL, PEAL_POLICY_ATOM8, "c"));
	CHECK_EQ(s.policy, PEAL_POLICY_ATOM8);
	s.policy = 0;
	s.slot_bytes = 0;
	CHECK_OK(peali_ring_spec_complete(&s, BIT(ATOM8) | BIT(SEQUENCE),
					  PEAL_POLICY_ATOM16, "c"));
	CHECK_EQ(s.policy, PEAL_POLICY_ATOM8);
	s.policy = 0;
	CHECK_OK(peali_ring_spec_complete(&s, BIT(SEQUENCE), PEAL_POLICY_ATOM8,
					  "c"));
	CHECK_EQ(s.policy, PEAL_POLICY_SEQUENCE);
	s.policy = PEAL_POLICY_ATOM16;
	CHECK_EQ(peali_ring_spec_complete(&s, BIT(SEQUENCE) | BIT(ATOM8),
					  PEAL_POLICY_SEQUENCE, "c"),
		 PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'policy': is a policy that an "
		       "end of the link cannot do (2, atom16, allowed 0, 1 "
		       "(sequence), 3 (atom8))");
	CHECK_CONTAINS(peal_last_error()->text,
		       "'policy': is a policy that an "
		       "end of the link cannot do (2, atom16, allowed 0, 1 "
		       "(sequence), 3 (atom8))");
	s.policy = 0;
	CHECK_EQ(peali_ring_spec_complete(&s, 0, PEAL_POLICY_SEQUENCE, "c"),
		 PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text, "none");
}

static const struct {
	struct peali_ring_spec spec;
	int code;
	const char *name, *value, *allowed;
} refusals[] = {
	{ { 3, 0, 0, 0, 0 }, PEAL_EINVAL, "capacity", "3", "power" },
	{ { 1u << 21, 0, 0, 0, 0 },
	  PEAL_EINVAL,
	  "capacity",
	  "2097152",
	  "1048576" },
	{ { ~0u, 0, 0, 0, 0 },
	  PEAL_EINVAL,
	  "capacity",
	  "4294967295",
	  "power of two" },
	{ { 0, 8, 0, 0, 0 }, PEAL_EINVAL, "slot_bytes", "8", "16" },
	{ { 0, 72, 0, 0, 0 },
	  PEAL_EINVAL,
	  "slot_bytes",
	  "72",
	  "multiple of 16" },
	{ { 0, 4112, 0, 0, 0 }, PEAL_EINVAL, "slot_bytes", "4112", "4096" },
	{ { 0, ~0u, 0, 0, 0 }, PEAL_EINVAL, "slot_bytes", "4294967295", "4096" },
	{ { 0, 2064, 3, 0, 0 },
	  PEAL_EINVAL,
	  "slot_bytes",
	  "2064",
	  "'slot_bytes': is out of range for policy atom8 (2064, "
	  "allowed 16..2048)" },
	{ { 0, 0, 4, 0, 0 }, PEAL_EINVAL, "policy", "4", "3 (atom8)" },
	{ { 0, 0, ~0u, 0, 0 },
	  PEAL_EINVAL,
	  "policy",
	  "4294967295",
	  "0 (default)" },
	{ { 0, 0, 0, (256 << 20) + 1, 0 },
	  PEAL_EINVAL,
	  "message_bytes",
	  "268435457",
	  "268435456" },
	{ { 0, 0, 0, ~0ULL, 0 },
	  PEAL_EINVAL,
	  "message_bytes",
	  "18446744073709551615",
	  "268435456" },
	{ { 0, 0, 0, 1000, 2000 }, PEAL_EMSGSIZE, "slab_bytes", "2000", "2016" },
	{ { 0, 0, 0, 1000, 1 }, PEAL_EMSGSIZE, "slab_bytes", "1", "2016" },
	{ { 0, 0, 0, 1000, ~0ULL },
	  PEAL_EINVAL,
	  "slab_bytes",
	  "18446744073709551615",
	  "1099511627776" },
	{ { 0, 0, 0, 1, ~0ULL },
	  PEAL_EINVAL,
	  "slab_bytes",
	  "18446744073709551615",
	  "1099511627776" },
	{ { 0, 16, 1, 100, 0 }, PEAL_EMSGSIZE, "slot_bytes", "100", "32" },
	{ { 0, 16, 2, 100, 0 }, PEAL_EMSGSIZE, "slot_bytes", "100", "32" },
	{ { 0, 32, 3, 100, 0 }, PEAL_EMSGSIZE, "slot_bytes", "100", "48" },
};

PEAL_TEST(option_error_names_option_value_and_range)
{
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct peali_ring_spec s = refusals[i].spec;

		CHECK_EQ(complete(&s), refusals[i].code);
		CHECK(!memcmp(&s, &refusals[i].spec, sizeof(s)));
		CHECK(!strcmp(peal_last_error()->call, "call"));
		CHECK_EQ(peal_last_error()->code, refusals[i].code);
		CHECK_CONTAINS(peal_last_error()->text, refusals[i].name);
		CHECK_CONTAINS(peal_last_error()->text, refusals[i].value);
		CHECK_CONTAINS(peal_last_error()->text, refusals[i].allowed);
	}
}

PEAL_TEST(largest_options_do_not_overflow)
{
	struct peali_ring_spec s = { 1u << 20, 4096, 0, 256 << 20, 1ULL << 40 };
	struct peal_ring ring;

	CHECK_OK(complete(&s));
	CHECK_EQ(peali_ring_bytes(&s),
		 128 + (1ULL << 20) * 4096 + (1ULL << 40));
	peali_ring_header(&ring, &s, 7);
	CHECK_EQ(ring.capacity_log2, 20);
	CHECK_OK(peali_ring_check(&ring, ring.total_bytes, "call"));
}

PEAL_TEST(emit_limit_requires_slots_and_slab)
{
	struct peali_ring_spec s = { 4, 0, 0, 1000, 4 * 1008 };

	CHECK_OK(complete(&s));
	CHECK_OK(peali_ring_spec_emits(&s, 0, "call"));
	CHECK_OK(peali_ring_spec_emits(&s, 3, "call"));
	CHECK_EQ(peali_ring_spec_emits(&s, 4, "call"), PEAL_EINVAL);
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'slab_bytes': is too small "
		"for a sender that emits up to 4 messages of 1000 bytes at a "
		"time (4032, allowed 5040..1099511627776)");
	CHECK_CONTAINS(peal_last_error()->text, "5040");
	CHECK_EQ(peali_ring_spec_emits(&s, 5, "call"), PEAL_EINVAL);
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'capacity': is too small for "
		"a sender that emits up to 5 messages at a time (4, allowed "
		"8..1048576)");
	CHECK_EQ(test_proposed(), 8);
	s = (struct peali_ring_spec){ 4, 0, 0, 48, 0 };
	CHECK_OK(complete(&s));
	CHECK_OK(peali_ring_spec_emits(&s, 4, "call"));
	CHECK_EQ(peali_ring_spec_emits(&s, ~0u, "call"), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text, "; use fewer messages");
	s.capacity = 3;
	CHECK_EQ(peali_ring_spec_complete(&s, ~0u, PEAL_POLICY_SEQUENCE, "c"),
		 PEAL_EINVAL);
	CHECK_EQ(test_proposed(), 4);
	s.capacity = 3u << 20;
	CHECK_EQ(peali_ring_spec_complete(&s, ~0u, PEAL_POLICY_SEQUENCE, "c"),
		 PEAL_EINVAL);
	CHECK_EQ(test_proposed(), 1u << 20);
}

PEAL_TEST(stage_buffer_holds_largest_slot_content)
{
	uint32_t policy, slot;

	for (policy = 1; policy <= 3; policy++) {
		for (slot = 16; slot <= 2048; slot += 16) {
			struct peali_ring_spec s = { 4, slot, policy, 4, 0 };
			uint64_t stage;

			if (complete(&s))
				continue;
			stage = peali_ring_stage_bytes(&s);
			CHECK_EQ(stage % 16, 0);
			if (policy == PEAL_POLICY_SEQUENCE)
				CHECK_EQ(stage, 0);
			else
				CHECK(stage >=
				      peal_slot_content_max(policy, slot));
		}
	}
}

PEAL_TEST(header_places_slab_after_slots)
{
	struct peali_ring_spec s = { 8, 48, PEAL_POLICY_ATOM8, 3000, 10000 };
	struct peal_ring ring;

	CHECK_OK(complete(&s));
	memset(&ring, 0xff, sizeof(ring));
	peali_ring_header(&ring, &s, 0x123456789abcULL);
	CHECK_EQ(ring.magic, PEAL_RING_MAGIC);
	CHECK_EQ(ring.version, PEAL_RING_VERSION);
	CHECK_EQ(ring.policy, PEAL_POLICY_ATOM8);
	CHECK_EQ(ring.slot_bytes, 48);
	CHECK_EQ(ring.capacity_log2, 3);
	CHECK_EQ(ring.slab_bytes, 10000);
	CHECK_EQ(ring.slots_offset, 128);
	CHECK_EQ(ring.slab_offset, 512);
	CHECK_EQ(ring.total_bytes, 512 + 10112);
	CHECK_EQ(ring.total_bytes, peali_ring_bytes(&s));
	CHECK_EQ(ring.link_id, 0x123456789abcULL);
	CHECK_EQ(ring.reserved[0], 0);
	CHECK_OK(peali_ring_check(&ring, ring.total_bytes, "call"));
	CHECK_OK(peali_ring_check(&ring, ring.total_bytes + 1, "call"));
	CHECK_EQ(peali_ring_check(&ring, ring.total_bytes - 1, "call"),
		 PEAL_EPROTO);
	CHECK_EQ(peali_ring_check(&ring, 127, "call"), PEAL_EPROTO);
}

#define DAMAGE(field, v, name)                                                 \
	do {                                                                   \
		struct peal_ring bad = good;                                   \
		bad.field = (v);                                               \
		CHECK_EQ(peali_ring_check(&bad, bytes, "call"), PEAL_EPROTO);  \
		CHECK_CONTAINS(peal_last_error()->text, name);                 \
	} while (0)

PEAL_TEST(damaged_header_error_names_the_field)
{
	struct peali_ring_spec s = { 8, 64, PEAL_POLICY_SEQUENCE, 3000, 0 };
	struct peal_ring good;
	uint64_t bytes;

	CHECK_OK(complete(&s));
	peali_ring_header(&good, &s, 1);
	bytes = good.total_bytes;
	CHECK_OK(peali_ring_check(&good, bytes, "call"));
	DAMAGE(magic, 0, "magic");
	DAMAGE(version, 2, "version");
	DAMAGE(policy, 0, "policy");
	DAMAGE(policy, 4, "policy");
	DAMAGE(slot_bytes, 0, "slot_bytes");
	DAMAGE(slot_bytes, 8, "slot_bytes");
	DAMAGE(slot_bytes, 16, "slot_bytes");
	DAMAGE(slot_bytes, 65, "slot_bytes");
	DAMAGE(slot_bytes, 8192, "slot_bytes");
	DAMAGE(slot_bytes, 128, "slab_offset");
	DAMAGE(capacity_log2, 21, "capacity_log2");
	DAMAGE(capacity_log2, 64, "capacity_log2");
	DAMAGE(capacity_log2, ~0u, "capacity_log2");
	DAMAGE(capacity_log2, 4, "slab_offset");
	DAMAGE(slab_bytes, 17, "slab_bytes");
	DAMAGE(slab_bytes, ~15ULL, "slab_bytes");
	DAMAGE(slab_bytes, 1 << 20, "total_bytes");
	DAMAGE(slots_offset, 0, "slots_offset");
	DAMAGE(slots_offset, ~0ULL, "slots_offset");
	DAMAGE(slab_offset, 0, "slab_offset");
	DAMAGE(slab_offset, ~0ULL, "slab_offset");
	DAMAGE(total_bytes, 0, "total_bytes");
	DAMAGE(total_bytes, ~0ULL, "total_bytes");
}

/* A damaged header that passes the check refers only to mapped memory. */
PEAL_TEST(accepted_random_headers_stay_in_bounds)
{
	struct peali_ring_spec s = { 8, 64, PEAL_POLICY_ATOM16, 3000, 0 };
	unsigned long long seed = 42;
	struct peal_ring good;
	int i, refused = 0;

	CHECK_OK(complete(&s));
	peali_ring_header(&good, &s, 1);
	for (i = 0; i < 100000; i++) {
		struct peal_ring bad = good;
		uint8_t *byte = (uint8_t *)&bad;

		byte[test_random(&seed) % 56] = (uint8_t)test_random(&seed);
		if (peali_ring_check(&bad, good.total_bytes, "call")) {
			refused++;
			continue;
		}
		CHECK(bad.slots_offset +
			      ((uint64_t)bad.slot_bytes << bad.capacity_log2) <=
		      bad.slab_offset);
		CHECK(bad.slab_offset + bad.slab_bytes <= good.total_bytes);
	}
	CHECK(refused > 90000);
}

PEAL_TEST_MAIN(RUN(all_zero_gives_the_documented_defaults);
	       RUN(default_slot_holds_messages_up_to_table_limit);
	       RUN(larger_messages_get_slots_of_64_bytes_and_a_slab);
	       RUN(default_slab_is_64_mib_or_nine_messages);
	       RUN(slab_is_rounded_up_and_omitted_if_slots_suffice);
	       RUN(policy_is_the_default_or_the_best_of_both_ends);
	       RUN(option_error_names_option_value_and_range);
	       RUN(largest_options_do_not_overflow);
	       RUN(emit_limit_requires_slots_and_slab);
	       RUN(stage_buffer_holds_largest_slot_content);
	       RUN(header_places_slab_after_slots);
	       RUN(damaged_header_error_names_the_field);
	       RUN(accepted_random_headers_stay_in_bounds);)
