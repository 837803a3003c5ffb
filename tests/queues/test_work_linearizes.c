/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
#include "stress.h"
#include "work_pool.h"

/*
 * Histories of a few threads on a work queue, each checked against a plain
 * first-in-first-out queue as by Wing and Gong (1993): there must be an order
 * of the calls, true to what was over before what began, in which the plain
 * queue gives the same answers. Calls that found no room or nothing change
 * nothing and are left out; a message that one call claimed and a later one got
 * is one call, from the first to the last.
 */

#define THREADS 2 /* of each kind */
#define OPS 4 /* of each thread, an even number */
#define CALLS (2 * THREADS * OPS)
#define ROUNDS IDENTITY_COUNT(4000)

struct call {
	uint64_t value;
	uint64_t begin, end; /* on a clock that all share */
	int take;
};

/* ---- the checker --------------------------------------------------------- */

struct search {
	const struct call *calls;
	uint32_t n, queue[CALLS], head, tail;
	uint32_t done; /* mask of calls */
	uint64_t steps;
};

/* Whether the calls that are left can go on from this queue. */
static int search(struct search *s)
{
	uint64_t first_end = ~0ULL;
	uint32_t i, found;

	if (s->done == (1u << s->n) - 1)
		return 1;
	if (++s->steps > 10000000)
		return 0;
	for (i = 0; i < s->n; i++)
		if (!(s->done & 1u << i) && s->calls[i].end < first_end)
			first_end = s->calls[i].end;
	for (i = 0; i < s->n; i++) {
		const struct call *c = &s->calls[i];

		/* one that began after another was over is not next */
		if (s->done & 1u << i || c->begin > first_end)
			continue;
		if (c->take && (s->head == s->tail ||
				s->calls[s->queue[s->head]].value != c->value))
			continue;
		s->done |= 1u << i;
		if (c->take)
			s->head++;
		else
			s->queue[s->tail++] = i;
		found = (uint32_t)search(s);
		if (found)
			return 1;
		s->done &= ~(1u << i);
		if (c->take)
			s->head--;
		else
			s->tail--;
	}
	return 0;
}

static int linearizes(const struct call *calls, uint32_t n)
{
	struct search s;

	memset(&s, 0, sizeof(s));
	s.calls = calls;
	s.n = n;
	return search(&s);
}

PEAL_TEST(checker_tells_good_histories_from_bad_ones)
{
	/* put 1 | put 2, one after the other; taken in turn, out of turn */
	const struct call good[] = {
		{ 1, 0, 1, 0 }, { 2, 2, 3, 0 }, { 1, 4, 5, 1 }, { 2, 6, 7, 1 }
	};
	const struct call bad[] = {
		{ 1, 0, 1, 0 }, { 2, 2, 3, 0 }, { 2, 4, 5, 1 }, { 1, 6, 7, 1 }
	};
	/* puts at the same time may be taken in any order */
	const struct call either[] = {
		{ 1, 0, 3, 0 }, { 2, 1, 2, 0 }, { 2, 4, 5, 1 }, { 1, 6, 7, 1 }
	};
	const struct call early[] = { { 1, 0, 1, 1 }, { 1, 2, 3, 0 } };
	const struct call twice[] = { { 1, 0, 1, 0 },
				      { 1, 2, 3, 1 },
				      { 1, 4, 5, 1 } };
	const struct call nothing[] = { { 1, 0, 1, 0 }, { 7, 2, 3, 1 } };

	CHECK(linearizes(good, 4));
	CHECK(!linearizes(bad, 4));
	CHECK(linearizes(either, 4));
	CHECK(!linearizes(early, 2));
	CHECK(!linearizes(twice, 3));
	CHECK(!linearizes(nothing, 2));
}

/* ---- recorded histories -------------------------------------------------- */

/* A claim that a consumer has not got the message of yet. */
struct claim {
	uint64_t number, begin;
};

struct subject {
	struct work_pool pools[2];
	int split; /* broken: messages go to the two pools in turn */
	atomic_ullong clock;
	pthread_barrier_t barrier;
	struct call puts[THREADS * OPS];
	struct call takes[THREADS * OPS];
	atomic_uint n_takes; /* of this history */
	atomic_int stop;
};

struct actor {
	struct subject *s;
	uint32_t index;
	int taker;
	unsigned long long random;
};

/* In half of the calls it pauses between ticket and tag, so that calls meet. */
static int put_one(struct work_pool *w, struct actor *a, uint64_t sequence)
{
	struct identity_message m = identity_make(a->index, sequence);
	struct peal_header h = { a->index, (uint16_t)sequence, 3 };
	uint64_t number;

	if (test_random(&a->random) % 2)
		return work_put(w, a->index, sequence);
	if (peal_work_take_tickets(w->q, &w->at[a->index].p, 1, &number))
		return PEAL_EAGAIN;
	sched_yield();
	stress_pause(&a->random);
	peal_work_put_at(w->q, number, h, &m, sizeof(m));
	return 0;
}

static void put_some(struct actor *a, struct call *calls, uint64_t round)
{
	struct subject *s = a->s;
	uint32_t i;

	for (i = 0; i < OPS; i++) {
		struct work_pool *w = &s->pools[s->split && i % 2];
		uint64_t sequence = round * OPS + i;
		int r;

		identity_disturb(&a->random);
		do {
			calls[i].begin = atomic_fetch_add(&s->clock, 1);
			r = put_one(w, a, sequence);
			calls[i].end = atomic_fetch_add(&s->clock, 1);
			if (r)
				sched_yield();
		} while (r);
		calls[i].take = 0;
		calls[i].value = sequence << 8 | a->index;
	}
}

/* When the call began that claimed a number; and forgets the claim. */
static uint64_t claim_began(struct claim *claims, uint32_t *n, uint64_t number,
			    uint64_t begin)
{
	uint32_t i;

	for (i = 0; i < *n; i++)
		if (claims[i].number == number) {
			begin = claims[i].begin;
			claims[i] = claims[--*n];
			break;
		}
	return begin;
}

/* Notes the claims that a call has made and not got. */
static void claim_note(struct claim *claims, uint32_t *n,
		       const struct peal_work_consumer *c, uint64_t begin)
{
	uint32_t i, k;

	for (i = 0; i < c->n_pending; i++) {
		for (k = 0; k < *n && claims[k].number != c->pending[i]; k++)
			;
		if (k == *n)
			claims[(*n)++] = (struct claim){ c->pending[i], begin };
	}
}

static void take_some(struct actor *a)
{
	struct subject *s = a->s;
	struct work_pool *w = &s->pools[s->split && a->index % 2];
	struct peal_work_consumer *c = &w->at[a->index].c;
	struct claim claims[PEAL_WORK_BURST];
	struct identity_message m;
	struct peal_work_got got;
	struct call call;
	uint32_t n = 0;
	int r;

	while (atomic_load(&s->n_takes) < THREADS * OPS) {
		identity_disturb(&a->random);
		call.begin = atomic_fetch_add(&s->clock, 1);
		r = peal_work_pop(w->q, c, &m, sizeof(m), &got);
		call.end = atomic_fetch_add(&s->clock, 1);
		claim_note(claims, &n, c, call.begin);
		if (r < 0) {
			sched_yield();
			continue;
		}
		call.begin = claim_began(claims, &n, got.number, call.begin);
		call.take = 1;
		call.value = m.sequence << 8 | m.producer;
		s->takes[atomic_fetch_add(&s->n_takes, 1)] = call;
	}
	CHECK_EQ(n, 0);
}

static void *act(void *argument)
{
	struct actor *a = (struct actor *)argument;
	struct subject *s = a->s;
	uint64_t round;

	for (round = 0; !atomic_load(&s->stop); round++) {
		if (a->taker)
			take_some(a);
		else
			put_some(a, &s->puts[a->index * OPS], round);
		pthread_barrier_wait(&s->barrier); /* the history is whole */
		pthread_barrier_wait(&s->barrier); /* it is checked */
	}
	return NULL;
}

/* Pairs of calls of a history that ran at the same time. */
static uint64_t overlaps(const struct call *calls, uint32_t n)
{
	uint64_t pairs = 0;
	uint32_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			pairs += calls[i].begin < calls[k].end &&
				 calls[k].begin < calls[i].end;
	return pairs;
}

/* How many of the histories are not those of a queue. */
static uint64_t histories(uint32_t policy, uint32_t slots, int split,
			  uint64_t rounds, uint64_t seed, uint64_t *pairs)
{
	struct subject *s = (struct subject *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);
	struct actor actors[2 * THREADS];
	pthread_t threads[2 * THREADS];
	struct call calls[CALLS];
	uint64_t bad = 0, k;
	uint32_t i;

	CHECK(s);
	memset(s, 0, sizeof(*s));
	s->split = split;
	work_pool_open(&s->pools[0], policy, slots, THREADS, 1);
	work_pool_open(&s->pools[1], policy, slots, THREADS, 1);
	pthread_barrier_init(&s->barrier, NULL, 2 * THREADS + 1);
	for (i = 0; i < 2 * THREADS; i++) {
		actors[i] = (struct actor){ s, i % THREADS, i >= THREADS,
					    1000 * seed + i };
		CHECK(!pthread_create(&threads[i], NULL, act, &actors[i]));
	}
	for (k = 0; k < rounds; k++) {
		pthread_barrier_wait(&s->barrier);
		memcpy(calls, s->puts, sizeof(s->puts));
		memcpy(calls + THREADS * OPS, s->takes, sizeof(s->takes));
		bad += !linearizes(calls, CALLS);
		*pairs += overlaps(calls, CALLS);
		atomic_store(&s->n_takes, 0);
		if (k + 1 == rounds)
			atomic_store(&s->stop, 1);
		pthread_barrier_wait(&s->barrier);
	}
	for (i = 0; i < 2 * THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	pthread_barrier_destroy(&s->barrier);
	work_pool_close(&s->pools[0]);
	work_pool_close(&s->pools[1]);
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
			stress_verified += 2 * ROUNDS * THREADS * OPS;
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
