/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include <peal/device/work_set.h>

#include "identity_many.h"
#include "stress.h"
#include "work_pool.h"
#include "work_set_memory.h"

/*
 * Shows sets of work queues. Each worker has a shard, and steals if it is
 * empty.
 */

#define WORKERS 3

struct shards {
	struct peal_work_set *set;
	struct {
		PEAL_ALIGNED(128) struct peal_work_producer p[WORKERS];
		struct peal_work_member m;
		uint8_t stage[256];
		uint32_t next;
	} at[IDENTITY_PRODUCERS_MAX];
};

static struct peal_work *shard(struct shards *s, uint32_t worker)
{
	return peal_work_set_shard(s->set, worker);
}

static void shards_open(struct shards *s, uint32_t policy, uint32_t slots,
			uint32_t producers)
{
	struct peali_work_spec spec = {
		slots, 16, producers, 1, 0, 0, 0, policy
	};
	uint32_t i, k;

	memset(s, 0, sizeof(*s));
	s->set = work_set_make(&spec, WORKERS);
	for (i = 0; i < WORKERS; i++)
		peali_work_header(shard(s, i), &spec);
	for (i = 0; i < IDENTITY_PRODUCERS_MAX; i++)
		for (k = 0; k < WORKERS; k++)
			peal_work_producer_init(shard(s, k), &s->at[i].p[k]);
	for (i = 0; i < WORKERS; i++)
		peal_work_member_init(&s->at[i].m, s->set, i, s->at[i].stage);
}

/* ---- conservation -------------------------------------------------------- */

/* Puts to each shard in turn. Producer 0 puts to shard 0 only. */
static uint32_t shards_put(void *queue, uint32_t producer,
			   const struct identity_message *m, uint32_t n)
{
	struct shards *s = (struct shards *)queue;
	uint32_t to = producer ? s->at[producer].next++ % WORKERS : 0;
	struct peal_header h = { producer, 0, 0 };

	stress_pause_here();
	return peal_work_push(shard(s, to), &s->at[producer].p[to], h, m,
			      sizeof(*m)) ?
		       0 :
		       n;
}

static uint32_t shards_take(void *queue, uint32_t consumer,
			    struct identity_message *m, uint32_t n)
{
	struct shards *s = (struct shards *)queue;
	struct peal_work_received got[IDENTITY_BATCH];
	int r = peal_work_set_pop_burst(&s->at[consumer].m, m, sizeof(*m), n,
					got);

	stress_pause_here();
	CHECK(r == PEAL_EAGAIN || (r >= 1 && r <= (int)n));
	return r > 0 ? (uint32_t)r : 0;
}

static void shards_rest(void *queue, int producer, int consumer)
{
	struct shards *s = (struct shards *)queue;
	uint32_t k;

	if (consumer >= 0)
		peal_work_set_unclaim(&s->at[consumer].m);
	for (k = 0; producer >= 0 && k < WORKERS; k++)
		peal_work_lease_release(shard(s, k), &s->at[producer].p[k]);
}

PEAL_TEST(each_message_is_taken_once_across_shards)
{
	struct shards *s = (struct shards *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);
	struct identity_many q = {
		s,     3,	   WORKERS,	IDENTITY_COUNT(20000),
		1,     8,	   1,		7001,
		20000, shards_put, shards_take, shards_rest
	};
	struct stress_clock clock = stress_begin(1);
	struct identity_result r;
	uint64_t stolen, taken, put, i, round;

	CHECK(s);
	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			shards_open(s, policy, 32, 3);
			q.seed = 7001 + 10000 * round;
			r = identity_many_run(&q);
			if (!r.sound)
				identity_print("shards", &r);
			CHECK(r.sound);
			for (i = stolen = taken = put = 0; i < WORKERS; i++) {
				struct peal_work_member *m = &s->at[i].m;

				taken += m->mine.taken + m->guest.taken;
				put += shard(s, (uint32_t)i)->ticket;
				CHECK_EQ(m->stolen, m->guest.taken);
				stolen += m->stolen;
			}
			CHECK_EQ(put, taken);
			CHECK_EQ(put, r.accepted);
			CHECK(stolen > 0);
			stress_verified += r.received;
			free(s->set);
		}
	free(s);
}

PEAL_TEST(worker_takes_own_shard_before_neighbours)
{
	struct identity_message m, in;
	struct shards *s = (struct shards *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);
	struct peal_header h = { 0, 0, 0 };
	struct peal_work_received got;
	uint64_t i, k;

	CHECK(s);
	EACH_POLICY(policy)
	{
		shards_open(s, policy, 16, 1);
		for (i = 0; i < WORKERS; i++)
			for (k = 0; k < 2; k++) {
				in = identity_make((uint32_t)i, k);
				CHECK_EQ(peal_work_push(shard(s, (uint32_t)i),
							&s->at[0].p[i], h, &in,
							sizeof(in)),
					 0);
			}
		/* worker 1 takes from shard 1, then 2, then 0 */
		for (i = 1; i < 1 + WORKERS; i++)
			for (k = 0; k < 2; k++) {
				CHECK_EQ(peal_work_set_pop_burst(&s->at[1].m,
								 &m, sizeof(m),
								 1, &got),
					 1);
				CHECK_EQ(m.producer, i % WORKERS);
				CHECK_EQ(m.sequence, k);
			}
		CHECK_EQ(s->at[1].m.stolen, 4);
		CHECK_EQ(peal_work_set_pop_burst(&s->at[1].m, &m, sizeof(m), 1,
						 &got),
			 PEAL_EAGAIN);
		free(s->set);
	}
	free(s);
}

/* ---- late messages ------------------------------------------------------- */

static int shards_take_one(struct shards *s, uint32_t worker,
			   struct identity_message *m)
{
	struct peal_work_received got;

	return peal_work_set_pop_burst(&s->at[worker].m, m, sizeof(*m), 1,
				       &got);
}

static struct shards *shards_make(uint32_t policy, uint32_t slots)
{
	struct shards *s = (struct shards *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);

	CHECK(s);
	shards_open(s, policy, slots, 1);
	return s;
}

static void shards_close(struct shards *s)
{
	free(s->set);
	free(s);
}

/* Takes the first ticket of shard 0 for a late message. Returns it. */
static uint64_t shard_late(struct shards *s)
{
	uint64_t number = 0;

	CHECK_EQ(peal_work_take_tickets(shard(s, 0), &s->at[0].p[0], 1,
					&number),
		 0);
	return number;
}

static void shard_put(struct shards *s, uint64_t sequence)
{
	struct identity_message m = identity_make(0, sequence);
	struct peal_header h = { 0, 0, 0 };

	CHECK_EQ(peal_work_push(shard(s, 0), &s->at[0].p[0], h, &m, sizeof(m)),
		 0);
}

static void shard_put_late(struct shards *s, uint64_t number)
{
	struct identity_message m = identity_make(0, 0);
	struct peal_header h = { 0, 0, 0 };

	peal_work_put_at(shard(s, 0), number, h, &m, sizeof(m));
}

/* Neither the shard's worker nor a thief keeps a claim. */
PEAL_TEST(late_message_of_a_shard_goes_to_any_worker)
{
	struct identity_message m;
	struct shards *s;
	uint64_t number;
	uint32_t heir, i;

	EACH_POLICY(policy)
	for (heir = 0; heir < WORKERS; heir++) {
		s = shards_make(policy, 16);
		number = shard_late(s);
		shard_put(s, 1);
		for (i = 0; i < 20 * WORKERS; i++)
			CHECK_EQ(shards_take_one(s, i % WORKERS, &m),
				 PEAL_EAGAIN);
		CHECK_EQ(shard(s, 0)->claimed, 0);
		shard_put_late(s, number);
		for (i = 0; i < 2; i++) {
			CHECK_EQ(shards_take_one(s, heir, &m), 1);
			CHECK_EQ(m.sequence, i);
		}
		CHECK_EQ(s->at[heir].m.stolen, heir ? 2 : 0);
		shards_close(s);
	}
}

PEAL_TEST(unclaim_frees_slots_of_taken_messages)
{
	struct identity_message m = identity_make(0, 0);
	struct peal_header h = { 0, 0, 0 };
	struct shards *s;
	uint64_t i;

	EACH_POLICY(policy)
	{
		s = shards_make(policy, 64); /* in blocks of two */
		CHECK_EQ(shard(s, 0)->block_log2, 1);
		for (i = 0; i < 64; i++)
			shard_put(s, i);
		/* a block is taken, and half of it not reported */
		CHECK_EQ(shards_take_one(s, 0, &m), 1);
		CHECK_EQ(shards_take_one(s, 1, &m), 1);
		CHECK_EQ(m.sequence, 1);
		CHECK_EQ(peal_work_push(shard(s, 0), &s->at[0].p[0], h, &m,
					sizeof(m)),
			 PEAL_EAGAIN);
		peal_work_set_unclaim(&s->at[0].m);
		shard_put(s, 64);
		shard_put(s, 65);
		shards_close(s);
	}
}

/* ---- balance ------------------------------------------------------------- */

#define TASKS 2400

struct balance {
	struct shards s;
	int steal;
	pthread_barrier_t barrier;
	uint8_t seen[TASKS];
};

struct balance_worker {
	struct balance *b;
	uint32_t index, speed; /* tasks take 1, 2, 4 times as long */
	uint64_t tasks, ns; /* finished; time of the last one */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the length of a task: 1 us to 10 ms, with a uniform logarithm. */
static uint64_t task_ns(uint64_t task)
{
	unsigned long long random = task;
	uint64_t ns = 1000, k = test_random(&random) % 40;

	while (k--)
		ns = ns * 1259 / 1000; /* a tenth of a decade */
	return ns;
}

/* Threads take 1/HURRY of a task's simulated time. */
#define HURRY 10

/* Works for `ns`: sleeps, then spins. So two cores serve three workers. */
static void work_for(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	if (ns > 200000)
		identity_sleep_us((long)(ns / 1000 - 100));
	while (now_ns() < end)
		;
}

/* Takes a task. Returns its length for this worker. 0: no task is left. */
static uint64_t balance_take(struct balance_worker *w)
{
	struct peal_work_member *m = &w->b->s.at[w->index].m;
	struct peal_work_received got;
	uint64_t task[2], empty;
	int r;

	/*
	 * All tasks were put before. Another worker may claim too much for a
	 * moment, and thus hide tasks.
	 */
	for (empty = 0; empty <= 16; empty++) {
		r = w->b->steal ?
			    peal_work_set_pop_burst(m, task, sizeof(task), 1,
						    &got) :
			    peal_work_pop(shard(&w->b->s, w->index), &m->mine,
					  task, sizeof(task), &got);
		if (r < 0) {
			CHECK_EQ(r, PEAL_EAGAIN);
			continue;
		}
		CHECK(task[0] < TASKS);
		w->b->seen[task[0]]++;
		w->tasks++;
		peal_work_set_unclaim(m);
		return task_ns(task[0]) << w->speed;
	}
	return 0;
}

static void *balance_work(void *argument)
{
	struct balance_worker *w = (struct balance_worker *)argument;
	uint64_t began, ns;

	pthread_barrier_wait(&w->b->barrier);
	began = now_ns();
	while ((ns = balance_take(w))) {
		work_for(ns / HURRY);
		w->ns = now_ns() - began;
	}
	return NULL;
}

static void balance_by_threads(struct balance_worker w[WORKERS])
{
	pthread_t threads[WORKERS];
	uint32_t i;

	pthread_barrier_init(&w->b->barrier, NULL, WORKERS);
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, balance_work, &w[i]));
	for (i = 0; i < WORKERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	pthread_barrier_destroy(&w->b->barrier);
}

/*
 * Simulates a clock for each worker. The worker with the earliest clock takes
 * next, so the result is the same on every machine.
 */
static void balance_by_clocks(struct balance_worker w[WORKERS])
{
	uint32_t i, next, busy = WORKERS, done[WORKERS] = { 0 };
	uint64_t ns;

	while (busy) {
		for (i = 0, next = WORKERS; i < WORKERS; i++)
			if (!done[i] &&
			    (next == WORKERS || w[i].ns < w[next].ns))
				next = i;
		ns = balance_take(&w[next]);
		w[next].ns += ns;
		if (!ns) {
			done[next] = 1;
			busy--;
		}
	}
}

struct balance_result {
	double apart; /* % by which the first worker ends before the last */
	uint64_t ns; /* until the last worker is done */
	uint32_t stolen; /* a mask of the shards that were stolen from */
};

/*
 * Runs three workers. Worker `fastest` is twice as fast as one, and four times
 * as fast as the other.
 */
static struct balance_result
balance(int steal, uint32_t fastest,
	void (*run)(struct balance_worker w[WORKERS]))
{
	struct balance *b = (struct balance *)aligned_alloc(
		128, (sizeof(*b) + 127) / 128 * 128);
	struct balance_worker w[WORKERS];
	struct peal_header h = { 0, 0, 0 };
	struct balance_result result = { 0, 0, 0 };
	uint64_t i, first = ~0ULL, total = 0;

	CHECK(b);
	memset(b, 0, sizeof(*b));
	b->steal = steal;
	shards_open(&b->s, PEAL_POLICY_DEFAULT, 1024, 1);
	for (i = 0; i < TASKS; i++) {
		uint64_t task[2] = { i, 0 };

		CHECK_EQ(peal_work_push(shard(&b->s, (uint32_t)(i % WORKERS)),
					&b->s.at[0].p[i % WORKERS], h, task,
					sizeof(task)),
			 0);
	}
	for (i = 0; i < WORKERS; i++)
		w[i] = (struct balance_worker){
			b, (uint32_t)i,
			(uint32_t)(i + WORKERS - fastest) % WORKERS, 0, 0
		};
	run(w);
	for (i = 0; i < WORKERS; i++) {
		first = w[i].ns < first ? w[i].ns : first;
		result.ns = w[i].ns > result.ns ? w[i].ns : result.ns;
		total += w[i].tasks;
	}
	result.apart = 100.0 * (double)(result.ns - first) / (double)result.ns;
	printf("    %s, %s:", steal ? "with stealing" : "a static split",
	       run == balance_by_threads ? "threads" : "clocks");
	for (i = 0; i < WORKERS; i++)
		printf(" %llu tasks in %llu ms,",
		       (unsigned long long)w[i].tasks,
		       (unsigned long long)w[i].ns / 1000000);
	printf(" first %.1f %% before last\n", result.apart);
	CHECK_EQ(total, TASKS);
	for (i = 0; i < TASKS; i++)
		CHECK_EQ(b->seen[i], 1);
	for (i = 0; i < WORKERS; i++) {
		struct peal_work *q = shard(&b->s, (uint32_t)i);

		CHECK_EQ(q->turn, TASKS / WORKERS);
		if (b->s.at[i].m.mine.taken < TASKS / WORKERS)
			result.stolen |= 1u << i;
		if (!steal)
			CHECK_EQ(w[i].tasks, TASKS / WORKERS);
	}
	free(b->s.set);
	free(b);
	return result;
}

/*
 * Uses simulated clocks, so that the machine's load has no effect. The static
 * split is the negative control.
 */
PEAL_TEST(stealing_balances_workers_of_unequal_speed)
{
	struct balance_result stolen, split;
	uint32_t fastest;

	for (fastest = 0; fastest < WORKERS; fastest++) {
		stolen = balance(1, fastest, balance_by_clocks);
		split = balance(0, fastest, balance_by_clocks);
		CHECK(stolen.apart <= 5);
		CHECK(split.apart > 50);
		CHECK(2 * stolen.ns < split.ns);
		CHECK(stolen.stolen && !split.stolen);
	}
}

/* Prints the ends of the workers. Checks only the tasks and the thefts. */
PEAL_TEST(uneven_tasks_complete_with_stealing)
{
	struct stress_clock clock = stress_begin(1);
	uint32_t stolen, fastest;
	uint64_t round;

	while (stress_next(&clock, &round)) {
		for (fastest = stolen = 0; fastest < WORKERS; fastest++)
			stolen |=
				balance(1, fastest, balance_by_threads).stolen;
		CHECK_EQ(stolen, (1u << WORKERS) - 1);
		stress_verified += WORKERS * TASKS;
	}
}

PEAL_TEST(disabled_stealing_keeps_tasks_in_own_shard)
{
	CHECK_EQ(balance(0, 0, balance_by_threads).stolen, 0);
}

PEAL_TEST_MAIN(RUN(each_message_is_taken_once_across_shards);
	       RUN(worker_takes_own_shard_before_neighbours);
	       RUN(late_message_of_a_shard_goes_to_any_worker);
	       RUN(unclaim_frees_slots_of_taken_messages);
	       RUN(stealing_balances_workers_of_unequal_speed);
	       RUN(uneven_tasks_complete_with_stealing);
	       RUN(disabled_stealing_keeps_tasks_in_own_shard);
	       stress_print_total();)
