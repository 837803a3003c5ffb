/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the defaults, the sizes and the refusals of a mailbox's options. */
#include <peal/device/impl/queue/slot.h>
#include <peal/errors.h>

#include "peal_test.h"
#include "proposed.h"
#include "queues/mailbox.h"

static struct peali_mailbox_spec spec(uint32_t slots, uint32_t message_bytes,
				      uint32_t n_workers, uint32_t tells,
				      uint32_t lease)
{
	struct peali_mailbox_spec s;

	memset(&s, 0, sizeof(s));
	s.slots = slots;
	s.message_bytes = message_bytes;
	s.n_workers = n_workers;
	s.tells = tells;
	s.lease = lease;
	return s;
}

/* Completes the options for a device with all policies. */
static int complete(struct peali_mailbox_spec *s)
{
	return peali_mailbox_spec_complete(s, 14, PEAL_POLICY_SEQUENCE, "call");
}

PEAL_TEST(defaults_are_48_bytes_and_leases_of_half_the_slots)
{
	struct peali_mailbox_spec s = spec(64, 0, 4, 1, 0);

	CHECK_OK(complete(&s));
	CHECK_EQ(s.message_bytes, 48);
	CHECK_EQ(s.slot_bytes, 64);
	CHECK_EQ(s.lease, 8);
	CHECK_EQ(peali_mailbox_bytes(&s), 3 * 128 + 64 * 64);
	s = spec(1 << 16, 0, 4, 1, 0);
	CHECK_OK(complete(&s));
	CHECK_EQ(s.lease, 32);
	s = spec(1 << 16, 0, 4, 100, 0);
	CHECK_OK(complete(&s));
	CHECK_EQ(s.lease, 100);
	s = spec(1, 0, 1, 0, 0);
	CHECK_OK(complete(&s));
	CHECK_EQ(s.lease, 1);
}

PEAL_TEST(slots_hold_the_message_and_do_not_straddle_lines)
{
	static const uint32_t most[] = { 0, 4080, 3064, 1016 };
	uint32_t bytes, policy, content;

	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++)
		for (bytes = 1; bytes <= most[policy]; bytes++) {
			struct peali_mailbox_spec s = spec(4, bytes, 1, 1, 0);

			s.policy = policy;
			CHECK_OK(complete(&s));
			content = peal_slot_content_max(policy, s.slot_bytes);
			CHECK(content >= bytes + 8);
			CHECK_EQ(s.slot_bytes % 16, 0);
			if (s.slot_bytes > 64)
				CHECK_EQ(s.slot_bytes % 64, 0);
			CHECK(s.slot_bytes <= 4096);
			CHECK_EQ(peali_mailbox_bytes(&s) % 128, 0);
			if (policy != PEAL_POLICY_SEQUENCE) /* plus a stage */
				CHECK(peali_mailbox_bytes(&s) >=
				      384 + 4 * s.slot_bytes + content);
		}
}

PEAL_TEST(policy_is_the_requested_or_the_device_best)
{
	struct peali_mailbox_spec s = spec(4, 0, 1, 1, 0), before;
	const uint32_t atom8 = 1u << PEAL_POLICY_ATOM8;

	CHECK_OK(peali_mailbox_spec_complete(&s, atom8, PEAL_POLICY_SEQUENCE,
					     "call"));
	CHECK_EQ(s.policy, PEAL_POLICY_ATOM8);
	CHECK_EQ(s.slot_bytes, 128);
	s = before = spec(4, 0, 1, 1, 0);
	s.policy = before.policy = PEAL_POLICY_ATOM16;
	CHECK_EQ(peali_mailbox_spec_complete(&s, atom8, PEAL_POLICY_ATOM8,
					     "call"),
		 PEAL_EINVAL);
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'mailbox.policy': is a policy "
		"that the device cannot do (2, atom16, allowed 0, 3 (atom8))");
	CHECK_CONTAINS(peal_last_error()->text, "the device cannot do");
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'mailbox.policy': is a policy "
		"that the device cannot do (2, atom16, allowed 0, 3 (atom8))");
	CHECK(!memcmp(&s, &before, sizeof(s)));
	s.policy = 4;
	CHECK_EQ(complete(&s), PEAL_EINVAL);
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'mailbox.policy': is no "
		"policy (4, allowed 0 (default), 1 (sequence), 2 (atom16) or 3 "
		"(atom8))");
	s = spec(4, 1017, 1, 1, 0);
	s.policy = PEAL_POLICY_ATOM8;
	CHECK_EQ(complete(&s), PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'mailbox.message_bytes': is "
		       "too large for policy atom8 (1017, allowed 1..1016)");
	CHECK_CONTAINS(peal_last_error()->text, "atom8");
}

/*
 * With accepted sizes each producer gets slots, even if all others keep theirs.
 */
PEAL_TEST(accepted_sizes_starve_no_producer)
{
	uint32_t log2, workers, tells, accepted = 0;

	for (log2 = 0; log2 <= 12; log2++)
		for (workers = 1; workers <= 64; workers++)
			for (tells = 0; tells <= 40; tells++) {
				struct peali_mailbox_spec s =
					spec(1u << log2, 0, workers, tells, 0);
				uint32_t t = tells ? tells : 1;

				if (complete(&s)) {
					CHECK(1u << log2 <
					      workers * (2 * t - 1));
					continue;
				}
				accepted++;
				CHECK(s.lease >= t);
				CHECK(s.lease <= 32 || s.lease == t);
				CHECK(s.slots >= workers * (s.lease + t - 1));
			}
	CHECK(accepted > 1000);
}

PEAL_TEST(option_error_names_option_value_and_range)
{
	static const struct {
		uint32_t slots, message_bytes, n_workers, tells, lease;
		const char *name, *value, *allowed;
	} cases[] = {
		{ 0, 0, 1, 1, 0, "mailbox.slots", "0", "power of two" },
		{ 12, 0, 1, 1, 0, "mailbox.slots", "12", "power of two" },
		{ 1u << 21, 0, 1, 1, 0, "mailbox.slots", "2097152", "1048576" },
		{ ~0u, 0, 1, 1, 0, "mailbox.slots", "4294967295", "1048576" },
		{ 16, 4081, 1, 1, 0, "mailbox.message_bytes", "4081", "4080" },
		{ 16, ~0u, 1, 1, 0, "mailbox.message_bytes", "4294967295",
		  "4080" },
		{ 16, 0, 0, 1, 0, "workers", "0",
		  "'workers': is out of range "
		  "(0, allowed 1..1048576)" },
		{ 16, 0, 17, 1, 0, "at a time (16, allowed 32..1048576)",
		  "17 workers",
		  "'mailbox.slots': is too small for 17 workers with leases of "
		  "1 and up to 1 message at a time (16, allowed "
		  "32..1048576)" },
		{ 16, 0, 2, 5, 0, "at a time (16, allowed 32..1048576)", "5",
		  "; use 32" },
		{ 16, 0, 4, 1, 8, "at a time (16, allowed 32..1048576)", "8",
		  "; use 32" },
		{ 64, 0, 1, 9, 8,
		  "'mailbox.lease': is too small for handlers "
		  "that tell up to 9 messages at a time (8, allowed "
		  "9..4294967295)",
		  "9", "use 9" },
		{ 16, 0, ~0u, ~0u, 0, "mailbox.slots", "4294967295",
		  "; use fewer workers" },
		{ 16, 0, 1, 65535, 0, "mailbox.slots", "65535",
		  "; use 131072" },
		{ 16, 0, ~0u, 1, ~0u, "mailbox.slots", "4294967295", "16" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peali_mailbox_spec s = spec(
			cases[i].slots, cases[i].message_bytes,
			cases[i].n_workers, cases[i].tells, cases[i].lease);
		struct peali_mailbox_spec before = s;

		CHECK_EQ(complete(&s), PEAL_EINVAL);
		CHECK(!memcmp(&s, &before, sizeof(s)));
		CHECK(!strcmp(peal_last_error()->call, "call"));
		CHECK_CONTAINS(peal_last_error()->text, cases[i].name);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].value);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].allowed);
	}
}

PEAL_TEST(proposed_slots_are_legal)
{
	unsigned seen = 0;

	for (uint32_t slots = 1; slots <= 4096; slots *= 2)
		for (uint32_t workers = 1; workers <= 130; workers += 3)
			for (uint32_t tells = 0; tells <= 40; tells += 5) {
				struct peali_mailbox_spec s =
					spec(slots, 0, workers, tells, 0);
				struct peali_admission_spec a = {
					.slots = slots,
					.n_workers = workers,
					.tells = tells,
					.others = workers % 3,
					.boxes = 1,
				};

				if (complete(&s)) {
					s.slots = test_proposed();
					CHECK(s.slots > slots);
					CHECK_OK(complete(&s));
					seen++;
				}
				if (peali_admission_spec_complete(&a, "call")) {
					a.slots = test_proposed();
					CHECK(a.slots > slots);
					CHECK_OK(peali_admission_spec_complete(
						&a, "call"));
					seen++;
				}
			}
	CHECK(seen > 100);
}

PEAL_TEST(header_is_an_empty_mailbox_of_the_spec)
{
	struct peali_mailbox_spec s = spec(256, 100, 4, 3, 0);
	struct peal_mailbox m;

	CHECK_OK(complete(&s));
	memset(&m, 0xff, sizeof(m));
	peali_mailbox_header(&m, &s);
	CHECK_EQ(m.magic, PEAL_MAILBOX_MAGIC);
	CHECK_EQ(m.slot_bytes, 128);
	CHECK_EQ(m.capacity_log2, 8);
	CHECK_EQ(m.message_bytes, 100);
	CHECK_EQ(m.lease, 32);
	CHECK_EQ(m.slots_offset, 3 * 128);
	CHECK_EQ(m.stage_offset, 3 * 128 + 256 * 128);
	CHECK_EQ(m.policy, PEAL_POLICY_SEQUENCE);
	CHECK_EQ(m.leased, 0);
	CHECK_EQ(m.returned, 0);
	CHECK_EQ(m.ticket, 0);
	CHECK_EQ(m.head, 0);
	CHECK_EQ(m.taken, 0);
	CHECK_EQ(peali_mailbox_bytes(&s), 3 * 128 + 256 * 128);
}

PEAL_TEST_MAIN(RUN(defaults_are_48_bytes_and_leases_of_half_the_slots);
	       RUN(slots_hold_the_message_and_do_not_straddle_lines);
	       RUN(policy_is_the_requested_or_the_device_best);
	       RUN(accepted_sizes_starve_no_producer);
	       RUN(option_error_names_option_value_and_range);
	       RUN(proposed_slots_are_legal);
	       RUN(header_is_an_empty_mailbox_of_the_spec);)
