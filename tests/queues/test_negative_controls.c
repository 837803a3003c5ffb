/* SPDX-License-Identifier: Apache-2.0 */
#include "identity.h"
#include "yield.h"

/*
 * Shows that the harness of test_mailbox_stress.c finds broken queues. Each
 * queue has a fault that occurs in real systems. All cells are atomic: the
 * fault is the order, not a data race.
 */

#define SLOTS 16
#define PRODUCERS 4
#define EACH 2000

struct cell {
	atomic_ullong identity; /* producer, check */
	atomic_ullong sequence;
};

struct broken {
	struct cell cells[SLOTS];
	atomic_ullong head, tail, committed;
	atomic_ullong puts;
};

static void cell_write(struct cell *c, const struct identity_message *m)
{
	atomic_store_explicit(&c->identity,
			      (unsigned long long)m->producer << 32 | m->check,
			      memory_order_relaxed);
	atomic_store_explicit(&c->sequence, m->sequence, memory_order_relaxed);
}

static void cell_read(struct cell *c, struct identity_message *m)
{
	unsigned long long v =
		atomic_load_explicit(&c->identity, memory_order_relaxed);

	m->producer = (uint32_t)(v >> 32);
	m->check = (uint32_t)v;
	m->sequence = atomic_load_explicit(&c->sequence, memory_order_relaxed);
}

/* Interrupts one of 16 puts between two steps. */
static void stumble(struct broken *q)
{
	if (atomic_fetch_add(&q->puts, 1) % 16 == 3)
		identity_sleep_us(200);
}

/* Takes the next number. Returns 0 if the queue is full. */
static int claim(struct broken *q, unsigned long long *number)
{
	*number = atomic_load(&q->tail);
	do {
		if (*number - atomic_load(&q->head) >= SLOTS)
			return 0;
	} while (!atomic_compare_exchange_weak(&q->tail, number, *number + 1));
	return 1;
}

/* ---- claim, then write: no flag for a written slot ----------------------- */

static int claimed_put(void *queue, uint32_t producer,
		       const struct identity_message *m)
{
	struct broken *q = (struct broken *)queue;
	unsigned long long number;

	(void)producer;
	if (!claim(q, &number))
		return 0;
	stumble(q);
	cell_write(&q->cells[number % SLOTS], m);
	return 1;
}

static int claimed_take(void *queue, struct identity_message *m)
{
	struct broken *q = (struct broken *)queue;
	unsigned long long head = atomic_load(&q->head);

	if (head == atomic_load(&q->tail))
		return 0;
	cell_read(&q->cells[head % SLOTS], m);
	atomic_store(&q->head, head + 1);
	return 1;
}

/* ---- one counter of commits: commits do not follow the tickets ----------- */

static int committed_put(void *queue, uint32_t producer,
			 const struct identity_message *m)
{
	struct broken *q = (struct broken *)queue;

	if (!claimed_put(queue, producer, m))
		return 0;
	atomic_fetch_add(&q->committed, 1);
	return 1;
}

static int committed_take(void *queue, struct identity_message *m)
{
	struct broken *q = (struct broken *)queue;
	unsigned long long head = atomic_load(&q->head);

	if (head == atomic_load(&q->committed))
		return 0;
	cell_read(&q->cells[head % SLOTS], m);
	atomic_store(&q->head, head + 1);
	return 1;
}

/* ---- write, then move the tail: two producers write one slot ------------- */

static int moved_put(void *queue, uint32_t producer,
		     const struct identity_message *m)
{
	struct broken *q = (struct broken *)queue;
	unsigned long long number = atomic_load(&q->tail);

	(void)producer;
	if (number - atomic_load(&q->head) >= SLOTS)
		return 0;
	stumble(q);
	cell_write(&q->cells[number % SLOTS], m);
	if (atomic_load(&q->puts) % 8 == 0)
		test_yield();
	return atomic_compare_exchange_strong(&q->tail, &number, number + 1);
}

/* ---- positive control: a queue with a lock ------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int locked_put(void *queue, uint32_t producer,
		      const struct identity_message *m)
{
	int result;

	pthread_mutex_lock(&lock);
	result = claimed_put(queue, producer, m);
	pthread_mutex_unlock(&lock);
	return result;
}

static int locked_take(void *queue, struct identity_message *m)
{
	int result;

	pthread_mutex_lock(&lock);
	result = claimed_take(queue, m);
	pthread_mutex_unlock(&lock);
	return result;
}

static struct identity_result
run(const char *what,
    int (*put)(void *, uint32_t, const struct identity_message *),
    int (*take)(void *, struct identity_message *))
{
	struct broken *q = (struct broken *)calloc(1, sizeof(*q));
	struct identity_queue queue = { q, put, take, NULL, NULL };
	struct identity_result r;

	CHECK(q);
	r = identity_run(&queue, PRODUCERS, EACH, 2000, 1);
	identity_print(what, &r);
	free(q);
	return r;
}

/*
 * Repeats a run until its fault shows, at most 200 times. The fault needs two
 * threads at one place, which is rare on a busy machine. A sound queue passes
 * any number of runs.
 */
static struct identity_result
run_until_caught(const char *what,
		 int (*put)(void *, uint32_t, const struct identity_message *),
		 int (*take)(void *, struct identity_message *))
{
	struct identity_result r;
	int tries = 0;

	do {
		r = run(what, put, take);
		/* the counters alone show no fault */
		CHECK_EQ(r.accepted, r.received);
	} while (r.sound && ++tries < 200);
	return r;
}

PEAL_TEST(queue_without_slot_flags_is_caught)
{
	struct identity_result r =
		run_until_caught("claim, write", claimed_put, claimed_take);

	CHECK(!r.sound);
	CHECK(r.lost || r.doubled || r.corrupt);
}

PEAL_TEST(queue_with_one_commit_counter_is_caught)
{
	struct identity_result r = run_until_caught(
		"commit counter", committed_put, committed_take);

	CHECK(!r.sound);
	CHECK(r.lost || r.doubled || r.corrupt);
}

PEAL_TEST(queue_without_slot_sequence_is_caught)
{
	struct identity_result r =
		run_until_caught("head, tail", moved_put, claimed_take);

	CHECK(!r.sound);
	CHECK(r.lost || r.doubled || r.corrupt);
}

PEAL_TEST(locked_queue_passes)
{
	struct identity_result r = run("with a lock", locked_put, locked_take);

	CHECK(r.sound);
	CHECK_EQ(r.accepted, PRODUCERS * EACH);
	CHECK_EQ(r.received, PRODUCERS * EACH);
}

PEAL_TEST(identity_check_detects_each_single_fault)
{
	const uint64_t accepted[1] = { 4 };
	static const struct {
		uint64_t order[5], n;
		int sound;
	} cases[] = {
		{ { 0, 1, 2, 3 }, 4, 1 },    { { 0, 1, 3 }, 3, 0 },
		{ { 0, 1, 1, 3 }, 4, 0 },    { { 0, 2, 1, 3 }, 4, 0 },
		{ { 0, 1, 2, 3, 3 }, 5, 0 }, { { 0, 1, 2, 9 }, 4, 0 },
	};
	struct identity_message m;
	struct identity id;
	size_t i;
	uint64_t k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		identity_begin(&id, 1, 4);
		for (k = 0; k < cases[i].n; k++) {
			m = identity_make(0, cases[i].order[k]);
			identity_tick(&id, &m, 1);
		}
		CHECK_EQ(identity_end(&id, accepted), cases[i].sound);
	}
	for (i = 0; i < 3; i++) {
		identity_begin(&id, 1, 4);
		for (k = 0; k < 4; k++) {
			m = identity_make(i == 0 && k == 2, k);
			if (i == 1 && k == 2)
				m.check ^= 1;
			identity_tick(&id, &m, !(i == 2 && k == 2));
		}
		CHECK_EQ(identity_end(&id, accepted), 0);
	}
}

PEAL_TEST_MAIN(RUN(queue_without_slot_flags_is_caught);
	       RUN(queue_with_one_commit_counter_is_caught);
	       RUN(queue_without_slot_sequence_is_caught);
	       RUN(locked_queue_passes);
	       RUN(identity_check_detects_each_single_fault);)
