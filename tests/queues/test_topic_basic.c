/* SPDX-License-Identifier: Apache-2.0 */
#include "topic_ring.h"

/* Shows the results of each topic call in one thread. */

static void fill_and_drain(uint32_t policy, uint32_t slots, uint64_t start)
{
	uint64_t put = 0, i, got, missed, lap;
	struct topic_ring r;

	topic_ring_open(&r, policy, slots, PEAL_TOPIC_WAIT);
	topic_ring_start_at(&r, start);
	CHECK_EQ(topic_join(&r, 0, 0), 0);
	CHECK_EQ(topic_join(&r, 3, 1), 0);
	for (lap = 0; lap < 4; lap++) {
		uint64_t from = put;

		CHECK_EQ(topic_take(&r, 0, &got, &missed), PEAL_EAGAIN);
		while (put < from + slots)
			CHECK_EQ(topic_put(&r, put++), 0);
		CHECK_EQ(topic_put(&r, 7), PEAL_EAGAIN);
		for (i = 0; i < slots; i++) {
			CHECK_EQ(topic_take(&r, 0, &got, &missed), 1);
			CHECK_EQ(got, from + i);
			CHECK_EQ(missed, 0);
		}
		/* the slowest subscriber limits the publisher */
		CHECK_EQ(topic_take(&r, 0, &got, &missed), PEAL_EAGAIN);
		CHECK_EQ(topic_put(&r, 7), PEAL_EAGAIN);
		for (i = 0; i < slots; i++) {
			CHECK_EQ(topic_take(&r, 3, &got, &missed), 1);
			CHECK_EQ(got, from + i);
		}
		CHECK_EQ(topic_take(&r, 3, &got, &missed), PEAL_EAGAIN);
	}
	CHECK_EQ(r.t->tail - start, put);
	CHECK_EQ(r.at[0].s.taken, put);
	CHECK_EQ(r.at[3].s.taken, put);
	topic_ring_close(&r);
}

PEAL_TEST(publisher_waits_for_slowest_subscriber)
{
	static const uint32_t slots[] = { 1, 2, 16 };
	size_t i;

	EACH_POLICY(policy)
	for (i = 0; i < 3; i++) {
		fill_and_drain(policy, slots[i], 0);
		fill_and_drain(policy, slots[i], 0ULL - slots[i] - 1);
		fill_and_drain(policy, slots[i], 0ULL - 2 * slots[i]);
		fill_and_drain(policy, slots[i], 65536ULL * slots[i] - 2);
		fill_and_drain(policy, slots[i],
			       1ULL * PEAL_SLOT_REFRESH_LAPS * slots[i] - 3);
	}
}

PEAL_TEST(cursor_is_published_by_quarters_and_when_idle)
{
	struct topic_ring r;
	uint64_t i, got, missed;

	EACH_POLICY(policy)
	{
		topic_ring_open(&r, policy, 16, PEAL_TOPIC_WAIT);
		CHECK_EQ(topic_join(&r, 0, 0), 0);
		for (i = 0; i < 10; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		for (i = 1; i <= 10; i++) {
			CHECK_EQ(topic_take(&r, 0, &got, &missed), 1);
			CHECK_EQ(r.at[0].s.cursor->number, i / 4 * 4);
		}
		CHECK_EQ(topic_take(&r, 0, &got, &missed), PEAL_EAGAIN);
		CHECK_EQ(r.at[0].s.cursor->number, 10);
		topic_ring_close(&r);
	}
}

PEAL_TEST(bulk_is_all_or_nothing)
{
	struct peal_header h = { 0, 0, 0 };
	static uint8_t data[9 * TOPIC_BYTES];
	struct peal_topic_received got[8];
	struct topic_ring r;

	EACH_POLICY(policy)
	{
		topic_ring_open(&r, policy, 8, PEAL_TOPIC_WAIT);
		CHECK_EQ(topic_join(&r, 0, 0), 0);
		CHECK_EQ(peal_topic_publish_bulk(r.t, &r.p, h, data, 16, 9),
			 PEAL_EMSGSIZE);
		CHECK_EQ(peal_topic_publish(r.t, &r.p, h, data, 101),
			 PEAL_EMSGSIZE);
		CHECK_EQ(peal_topic_publish_bulk(r.t, &r.p, h, data, 16, 5), 0);
		CHECK_EQ(peal_topic_publish_bulk(r.t, &r.p, h, data, 16, 4),
			 PEAL_EAGAIN);
		CHECK_EQ(r.t->tail, 5);
		CHECK_EQ(peal_topic_take_burst(r.t, &r.at[0].s, data, 99, 8,
					       got),
			 PEAL_EMSGSIZE);
		CHECK_EQ(peal_topic_take_burst(r.t, &r.at[0].s, data,
					       TOPIC_BYTES, 8, got),
			 5);
		CHECK_EQ(got[4].number, 4);
		CHECK_EQ(got[4].length, 16);
		CHECK_EQ(peal_topic_take_burst(r.t, &r.at[0].s, data,
					       TOPIC_BYTES, 8, got),
			 PEAL_EAGAIN); /* reports the taken slots */
		CHECK_EQ(peal_topic_publish_bulk(r.t, &r.p, h, data, 16, 8), 0);
		topic_ring_close(&r);
	}
}

PEAL_TEST(join_starts_at_oldest_or_next_message)
{
	uint64_t i, got, missed;
	struct topic_ring r;

	EACH_POLICY(policy)
	{
		topic_ring_open(&r, policy, 8, PEAL_TOPIC_WAIT);
		CHECK_EQ(peal_topic_join(r.t, &r.at[0].s, 4, 0, NULL),
			 PEAL_EINVAL);
		for (i = 0; i < 3; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		CHECK_EQ(topic_join(&r, 0, 1), 0);
		CHECK_EQ(topic_join(&r, 1, 0), 0);
		CHECK_EQ(topic_put(&r, 3), 0);
		CHECK_EQ(topic_take(&r, 0, &got, &missed), 1);
		CHECK_EQ(got, 0);
		CHECK_EQ(topic_take(&r, 1, &got, &missed), 1);
		CHECK_EQ(got, 3);
		/* the publisher does not wait for a subscriber that left */
		while (topic_put(&r, i + 1) == 0)
			i++;
		CHECK(r.t->tail <= 9);
		peal_topic_leave(&r.at[0].s);
		while (topic_take(&r, 1, &got, &missed) == 1)
			;
		for (i = 0; i < 8; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		peal_topic_leave(&r.at[1].s);
		for (i = 0; i < 100; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		/* the oldest message of a ring after many laps */
		CHECK_EQ(topic_join(&r, 0, 1), 0);
		CHECK_EQ(topic_take(&r, 0, &got, &missed), 1);
		CHECK(got >= 92);
		CHECK_EQ(missed, 0);
		topic_ring_close(&r);
	}
}

/*
 * A subscriber joins after the publisher has promised itself slots beyond the
 * tail.
 */
PEAL_TEST(joining_subscriber_is_never_overrun)
{
	uint64_t before, i, got, missed;
	struct topic_ring r;

	EACH_POLICY(policy)
	for (before = 0; before < 20; before++) {
		topic_ring_open(&r, policy, 8, PEAL_TOPIC_WAIT);
		for (i = 0; i < before; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		CHECK_EQ(topic_join(&r, 0, (int)(before & 1)), 0);
		while (topic_put(&r, i) == 0)
			i++;
		CHECK_EQ(topic_take(&r, 0, &got, &missed), 1);
		CHECK_EQ(got, r.at[0].s.number - 1);
		CHECK(got <= before);
		for (got++; got < i; got++) {
			uint64_t next;

			CHECK_EQ(topic_take(&r, 0, &next, &missed), 1);
			CHECK_EQ(next, got);
			CHECK_EQ(missed, 0);
		}
		topic_ring_close(&r);
	}
}

/* ---- overwriting --------------------------------------------------------- */

static void lap_a_reader(uint32_t policy, uint32_t slots, uint64_t start)
{
	uint64_t put = 0, next = 0, got, missed, k;
	struct topic_ring r;

	topic_ring_open(&r, policy, slots, PEAL_TOPIC_OVERWRITE);
	topic_ring_start_at(&r, start);
	CHECK_EQ(topic_join(&r, 0, 0), 0);
	for (k = 0; k < 4ULL * slots + 3; k++) {
		uint64_t n = k;

		while (n--)
			CHECK_EQ(topic_put(&r, put++), 0);
		while (topic_take(&r, 0, &got, &missed) == 1) {
			CHECK_EQ(got, next + missed);
			/* the reader continues well behind the publisher */
			CHECK(!missed || missed == 1 ||
			      got == put - slots + slots / 4);
			next = got + 1;
		}
		CHECK_EQ(next, put);
	}
	CHECK(r.at[0].s.lost > 0);
	CHECK_EQ(r.at[0].s.taken + r.at[0].s.lost, put);
	topic_ring_close(&r);
}

PEAL_TEST(slow_reader_gets_its_missed_count)
{
	static const uint32_t slots[] = { 1, 2, 16 };
	size_t i;

	EACH_POLICY(policy)
	for (i = 0; i < 3; i++) {
		lap_a_reader(policy, slots[i], 0);
		lap_a_reader(policy, slots[i], 0ULL - slots[i] - 1);
		lap_a_reader(policy, slots[i], 65536ULL * slots[i] - 2);
		lap_a_reader(policy, slots[i],
			     1ULL * PEAL_SLOT_REFRESH_LAPS * slots[i] - 3);
	}
}

/*
 * A slot's tag repeats after 65,536 laps, and seems old after 32,768. A reader
 * that sleeps so long still learns how many messages it missed.
 */
PEAL_TEST(missed_count_is_exact_after_tag_wrap)
{
	static const uint64_t laps[] = { 65535, 65536, 65537,
					 32768, 40000, 131072 };
	uint64_t i, k, got = 0, missed = 0;
	struct topic_ring r;

	EACH_POLICY(policy)
	for (k = 0; k < sizeof(laps) / sizeof(laps[0]); k++) {
		topic_ring_open(&r, policy, 1, PEAL_TOPIC_OVERWRITE);
		CHECK_EQ(topic_join(&r, 0, 0), 0);
		for (i = 0; i < laps[k] + 1; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		/* by the tag alone no message was missed */
		if (laps[k] % 65536 == 0)
			CHECK(peal_slot_ready(policy, peali_topic_slot(r.t, 0),
					      1));
		for (i = 0; i <= PEAL_TOPIC_LOOKS; i++)
			if (topic_take(&r, 0, &got, &missed) == 1)
				break;
		CHECK_EQ(got, laps[k]);
		CHECK_EQ(missed, laps[k]);
		topic_ring_close(&r);
	}
}

/* After so many laps further bits of the lap repeat, too. */
PEAL_TEST(missed_count_is_exact_after_2_pow_16_to_47_laps)
{
	uint64_t laps, got, missed;
	struct topic_ring r;
	uint32_t bit, i;

	EACH_POLICY(policy)
	for (bit = 16; bit < 48; bit++) {
		laps = 1ULL << bit;
		topic_ring_open(&r, policy, 1, PEAL_TOPIC_OVERWRITE);
		CHECK_EQ(topic_join(&r, 0, 0), 0);
		CHECK_EQ(topic_put(&r, 0), 0);
		topic_ring_start_at(&r, laps);
		CHECK_EQ(topic_put(&r, laps), 0);
		CHECK(peal_slot_ready(policy, peali_topic_slot(r.t, 0), 1));
		got = missed = 0;
		for (i = 0; i <= PEAL_TOPIC_LOOKS; i++)
			if (topic_take(&r, 0, &got, &missed) == 1)
				break;
		CHECK_EQ(got, laps);
		CHECK_EQ(missed, laps);
		topic_ring_close(&r);
	}
}

/* ---- sizes --------------------------------------------------------------- */

static void refused(uint32_t slots, uint32_t bytes, uint32_t n, uint32_t mode,
		    const char *text)
{
	struct peali_topic_spec s = { slots, bytes, n, mode, 0, 0 };

	CHECK_EQ(peali_topic_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE,
					   "call"),
		 PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text, text);
	CHECK_EQ(s.slot_bytes, 0);
}

PEAL_TEST(refused_option_is_named)
{
	struct peali_topic_spec s = { 64, 0, 5, 0, 0, 0 };
	struct peal_topic t;

	refused(0, 0, 1, 0,
		"'capacity': must be a power of two (0, allowed "
		"1..1048576)");
	refused(3, 0, 1, 0,
		"'capacity': must be a power of two (3, allowed "
		"1..1048576)");
	refused(1u << 21, 0, 1, 0,
		"'capacity': is out of range (2097152, "
		"allowed 1..1048576)");
	refused(8, 4081, 1, 0,
		"'message_bytes': is too large for policy "
		"sequence (4081, allowed 1..4080)");
	refused(8, 0, 0, 0,
		"'max_subscribers': is out of range (0, allowed "
		"1..256)");
	refused(8, 0, 257, 0,
		"'max_subscribers': is out of range (257, "
		"allowed 1..256)");
	refused(8, 0, 1, 2, "'overwrite': is out of range (2, allowed 0..1)");
	CHECK_OK(peali_topic_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE,
					   "call"));
	CHECK_EQ(s.slot_bytes, 64);
	CHECK_EQ(peali_topic_bytes(&s), 3 * 128 + 5 * 128 + 64 * 64);
	peali_topic_header(&t, &s);
	CHECK(t.magic == PEAL_TOPIC_MAGIC);
	CHECK_EQ(t.capacity_log2, 6);
	CHECK_EQ(t.slots_offset, 8 * 128);
}

PEAL_TEST_MAIN(RUN(publisher_waits_for_slowest_subscriber);
	       RUN(cursor_is_published_by_quarters_and_when_idle);
	       RUN(bulk_is_all_or_nothing);
	       RUN(join_starts_at_oldest_or_next_message);
	       RUN(joining_subscriber_is_never_overrun);
	       RUN(slow_reader_gets_its_missed_count);
	       RUN(missed_count_is_exact_after_tag_wrap);
	       RUN(missed_count_is_exact_after_2_pow_16_to_47_laps);
	       RUN(refused_option_is_named);)
