/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_HISTORY_H
#define TEST_HISTORY_H

/*
 * Checks that a queue is linearizable, as in Wing and Gong (1993). The tests
 * record short histories of a few threads on one queue. The checker compares
 * each history with a plain first-in-first-out queue:
 *
 * 1. It searches an order of the calls. A call that ended before another call
 *    began comes first.
 * 2. In this order the plain queue must give the same results.
 *
 * One call puts or takes one or several messages in a row.
 *
 * The tests do not record calls that found the queue full or empty. The results
 * of these calls need not fit the order, for two reasons. An unpublished ticket
 * hides later messages, even after their puts have returned. An unused lease
 * keeps empty slots from other producers.
 */

#include <peal/device/atomic.h>

#include "queues/stress.h"
#include "yield.h"

/*
 * Yields at random before each step that other threads can see. So calls
 * overlap at every step. Include this header before the headers of the queues.
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

#define HISTORY_BULK 3 /* most messages of one call */
#define HISTORY_THREADS 4 /* most putters and takers together */
#define HISTORY_CALLS 63

struct history_call {
	uint64_t values[HISTORY_BULK];
	uint32_t n;
	int take;
	uint64_t begin, end; /* by the clock of the history */
};

/* ---- the checker --------------------------------------------------------- */

struct history_search {
	const struct history_call *calls;
	uint32_t n;
	uint64_t queue[HISTORY_CALLS * HISTORY_BULK]; /* messages put so far */
};

/*
 * Returns 1 if call i can be next: it remains, and no remaining call ended
 * before call i began.
 */
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

/*
 * Returns 1 if the remaining calls fit a queue that holds the messages `head`
 * to `tail` - 1.
 */
static inline int history_search(struct history_search *s, uint64_t done,
				 uint32_t head, uint32_t tail)
{
	const struct history_call *c;
	uint32_t i;

	if (done == (1ULL << s->n) - 1)
		return 1;
	/*
	 * A matching take may go first: until this take only puts are possible.
	 */
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

/*
 * Returns 1 if the calls are those of a first-in-first-out queue. Each message
 * is put at most once.
 */
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
	uint32_t index; /* among the putters, or among the takers */
	int taker;
	unsigned long long random;
};

/* The configuration of a test, and its current history. */
struct history {
	void *queue;
	uint32_t putters, takers;
	uint32_t ops; /* put calls of a thread; a multiple of bulk */
	uint32_t bulk; /* put calls have 1 to `bulk` messages in turn */
	/* Puts n messages in a row, or none: PEAL_EAGAIN. */
	int (*put)(struct history_actor *a, const struct identity_message *m,
		   uint32_t n);
	/* Tries to take. Passes taken messages to history_note. */
	void (*take)(struct history_actor *a);
	/* private to the functions below */
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

/* Returns the number of messages of one history. */
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
		pthread_barrier_wait(&h->barrier); /* the history is complete */
		pthread_barrier_wait(&h->barrier); /* the history was checked */
	}
	return NULL;
}

/* Returns the number of pairs of calls that overlapped in time. */
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

/*
 * Records and checks `rounds` histories. Returns the number of histories that
 * are not linearizable.
 */
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

/*
 * A negative control: the checker must reject at least one history. `run`
 * records and checks 200 histories with the seed `tries`. It returns the number
 * of rejected histories.
 */
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
