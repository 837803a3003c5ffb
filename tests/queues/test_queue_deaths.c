/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "deaths.h"
#include "runtime/host_support/idle.h"
#include "stress.h"
#include "yield.h"

/*
 * Shows that a thread that dies inside a call of peal/queue.h hides no messages
 * and blocks no other thread. Another thread closes the end of the dead one.
 */

/* ---- simulated deaths between ticket and tag ----------------------------- */

/* Simulates a death after the lease, before the producer noted it. */
static void forget_lease(struct peal_queue_end *end)
{
	if (end->queue->kind->kind == PEAL_QUEUE_WORK)
		end->at.worker.granted = 0;
	else
		end->at.lease.granted = 0;
}

/*
 * Gaps of `gap` tickets before, between and after the messages hide no message.
 * `closed`: the other producer is closed, too.
 */
static void leave_gaps(uint32_t kind, uint32_t consumers, uint64_t gap,
		       int closed)
{
	struct peal_queue *q = make_of(kind, 4, consumers);
	struct peal_queue_end *p = producer(q), *c[2];
	uint64_t word, got = 0, sum = 0, i, n;
	int r;

	for (i = 0; i < consumers; i++)
		c[i] = consumer(q);
	for (n = 0; n < 3; n++) {
		die_in_push(producer(q), gap);
		for (word = 8 * n; word < 8 * n + 8 && n < 2; word++)
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
	}
	if (closed)
		CHECK_OK(peal_queue_close(p));
	for (i = 0; got < 16; i++) {
		r = peal_queue_pop(c[i % consumers], &word, 8, NULL, 0);
		CHECK(!r || r == PEAL_EAGAIN);
		CHECK(i < 1000);
		got += !r;
		sum += r ? 0 : word;
	}
	CHECK_EQ(sum, 120);
	CHECK_EQ(info(q).queued, 0);
	for (i = 0; i < 2 * consumers; i++)
		CHECK_EQ(peal_queue_pop(c[i % consumers], &word, 8, NULL,
					closed ? MAX_WAIT : 0),
			 closed ? PEAL_EEND : PEAL_EAGAIN);
	CHECK_EQ(atomic_load(&q->died), 0); /* no search is necessary now */
	close_all(q);
}

PEAL_TEST(death_in_push_hides_no_message)
{
	uint64_t gap;
	int closed;

	for (gap = 1; gap <= 3; gap++)
		for (closed = 0; closed < 2; closed++) {
			leave_gaps(PEAL_QUEUE_MAILBOX, 1, gap, closed);
			leave_gaps(PEAL_QUEUE_WORK, 1, gap, closed);
			leave_gaps(PEAL_QUEUE_WORK, 2, gap, closed);
		}
}

/* A slow producer has a ticket next to the ticket of a dead one. */
PEAL_TEST(slow_producer_is_not_treated_as_dead)
{
	uint32_t kind, before;
	uint64_t word;
	int i;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++)
		for (before = 0; before < 2; before++) {
			struct peal_queue *q = make_of(kind, 3, 1);
			struct peal_queue_end *slow = producer(q);
			struct peal_queue_end *dead = producer(q);
			struct peal_queue_end *c = consumer(q);

			if (before)
				stop_in_push(slow, 1);
			die_in_push(dead, 1);
			if (!before)
				stop_in_push(slow, 1);
			for (i = 0; i < 100; i++)
				CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
					 PEAL_EAGAIN);
			put_late(slow, !before, 4711);
			CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
			CHECK_EQ(word, 4711);
			close_all(q);
		}
}

/* A search does not cover a producer that takes its ticket later. */
PEAL_TEST(producer_after_search_is_not_treated_as_dead)
{
	uint32_t kind;
	uint64_t word;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue *q = make_of(kind, 3, 1);
		struct peal_queue_end *slow = producer(q), *late = producer(q);
		struct peal_queue_end *c = consumer(q);
		int i;

		stop_in_push(slow, 1);
		die_in_push(producer(q), 1);
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
		stop_in_push(late, 1);
		put_late(slow, 0, 11);
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
		CHECK_EQ(word, 11);
		for (i = 0; i < 100; i++)
			CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
				 PEAL_EAGAIN);
		put_late(late, 2, 12);
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
		CHECK_EQ(word, 12);
		close_all(q);
	}
}

/* A second producer dies during a search. The search stops waiting for it. */
PEAL_TEST(search_stops_waiting_for_dead_producer)
{
	uint32_t kind;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue *q = make_of(kind, 3, 1);
		struct peal_queue_end *p = producer(q), *later = producer(q);
		struct peal_queue_end *c = consumer(q);
		uint64_t word = 12;

		stop_in_push(later, 1);
		die_in_push(producer(q), 1);
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		/* a work queue's consumer looks past the gap */
		if (kind == PEAL_QUEUE_MAILBOX)
			CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
				 PEAL_EAGAIN);
		CHECK_OK(peal_queue_close(later));
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
		CHECK_EQ(word, 12);
		close_all(q);
	}
}

/* ---- ends of dead threads ------------------------------------------------ */

/* The leases of dead producers are lost until all producers are closed. */
PEAL_TEST(dead_leases_are_lost_until_all_producers_close)
{
	uint32_t kind, i;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue *q = make_of(kind, 2, 1);
		struct peal_queue_end *p, *dead, *c = consumer(q), *none;
		uint64_t word, whole, left;

		p = producer(q);
		whole = fill_up(p);
		CHECK_OK(peal_queue_close(p));
		while (!peal_queue_pop(c, &word, 8, NULL, 0))
			;
		for (i = 0; i < 8; i++) {
			p = producer(q);
			dead = producer(q);
			CHECK_OK(peal_queue_push(dead, &word, 8, 0));
			if (i % 2)
				forget_lease(dead);
			die_in_push(dead, 1);
			CHECK_FAILS(peal_queue_open(q, PEAL_QUEUE_PRODUCER,
						    &none),
				    PEAL_EBUSY, "close all producers");
			while (!peal_queue_pop(c, &word, 8, NULL, 0))
				;
			left = fill_up(p);
			CHECK(left >= whole / 2 && left <= whole);
			CHECK_OK(peal_queue_close(p));
			CHECK_EQ(atomic_load(&q->owed), 0);
			while (!peal_queue_pop(c, &word, 8, NULL, 0))
				;
		}
		p = producer(q);
		CHECK_EQ(fill_up(p), whole);
		CHECK_OK(peal_queue_close(p));
		close_all(q);
	}
}

/* The position of the only producer of a link or topic is unknown. */
PEAL_TEST(only_end_of_dead_thread_is_not_reopened)
{
	struct peal_queue_end *p, *c, *none = NULL;
	uint64_t word = 7;
	struct peal_queue *q;

	EACH_KIND(kind)
	{
		if (kind != PEAL_QUEUE_LINK && kind != PEAL_QUEUE_TOPIC)
			continue;
		q = make_of(kind, 1, 1);
		c = consumer(q);
		p = producer(q);
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		peali_call_enter(&p->count->calls);
		CHECK_OK(peal_queue_close(p));
		CHECK_FAILS(peal_queue_open(q, PEAL_QUEUE_PRODUCER, &none),
			    PEAL_EBUSY, "create another queue");
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EEND);
		close_all(q);
	}
}

static int die_in_pop(struct peal_queue_end *end)
{
	peali_call_enter(&end->count->calls);
	return peal_queue_close(end);
}

PEAL_TEST(death_in_pop_stops_no_other_end)
{
	EACH_KIND(kind)
	{
		int many = kind >= PEAL_QUEUE_WORK, i;
		struct peal_queue *q = make_of(kind, 1, many ? 2 : 1);
		struct peal_queue_end *p = producer(q), *c = consumer(q);
		struct peal_queue_end *other = many ? consumer(q) : NULL;
		uint64_t word = 1;

		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		CHECK_OK(die_in_pop(c));
		switch (kind) {
		case PEAL_QUEUE_LINK: /* its position is unknown */
			CHECK_FAILS(peal_queue_push(p, &word, 8, 0), PEAL_EPIPE,
				    "is closed");
			CHECK_FAILS(peal_queue_open(q, PEAL_QUEUE_CONSUMER, &c),
				    PEAL_EBUSY, "create another queue");
			break;
		case PEAL_QUEUE_WORK: /* its claims are unknown */
			CHECK_FAILS(peal_queue_push(p, &word, 8, 0), PEAL_EPIPE,
				    "had claimed");
			CHECK_OK(peal_queue_pop(other, &word, 8, NULL, 0));
			CHECK_EQ(word, 1);
			CHECK_OK(peal_queue_close(p));
			CHECK_EQ(peal_queue_pop(other, &word, 8, NULL, 0),
				 PEAL_EEND);
			break;
		default: /* another thread continues; topics do not wait */
			for (i = 0; i < 200 && kind == PEAL_QUEUE_TOPIC; i++) {
				CHECK_OK(peal_queue_push(p, &word, 8, 0));
				CHECK_OK(peal_queue_pop(other, &word, 8, NULL,
							0));
			}
			c = consumer(q);
			word = 2;
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
			do
				CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
			while (word != 2);
			CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
				 PEAL_EAGAIN);
		}
		close_all(q);
	}
}

/* The claims of a dead consumer are lost. The stream ends nevertheless. */
PEAL_TEST(dead_claims_do_not_block_end_of_stream)
{
	struct peal_queue *q = make_of(PEAL_QUEUE_WORK, 1, 2);
	struct peal_queue_end *p = producer(q), *c[2];
	struct peal_work *w = (struct peal_work *)(void *)q->memory;
	uint64_t word, got = 0, first = 0;

	c[0] = consumer(q);
	c[1] = consumer(q);
	for (word = 0; word < 8; word++)
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
	peali_call_enter(&c[0]->count->calls);
	CHECK_EQ(peali_work_claim(w, &c[0]->at.taker, 3, &first), 3);
	CHECK_OK(peal_queue_close(c[0]));
	CHECK_OK(peal_queue_close(p));
	while (!peal_queue_pop(c[1], &word, 8, NULL, 0))
		got++;
	CHECK_EQ(got, 5);
	CHECK_EQ(peal_queue_pop(c[1], &word, 8, NULL, 0), PEAL_EEND);
	close_all(q);
}

/* ---- wakes --------------------------------------------------------------- */

static uint64_t wakes(void)
{
	struct peali_wait_counts counts;

	peali_wait_counts(&counts);
	return counts.wakes;
}

/*
 * A consumer waits behind the slot of a dead producer and sleeps. The consumer
 * that gives the slot up wakes it.
 */
PEAL_TEST(recovering_consumer_wakes_other_consumers)
{
	int woken = 0, i;

	for (i = 0; i < 20 && !woken; i++) {
		struct peal_queue *q = make_of(PEAL_QUEUE_WORK, 3, 2);
		struct peal_queue_end *slow = producer(q), *c[2];
		uint64_t word, before;
		pthread_t thread;

		c[0] = consumer(q);
		c[1] = consumer(q);
		stop_in_push(slow, 1);
		die_in_push(producer(q), 1);
		CHECK(!pthread_create(&thread, NULL, pop_all, c[1]));
		while (!peal_load_relaxed_sys_u32(&c[1]->bell->asleep))
			test_yield();
		put_late(slow, 0, 1);
		before = wakes();
		peal_queue_pop(c[0], &word, 8, NULL, 0); /* the late one */
		peal_queue_pop(c[0], &word, 8, NULL, 0); /* gives up */
		woken = wakes() != before;
		CHECK_OK(peal_queue_close(slow));
		pthread_join(thread, NULL);
		close_all(q);
	}
	CHECK(woken);
}

PEAL_TEST(sleeping_dead_thread_is_not_woken)
{
	EACH_KIND(kind)
	{
		struct peal_queue *q = make_of(kind, 1, 1);
		struct peal_queue_end *p = producer(q), *c = consumer(q);
		uint64_t word = 1, before;

		peal_store_relaxed_sys_u32(&c->bell->asleep, 1);
		CHECK_OK(peal_queue_close(c));
		before = wakes();
		c = consumer(q);
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		CHECK_EQ(wakes(), before);
		close_all(q);
	}
}

/* ---- deaths with the lock ------------------------------------------------ */

static void *lock_and_die(void *argument)
{
	peali_queue_lock((struct peal_queue *)argument);
	return NULL;
}

static void die_with_lock(struct peal_queue *q)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, lock_and_die, q));
	pthread_join(thread, NULL);
}

PEAL_TEST(lock_of_dead_thread_is_reclaimed)
{
	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c;
		uint64_t word = 5;

		die_with_lock(q);
		c = consumer(q);
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		die_with_lock(q);
		q->side[0].closed++; /* as if in the middle of a close */
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EEND);
		close_all(q);
	}
}

/*
 * A thread dies while it returns the lease of a closed producer. The state of
 * this lease is unknown.
 */
PEAL_TEST(death_in_lease_return_frees_no_slot_twice)
{
	struct peal_queue *q = make_of(PEAL_QUEUE_MAILBOX, 3, 1);
	struct peal_queue_end *p = producer(q), *gone = producer(q), *none;
	struct peal_queue_end *c = consumer(q), *third;
	uint64_t word = 0;

	fill_up(p);
	while (peal_queue_push(gone, &word, 8, 0) != PEAL_EAGAIN)
		;
	CHECK_OK(peal_queue_close(gone));
	CHECK_EQ(atomic_load(&q->owed), 1);
	gone->at.lease.granted = gone->at.lease.asked;
	die_with_lock(q);
	third = producer(q); /* not the end of `gone` */
	CHECK(third != gone);
	CHECK_FAILS(peal_queue_open(q, PEAL_QUEUE_PRODUCER, &none), PEAL_EBUSY,
		    "close all producers");
	CHECK_EQ(atomic_load(&q->owed), 0);
	CHECK_EQ(gone->at.lease.granted, 0);
	CHECK_OK(peal_queue_close(third));
	CHECK_OK(peal_queue_close(p));
	CHECK_EQ(gone->lost, 0);
	while (!peal_queue_pop(c, &word, 8, NULL, 0))
		;
	close_all(q);
}

static void die_here(struct peal_queue_end *end)
{
	(void)end;
	pthread_exit(NULL);
}

static void *close_end(void *end)
{
	peal_queue_close(end);
	return NULL;
}

/* A thread dies while it closes its end. The state of its lease is unknown. */
PEAL_TEST(death_in_close_is_detected)
{
	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q);
		struct peali_queue_kind dies = *q->kind;
		const struct peali_queue_kind *usual = q->kind;
		pthread_t thread;

		dies.settle = die_here;
		q->kind = &dies;
		CHECK(!pthread_create(&thread, NULL, close_end, p));
		CHECK(!pthread_join(thread, NULL));
		q->kind = usual;
		CHECK(peali_call_inside(peali_call_note(&p->count->calls)));
		CHECK_OK(peal_queue_close(p));
		CHECK_EQ(p->lost, usual->reclaim ? 0 : 1);
		close_all(q);
	}
}

/* A running search starts again. */
PEAL_TEST(interrupted_recovery_starts_again)
{
	struct peal_queue *q = make_of(PEAL_QUEUE_MAILBOX, 3, 1);
	struct peal_queue_end *p = producer(q), *slow = producer(q);
	struct peal_queue_end *c = consumer(q);
	uint64_t word = 9;

	stop_in_push(slow, 1);
	die_in_push(producer(q), 1);
	CHECK_OK(peal_queue_push(p, &word, 8, 0));
	CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
	CHECK_EQ(q->look.deaths, 1);
	q->look.until = 0; /* as if it died while it noted the search */
	die_with_lock(q);
	put_late(slow, 0, 8);
	CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
	CHECK_EQ(word, 8);
	CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
	CHECK_EQ(word, 9);
	close_all(q);
}

/* ---- real deaths --------------------------------------------------------- */

static _Thread_local sigjmp_buf life;

static void settle_and_die(struct peal_queue_end *end)
{
	(void)end;
	siglongjmp(life, 1);
}

/* Waits on an end. The thread "dies" there, by siglongjmp. */
static void wait_and_die(struct peal_queue_end *end)
{
	uint64_t word = 0;

	if (sigsetjmp(life, 1))
		return;
	if (end->role == PEAL_QUEUE_PRODUCER)
		peal_queue_push(end, &word, 8, MAX_WAIT);
	else
		peal_queue_pop(end, &word, 8, NULL, MAX_WAIT);
	CHECK(0);
}

static void die_settling(uint32_t kind, uint32_t role)
{
	struct peal_queue *q = make_of(kind, 1, 1);
	const struct peali_queue_kind *own = q->kind;
	struct peali_queue_kind mine = *own;
	struct peal_queue_end *p = producer(q), *c = consumer(q);

	if (role == PEAL_QUEUE_PRODUCER)
		fill_up(p);
	mine.settle = settle_and_die;
	q->kind = &mine;
	wait_and_die(role ? c : p);
	q->kind = own;
	CHECK(peali_call_inside((role ? c : p)->count->calls));
	close_all(q);
}

/* The thread dies while it returns its lease or reports free slots. */
PEAL_TEST(death_before_a_wait_is_detected)
{
	uint32_t kind, role;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++)
		for (role = 0; role < 2; role++)
			die_settling(kind, role);
}

#define PRODUCERS 3
#define EACH 102ull /* messages of a live producer */

/* Leaves the thread's current call. For the other threads it died there. */
static void leave_life(int number)
{
	(void)number;
	siglongjmp(life, 1);
}

struct sender {
	struct peal_queue_end *end;
	uint32_t id, bulk;
	uint64_t messages; /* then it ends or dies */
	/* two words, the second without access; NULL: it ends */
	const uint64_t *poison;
	atomic_ullong done; /* messages put for certain */
	atomic_int alive;
};

static void send_all(struct sender *s)
{
	uint64_t words[2], i, next = 0;

	while (next < s->messages) {
		uint32_t n = next % 3 ? 1 : s->bulk;

		for (i = 0; i < n; i++)
			words[i] = (uint64_t)s->id << 32 | (next + i);
		CHECK_OK(n == 1 ?
				 peal_queue_push(s->end, words, 8, -1) :
				 peal_queue_push_bulk(s->end, words, 8, n, -1));
		next += n;
		atomic_store(&s->done, next);
	}
	/* dies between ticket and tag: of one message, or of both */
	if (s->poison && s->bulk == 1)
		peal_queue_push(s->end, s->poison + 1, 8, -1);
	else if (s->poison)
		peal_queue_push_bulk(s->end, s->poison, 8, s->bulk, -1);
}

static void *sender_thread(void *argument)
{
	struct sender *s = (struct sender *)argument;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (!sigsetjmp(life, 1)) {
		atomic_store(&s->alive, 1);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		send_all(s);
	}
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return NULL;
}

/* The messages of one consumer. */
struct receiver {
	struct peal_queue_end *end;
	uint64_t got[PRODUCERS], next[PRODUCERS];
};

static void *receiver_thread(void *argument)
{
	struct receiver *r = (struct receiver *)argument;
	uint64_t word;
	int result;

	while (!(result = peal_queue_pop(r->end, &word, 8, NULL,
					 6 * MAX_WAIT))) {
		uint32_t id = (uint32_t)(word >> 32);

		CHECK(id < PRODUCERS);
		CHECK((uint32_t)word >= r->next[id]); /* in order */
		r->next[id] = (uint32_t)word + 1;
		r->got[id]++;
	}
	CHECK_EQ(result, PEAL_EEND);
	return NULL;
}

/*
 * Returns two words. Only the first may be read. It is of the dying producer.
 */
static const uint64_t *half_of_a_bulk(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static uint8_t *at;

	if (!at) {
		at = (uint8_t *)mmap(NULL, 2 * page, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(at != MAP_FAILED);
		CHECK(!mprotect(at, page, PROT_READ | PROT_WRITE));
		*(uint64_t *)(void *)(at + page - 8) = 1ull << 31;
	}
	return (const uint64_t *)(const void *)(at + page - 8);
}

/* Runs all threads. Producer 0 dies, by a signal or inside a push. */
static void live_and_die(struct peal_queue *q, uint32_t consumers,
			 unsigned long long *random, int killed, int *inside)
{
	uint32_t n = q->options.max_producers, i;
	struct sender s[PRODUCERS] = { 0 };
	struct receiver r[2] = { 0 };
	pthread_t sending[PRODUCERS], taking[2];
	volatile uint64_t turns;
	uint64_t got, k;

	for (i = 0; i < n; i++) {
		s[i].end = producer(q);
		s[i].id = i;
		s[i].bulk = q->bulk < 2 ? 1 : 2;
		s[i].messages = i ? EACH : ~0ull;
	}
	if (!killed) {
		s[0].messages = test_random(random) % 50;
		s[0].poison = half_of_a_bulk();
	}
	for (i = 0; i < consumers; i++) {
		r[i].end = consumer(q);
		CHECK(!pthread_create(&taking[i], NULL, receiver_thread,
				      &r[i]));
	}
	for (i = 0; i < n; i++)
		CHECK(!pthread_create(&sending[i], NULL, sender_thread, &s[i]));
	while (killed && !atomic_load(&s[0].alive))
		test_yield();
	for (turns = test_random(random) % 20000; killed && turns; turns--)
		;
	if (killed)
		pthread_kill(sending[0], SIGUSR1);
	pthread_join(sending[0], NULL);
	*inside += peali_call_inside(s[0].end->count->calls);
	CHECK_OK(peal_queue_close(s[0].end));
	for (i = 1; i < n; i++) {
		pthread_join(sending[i], NULL);
		CHECK_EQ(s[i].done, EACH);
		CHECK_OK(peal_queue_close(s[i].end));
	}
	for (k = 0; k < consumers; k++)
		pthread_join(taking[k], NULL);
	for (i = 0; i < n; i++) {
		got = r[0].got[i] + r[1].got[i];
		CHECK(got >= s[i].done);
		CHECK(got <= s[i].done + (i ? 0 : s[i].bulk));
		atomic_fetch_add(&stress_verified, got);
	}
	for (k = 0; k < consumers; k++)
		CHECK_OK(peal_queue_close(r[k].end));
}

/* Repeats deaths. All deaths use one queue if its producers can be replaced. */
static void die_often(uint32_t kind, uint32_t producers, uint32_t consumers,
		      int killed)
{
	/* a signal rarely meets the thread inside a call: more rounds */
	struct stress_clock clock =
		stress_begin((killed ? 100 : 40) / (PEAL_ASAN ? 2 : 1));
	unsigned long long random = 77 + kind;
	struct peal_queue_options o = of_kind(kind);
	struct peal_queue *q = NULL;
	uint64_t round, deaths = 0;
	int inside = 0, again = kind != PEAL_QUEUE_LINK;

	o.max_producers = producers;
	o.max_consumers = consumers;
	o.capacity = 16;
	while (stress_next(&clock, &round)) {
		if (!q)
			q = make(o);
		live_and_die(q, consumers, &random, killed, &inside);
		deaths++;
		if (!again) {
			CHECK_OK(peal_queue_destroy(q));
			q = NULL;
		}
	}
	printf("    %s, %u to %u: %llu died, %d of them inside of a call\n",
	       peal_queue_kind_name(kind), producers, consumers,
	       (unsigned long long)deaths, inside);
	CHECK(killed || inside == (int)deaths);
	CHECK_OK(peal_queue_destroy(q));
}

static void die_of(int killed)
{
	struct sigaction action = { .sa_handler = leave_life };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK(!sigaction(killed ? SIGUSR1 : SIGSEGV, &action, NULL));
	die_often(PEAL_QUEUE_LINK, 1, 1, killed);
	die_often(PEAL_QUEUE_MAILBOX, PRODUCERS, 1, killed);
	die_often(PEAL_QUEUE_WORK, PRODUCERS, 1, killed);
	die_often(PEAL_QUEUE_WORK, PRODUCERS, 2, killed);
	die_often(PEAL_QUEUE_WORK, 1, 2, killed);
}

PEAL_TEST(crash_by_bad_pointer_loses_no_other_message)
{
	die_of(0);
}

/* Not under ThreadSanitizer, which delays signals until after the call. */
PEAL_TEST(killed_thread_loses_no_other_message)
{
	die_of(1);
}

PEAL_TEST_MAIN(RUN(death_in_push_hides_no_message);
	       RUN(slow_producer_is_not_treated_as_dead);
	       RUN(producer_after_search_is_not_treated_as_dead);
	       RUN(search_stops_waiting_for_dead_producer);
	       RUN(dead_leases_are_lost_until_all_producers_close);
	       RUN(only_end_of_dead_thread_is_not_reopened);
	       RUN(death_in_pop_stops_no_other_end);
	       RUN(dead_claims_do_not_block_end_of_stream);
	       RUN(lock_of_dead_thread_is_reclaimed);
	       RUN(death_in_lease_return_frees_no_slot_twice);
	       RUN(death_in_close_is_detected);
	       RUN(interrupted_recovery_starts_again);
	       RUN(recovering_consumer_wakes_other_consumers);
	       RUN(sleeping_dead_thread_is_not_woken);
	       RUN(death_before_a_wait_is_detected);
	       RUN(crash_by_bad_pointer_loses_no_other_message);
	       if (!PEAL_TSAN) RUN(killed_thread_loses_no_other_message);
	       stress_print_total();)
