/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/atomic.h>
#include <peal/device/impl/queue/slot.h>

#include "peal_test.h"

/*
 * Tests the checker itself with small programs of the literature. Each program
 * must have exactly its known outcomes. An outcome is the values that were
 * read, one decimal digit each.
 */

#define SET_MOST 200000

static uint64_t outcomes[64];
static uint32_t n_outcomes;

static struct shared {
	uint64_t x, y, z, w;
	uint64_t plain;
	uint32_t read[4]; /* the values read, in the order of the digits */
} * m;

static void make_shared(const void *config)
{
	(void)config;
	m = (struct shared *)model_memory("m", sizeof(*m));
	model_name(&m->x, 8, "x");
	model_name(&m->y, 8, "y");
	model_name(&m->z, 8, "z");
}

static void keep_outcome(const void *config)
{
	uint64_t v = m->read[0] * 1000 + m->read[1] * 100 + m->read[2] * 10 +
		     m->read[3];
	uint32_t i;

	(void)config;
	for (i = 0; i < n_outcomes; i++)
		if (outcomes[i] == v)
			return;
	outcomes[n_outcomes++] = v;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* ---- sets of graphs ------------------------------------------------------ */

static uint64_t graphs[2][SET_MOST];
static uint32_t n_graphs[2], graphs_of;

/* Sorts the hashes and removes duplicates; returns how many are left. */
static uint32_t different(uint32_t which)
{
	uint64_t *g = graphs[which];
	uint32_t i, n = 0;

	qsort(g, n_graphs[which], sizeof(*g), by_number);
	for (i = 0; i < n_graphs[which]; i++)
		if (!i || g[i] != g[i - 1])
			g[n++] = g[i];
	n_graphs[which] = n;
	return n;
}

static void keep_graph(uint64_t graph)
{
	if (n_graphs[graphs_of] == SET_MOST)
		CHECK(different(graphs_of) < SET_MOST / 2);
	graphs[graphs_of][n_graphs[graphs_of]++] = graph;
}

/* Checks that both searches find the same graphs, and that the reduced search
 * finds each graph once. Returns the executions of the naive search. */
static uint64_t compare_searches(const struct model_instance *instance)
{
	struct model_search search = { .seen = keep_graph };
	struct model_result r;
	uint32_t n;

	for (graphs_of = 0; graphs_of < 2; graphs_of++) {
		n_graphs[graphs_of] = 0;
		search.naive = (int)graphs_of;
		model_run(instance, &search, &r);
		CHECK(!r.failed);
	}
	n = n_graphs[0];
	CHECK_EQ(n, different(0));
	CHECK_EQ(n, different(1));
	CHECK(!memcmp(graphs[0], graphs[1], n * sizeof(graphs[0][0])));
	return r.executions;
}

/* ---- litmus programs ----------------------------------------------------- */

#define THREADS(name) static void name(const void *config, uint32_t self)
#define READ(i, value) (m->read[i] = (uint32_t)(value))

THREADS(message_relaxed)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_relaxed_sys(&m->y, 1);
	} else {
		READ(0, peal_load_relaxed_sys(&m->y));
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

THREADS(message_released)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_release_sys(&m->y, 1);
	} else {
		READ(0, peal_load_acquire_sys(&m->y));
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

THREADS(message_released_only)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_release_sys(&m->y, 1);
	} else {
		READ(0, peal_load_relaxed_sys(&m->y));
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

THREADS(message_fenced)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_fence_release_sys();
		peal_store_relaxed_sys(&m->y, 1);
	} else {
		READ(0, peal_load_relaxed_sys(&m->y));
		peal_fence_acquire_sys();
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

/* The fence is behind the store, so it orders nothing. */
THREADS(message_fenced_late)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_relaxed_sys(&m->y, 1);
		peal_fence_release_sys();
	} else {
		READ(0, peal_load_relaxed_sys(&m->y));
		peal_fence_acquire_sys();
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

/* A relaxed add of another thread continues the release sequence. */
THREADS(release_sequence_of_add)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_release_dev(&m->y, 1);
	} else if (self == 1) {
		READ(0, peal_add_relaxed_dev(&m->y, 1));
	} else {
		READ(1, peal_load_acquire_dev(&m->y));
		READ(2, peal_load_relaxed_sys(&m->x));
	}
}

/* A relaxed store ends the release sequence, even by its thread (C++20). */
THREADS(release_sequence_of_store)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_release_sys(&m->y, 1);
		peal_store_relaxed_sys(&m->y, 2);
	} else {
		READ(0, peal_load_acquire_sys(&m->y));
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

THREADS(store_buffering)
{
	(void)config;
	peal_store_release_sys(self ? &m->y : &m->x, 1);
	READ(self, peal_load_acquire_sys(self ? &m->x : &m->y));
}

THREADS(load_buffering)
{
	(void)config;
	READ(self, peal_load_relaxed_sys(self ? &m->y : &m->x));
	peal_store_relaxed_sys(self ? &m->x : &m->y, 1);
}

THREADS(independent_reads)
{
	(void)config;
	if (self < 2) {
		peal_store_release_sys(self ? &m->y : &m->x, 1);
		return;
	}
	READ(2 * self - 4, peal_load_acquire_sys(self == 2 ? &m->x : &m->y));
	READ(2 * self - 3, peal_load_acquire_sys(self == 2 ? &m->y : &m->x));
}

THREADS(read_read)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
		peal_store_relaxed_sys(&m->x, 2);
	} else {
		READ(0, peal_load_relaxed_sys(&m->x));
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

/* Two threads write: both readers see the stores in one order. */
THREADS(read_read_two)
{
	(void)config;
	if (self < 2) {
		peal_store_relaxed_sys(&m->x, self + 1);
		return;
	}
	READ(2 * self - 4, peal_load_relaxed_sys(&m->x));
	READ(2 * self - 3, peal_load_relaxed_sys(&m->x));
}

THREADS(write_read)
{
	(void)config;
	peal_store_relaxed_sys(&m->x, self + 1);
	READ(self, peal_load_relaxed_sys(&m->x));
}

/* A thread's store comes behind the stores that the thread has read. */
THREADS(read_write)
{
	(void)config;
	if (self == 0) {
		READ(0, peal_load_relaxed_sys(&m->x));
		peal_store_relaxed_sys(&m->x, 1);
	} else {
		peal_store_relaxed_sys(&m->x, 2);
		READ(1, peal_load_relaxed_sys(&m->x));
		READ(2, peal_load_relaxed_sys(&m->x));
	}
}

static void keep_with_last(const void *config)
{
	READ(3, m->x);
	keep_outcome(config);
}

/* 2+2W: the last store to a location may be the first of its thread. */
THREADS(two_writes)
{
	(void)config;
	peal_store_relaxed_sys(self ? &m->y : &m->x, 1);
	peal_store_relaxed_sys(self ? &m->x : &m->y, 2);
}

static void read_last(const void *config)
{
	READ(0, m->x);
	READ(1, m->y);
	keep_outcome(config);
}

THREADS(write_to_read_causality)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 1);
	} else if (self == 1) {
		READ(0, peal_load_relaxed_sys(&m->x));
		peal_store_release_sys(&m->y, 1);
	} else {
		READ(1, peal_load_acquire_sys(&m->y));
		READ(2, peal_load_relaxed_sys(&m->x));
	}
}

THREADS(adds)
{
	(void)config;
	READ(self, peal_add_relaxed_dev(&m->x, 1));
}

/* No store comes between an add and the store that it read. */
THREADS(add_and_store)
{
	(void)config;
	if (self == 0) {
		peal_store_relaxed_sys(&m->x, 4);
	} else {
		READ(0, peal_add_relaxed_dev(&m->x, 1));
		READ(1, peal_load_relaxed_sys(&m->x));
	}
}

static const struct litmus {
	const char *name;
	uint32_t n_threads;
	void (*thread)(const void *config, uint32_t self);
	void (*check)(const void *config);
	uint64_t expected[24]; /* n_expected entries, in any order */
	uint32_t n_expected;
} litmus[] = {
	{ "message passing, relaxed",
	  2,
	  message_relaxed,
	  keep_outcome,
	  { 0, 100, 1000, 1100 },
	  4 },
	{ "message passing, release and acquire",
	  2,
	  message_released,
	  keep_outcome,
	  { 0, 100, 1100 },
	  3 },
	{ "message passing, release and relaxed",
	  2,
	  message_released_only,
	  keep_outcome,
	  { 0, 100, 1000, 1100 },
	  4 },
	{ "message passing, fences",
	  2,
	  message_fenced,
	  keep_outcome,
	  { 0, 100, 1100 },
	  3 },
	{ "message passing, fence too late",
	  2,
	  message_fenced_late,
	  keep_outcome,
	  { 0, 100, 1000, 1100 },
	  4 },
	/* digits: the add, y, x; add 0 and y 1: y may be from the add */
	{ "release sequence of an add",
	  3,
	  release_sequence_of_add,
	  keep_outcome,
	  { 0, 10, 100, 110, 1000, 1010, 1110, 1210 },
	  8 },
	{ "release sequence of a store",
	  2,
	  release_sequence_of_store,
	  keep_outcome,
	  { 0, 100, 1100, 2000, 2100 },
	  5 },
	{ "store buffering",
	  2,
	  store_buffering,
	  keep_outcome,
	  { 0, 100, 1000, 1100 },
	  4 },
	{ "load buffering",
	  2,
	  load_buffering,
	  keep_outcome,
	  { 0, 100, 1000 },
	  3 },
	{ "independent reads of independent writes",
	  4,
	  independent_reads,
	  keep_outcome,
	  { 0, 1, 10, 11, 100, 101, 110, 111, 1000, 1001, 1010, 1011, 1100,
	    1101, 1110, 1111 },
	  16 },
	{ "coherence, read read",
	  2,
	  read_read,
	  keep_outcome,
	  { 0, 100, 200, 1100, 1200, 2200 },
	  6 },
	{ "coherence, write read",
	  2,
	  write_read,
	  keep_outcome,
	  { 1100 + 100, 1100, 2200 },
	  3 },
	/* last digit: x at the end, which is 1 if the first digit is 2 */
	{ "coherence, read write",
	  2,
	  read_write,
	  keep_with_last,
	  { 111, 211, 221, 222, 2111, 2211, 2221 },
	  7 },
	{ "2+2W", 2, two_writes, read_last, { 1100, 1200, 2100, 2200 }, 4 },
	{ "write to read causality",
	  3,
	  write_to_read_causality,
	  keep_outcome,
	  { 0, 10, 100, 110, 1000, 1010, 1110 },
	  7 },
	{ "adds",
	  3,
	  adds,
	  keep_outcome,
	  { 120, 210, 1020, 1200, 2010, 2100 },
	  6 },
	{ "add and store",
	  2,
	  add_and_store,
	  keep_outcome,
	  { 100, 400, 4500 },
	  3 },
};

static struct model_instance instance_of(const struct litmus *l)
{
	struct model_instance i = { l->name,   l->n_threads, NULL, make_shared,
				    l->thread, l->check,     NULL, 0 };

	return i;
}

PEAL_TEST(litmus_programs_have_exactly_expected_outcomes)
{
	struct model_search search = { 0 };
	struct model_result r;
	uint64_t expected[24];
	size_t k;
	uint32_t i, bad = 0;

	for (k = 0; k < sizeof(litmus) / sizeof(litmus[0]); k++) {
		struct model_instance instance = instance_of(&litmus[k]);

		n_outcomes = 0;
		model_run(&instance, &search, &r);
		printf("    %-42s %3llu executions,", litmus[k].name,
		       (unsigned long long)r.executions);
		qsort(outcomes, n_outcomes, sizeof(outcomes[0]), by_number);
		for (i = 0; i < n_outcomes; i++)
			printf(" %04llu", (unsigned long long)outcomes[i]);
		printf("\n");
		memcpy(expected, litmus[k].expected, sizeof(expected));
		qsort(expected, litmus[k].n_expected, sizeof(expected[0]),
		      by_number);
		if (r.failed || n_outcomes != litmus[k].n_expected ||
		    memcmp(outcomes, expected,
			   n_outcomes * sizeof(outcomes[0]))) {
			printf("    ^ not what is expected %s\n", r.why);
			bad++;
		}
	}
	CHECK_EQ(bad, 0);
}

PEAL_TEST(two_readers_see_two_stores_in_one_order)
{
	struct model_instance instance = { "case",	  4,
					   NULL,	  make_shared,
					   read_read_two, keep_outcome,
					   NULL,	  0 };
	struct model_search search = { 0 };
	struct model_result r;
	uint32_t i;

	n_outcomes = 0;
	model_run(&instance, &search, &r);
	CHECK(!r.failed);
	for (i = 0; i < n_outcomes; i++)
		CHECK(outcomes[i] != 1221 && outcomes[i] != 2112);
	/* 6 * 6 outcomes for each order of the stores, 5 * 5 are in both */
	CHECK_EQ(n_outcomes, 36 + 36 - 25);
}

PEAL_TEST(reduction_finds_each_graph_of_the_litmus_programs_once)
{
	size_t k;

	for (k = 0; k < sizeof(litmus) / sizeof(litmus[0]); k++) {
		struct model_instance instance = instance_of(&litmus[k]);

		compare_searches(&instance);
	}
}

/* ---- the reduction on random programs ------------------------------------ */

struct random_program {
	uint32_t n_threads, n;
	unsigned long long seed;
};

static void random_operation(uint32_t what, uint64_t *at, uint64_t value)
{
	switch (what) {
	case 0:
		peal_store_relaxed_dev(at, value);
		break;
	case 1:
		peal_store_release_dev(at, value);
		break;
	case 2:
		peal_add_relaxed_dev(at, value);
		break;
	case 3:
		peal_add_acqrel_dev(at, value);
		break;
	case 4:
		peal_fence_release_dev();
		break;
	case 5:
		peal_fence_acquire_dev();
		break;
	case 6:
	case 7:
		peal_load_acquire_dev(at);
		break;
	default:
		peal_load_relaxed_dev(at);
	}
}

/* Skips some operations because of values that it reads. */
THREADS(random_thread)
{
	const struct random_program *p = (const struct random_program *)config;
	unsigned long long state = p->seed * 4 + self;
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		unsigned long long v = test_random(&state);
		uint64_t *at = v >> 8 & 1 ? &m->x : &m->y;

		if (v % 11 == 10 && peal_load_relaxed_dev(at) % 2)
			continue;
		random_operation((uint32_t)(v % 10), at, 10 * self + i + 1);
	}
}

static struct random_program random_program(unsigned long long seed)
{
	struct random_program p = { 2 + seed % 2, seed % 2 ? 3 : 4, seed };

	return p;
}

static struct model_instance random_instance(const struct random_program *p)
{
	struct model_instance i = {
		"random",      p->n_threads, p,	   make_shared,
		random_thread, NULL,	     NULL, 0
	};

	return i;
}

PEAL_TEST(reduction_finds_each_graph_of_random_programs_once)
{
	unsigned long long seed;
	uint64_t interleavings = 0, graphs_found = 0, most = 0;

	for (seed = 1; seed <= 80; seed++) {
		struct random_program p = random_program(seed);
		struct model_instance instance = random_instance(&p);

		interleavings += compare_searches(&instance);
		graphs_found += n_graphs[0];
		if (n_graphs[0] > most)
			most = n_graphs[0];
	}
	printf("    80 programs, %llu interleavings, %llu graphs, %llu in "
	       "one\n",
	       (unsigned long long)interleavings,
	       (unsigned long long)graphs_found, (unsigned long long)most);
	CHECK(most > 50);
}

PEAL_TEST(overlong_sleep_sets_lose_graphs)
{
	struct model_search search = { 0 };
	struct model_result sound, faulty;
	unsigned long long seed;
	uint32_t lost = 0;

	for (seed = 1; seed <= 80; seed++) {
		struct random_program p = random_program(seed);
		struct model_instance instance = random_instance(&p);

		search.overslept = 0;
		model_run(&instance, &search, &sound);
		search.overslept = 1;
		model_run(&instance, &search, &faulty);
		lost += faulty.executions < sound.executions;
	}
	printf("    in %u of 80 programs\n", lost);
	CHECK(lost > 20);
}

/* ---- data races, waits --------------------------------------------------- */

static struct model_result explore(uint32_t n_threads,
				   void (*thread)(const void *, uint32_t),
				   const void *config)
{
	struct model_instance instance = { "case",	n_threads, config,
					   make_shared, thread,	   NULL,
					   NULL,	0 };
	struct model_search search = { 0 };
	struct model_result r;

	model_run(&instance, &search, &r);
	return r;
}

/* config: not NULL: the store of the flag is relaxed. */
THREADS(plain_message)
{
	if (self == 0) {
		m->plain = 7;
		if (config)
			peal_store_relaxed_sys(&m->x, 1);
		else
			peal_store_release_sys(&m->x, 1);
	} else if (peal_load_acquire_sys(&m->x)) {
		model_expect(m->plain == 7);
	}
}

PEAL_TEST(plain_access_without_an_order_is_a_race)
{
	struct model_result r = explore(2, plain_message, NULL);

	CHECK(!r.failed);
	CHECK_EQ(r.executions, 2);
	r = explore(2, plain_message, "relaxed");
	CHECK(r.failed);
	CHECK_CONTAINS(r.why, "data race");
}

/* A write to bytes that the other thread reads, without an order. */
THREADS(plain_reuse)
{
	uint8_t *bytes = (uint8_t *)&m->read;
	uint64_t n = *(const uint64_t *)config;
	uint8_t mine[16];
	struct peal_header header = { 1, 2, 3 };

	if (self == 0)
		peal_copy(mine, bytes, n);
	else if (n == 8)
		peal_header_store(bytes, header);
	else
		peal_copy(bytes, mine, n);
}

PEAL_TEST(races_in_device_copies_are_detected)
{
	struct model_result r;
	uint64_t n;

	for (n = 1; n <= 16; n++) {
		r = explore(2, plain_reuse, &n);
		CHECK(r.failed);
		CHECK_CONTAINS(r.why, "data race");
	}
}

THREADS(word_of_two_kinds)
{
	(void)config;
	if (self == 0)
		m->x = 1;
	else
		peal_load_acquire_sys(&m->x);
}

PEAL_TEST(plain_write_and_atomic_load_of_a_word_are_a_race)
{
	struct model_result r = explore(2, word_of_two_kinds, NULL);

	CHECK(r.failed);
	CHECK_CONTAINS(r.why, "data race");
}

/* config: not NULL: thread 1 stores the awaited value. */
THREADS(waiting)
{
	if (self == 0)
		MODEL_UNTIL(peal_load_acquire_sys(&m->x) == 2)
	else {
		peal_store_release_sys(&m->x, 1);
		if (config)
			peal_store_release_sys(&m->x, 2);
	}
}

PEAL_TEST(endless_wait_is_caught)
{
	struct model_result r = explore(2, waiting, NULL);

	CHECK(r.failed);
	CHECK_CONTAINS(r.why, "waits for ever");
	r = explore(2, waiting, "both");
	CHECK(!r.failed);
	CHECK_EQ(r.executions, 4); /* reads 2, 0 2, 1 2, or 0 1 2 */
}

/* Uses a word that the checker does not restore before each execution. */
THREADS(forgetful)
{
	static uint32_t times;

	(void)config;
	if (self == 0)
		peal_store_relaxed_sys(&m->x, 1);
	else if (times++ % 2 == 0)
		peal_load_relaxed_sys(&m->x);
	else
		peal_load_relaxed_sys(&m->y);
}

PEAL_TEST(state_that_outlives_an_execution_is_caught)
{
	struct model_result r = explore(2, forgetful, NULL);

	CHECK(r.failed);
	CHECK_CONTAINS(r.why, "outlives");
}

PEAL_TEST(choices_lead_to_the_same_counterexample)
{
	struct model_instance instance = {
		"case", 2, "relaxed", make_shared, plain_message, NULL, NULL, 0
	};
	struct model_search search = { 0 };
	struct model_result first, again;
	char choices[64];

	model_run(&instance, &search, &first);
	CHECK(first.failed && strlen(first.choices) < sizeof(choices));
	strcpy(choices, first.choices);
	search.replay = choices;
	model_run(&instance, &search, &again);
	CHECK(again.failed && !strcmp(first.why, again.why));
}

PEAL_TEST_MAIN(RUN(litmus_programs_have_exactly_expected_outcomes);
	       RUN(two_readers_see_two_stores_in_one_order);
	       RUN(reduction_finds_each_graph_of_the_litmus_programs_once);
	       RUN(reduction_finds_each_graph_of_random_programs_once);
	       RUN(overlong_sleep_sets_lose_graphs);
	       RUN(plain_access_without_an_order_is_a_race);
	       RUN(races_in_device_copies_are_detected);
	       RUN(plain_write_and_atomic_load_of_a_word_are_a_race);
	       RUN(endless_wait_is_caught);
	       RUN(state_that_outlives_an_execution_is_caught);
	       RUN(choices_lead_to_the_same_counterexample);)
