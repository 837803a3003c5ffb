/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_IDENTITY_MANY_H
#define TEST_IDENTITY_MANY_H

/*
 * Extends identity.h to queues with several consumers, where each message goes
 * to one consumer. Every consumer records its messages. All records together
 * must show each message once. Order is checked for each pair of a producer and
 * a consumer.
 */

#include "identity.h"
#include "yield.h"

#define IDENTITY_CONSUMERS_MAX 8
#define IDENTITY_BATCH 32

/*
 * A queue under test. `put` and `take` return a number of messages; 0: full,
 * empty.
 */
struct identity_many {
	void *queue;
	uint32_t producers, consumers;
	uint64_t each; /* messages of each producer */
	uint32_t bulk, burst; /* most messages of one put, of one take */
	int unordered; /* 1: order is not checked */
	unsigned long long seed;
	uint64_t quiet_ms; /* longest wait of a consumer for a message */
	uint32_t (*put)(void *queue, uint32_t producer,
			const struct identity_message *m, uint32_t n);
	uint32_t (*take)(void *queue, uint32_t consumer,
			 struct identity_message *m, uint32_t n);
	/* Called at random, and before a thread ends. NULL: not called. */
	void (*rest)(void *queue, int producer, int consumer);
};

struct identity_many_thread {
	const struct identity_many *q;
	uint32_t index;
	uint64_t accepted;
	struct identity id;
	atomic_int *stop, *running;
	atomic_ullong *put, *taken;
	pthread_t thread;
};

static inline void *identity_many_producer(void *argument)
{
	struct identity_many_thread *t =
		(struct identity_many_thread *)argument;
	const struct identity_many *q = t->q;
	unsigned long long random = q->seed + 1000 * t->index;
	struct identity_message m[IDENTITY_BATCH];
	uint32_t n, done, i;

	while (t->accepted < q->each && !atomic_load(t->stop)) {
		n = 1 + (uint32_t)test_random(&random) % q->bulk;
		if (n > q->each - t->accepted)
			n = (uint32_t)(q->each - t->accepted);
		for (i = 0; i < n; i++)
			m[i] = identity_make(t->index, t->accepted + i);
		identity_disturb(&random);
		done = q->put(q->queue, t->index, m, n);
		t->accepted += done;
		atomic_fetch_add(t->put, done);
		if (!done)
			test_yield();
		if (q->rest && test_random(&random) % 64 == 0)
			q->rest(q->queue, (int)t->index, -1);
	}
	if (q->rest)
		q->rest(q->queue, (int)t->index, -1);
	atomic_fetch_sub(t->running, 1);
	return NULL;
}

/* Takes messages until all are taken, or until none comes for quiet_ms. */
static inline void *identity_many_consumer(void *argument)
{
	struct identity_many_thread *t =
		(struct identity_many_thread *)argument;
	const struct identity_many *q = t->q;
	unsigned long long random = q->seed + 77 + 1000 * t->index;
	uint64_t latest = identity_now_ms();
	struct identity_message m[IDENTITY_BATCH];
	uint32_t n, i;

	for (;;) {
		n = 1 + (uint32_t)test_random(&random) % q->burst;
		n = q->take(q->queue, t->index, m, n);
		for (i = 0; i < n; i++)
			identity_tick(&t->id, &m[i], 1);
		atomic_fetch_add(t->taken, n);
		identity_disturb(&random);
		if (q->rest && test_random(&random) % 64 == 0)
			q->rest(q->queue, -1, (int)t->index);
		if (n) {
			latest = identity_now_ms();
			if (t->id.received <= 2 * q->each * q->producers)
				continue;
		}
		if ((!atomic_load(t->running) &&
		     atomic_load(t->taken) >= atomic_load(t->put)) ||
		    identity_now_ms() - latest > q->quiet_ms)
			break;
		test_yield();
	}
	atomic_store(t->stop, 1);
	return NULL;
}

/* Adds up all consumers' records. Each accepted message must be seen once. */
static inline void identity_many_sum(const struct identity_many *q,
				     struct identity_many_thread *t,
				     struct identity_result *r)
{
	uint64_t i, k;
	uint32_t c, times;

	for (c = 0; c < q->consumers; c++) {
		struct identity *id = &t[q->producers + c].id;

		r->received += id->received;
		r->doubled += id->doubled;
		r->reordered += q->unordered ? 0 : id->reordered;
		r->corrupt += id->corrupt;
	}
	for (i = 0; i < q->producers; i++)
		for (k = 0; k < t[i].accepted; k++) {
			for (c = times = 0; c < q->consumers; c++)
				times += t[q->producers + c]
						 .id.seen[i * q->each + k];
			r->lost += !times;
			r->doubled += times > 1 ? times - 1 : 0;
		}
}

static inline struct identity_result
identity_many_run(const struct identity_many *q)
{
	struct identity_many_thread
		t[IDENTITY_PRODUCERS_MAX + IDENTITY_CONSUMERS_MAX];
	atomic_int stop = 0, running = (int)q->producers;
	atomic_ullong put = 0, taken = 0;
	struct identity_result r;
	uint32_t i, n = q->producers + q->consumers;

	memset(&r, 0, sizeof(r));
	memset(t, 0, sizeof(t));
	for (i = 0; i < n; i++) {
		t[i].q = q;
		t[i].index = i < q->producers ? i : i - q->producers;
		t[i].stop = &stop;
		t[i].running = &running;
		t[i].put = &put;
		t[i].taken = &taken;
		if (i >= q->producers)
			identity_begin(&t[i].id, q->producers, q->each);
	}
	for (i = 0; i < n; i++)
		CHECK(!pthread_create(&t[i].thread, NULL,
				      i < q->producers ?
					      identity_many_producer :
					      identity_many_consumer,
				      &t[i]));
	for (i = 0; i < n; i++)
		CHECK(!pthread_join(t[i].thread, NULL));
	for (i = 0; i < q->producers; i++) {
		r.accepted += t[i].accepted;
		r.unfinished += t[i].accepted < q->each;
	}
	identity_many_sum(q, t, &r);
	for (i = q->producers; i < n; i++)
		free(t[i].id.seen);
	r.sound = !r.lost && !r.doubled && !r.reordered && !r.corrupt &&
		  !r.unfinished;
	return r;
}

#endif
