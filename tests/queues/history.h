/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_HISTORY_H
#define TEST_HISTORY_H

/*
 * Histories of a few threads on a queue, each checked against a plain
 * first-in-first-out queue as by Wing and Gong (1993): there must be an order
 * of the calls, true to what was over before what began, in which the plain
 * queue gives the same answers. A call puts or takes some messages in a row.
 *
 * Calls that found no room or nothing change nothing and are left out: what
 * they say is not of this order. A ticket that was taken and is not published
 * yet hides the later ones, whose puts are over, and a lease that is not used
 * yet keeps room from others that nothing lies in.
 */

#include <peal/device/atomic.h>

#include "queues/stress.h"
#include "yield.h"

/*
 * Before what others can see a thread may give its core up, so that calls meet
 * everywhere in each other. This header comes before those of the queues.
 */

static _Thread_local unsigned long long history_random;

static inline void history_step(void)
{
	if (test_random(&history_random) % 8 == 0)
		test_yield();
	stress_pause(&history_random);
}

#define HISTORY_STEP(call) (history_step(), call)
#define peal_add_relaxed_dev(p, v) HISTORY_STEP(peal_add_relaxed_dev(p, v))
#define peal_add_acqrel_dev(p, v) HISTORY_STEP(peal_add_acqrel_dev(p, v))
#define peal_store_release_sys(p, v) HISTORY_STEP(peal_store_release_sys(p, v))
#define peal_atom8_store(p, v) HISTORY_STEP(peal_atom8_store(p, v))
#define peal_atom16_store(p, v) HISTORY_STEP(peal_atom16_store(p, v))

#define HISTORY_BULK 3 /* messages of a call, at most */
#define HISTORY_THREADS 4 /* of all kinds, at most */
#define HISTORY_CALLS 63

struct history_call {
	uint64_t values[HISTORY_BULK];
	uint32_t n;
	int take;
	uint64_t begin, end; /* on a clock that all share */
};

/* ---- the checker --------------------------------------------------------- */

struct history_search {
	const struct history_call *calls;
	uint32_t n;
	uint64_t queue[HISTORY_CALLS * HISTORY_BULK]; /* all that was put */
};

/* Whether the call is left, and did not begin after another was over. */
static inline int history_next(const struct history_search *s, uint64_t done,
			       uint32_t i)
{
	uint32_t k;

	if (done >> i & 1)
		return 0;
	for (k = 0; k < s->n; k++)
		if (!(done >> k & 1) && s->calls[k].end < s->calls[i].begin)
			return 0;
	return 1;
}

/* Whether the calls that are left can go on from queue[head .. tail]. */
static inline int history_search(struct history_search *s, uint64_t done,
				 uint32_t head, uint32_t tail)
{
	const struct history_call *c;
	uint32_t i;

	if (done == (1ULL << s->n) - 1)
		return 1;
	/* a take that can come next may as well: until it there are only puts */
	for (i = 0; i < s->n; i++) {
		c = &s->calls[i];
		if (c->take && tail - head >= c->n &&
		    !memcmp(&s->queue[head], c->values, 8 * c->n) &&
		    history_next(s, done, i))
			return history_search(s, done | 1ULL << i, head + c->n,
					      tail);
	}
	for (i = 0; i < s->n; i++) {
		c = &s->calls[i];
		if (c->take || !history_next(s, done, i))
			continue;
		memcpy(&s->queue[tail], c->values, 8 * c->n);
		if (history_search(s, done | 1ULL << i, head, tail + c->n))
			return 1;
	}
	return 0;
}

/* Whether these are the calls of a first-in-first-out queue. No message is put
 * twice. */
static inline int history_linearizes(const struct history_call *calls,
				     uint32_t n)
{
	struct history_search s;

	CHECK(n <= HISTORY_CALLS);
	s.calls = calls;
	s.n = n;
	return history_search(&s, 0, 0, 0);
}

/* ---- recording ----------------------------------------------------------- */

struct history_actor {
	struct history *h;
	uint32_t index; /* among its kind */
	int taker;
	unsigned long long random;
};

/* What is recorded, and how. */
struct history {
	void *queue;
	uint32_t putters, takers;
	uint32_t ops; /* puts of a thread; a multiple of bulk */
	uint32_t bulk; /* the first has 1 message, the next 2, and so on */
	/* puts n messages in a row: 0, or PEAL_EAGAIN and nothing is put */
	int (*put)(struct history_actor *a, const struct identity_message *m,
		   uint32_t n);
	/* tries to take some, and notes what it got by history_note */
	void (*take)(struct history_actor *a);
	/* the rest is for the functions below */
	atomic_ullong clock;
	pthread_barrier_t barrier;
	atomic_int stop;
	atomic_uint n_calls, taken; /* of this history */
	struct history_call calls[HISTORY_CALLS];
};

static inline uint64_t history_now(struct history_actor *a)
{
	return atomic_fetch_add(&a->h->clock, 1);
}

static inline uint64_t history_value(const struct identity_message *m)
{
	return m->sequence << 8 | m->producer;
}

static inline void history_note(struct history_actor *a,
				const struct history_call *call)
{
	uint32_t i = atomic_fetch_add(&a->h->n_calls, 1);

	CHECK(i < HISTORY_CALLS);
	a->h->calls[i] = *call;
	if (call->take)
		atomic_fetch_add(&a->h->taken, call->n);
}

/* Messages of a history. */
static inline uint32_t history_messages(const struct history *h)
{
	return h->putters * h->ops * (h->bulk + 1) / 2;
}

static inline void history_put(struct history_actor *a, uint64_t round)
{
	struct identity_message m[HISTORY_BULK];
	struct history_call call;
	uint32_t i, k;
	int r;

	for (i = 0; i < a->h->ops; i++) {
		call.take = 0;
		call.n = 1 + (uint32_t)((i + a->index + round) % a->h->bulk);
		for (k = 0; k < call.n; k++) {
			m[k] = identity_make(
				a->index,
				(round * a->h->ops + i) * HISTORY_BULK + k);
			call.values[k] = history_value(&m[k]);
		}
		identity_disturb(&a->random);
		do {
			call.begin = history_now(a);
			r = a->h->put(a, m, call.n);
			call.end = history_now(a);
			if (r)
				test_yield();
		} while (r);
		history_note(a, &call);
	}
}

static inline void *history_act(void *argument)
{
	struct history_actor *a = (struct history_actor *)argument;
	struct history *h = a->h;
	uint64_t round;

	history_random = a->random;
	for (round = 0; !atomic_load(&h->stop); round++) {
		if (!a->taker)
			history_put(a, round);
		while (a->taker && atomic_load(&h->taken) < history_messages(h))
			h->take(a);
		pthread_barrier_wait(&h->barrier); /* the history is whole */
		pthread_barrier_wait(&h->barrier); /* it is checked */
	}
	return NULL;
}

/* Pairs of calls of a history that ran at the same time. */
static inline uint64_t history_overlaps(const struct history_call *calls,
					uint32_t n)
{
	uint64_t pairs = 0;
	uint32_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			pairs += calls[i].begin < calls[k].end &&
				 calls[k].begin < calls[i].end;
	return pairs;
}

/* Records and checks so many: how many are not those of a queue. */
static inline uint64_t history_run(struct history *h, uint64_t rounds,
				   uint64_t seed)
{
	struct history_actor actors[HISTORY_THREADS];
	pthread_t threads[HISTORY_THREADS];
	uint32_t n = h->putters + h->takers, i;
	uint64_t bad = 0, pairs = 0, k;

	CHECK(n <= HISTORY_THREADS && h->bulk <= HISTORY_BULK);
	CHECK(!(h->ops % h->bulk));
	pthread_barrier_init(&h->barrier, NULL, n + 1);
	for (i = 0; i < n; i++) {
		int taker = i >= h->putters;

		actors[i] = (struct history_actor){ h,
						    taker ? i - h->putters : i,
						    taker, 1000 * seed + i };
		CHECK(!pthread_create(&threads[i], NULL, history_act,
				      &actors[i]));
	}
	for (k = 1; k <= rounds; k++) {
		pthread_barrier_wait(&h->barrier);
		bad += !history_linearizes(h->calls, atomic_load(&h->n_calls));
		pairs += history_overlaps(h->calls, atomic_load(&h->n_calls));
		atomic_store(&h->n_calls, 0);
		atomic_store(&h->taken, 0);
		atomic_store(&h->stop, k == rounds);
		pthread_barrier_wait(&h->barrier);
	}
	for (i = 0; i < n; i++)
		CHECK(!pthread_join(threads[i], NULL));
	pthread_barrier_destroy(&h->barrier);
	CHECK(pairs > 0);
	stress_verified += bad ? 0 : rounds * history_messages(h);
	return bad;
}

/* A negative control: some of the histories are caught. `run` records and checks
 * 200 with the seed `tries`, and says how many are not those of a queue. */
#define HISTORY_CAUGHT(run)                                                    \
	do {                                                                   \
		uint64_t bad = 0, tries = 0;                                   \
                                                                               \
		while (!bad && tries++ < 20)                                   \
			bad = (run);                                           \
		printf("    not a queue: %llu of %llu histories\n",            \
		       (unsigned long long)bad,                                \
		       (unsigned long long)tries * 200);                       \
		CHECK(bad);                                                    \
	} while (0)

#endif
