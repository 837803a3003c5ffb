/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_IDENTITY_H
#define TEST_IDENTITY_H

/*
 * Checks the conservation of messages by their identity. Each message holds its
 * producer, its sequence number and a checksum. The receiver marks it as seen.
 * Counters alone do not show one lost message together with one doubled
 * message.
 *
 * identity_run runs n producers and one consumer on a queue. It also works for
 * the broken queues of test_negative_controls.c: the consumer gives up if no
 * message comes.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/device/platform.h>

#include "peal_test.h"
#include "yield.h"

#define IDENTITY_SANITIZED (PEAL_TSAN || PEAL_ASAN)

/*
 * Messages of a stress test. The number is smaller in tier 1 and under
 * sanitizers, which are 10 times slower.
 */
#define IDENTITY_COUNT(n) test_part(IDENTITY_SANITIZED ? (n) / 10 : (n))

#define IDENTITY_PRODUCERS_MAX 8

/* A message, or the first bytes of one. */
struct identity_message {
	uint32_t producer;
	uint32_t check;
	uint64_t sequence;
};

/* The messages that a receiver has got. */
struct identity {
	uint32_t producers;
	uint64_t each; /* messages of each producer */
	uint8_t *seen; /* [producers * each] */
	/* 1 + the latest sequence; 0: none */
	uint64_t last[IDENTITY_PRODUCERS_MAX];
	uint64_t received, doubled, reordered, corrupt;
	uint64_t lost; /* filled by identity_end */
};

static inline uint32_t identity_mix(uint64_t a, uint64_t b)
{
	unsigned long long state = a * 0x9e3779b97f4a7c15ULL + b + 1;

	return (uint32_t)test_random(&state);
}

static inline struct identity_message identity_make(uint32_t producer,
						    uint64_t sequence)
{
	struct identity_message m = { producer, 0, sequence };

	m.check = identity_mix(producer + 1ULL, sequence);
	return m;
}

static inline void identity_begin(struct identity *id, uint32_t producers,
				  uint64_t each)
{
	memset(id, 0, sizeof(*id));
	CHECK(producers <= IDENTITY_PRODUCERS_MAX);
	id->producers = producers;
	id->each = each;
	id->seen = (uint8_t *)calloc(producers, each);
	CHECK(id->seen);
}

/* Records a message. `intact`: the caller found its other bytes correct. */
static inline void identity_tick(struct identity *id,
				 const struct identity_message *m, int intact)
{
	uint8_t *seen;

	id->received++;
	if (!intact || m->producer >= id->producers ||
	    m->sequence >= id->each ||
	    m->check != identity_mix(m->producer + 1ULL, m->sequence)) {
		id->corrupt++;
		return;
	}
	seen = &id->seen[m->producer * id->each + m->sequence];
	if (*seen)
		id->doubled++;
	else if (m->sequence + 1 < id->last[m->producer])
		id->reordered++;
	*seen = 1;
	id->last[m->producer] = m->sequence + 1;
}

/*
 * Ends the record. Returns 1 if each message came once, in order and intact.
 * The queue accepted accepted[i] messages of producer i.
 */
static inline int identity_end(struct identity *id, const uint64_t *accepted)
{
	uint64_t i, k;

	for (i = 0; i < id->producers; i++)
		for (k = 0; k < accepted[i]; k++)
			id->lost += !id->seen[i * id->each + k];
	free(id->seen);
	id->seen = NULL;
	return !id->lost && !id->doubled && !id->reordered && !id->corrupt;
}

/* ---- threads ------------------------------------------------------------- */

static inline uint64_t identity_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline void identity_sleep_us(long us)
{
	struct timespec t = { 0, us * 1000 };

	nanosleep(&t, NULL);
}

/* Shifts the timing of the thread: sometimes yields, spins or sleeps. */
static inline void identity_disturb(unsigned long long *random)
{
	unsigned long long r = test_random(random);
	volatile uint32_t spin = (uint32_t)(r >> 32) & 255;

	if ((r & 63) == 0)
		test_yield();
	else if ((r & 63) == 1)
		while (spin)
			spin = spin - 1;
	else if ((r & 8191) == 2)
		identity_sleep_us(50);
}

/* A queue under test. `put` and `take` return 1, or 0 for full or empty. */
struct identity_queue {
	void *queue;
	int (*put)(void *queue, uint32_t producer,
		   const struct identity_message *m);
	int (*take)(void *queue, struct identity_message *m);
	/* after a refused put, at random, at the end; NULL: not called */
	void (*rest)(void *queue, uint32_t producer);
	/* called after each take; NULL: not called */
	void (*watch)(void *queue);
};

struct identity_result {
	uint64_t accepted, received, lost, doubled, reordered, corrupt;
	/* producers with messages that were not accepted */
	uint32_t unfinished;
	int sound; /* 1: exactly once, in order, all finished */
};

struct identity_runner {
	const struct identity_queue *q;
	uint64_t each, accepted;
	uint32_t producer;
	unsigned long long seed;
	atomic_int *stop, *running;
};

static inline void *identity_producer(void *argument)
{
	struct identity_runner *r = (struct identity_runner *)argument;
	unsigned long long random = r->seed;

	while (r->accepted < r->each && !atomic_load(r->stop)) {
		struct identity_message m =
			identity_make(r->producer, r->accepted);

		identity_disturb(&random);
		if (r->q->put(r->q->queue, r->producer, &m)) {
			r->accepted++;
			if (test_random(&random) % 100)
				continue;
		} else {
			test_yield();
		}
		if (r->q->rest)
			r->q->rest(r->q->queue, r->producer);
	}
	if (r->q->rest)
		r->q->rest(r->q->queue, r->producer);
	atomic_fetch_sub(r->running, 1);
	return NULL;
}

/*
 * Takes messages until the producers are done and the queue is empty. Gives up
 * after quiet_ms without a message, or after 60 s.
 */
static inline void identity_consume(const struct identity_queue *q,
				    struct identity *id, atomic_int *running,
				    uint64_t quiet_ms, unsigned long long seed)
{
	uint64_t began = identity_now_ms(), latest = began, now;
	unsigned long long random = seed;
	struct identity_message m;
	int over;

	for (;;) {
		over = !atomic_load(running);
		if (q->take(q->queue, &m)) {
			identity_tick(id, &m, 1);
			if (q->watch)
				q->watch(q->queue);
			identity_disturb(&random);
			if (id->received % 256)
				continue;
			latest = identity_now_ms();
			/* ends a queue that repeats messages forever */
			if (id->received > 4 * id->each * id->producers)
				return;
			continue;
		}
		if (over)
			return;
		test_yield();
		now = identity_now_ms();
		if (now - latest > quiet_ms || now - began > 60000)
			return;
	}
}

/*
 * Runs the producers and the consumer. The consumer waits at most quiet_ms for
 * a message.
 */
static inline struct identity_result
identity_run(const struct identity_queue *q, uint32_t producers, uint64_t each,
	     uint64_t quiet_ms, unsigned long long seed)
{
	struct identity_runner runners[IDENTITY_PRODUCERS_MAX];
	pthread_t threads[IDENTITY_PRODUCERS_MAX];
	uint64_t accepted[IDENTITY_PRODUCERS_MAX];
	struct identity_result result;
	struct identity id;
	atomic_int stop = 0, running = (int)producers;
	uint32_t i;

	memset(&result, 0, sizeof(result));
	identity_begin(&id, producers, each);
	for (i = 0; i < producers; i++) {
		runners[i] = (struct identity_runner){
			q, each, 0, i, seed + 1000 * i, &stop, &running
		};
		CHECK(!pthread_create(&threads[i], NULL, identity_producer,
				      &runners[i]));
	}
	identity_consume(q, &id, &running, quiet_ms, seed + 77);
	atomic_store(&stop, 1);
	for (i = 0; i < producers; i++) {
		CHECK(!pthread_join(threads[i], NULL));
		accepted[i] = runners[i].accepted;
		result.accepted += accepted[i];
		result.unfinished += accepted[i] < each;
	}
	result.sound = identity_end(&id, accepted) && !result.unfinished;
	result.received = id.received;
	result.lost = id.lost;
	result.doubled = id.doubled;
	result.reordered = id.reordered;
	result.corrupt = id.corrupt;
	return result;
}

static inline void identity_print(const char *what,
				  const struct identity_result *r)
{
	printf("    %s: accepted %llu, received %llu, lost %llu, doubled %llu, "
	       "reordered %llu, corrupt %llu, unfinished producers %u\n",
	       what, (unsigned long long)r->accepted,
	       (unsigned long long)r->received, (unsigned long long)r->lost,
	       (unsigned long long)r->doubled, (unsigned long long)r->reordered,
	       (unsigned long long)r->corrupt, r->unfinished);
}

#endif
