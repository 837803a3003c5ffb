/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include <peal/device/work_set.h>

#include "front.h"
#include "link_pair.h"
#include "queues/work.h"
#include "work_set_memory.h"
#include "yield.h"

/*
 * Shows the promise of peal/queue.h for circles. Threads that take a message and
 * put it again never stall. A quarter of the capacity holds all messages.
 * Each run makes new queues and threads. Tier 2 makes RUNS of each
 * shape, tier 1 fewer.
 */

#define RUNS 10000
#define THREADS_MAX 8

static uint64_t runs(uint64_t share)
{
	uint64_t n = RUNS / share;

#if PEAL_ASAN || PEAL_TSAN
	n /= 100;
#endif
	return getenv("PEAL_TEST_QUICK") ? (n + 249) / 250 : n;
}

/* How a thread takes and puts messages. */
enum form {
	WAIT, /* pops and pushes with a timeout */
	POLL, /* repeats calls with timeout 0 */
	BURST, /* pops up to 2 messages, pushes them as a bulk or one by one */
	MIXED /* thread i uses form i % 3 */
};

struct shape {
	const char *name;
	enum form form;
	uint32_t kind; /* enum peal_queue_kind of the second queue */
	uint32_t queues; /* 1, or 2: half of the threads serve each queue */
	uint32_t threads, messages, slots;
	uint32_t turns; /* messages that each thread passes on */
	/* 1: another thread puts the messages while the circle runs */
	int injected;
};

struct circle {
	const struct shape *shape;
	struct peal_queue *q[2];
	pthread_barrier_t begin;
};

struct thread {
	struct circle *circle;
	uint32_t index;
	enum form form;
	struct peal_queue_end *from, *to;
	pthread_t thread;
};

/* ---- one thread ---------------------------------------------------------- */

static void stalled(const struct thread *t, const char *call, int result)
{
	const struct shape *s = t->circle->shape;
	struct peal_queue_info i;

	peal_queue_info(t->circle->q[0], &i);
	printf("    %s: %u threads, %u messages, %u slots: thread %u: %s "
	       "returned %d with %llu messages in the first queue\n",
	       s->name, s->threads, s->messages, s->slots, t->index, call,
	       result, (unsigned long long)i.queued);
	CHECK(!"a circle stalls");
}

/* Repeats a call that does not wait. Stops after MAX_WAIT. */
#define REPEAT(result, call)                                                   \
	do {                                                                   \
		uint64_t limit_ = test_yield_clock() + (uint64_t)MAX_WAIT;     \
		while (((result) = (call)) == PEAL_EAGAIN &&                   \
		       test_yield_clock() < limit_)                            \
			test_yield();                                          \
	} while (0)

static void put_one(struct thread *t, uint64_t word)
{
	int result;

	if (t->form == POLL)
		REPEAT(result, peal_queue_push(t->to, &word, 8, 0));
	else
		result = peal_queue_push(t->to, &word, 8, MAX_WAIT);
	if (result)
		stalled(t, "peal_queue_push", result);
}

/* Takes up to n messages, puts them again. Returns how many. */
static uint32_t pass_burst(struct thread *t, uint32_t n)
{
	uint64_t words[2], i;
	int result = peal_queue_pop_burst(t->from, words, 8, n, NULL, MAX_WAIT);

	if (result < 0)
		stalled(t, "peal_queue_pop_burst", result);
	if (result == 2 && t->circle->q[0]->bulk > 1 && words[0] % 2) {
		n = (uint32_t)peal_queue_push_bulk(t->to, words, 8, 2,
						   MAX_WAIT);
		if (n)
			stalled(t, "peal_queue_push_bulk", (int)n);
		return 2;
	}
	for (i = 0; i < (uint32_t)result; i++)
		put_one(t, words[i]);
	return (uint32_t)result;
}

static uint32_t pass_one(struct thread *t)
{
	uint64_t word = 0;
	int result;

	if (t->form == POLL)
		REPEAT(result, peal_queue_pop(t->from, &word, 8, NULL, 0));
	else
		result = peal_queue_pop(t->from, &word, 8, NULL, MAX_WAIT);
	if (result)
		stalled(t, "peal_queue_pop", result);
	put_one(t, word);
	return 1;
}

static void *circulate(void *argument)
{
	struct thread *t = (struct thread *)argument;
	uint32_t left = t->circle->shape->turns;

	pthread_barrier_wait(&t->circle->begin);
	while (left)
		left -= t->form == BURST ? pass_burst(t, left < 2 ? left : 2) :
					   pass_one(t);
	return NULL;
}

/* ---- one run ------------------------------------------------------------- */

static struct peal_queue *make_queue(const struct shape *s, uint32_t index)
{
	uint32_t each = s->threads / s->queues;
	struct peal_queue_options o =
		of_kind(index ? s->kind : PEAL_QUEUE_WORK);

	o.capacity = s->slots;
	o.max_producers = each + (uint32_t)s->injected;
	o.max_consumers = o.kind == PEAL_QUEUE_WORK ? each + 1 : 1;
	return make(o);
}

/* Puts the messages from..to - 1 into the first queue. */
static void inject(struct circle *c, uint64_t from, uint64_t to)
{
	struct peal_queue_end *p = producer(c->q[0]);

	for (; from < to; from++)
		CHECK_OK(peal_queue_push(p, &from, 8, MAX_WAIT));
	CHECK_OK(peal_queue_close(p));
}

static uint32_t drain(struct peal_queue *q, uint64_t *seen)
{
	struct peal_queue_end *c = consumer(q);
	uint64_t word = 0;
	uint32_t n = 0;

	for (; !peal_queue_pop(c, &word, 8, NULL, 0); n++) {
		CHECK(word < 64 && !(*seen >> word & 1));
		*seen |= 1ull << word;
	}
	return n;
}

static void run_once(const struct shape *s)
{
	struct circle c = { .shape = s };
	struct thread t[THREADS_MAX];
	uint32_t i, early = s->messages, left = 0;
	uint64_t seen = 0;

	for (i = 0; i < s->queues; i++)
		c.q[i] = make_queue(s, i);
	if (s->injected)
		early /= 2;
	inject(&c, 0, early);
	for (i = 0; i < s->threads; i++) {
		t[i].circle = &c;
		t[i].index = i;
		t[i].form = s->form == MIXED ? (enum form)(i % 3) : s->form;
		t[i].from = consumer(c.q[i % s->queues]);
		t[i].to = producer(c.q[(i + 1) % s->queues]);
	}
	pthread_barrier_init(&c.begin, NULL, s->threads);
	for (i = 0; i < s->threads; i++)
		CHECK(!pthread_create(&t[i].thread, NULL, circulate, &t[i]));
	if (s->injected)
		inject(&c, early, s->messages);
	for (i = 0; i < s->threads; i++)
		CHECK(!pthread_join(t[i].thread, NULL));
	pthread_barrier_destroy(&c.begin);
	for (i = 0; i < s->threads; i++)
		CHECK_OK(peal_queue_close(t[i].from));
	for (i = 0; i < s->queues; i++)
		left += drain(c.q[i], &seen);
	CHECK_EQ(left, s->messages);
	for (i = 0; i < s->queues; i++)
		close_all(c.q[i]);
}

static void run_shapes(const struct shape *shapes, size_t n, uint64_t share)
{
	uint64_t i, most = runs(share);

	for (; n; n--, shapes++) {
		for (i = 0; i < most; i++)
			run_once(shapes);
		printf("    %s: %llu runs of %u threads with %u messages in "
		       "%u slots\n",
		       shapes->name, (unsigned long long)most, shapes->threads,
		       shapes->messages, shapes->slots);
		fflush(stdout);
	}
}

#define WORK PEAL_QUEUE_WORK

PEAL_TEST(one_queue_in_a_circle_never_stalls)
{
	static const struct shape shapes[] = {
		{ "waits", WAIT, WORK, 1, 4, 4, 64, 1000, 0 },
		{ "waits", WAIT, WORK, 1, 4, 8, 64, 1000, 0 },
		{ "waits", WAIT, WORK, 1, 4, 16, 64, 1000, 0 },
		{ "polls", POLL, WORK, 1, 4, 4, 64, 1000, 0 },
		{ "polls", POLL, WORK, 1, 4, 16, 64, 1000, 0 },
		{ "bursts", BURST, WORK, 1, 4, 16, 64, 1000, 0 },
		{ "all forms", MIXED, WORK, 1, 6, 12, 64, 750, 0 },
		{ "waits, few slots", WAIT, WORK, 1, 2, 4, 16, 1500, 0 },
		{ "waits, few slots", WAIT, WORK, 1, 4, 4, 16, 750, 0 },
		{ "polls, few slots", POLL, WORK, 1, 2, 1, 4, 1000, 0 },
		{ "waits, many threads", WAIT, WORK, 1, 8, 16, 64, 500, 0 },
	};

	run_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]), 1);
}

PEAL_TEST(injected_messages_never_stall_a_circle)
{
	static const struct shape shapes[] = {
		{ "waits, injected", WAIT, WORK, 1, 4, 16, 64, 1000, 1 },
		{ "all forms, injected", MIXED, WORK, 1, 3, 8, 32, 1000, 1 },
	};

	run_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]), 1);
}

PEAL_TEST(two_queues_in_a_circle_never_stall)
{
	static const struct shape shapes[] = {
		{ "two queues", WAIT, WORK, 2, 4, 16, 64, 1000, 0 },
		{ "two queues", MIXED, WORK, 2, 6, 4, 16, 750, 0 },
		{ "work queue and mailbox", WAIT, PEAL_QUEUE_MAILBOX, 2, 2, 8,
		  32, 1000, 0 },
		{ "work queue and link", WAIT, PEAL_QUEUE_LINK, 2, 2, 8, 32,
		  1000, 0 },
	};

	run_shapes(shapes, sizeof(shapes) / sizeof(shapes[0]), 1);
}

/* ---- shards of devices --------------------------------------------------- */

/* A worker takes from its own shard or steals, and puts into its own shard. */
#define WORKERS 3
#define SHARD_SLOTS 16

struct shards {
	struct peal_work_set *set;
	struct shard_worker {
		PEAL_ALIGNED(128) struct peal_work_producer p;
		struct peal_work_member m;
		uint8_t stage[256];
		struct shards *shards;
		uint32_t index;
	} at[WORKERS];
};

static struct peal_work *shard_of(struct shard_worker *w)
{
	return peal_work_set_shard(w->shards->set, w->index);
}

static void *steal_in_circles(void *argument)
{
	const struct peal_header none = { 0, 0, 0 };
	struct shard_worker *w = (struct shard_worker *)argument;
	struct peal_work_received got;
	uint64_t word[2];
	int i, result;

	for (i = 0; i < 500; i++) {
		REPEAT(result,
		       peal_work_set_pop_burst(&w->m, word, 16, 1, &got));
		CHECK_EQ(result, 1);
		/* as a worker of a pool does before it puts */
		peal_work_flush(shard_of(w), &w->m.mine);
		REPEAT(result,
		       peal_work_push(shard_of(w), &w->p, none, word, 16));
		CHECK_EQ(result, 0);
	}
	peal_work_set_unclaim(&w->m);
	return NULL;
}

static void shards_open(struct shards *s, uint32_t policy)
{
	struct peali_work_spec spec = { SHARD_SLOTS, 16, 1, 1, 0, 0, 0, policy };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->set = work_set_make(&spec, WORKERS);
	for (i = 0; i < WORKERS; i++) {
		struct shard_worker *w = &s->at[i];

		w->shards = s;
		w->index = i;
		peali_work_header(shard_of(w), &spec);
		peal_work_producer_init(shard_of(w), &w->p);
		peal_work_member_init(&w->m, s->set, i, w->stage);
	}
}

static void steal_once(uint32_t policy)
{
	const struct peal_header none = { 0, 0, 0 };
	pthread_t threads[WORKERS];
	uint64_t word[2] = { 0, 0 };
	static struct shards s;
	uint64_t left = 0;
	uint32_t i;

	shards_open(&s, policy);
	for (i = 0; i < SHARD_SLOTS / 4; i++)
		CHECK_EQ(peal_work_push(shard_of(&s.at[i % WORKERS]),
					&s.at[i % WORKERS].p, none, word, 16),
			 0);
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, steal_in_circles,
				      &s.at[i]));
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	for (i = 0; i < WORKERS; i++) {
		CHECK_EQ(shard_of(&s.at[i])->claimed, shard_of(&s.at[i])->turn);
		left += shard_of(&s.at[i])->ticket - shard_of(&s.at[i])->turn;
	}
	CHECK_EQ(left, SHARD_SLOTS / 4);
	free(s.set);
}

PEAL_TEST(thieves_in_a_circle_never_stall)
{
	uint64_t i, most = runs(1);

	EACH_POLICY(policy)
	{
		for (i = 0; i < most; i++)
			steal_once(policy);
		printf("    policy %u: %llu runs of %d workers\n", policy,
		       (unsigned long long)most, WORKERS);
	}
}

PEAL_TEST_MAIN(RUN(one_queue_in_a_circle_never_stalls);
	       RUN(injected_messages_never_stall_a_circle);
	       RUN(two_queues_in_a_circle_never_stall);
	       RUN(thieves_in_a_circle_never_stall);)
