/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "stress.h"
#include "topic_ring.h"
#include "yield.h"

/*
 * Shows that a topic's subscriber gets every message once, in order and whole,
 * or a count of missed messages. Negative controls: topics without one of their
 * precautions must fail.
 */

#define READERS 3
#define MESSAGES IDENTITY_COUNT(60000)

struct reader {
	struct stage *stage;
	uint32_t index;
	uint64_t torn, wrong, taken, lost, sessions;
	pthread_t thread;
};

struct stage {
	struct topic_ring r;
	uint64_t start; /* number of the first message */
	uint32_t bulk;
	int restless; /* the last reader leaves and joins again */
	int pace; /* 1: the publisher yields at times, so that readers run */
	uint64_t seed;
	/* the topic's functions, or broken ones */
	int (*publish)(struct topic_ring *r, uint64_t sequence, uint32_t n);
	int (*take)(struct topic_ring *r, uint32_t index, uint8_t *data,
		    struct peal_topic_received *got);
	atomic_int ready, over;
	atomic_ullong published;
	struct reader readers[READERS];
};

static int publish_some(struct topic_ring *r, uint64_t sequence, uint32_t n)
{
	struct peal_header h = { 0, (uint16_t)sequence, 5 };
	uint8_t data[TOPIC_BYTES];

	(void)n;
	link_fill(data, TOPIC_BYTES, sequence);
	memcpy(data, &sequence, 8);
	return peal_topic_publish(r->t, &r->p, h, data, topic_length(sequence));
}

static int take_one(struct topic_ring *r, uint32_t index, uint8_t *data,
		    struct peal_topic_received *got)
{
	return peal_topic_take(r->t, &r->at[index].s, data, TOPIC_BYTES, got);
}

/* Checks one message. `next`: the expected number. */
static void look_at(struct reader *d, const uint8_t *data,
		    const struct peal_topic_received *got, uint64_t *next)
{
	uint64_t sequence;

	if (!topic_whole(data, got, &sequence) ||
	    sequence != got->number - d->stage->start)
		d->torn++;
	if (got->number != *next + got->missed)
		d->wrong++;
	*next = got->number + 1;
}

/* Ends after the last message. */
static void *read_all(void *argument)
{
	struct reader *d = (struct reader *)argument;
	struct stage *g = d->stage;
	struct peal_topic_subscriber *s = &g->r.at[d->index].s;
	unsigned long long random = g->seed + d->index;
	struct peal_topic_received got;
	uint8_t data[TOPIC_BYTES];
	uint64_t next, began, i;
	int over, r;

	CHECK_EQ(topic_join(&g->r, d->index, 1), 0);
	began = next = s->number;
	atomic_fetch_add(&g->ready, 1);
	for (i = 0;; i++) {
		over = atomic_load(&g->over);
		r = g->take(&g->r, d->index, data, &got);
		identity_disturb(&random);
		stress_pause(&random);
		if (r == 1)
			look_at(d, data, &got, &next);
		else if (over && i > 100)
			break;
		else
			test_yield();
		if (r != 1 && !over)
			i = 0;
		if (!g->restless || d->index != READERS - 1 ||
		    test_random(&random) % 256)
			continue;
		/* taken and missed messages are all since the join */
		d->wrong += s->taken + s->lost != s->number - began;
		peal_topic_leave(s);
		CHECK_EQ(topic_join(&g->r, d->index, (int)(random & 1)), 0);
		began = next = s->number;
		d->sessions++;
	}
	d->wrong += s->taken + s->lost != s->number - began;
	d->taken = s->taken;
	d->lost = s->lost;
	peal_topic_leave(s);
	return NULL;
}

static void publish_all(struct stage *g, uint64_t messages)
{
	unsigned long long random = g->seed + 3;
	uint64_t i = 0, vain = 0;

	while (atomic_load(&g->ready) < READERS)
		test_yield();
	while (i < messages) {
		identity_disturb(&random);
		stress_pause(&random);
		if (g->pace && i % 64 == 63 && test_random(&random) % 4 == 0)
			test_yield();
		if (g->publish(&g->r, i, 1) == 0) {
			i++;
			continue;
		}
		test_yield();
		/* a broken reader may block the publisher forever */
		if (++vain > 50000000)
			break;
	}
	atomic_store(&g->over, 1);
}

static void run(struct stage *g, uint64_t messages)
{
	uint32_t i;

	atomic_store(&g->ready, 0);
	atomic_store(&g->over, 0);
	for (i = 0; i < READERS; i++) {
		memset(&g->readers[i], 0, sizeof(g->readers[i]));
		g->readers[i].stage = g;
		g->readers[i].index = i;
		CHECK(!pthread_create(&g->readers[i].thread, NULL, read_all,
				      &g->readers[i]));
	}
	publish_all(g, messages);
	for (i = 0; i < READERS; i++)
		CHECK(!pthread_join(g->readers[i].thread, NULL));
}

static struct stage *stage_open(uint32_t policy, uint32_t slots, uint32_t mode,
				uint64_t start)
{
	struct stage *g = (struct stage *)aligned_alloc(
		128, (sizeof(*g) + 127) / 128 * 128);

	CHECK(g);
	memset(g, 0, sizeof(*g));
	topic_ring_open(&g->r, policy, slots, mode);
	topic_ring_start_at(&g->r, start);
	g->start = start;
	g->publish = publish_some;
	g->take = take_one;
	g->pace = 1;
	return g;
}

static void stage_close(struct stage *g)
{
	topic_ring_close(&g->r);
	free(g);
}

static void each_gets_all(uint32_t policy, uint32_t slots, uint64_t start,
			  int restless, uint64_t round)
{
	struct stage *g = stage_open(policy, slots, PEAL_TOPIC_WAIT, start);
	uint64_t messages = slots < 4 ? MESSAGES / 10 : MESSAGES;
	uint32_t i;

	g->restless = restless;
	g->seed = 1000 * round;
	run(g, messages);
	CHECK_EQ(g->r.t->tail - start, messages);
	for (i = 0; i < READERS; i++) {
		struct reader *d = &g->readers[i];

		CHECK_EQ(d->torn, 0);
		CHECK_EQ(d->wrong, 0);
		CHECK_EQ(d->lost, 0);
		stress_verified += d->taken;
		if (!d->sessions)
			CHECK_EQ(d->taken, messages);
	}
	if (restless)
		CHECK(g->readers[READERS - 1].sessions > 0);
	stage_close(g);
}

PEAL_TEST(each_subscriber_gets_every_message_once_and_in_order)
{
	struct stress_clock clock = stress_begin(1);
	uint64_t round;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			each_gets_all(policy, 1, 0, 0, round);
			each_gets_all(policy, 2, 0, 0, round);
			each_gets_all(policy, 64, 0, 0, round);
			each_gets_all(policy, 16, 0ULL - 5000, 0, round);
			each_gets_all(policy, 16, 65536ULL * 16 - 5000, 0,
				      round);
		}
}

PEAL_TEST(joining_and_leaving_loses_nothing)
{
	struct stress_clock clock = stress_begin(1);
	uint64_t round;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			each_gets_all(policy, 8, 0, 1, round);
			each_gets_all(policy, 64, 0, 1, round);
		}
}

static uint64_t each_is_told(uint32_t policy, uint32_t slots, uint64_t start,
			     int restless, uint64_t round)
{
	struct stage *g =
		stage_open(policy, slots, PEAL_TOPIC_OVERWRITE, start);
	uint64_t lost = 0;
	uint32_t i;

	g->restless = restless;
	g->seed = 1000 * round;
	run(g, MESSAGES);
	CHECK_EQ(g->r.t->tail - start, MESSAGES);
	for (i = 0; i < READERS; i++) {
		struct reader *d = &g->readers[i];

		CHECK_EQ(d->torn, 0);
		CHECK_EQ(d->wrong, 0);
		if (!d->sessions)
			CHECK_EQ(d->taken + d->lost, MESSAGES);
		stress_verified += d->taken;
		lost += d->lost;
	}
	stage_close(g);
	return lost;
}

PEAL_TEST(overwritten_subscriber_counts_missed_messages)
{
	struct stress_clock clock = stress_begin(1);
	uint64_t lost = 0, round;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			lost += each_is_told(policy, 1, 0, 0, round);
			lost += each_is_told(policy, 2, 0, 0, round);
			lost += each_is_told(policy, 64, 0, 1, round);
			lost += each_is_told(policy, 16, 0ULL - 5000, 0, round);
			lost += each_is_told(policy, 16, 65536ULL * 16 - 5000,
					     0, round);
		}
	CHECK(lost > 0);
}

/* ---- negative controls --------------------------------------------------- */

/* Does not check the tag again after the read. */
static int take_unvalidated(struct topic_ring *r, uint32_t index, uint8_t *data,
			    struct peal_topic_received *got)
{
	struct peal_topic_subscriber *s = &r->at[index].s;
	uint8_t *slot = peali_topic_slot(r->t, s->number);
	uint64_t tag = peal_load_acquire_sys((uint64_t *)(void *)slot), header;
	int later = peali_topic_later(r->t, s->number, (uint32_t)(tag >> 48));

	if ((uint32_t)(tag >> 40) !=
	    peal_tag_high(peali_topic_lap(r->t, s->number), PEAL_KIND_DATA)) {
		if (later)
			peali_topic_skip(r->t, s);
		return PEAL_EAGAIN;
	}
	test_yield();
	got->length = (uint32_t)tag - 8;
	peali_topic_read_words(slot, tag, &header, data, got->length);
	got->number = s->number++;
	got->type = (uint16_t)(header >> 32);
	got->flags = (uint16_t)(header >> 48);
	got->missed = s->missed;
	s->missed = 0;
	s->taken++;
	return 1;
}

/* Does not wait for any subscriber. */
static int publish_anyway(struct topic_ring *r, uint64_t sequence, uint32_t n)
{
	r->p.limit = r->p.tail + 1;
	return publish_some(r, sequence, n);
}

PEAL_TEST(reader_without_revalidation_is_caught)
{
	uint64_t torn = 0, tries = 0;

	while (!torn && tries++ < 50) {
		struct stage *g = stage_open(PEAL_POLICY_SEQUENCE, 4,
					     PEAL_TOPIC_OVERWRITE, 0);
		uint32_t i;

		g->take = take_unvalidated;
		run(g, 20000);
		for (i = 0; i < READERS; i++)
			torn += g->readers[i].torn;
		stage_close(g);
	}
	printf("    torn: %llu\n", (unsigned long long)torn);
	CHECK(torn);
}

PEAL_TEST(publisher_without_wait_is_caught)
{
	uint64_t lost = 0, tries = 0;

	while (!lost && tries++ < 50) {
		struct stage *g =
			stage_open(PEAL_POLICY_ATOM8, 4, PEAL_TOPIC_WAIT, 0);
		uint32_t i;

		g->publish = publish_anyway;
		run(g, 20000);
		for (i = 0; i < READERS; i++)
			lost += g->readers[i].lost + g->readers[i].torn +
				g->readers[i].wrong;
		stage_close(g);
	}
	printf("    lost: %llu\n", (unsigned long long)lost);
	CHECK(lost);
}

/* Joins at slots that the publisher has promised itself. */
PEAL_TEST(join_that_ignores_promised_slots_is_caught)
{
	uint64_t i, got, missed;
	struct topic_ring r;
	int heed;

	for (heed = 0; heed < 2; heed++) {
		topic_ring_open(&r, PEAL_POLICY_SEQUENCE, 8, PEAL_TOPIC_WAIT);
		for (i = 0; i < 9; i++)
			CHECK_EQ(topic_put(&r, i), 0);
		CHECK_EQ(topic_join(&r, 0, 1), 0);
		CHECK_EQ(r.at[0].s.number, 8);
		if (!heed) { /* the oldest message of the ring */
			r.at[0].s.number = 1;
			peal_topic_flush(&r.at[0].s);
		}
		while (topic_put(&r, i) == 0)
			i++;
		CHECK_EQ(topic_take(&r, 0, &got, &missed), 1);
		CHECK_EQ(r.at[0].s.lost > 0, !heed);
		topic_ring_close(&r);
	}
}

PEAL_TEST_MAIN(RUN(each_subscriber_gets_every_message_once_and_in_order);
	       RUN(joining_and_leaving_loses_nothing);
	       RUN(overwritten_subscriber_counts_missed_messages);
	       RUN(reader_without_revalidation_is_caught);
	       RUN(publisher_without_wait_is_caught);
	       RUN(join_that_ignores_promised_slots_is_caught);
	       stress_print_total();)
