/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
#include "history.h"
#include "work_pool.h"

/*
 * Histories of a few threads on a work queue are those of a queue: see
 * history.h. A message that one call claimed and a later one got is one call,
 * from the first to the last.
 */

#define THREADS 2 /* of each kind */
#define OPS 4 /* puts of a thread */
#define ROUNDS IDENTITY_COUNT(4000)

PEAL_TEST(checker_tells_good_histories_from_bad_ones)
{
	/* put 1 | put 2, one after the other; taken in turn, out of turn */
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

	CHECK(history_linearizes(good, 4));
	CHECK(!history_linearizes(bad, 4));
	CHECK(history_linearizes(either, 4));
	CHECK(!history_linearizes(early, 2));
	CHECK(!history_linearizes(twice, 3));
	CHECK(!history_linearizes(nothing, 2));
}

/* ---- recorded histories -------------------------------------------------- */

struct pools {
	struct work_pool at[2];
	int split; /* broken: messages go to the two pools in turn */
	/* claims that a consumer has not got the messages of yet */
	struct claims {
		uint32_t n;
		struct {
			uint64_t number, begin;
		} at[PEAL_WORK_BURST];
	} claims[THREADS];
};

/* In half of the calls it pauses between ticket and tag, so that calls meet. */
static int put(struct history_actor *a, const struct identity_message *m,
	       uint32_t n)
{
	struct pools *s = (struct pools *)a->h->queue;
	struct work_pool *w =
		&s->at[s->split && m->sequence / HISTORY_BULK % 2];
	struct peal_work_producer *p = &w->at[a->index].p;
	struct peal_header h = { a->index, 0, 3 };
	uint64_t number;
	uint32_t i;

	if (test_random(&a->random) % 2)
		return peal_work_push_bulk(w->q, p, h, m, sizeof(*m), n);
	if (peal_work_take_tickets(w->q, p, n, &number))
		return PEAL_EAGAIN;
	for (i = 0; i < n; i++) {
		sched_yield();
		stress_pause(&a->random);
		peal_work_put_at(w->q, number + i, h, &m[i], sizeof(*m));
	}
	return 0;
}

/* When the call began that claimed a number; and forgets the claim. */
static uint64_t claim_began(struct claims *claims, uint64_t number,
			    uint64_t begin)
{
	uint32_t i;

	for (i = 0; i < claims->n; i++)
		if (claims->at[i].number == number) {
			begin = claims->at[i].begin;
			claims->at[i] = claims->at[--claims->n];
			break;
		}
	return begin;
}

/* Notes the claims that a call has made and not got. */
static void claims_note(struct claims *claims,
			const struct peal_work_consumer *c, uint64_t begin)
{
	uint32_t i, k;

	for (i = 0; i < c->n_pending; i++) {
		for (k = 0;
		     k < claims->n && claims->at[k].number != c->pending[i];
		     k++)
			;
		if (k < claims->n)
			continue;
		claims->at[k].number = c->pending[i];
		claims->at[claims->n++].begin = begin;
	}
}

static void take(struct history_actor *a)
{
	struct pools *s = (struct pools *)a->h->queue;
	struct work_pool *w = &s->at[s->split && a->index % 2];
	struct peal_work_consumer *c = &w->at[a->index].c;
	struct claims *claims = &s->claims[a->index];
	struct history_call call = { { 0 }, 1, 1, 0, 0 };
	struct identity_message m;
	struct peal_work_got got;
	int r;

	identity_disturb(&a->random);
	call.begin = history_now(a);
	r = peal_work_pop(w->q, c, &m, sizeof(m), &got);
	call.end = history_now(a);
	claims_note(claims, c, call.begin);
	if (r < 0) {
		CHECK_EQ(r, PEAL_EAGAIN);
		sched_yield();
		return;
	}
	call.begin = claim_began(claims, got.number, call.begin);
	call.values[0] = history_value(&m);
	history_note(a, &call);
}

/* How many of the histories are not those of a queue. */
static uint64_t histories(uint32_t policy, uint32_t slots, int split,
			  uint64_t rounds, uint64_t seed, uint64_t *pairs)
{
	struct pools *s = (struct pools *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);
	struct history h;
	uint64_t bad;
	uint32_t i;

	CHECK(s);
	memset(s, 0, sizeof(*s));
	memset(&h, 0, sizeof(h));
	s->split = split;
	for (i = 0; i < 2; i++)
		work_pool_open(&s->at[i], policy, slots, THREADS, 1);
	h.queue = s;
	h.putters = h.takers = THREADS;
	h.ops = OPS;
	h.bulk = 1;
	h.put = put;
	h.take = take;
	bad = history_run(&h, rounds, seed, pairs);
	for (i = 0; i < 2; i++) {
		work_pool_conserved(&s->at[i], 0);
		work_pool_close(&s->at[i]);
	}
	stress_verified += (rounds - bad) * history_messages(&h);
	free(s);
	return bad;
}

PEAL_TEST(every_history_is_that_of_a_queue)
{
	struct stress_clock clock = stress_begin(1);
	uint64_t pairs = 0, round;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			CHECK_EQ(histories(policy, 2, 0, ROUNDS, round, &pairs),
				 0);
			CHECK_EQ(histories(policy, 16, 0, ROUNDS, round,
					   &pairs),
				 0);
		}
	printf("    %llu pairs of calls at the same time\n",
	       (unsigned long long)pairs);
	CHECK(pairs > 0);
}

/*
 * Two queues, and each consumer at one of them, as with a set of shards. No
 * message is lost, but it is no queue.
 */
PEAL_TEST(two_queues_that_pretend_to_be_one_are_caught)
{
	uint64_t bad = 0, tries = 0, pairs = 0;

	while (!bad && tries++ < 20)
		bad = histories(PEAL_POLICY_SEQUENCE, 64, 1, 200, tries,
				&pairs);
	printf("    not a queue: %llu of %llu histories\n",
	       (unsigned long long)bad, (unsigned long long)tries * 200);
	CHECK(bad);
}

PEAL_TEST_MAIN(RUN(checker_tells_good_histories_from_bad_ones);
	       RUN(every_history_is_that_of_a_queue);
	       RUN(two_queues_that_pretend_to_be_one_are_caught); stress_say();)
