/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "history.h"
#include "work_pool.h"
#include "yield.h"

/*
 * Shows that a work queue is linearizable (history.h). A bulk is one put, and a
 * burst is one take.
 */

#define THREADS 2 /* per side */
#define OPS 6 /* put calls of a thread */
#define ROUNDS IDENTITY_COUNT(1000)

PEAL_TEST(checker_accepts_valid_and_rejects_invalid_histories)
{
	/* put 1, then put 2; taken in this order, or in the other order */
	const struct history_call good[] = { { { 1 }, 1, 0, 0, 1 },
					     { { 2 }, 1, 0, 2, 3 },
					     { { 1 }, 1, 1, 4, 5 },
					     { { 2 }, 1, 1, 6, 7 } };
	const struct history_call bad[] = { { { 1 }, 1, 0, 0, 1 },
					    { { 2 }, 1, 0, 2, 3 },
					    { { 2 }, 1, 1, 4, 5 },
					    { { 1 }, 1, 1, 6, 7 } };
	/* puts at the same time may be taken in any order */
	const struct history_call either[] = { { { 1 }, 1, 0, 0, 3 },
					       { { 2 }, 1, 0, 1, 2 },
					       { { 2 }, 1, 1, 4, 5 },
					       { { 1 }, 1, 1, 6, 7 } };
	const struct history_call early[] = { { { 1 }, 1, 1, 0, 1 },
					      { { 1 }, 1, 0, 2, 3 } };
	const struct history_call twice[] = { { { 1 }, 1, 0, 0, 1 },
					      { { 1 }, 1, 1, 2, 3 },
					      { { 1 }, 1, 1, 4, 5 } };
	const struct history_call nothing[] = { { { 1 }, 1, 0, 0, 1 },
						{ { 7 }, 1, 1, 2, 3 } };

	/* bulks at the same time: taken in a row, or interleaved */
	const struct history_call row[] = { { { 1, 2 }, 2, 0, 0, 3 },
					    { { 3, 4 }, 2, 0, 1, 2 },
					    { { 3 }, 1, 1, 4, 5 },
					    { { 4, 1, 2 }, 3, 1, 6, 7 } };
	const struct history_call apart[] = { { { 1, 2 }, 2, 0, 0, 3 },
					      { { 3, 4 }, 2, 0, 1, 2 },
					      { { 3 }, 1, 1, 4, 5 },
					      { { 1, 2 }, 2, 1, 6, 7 },
					      { { 4 }, 1, 1, 8, 9 } };

	CHECK(history_linearizes(row, 4));
	CHECK(!history_linearizes(apart, 5));
	CHECK(history_linearizes(good, 4));
	CHECK(!history_linearizes(bad, 4));
	CHECK(history_linearizes(either, 4));
	CHECK(!history_linearizes(early, 2));
	CHECK(!history_linearizes(twice, 3));
	CHECK(!history_linearizes(nothing, 2));
}

/* ---- recorded histories -------------------------------------------------- */

enum broken {
	NOTHING,
	SPLIT, /* bulks go to two queues in turn, each consumer has one queue */
	PUTS_APART, /* the messages of a bulk get their tickets one by one */
	TAKES_APART /* the messages of a burst are claimed one by one */
};

struct pools {
	struct work_pool at[2];
	enum broken broken;
};

static int put(struct history_actor *a, const struct identity_message *m,
	       uint32_t n)
{
	struct pools *s = (struct pools *)a->h->queue;
	struct work_pool *w =
		&s->at[s->broken == SPLIT && m->sequence / HISTORY_BULK % 2];
	struct peal_header h = { a->index, 0, 3 };
	uint32_t i;

	if (s->broken != PUTS_APART || n == 1)
		return peal_work_push_bulk(w->q, &w->at[a->index].p, h, m,
					   sizeof(*m), n);
	for (i = 0; i < n; i++)
		while (put(a, &m[i], 1))
			test_yield();
	return 0;
}

static int burst(const struct pools *s, struct work_pool *w,
		 struct peal_work_consumer *c, struct identity_message *m,
		 uint32_t n, struct peal_work_received *got)
{
	uint32_t i;

	if (s->broken != TAKES_APART)
		return peal_work_pop_burst(w->q, c, m, sizeof(*m), n, got);
	for (i = 0; i < n; i++, test_yield())
		if (peal_work_pop(w->q, c, &m[i], sizeof(*m), &got[i]) < 0)
			break;
	return i ? (int)i : PEAL_EAGAIN;
}

static void take(struct history_actor *a)
{
	struct pools *s = (struct pools *)a->h->queue;
	struct work_pool *w = &s->at[s->broken == SPLIT && a->index % 2];
	struct peal_work_consumer *c = &w->at[a->index].c;
	uint32_t n = 1 + (uint32_t)(test_random(&a->random) % a->h->bulk);
	struct peal_work_received got[HISTORY_BULK];
	struct identity_message m[HISTORY_BULK];
	struct history_call call = { { 0 }, 0, 1, 0, 0 };
	int r, i;

	identity_disturb(&a->random);
	call.begin = history_now(a);
	r = burst(s, w, c, m, n, got);
	call.end = history_now(a);
	if (r < 0) {
		CHECK_EQ(r, PEAL_EAGAIN);
		test_yield();
		return;
	}
	for (i = 0; i < r; i++)
		call.values[call.n++] = history_value(&m[i]);
	history_note(a, &call);
}

/* Returns the number of histories that are not linearizable. */
static uint64_t histories(enum broken broken, uint32_t policy, uint32_t slots,
			  uint32_t bulk, uint64_t rounds, uint64_t seed)
{
	struct pools *s = (struct pools *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);
	struct history h;
	uint64_t bad;
	uint32_t i;

	CHECK(s);
	memset(s, 0, sizeof(*s));
	memset(&h, 0, sizeof(h));
	s->broken = broken;
	for (i = 0; i < 2; i++)
		work_pool_open(&s->at[i], policy, slots, THREADS, bulk);
	h.queue = s;
	h.putters = h.takers = THREADS;
	h.ops = OPS;
	h.bulk = bulk;
	h.put = put;
	h.take = take;
	bad = history_run(&h, rounds, seed);
	for (i = 0; i < 2; i++) {
		work_pool_conserved(&s->at[i], 0);
		work_pool_close(&s->at[i]);
	}
	free(s);
	return bad;
}

PEAL_TEST(every_history_is_linearizable)
{
	static const struct {
		uint32_t slots, bulk;
	} cases[] = { { 2, 1 }, { 16, 1 }, { 8, 3 }, { 64, 3 } };
	struct stress_clock clock = stress_begin(1);
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(histories(NOTHING, policy, cases[i].slots,
				   cases[i].bulk, ROUNDS, round),
			 0);
}

/* ---- negative controls --------------------------------------------------- */

static void caught(enum broken broken, uint32_t bulk)
{
	HISTORY_CAUGHT(
		histories(broken, PEAL_POLICY_SEQUENCE, 64, bulk, 200, tries));
}

/* As in a set of shards, no message is lost. But this is no queue. */
PEAL_TEST(split_queue_is_caught)
{
	caught(SPLIT, 1);
}

PEAL_TEST(interleaved_bulk_is_caught)
{
	caught(PUTS_APART, 3);
}

PEAL_TEST(interleaved_burst_is_caught)
{
	caught(TAKES_APART, 3);
}

PEAL_TEST_MAIN(RUN(checker_accepts_valid_and_rejects_invalid_histories);
	       RUN(every_history_is_linearizable); RUN(split_queue_is_caught);
	       RUN(interleaved_bulk_is_caught);
	       RUN(interleaved_burst_is_caught); stress_print_total();)
