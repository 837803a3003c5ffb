/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "deaths.h"
#include "yield.h"

/*
 * Shows that a search for the gaps of dead producers stays correct. During it
 * other producers put, take tickets or die.
 */

static struct peal_queue_end *slow; /* the slow producer of the running case */
static const struct peali_queue_kind *own;
static struct peali_queue_kind mine; /* `own` with one function replaced */
static int done;

static struct peal_queue *make_watched(uint32_t kind)
{
	struct peal_queue *q = make_of(kind, 2, 1);

	own = q->kind;
	mine = *own;
	slow = producer(q);
	done = 0;
	return q;
}

/* A producer takes its ticket just before the search reads the tickets. */
static uint64_t tickets_of_more(const struct peal_queue *q)
{
	if (!done++)
		stop_in_push(slow, 1);
	return own->tickets(q);
}

/* A producer puts its message just after a pop found none. */
static int pop_before_more(struct peal_queue_end *end, void *buffer,
			   uint64_t each, uint32_t n, uint64_t *lengths)
{
	int result = own->pop(end, buffer, each, n, lengths);

	/* the last pop before the search */
	if (result == PEAL_EAGAIN && done++ == 1)
		put_late(slow, 0, 21);
	return result;
}

/* A producer takes a ticket while a search starts. The search waits for it. */
PEAL_TEST(search_waits_for_ticket_taken_at_its_start)
{
	uint32_t kind;
	uint64_t word;
	int i;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue *q = make_watched(kind);
		struct peal_queue_end *c = consumer(q);

		mine.tickets = tickets_of_more;
		die_in_push(producer(q), 1);
		q->kind = &mine;
		for (i = 0; i < 100; i++)
			CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
				 PEAL_EAGAIN);
		CHECK(done);
		q->kind = own;
		put_late(slow, 1, 20);
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
		CHECK_EQ(word, 20);
		close_all(q);
	}
}

PEAL_TEST(message_sent_at_search_end_arrives)
{
	uint32_t kind;
	uint64_t word;
	int i;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue *q = make_watched(kind);
		struct peal_queue_end *c = consumer(q);

		mine.pop = pop_before_more;
		stop_in_push(slow, 1);
		die_in_push(producer(q), 1);
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
		q->kind = &mine;
		for (i = 0; i < 100 && peal_queue_pop(c, &word, 8, NULL, 0);
		     i++)
			;
		CHECK_EQ(word, 21);
		q->kind = own;
		close_all(q);
	}
}

/* Another producer dies during a search. Its ticket stays open. */
PEAL_TEST(death_during_search_starts_another_search)
{
	uint32_t kind;
	uint64_t word;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue *q = make_of(kind, 4, 1);
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		slow = producer(q);
		stop_in_push(slow, 1);
		die_in_push(producer(q), 1);
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
		die_in_push(producer(q), 1);
		word = 31;
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		put_late(slow, 0, 30);
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
		while (word != 31)
			CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
		while (atomic_load(&q->died))
			CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
				 PEAL_EAGAIN);
		close_all(q);
	}
}

static atomic_int held; /* 1: the lock is held; 2: release it */

static void *hold_lock(void *argument)
{
	struct peal_queue *q = (struct peal_queue *)argument;

	peali_queue_lock(q);
	atomic_store(&held, 1);
	while (atomic_load(&held) != 2)
		test_yield();
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/*
 * Calls without a timeout do not wait for the lock. Before the search for gaps
 * they also do not report the end of a stream.
 */
PEAL_TEST(nonblocking_calls_do_not_wait_for_the_lock)
{
	struct peal_queue *q = make_of(PEAL_QUEUE_MAILBOX, 3, 1);
	struct peal_queue_end *p = producer(q), *gone = producer(q);
	struct peal_queue_end *c = consumer(q);
	uint64_t word = 41;
	pthread_t thread;

	die_in_push(producer(q), 1);
	CHECK_OK(peal_queue_push(p, &word, 8, 0));
	fill_up(p);
	while (peal_queue_push(gone, &word, 8, 0) != PEAL_EAGAIN)
		;
	CHECK_OK(peal_queue_close(gone)); /* its lease request stays */
	CHECK_EQ(atomic_load(&q->owed), 1);
	atomic_store(&held, 0);
	CHECK(!pthread_create(&thread, NULL, hold_lock, q));
	while (!atomic_load(&held))
		test_yield();
	CHECK_EQ(peal_queue_push(p, &word, 8, 0), PEAL_EAGAIN);
	atomic_store(&q->side[PEAL_QUEUE_PRODUCER].gone, 1); /* as if closed */
	CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
	atomic_store(&q->side[PEAL_QUEUE_PRODUCER].gone, 0);
	atomic_store(&held, 2);
	pthread_join(thread, NULL);
	CHECK_OK(peal_queue_close(p));
	CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
	CHECK_EQ(word, 41);
	while (!peal_queue_pop(c, &word, 8, NULL, 0))
		;
	CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EEND);
	close_all(q);
}

PEAL_TEST_MAIN(RUN(search_waits_for_ticket_taken_at_its_start);
	       RUN(message_sent_at_search_end_arrives);
	       RUN(death_during_search_starts_another_search);
	       RUN(nonblocking_calls_do_not_wait_for_the_lock);)
