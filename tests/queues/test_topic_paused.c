/* SPDX-License-Identifier: Apache-2.0 */
#include "step_hook.h"

/*
 * A subscriber of a topic in the mode overwrite stops between any two loads of a
 * read. The publisher passes it by so many laps that the tags repeat. Shows
 * that it gets whole messages and exact numbers of missed messages.
 */

#include <peal/device/impl/queue/subscribe.h>

#include "topic_ring.h"

static struct topic_ring paused;
static uint64_t paused_put; /* messages published */
static uint64_t paused_laps; /* to publish while the reader stops */

/* Fills a payload. After 2^16 to 2^47 messages each byte differs. */
static void fill(uint8_t *data, uint64_t number)
{
	link_fill(data, TOPIC_BYTES, number * 0x9e3779b97f4a7c15ULL >> 56);
}

static void put_one(void)
{
	struct peal_header h = { 99, 7, 5 };
	uint8_t data[TOPIC_BYTES];

	fill(data, paused_put);
	CHECK_OK(peal_topic_publish(paused.t, &paused.p, h, data, TOPIC_BYTES));
	paused_put++;
}

/* Publishes all messages of the laps. */
static void publish_laps(void)
{
	uint64_t n = paused_laps * peal_topic_capacity(paused.t);

	while (n--)
		put_one();
	step_due = 0;
}

/* Publishes the last lap only, in the state after the laps before it. */
static void jump_laps(void)
{
	uint64_t capacity = peal_topic_capacity(paused.t);
	uint64_t number = paused.p.tail + (paused_laps - 1) * capacity;

	paused.t->tail = paused.p.tail = paused.p.limit = paused_put = number;
	while (capacity--)
		put_one();
	step_due = 0;
}

/* Takes a message. Checks that it is whole, and that `missed` is exact. */
static int take_whole(uint64_t *next)
{
	struct peal_topic_received got;
	uint8_t data[TOPIC_BYTES], want[TOPIC_BYTES];
	int result;

	VICTIM_CALL(result = peal_topic_take(paused.t, &paused.at[0].s, data,
					     TOPIC_BYTES, &got));
	if (result != 1)
		return result;
	fill(want, got.number);
	CHECK_EQ(got.length, TOPIC_BYTES);
	CHECK(!memcmp(data, want, TOPIC_BYTES));
	CHECK_EQ(got.number, *next + got.missed);
	*next = got.number + 1;
	return 1;
}

/* The reader stops before step `due` of a take. Returns 0 if a take has fewer
 * steps. */
static int stop_before(uint32_t policy, uint32_t slots, unsigned long due)
{
	uint64_t next = 0, tries = 0;
	int stopped;

	topic_ring_open(&paused, policy, slots, PEAL_TOPIC_OVERWRITE);
	CHECK_EQ(topic_join(&paused, 0, 0), 0);
	paused_put = 0;
	put_one();
	step_due = due;
	CHECK(take_whole(&next) == 1 || !step_due);
	stopped = !step_due;
	step_due = 0;
	while (next < paused_put)
		if (take_whole(&next) != 1)
			CHECK(++tries <= PEAL_TOPIC_LOOKS);
	CHECK_EQ(paused.at[0].s.taken + paused.at[0].s.lost, paused_put);
	topic_ring_close(&paused);
	return stopped;
}

static void stop_anywhere(uint32_t policy, uint32_t slots)
{
	unsigned long due = 1;

	while (stop_before(policy, slots, due))
		due++;
	CHECK(due > 8);
}

PEAL_TEST(reader_that_stops_for_65536_laps_gets_whole_messages)
{
	step_between = publish_laps;
	EACH_POLICY(policy)
	{
		if (PEAL_TSAN && policy != link_policies[0])
			continue; /* one thread for 27 s: TSan finds nothing */
		paused_laps = 65536;
		stop_anywhere(policy, 1);
	}
}

PEAL_TEST(reader_that_stops_for_any_laps_gets_whole_messages)
{
	static const uint64_t laps[] = { 1,	2,     32767,	  32768,
					 65535, 65537, 2 * 65536, 3 * 65536 };
	uint32_t bit;
	size_t i;

	step_between = jump_laps;
	EACH_POLICY(policy)
	{
		for (i = 0; i < sizeof(laps) / sizeof(laps[0]); i++) {
			paused_laps = laps[i];
			stop_anywhere(policy, 1);
			stop_anywhere(policy, 4);
		}
		for (bit = 16; bit < 48; bit++) {
			paused_laps = 1ULL << bit;
			stop_anywhere(policy, 1);
		}
	}
}

/* ---- half wrapped laps --------------------------------------------------- */

/* A tag that is 32,768 laps or more behind seems to be of an earlier lap. Only
 * the lap before the message's can be that of an empty slot. */
PEAL_TEST(poll_after_half_wrapped_laps_finds_the_message)
{
	static const uint64_t laps[] = { 32768, 32769, 40000, 65534, 65536 };
	uint64_t next;
	size_t i;

	EACH_POLICY(policy)
	for (i = 0; i < sizeof(laps) / sizeof(laps[0]); i++) {
		topic_ring_open(&paused, policy, 2, PEAL_TOPIC_OVERWRITE);
		CHECK_EQ(topic_join(&paused, 0, 0), 0);
		paused_put = next = 0;
		paused_laps = laps[i] + 1;
		jump_laps();
		CHECK_EQ(take_whole(&next), 1);
		topic_ring_close(&paused);
	}
}

/* ---- the input of a worker ----------------------------------------------- */

struct input {
	struct peal_link_consumer link;
	struct peal_topic_counts counts;
	PEAL_ALIGNED(16) struct peal_subscription s;
	uint8_t stages[2 * PEAL_TOPIC_STAGE(512)];
};

static void input_begin(struct input *in)
{
	struct peal_topic_view view;

	memset(in, 0, sizeof(*in));
	memset(&view, 0, sizeof(view));
	view.topic = (uint64_t)(uintptr_t)paused.t;
	view.counts = (uint64_t)(uintptr_t)&in->counts;
	CHECK_OK(peali_subscribe_begin(&in->link, &in->s, &view));
}

/* The publisher is gone. Takes all messages until the input ends. */
static void input_drain(struct input *in)
{
	struct peal_message m;
	uint64_t looks;

	for (looks = 0; looks < 100; looks++)
		if (peali_subscribe_peek(&in->link, &in->s, &m))
			in->link.head++; /* as the loop's release */
		else if (peali_subscribe_over(&in->link, &in->s, 1))
			return;
	CHECK(!"the input ends");
}

PEAL_TEST(input_of_a_gone_publisher_ends_after_its_last_message)
{
	static const uint64_t laps[] = { 1,	2,     32768,	     40000,
					 65535, 65536, 2 * 65536 - 1 };
	static struct input in;
	size_t i;

	EACH_POLICY(policy)
	for (i = 0; i < sizeof(laps) / sizeof(laps[0]); i++) {
		topic_ring_open(&paused, policy, 4, PEAL_TOPIC_OVERWRITE);
		input_begin(&in);
		paused_put = 0;
		paused_laps = laps[i];
		jump_laps();
		input_drain(&in);
		CHECK_EQ(in.s.at.taken + in.s.at.lost, paused_put);
		CHECK_EQ(in.counts.missed, in.s.at.lost);
		CHECK_EQ(in.counts.ended, 1 + paused_put);
		topic_ring_close(&paused);
	}
}

PEAL_TEST_MAIN(RUN(reader_that_stops_for_65536_laps_gets_whole_messages);
	       RUN(reader_that_stops_for_any_laps_gets_whole_messages);
	       RUN(poll_after_half_wrapped_laps_finds_the_message);
	       RUN(input_of_a_gone_publisher_ends_after_its_last_message);)
