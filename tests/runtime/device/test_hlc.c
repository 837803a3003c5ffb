/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hybrid logical clocks: an earlier event has a smaller word, also along
 * messages between devices. Each word is near the host's clock. The device
 * clocks differ by more than a day.
 */

#include <peal/hlc.h>
#include "runtime/deadline_fixture.h"

#define THREADS 4
#define WORDS 50000
#define DRIFT ((int64_t)PEAL_HLC_DRIFT_NS)

/* Returns the time of a word minus the host's clock, in ns. */
static int64_t ahead(uint64_t word)
{
	return (int64_t)(peal_hlc_ns(word) - peal_clock_host_ns());
}

static uint64_t word_at(uint64_t ns)
{
	return ns >> PEAL_HLC_UNIT_BITS << PEAL_HLC_COUNT_BITS;
}

PEAL_TEST(words_increase_and_stay_near_the_clock)
{
	struct peal_hlc clock = { 0 };
	uint64_t last = 0, i, word;

	for (i = 0; i < 100000; i++) {
		word = peal_hlc_now(&clock);
		CHECK(word > last);
		last = word;
	}
	CHECK(ahead(last) < (int64_t)MS && ahead(last) > -SECOND);
	/* merges old words and a word that is ahead, within the limit */
	CHECK_OK(peal_hlc_merge(&clock, 0, &word));
	CHECK(word > last);
	last = word_at(peal_clock_host_ns() + 900 * (uint64_t)MS) | 7;
	CHECK_OK(peal_hlc_merge(&clock, last, &word));
	CHECK_EQ(word, last + 1);
	CHECK_EQ(peal_hlc_now(&clock), last + 2);
	CHECK_OK(peal_hlc_merge(&clock, 5, NULL));
	CHECK_EQ(peal_hlc_now(&clock), last + 4);
}

PEAL_TEST(full_counter_advances_to_next_unit)
{
	struct peal_hlc clock = { 0 };
	uint64_t unit = word_at(peal_clock_host_ns() + 500 * (uint64_t)MS);
	uint64_t word, last = 0, i;

	CHECK_OK(peal_hlc_merge(&clock, unit | 0xfffe, &word));
	CHECK_EQ(word, unit | 0xffff);
	CHECK_EQ(peal_hlc_now(&clock), unit + 0x10000);
	for (i = 0; i < 200000; i++) {
		word = peal_hlc_now(&clock);
		CHECK(word > last);
		last = word;
	}
	CHECK(ahead(word) < 500 * MS + MS);
}

PEAL_TEST(word_far_ahead_is_refused_without_change)
{
	struct peal_hlc clock = { 0 };
	uint64_t word = 77, now = peal_clock_host_ns();

	CHECK_FAILS(peal_hlc_merge(&clock, ~0ULL, &word), PEAL_EINVAL,
		    "ahead of the clock of the host");
	CHECK_FAILS(peal_hlc_merge(&clock,
				   word_at(now + 2 * (uint64_t)DRIFT +
					   60 * (uint64_t)SECOND),
				   &word),
		    PEAL_EINVAL,
		    "ahead of the clock of the host (6"); /* 6x s */
	CHECK_CONTAINS(peal_last_error()->text, " ms, allowed 0..1000 ms)");
	CHECK_FAILS(peal_hlc_merge(NULL, 1, &word), PEAL_EINVAL, "NULL");
	CHECK_EQ(word, 77);
	CHECK_EQ(clock.word, 0);
	CHECK(ahead(peal_hlc_now(&clock)) < (int64_t)MS);
}

/* ---- threads ------------------------------------------------------------- */

static struct peal_hlc shared;
static uint64_t words[THREADS * WORDS];

static void *take_words(void *argument)
{
	uint64_t *to = argument, last = 0, i;

	for (i = 0; i < WORDS; i++) {
		if (i % 3)
			to[i] = peal_hlc_now(&shared);
		else
			CHECK_OK(peal_hlc_merge(&shared, last, &to[i]));
		CHECK(to[i] > last);
		last = to[i];
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

PEAL_TEST(concurrent_threads_get_distinct_words)
{
	pthread_t thread[THREADS];
	uint64_t i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, take_words,
				      words + i * WORDS));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	qsort(words, THREADS * (size_t)WORDS, sizeof(words[0]), compare);
	for (i = 1; i < THREADS * (uint64_t)WORDS; i++)
		CHECK(words[i] > words[i - 1]);
}

/* ---- host, device, other device, host ------------------------------------ */

struct way {
	struct peal_runtime *rt;
	struct peal_kernel *k[2];
	struct peal_endpoint *in, *out;
	struct peal_hlc clock;
};

static struct way open_way(void)
{
	struct way y = { .rt = fixture_open("") };
	struct peal_link_options o = { .capacity = 256 };
	uint64_t stamp[2];
	int i;

	for (i = 0; i < 2; i++) {
		y.k[i] = fixture_kernel(y.rt, i, 1);
		stamp[i] = harness_spawn(y.k[i], "stamp", 0);
	}
	y.in = harness_endpoint(y.rt);
	y.out = harness_endpoint(y.rt);
	fixture_from(y.rt, y.in, 0, stamp[0]);
	harness_link(y.rt, stamp[0], 0, stamp[1], o);
	harness_to(y.rt, stamp[1], y.out, o);
	return y;
}

static void send_word(struct way *y, uint64_t word)
{
	struct deadline_words m = { { word, 0, 0, 0 }, 1, 0 };

	CHECK_OK(peal_send(y->in, 0, 0, &m, sizeof(m), MAX_WAIT, NULL));
}

static struct deadline_words take_word(struct way *y)
{
	struct deadline_words m;
	struct peal_received r;

	CHECK_OK(peal_receive(y->out, &m, sizeof(m), &r, MAX_WAIT));
	CHECK_EQ(m.n, 3);
	return m;
}

PEAL_TEST(causally_earlier_events_have_smaller_words)
{
	struct way y = open_way();
	uint64_t last[2] = { 0, 0 }, sent = 0, taken, word, i;
	struct deadline_words m;

	for (taken = 0; taken < 2000; taken++) {
		for (; sent < taken + 20 && sent < 2000; sent++)
			send_word(&y, peal_hlc_now(&y.clock));
		m = take_word(&y);
		CHECK_EQ(m.refused, 0);
		CHECK_OK(peal_hlc_merge(&y.clock, m.word[2], &word));
		CHECK(m.word[0] < m.word[1]);
		CHECK(m.word[1] < m.word[2]);
		CHECK(m.word[2] < word);
		for (i = 0; i < 2; i++) { /* each worker's words grow */
			CHECK(m.word[1 + i] > last[i]);
			last[i] = m.word[1 + i];
			CHECK(ahead(last[i]) < SECOND);
			CHECK(ahead(last[i]) > -60 * SECOND);
		}
	}
	fixture_close(y.rt, y.k, 2);
}

PEAL_TEST(worker_refuses_word_far_ahead)
{
	struct way y = open_way();
	struct deadline_words m;
	uint64_t now = peal_clock_host_ns(), near;

	/* refused, although the clock of device 0 is two hours ahead */
	send_word(&y, word_at(now + 7000 * (uint64_t)SECOND));
	m = take_word(&y);
	CHECK(ahead(m.word[1]) < SECOND); /* by its own clock */
	CHECK(m.word[2] > m.word[1]);
	CHECK(ahead(m.word[2]) < SECOND);
	near = word_at(peal_clock_host_ns() + 900 * (uint64_t)MS) | 0xffff;
	send_word(&y, near);
	m = take_word(&y);
	CHECK_EQ(m.word[1], near + 1);
	CHECK_EQ(m.word[2], near + 2);
	CHECK_EQ(m.refused, 0);
	fixture_close(y.rt, y.k, 2);
}

static int run_all(int argc, char **argv, uint32_t lanes)
{
	int peal_cases_ = 0;

	fixture_lanes = lanes;
	printf("%u lanes\n", lanes);
	RUN(causally_earlier_events_have_smaller_words);
	RUN(worker_refuses_word_far_ahead);
	return peal_cases_;
}

PEAL_TEST_MAIN(fixture_program = &peal_program_deadlines;
	       RUN(words_increase_and_stay_near_the_clock);
	       RUN(full_counter_advances_to_next_unit);
	       RUN(word_far_ahead_is_refused_without_change);
	       RUN(concurrent_threads_get_distinct_words);
	       peal_cases_ += run_all(argc, argv, 1);
	       peal_cases_ += run_all(argc, argv, 32);)
