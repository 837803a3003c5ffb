/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <semaphore.h>

#include "front.h"
#include "runtime/host_support/idle.h"
#include "yield.h"

/*
 * Shows the effects of a close in peal/queue.h: free slots, the end of the
 * stream, and wakes.
 */

/* ---- free slots ---------------------------------------------------------- */

/*
 * Closed producers keep no slots, neither leased nor requested ones. The last
 * open producer gets all slots, except less than one lease.
 */
static void closed_keep_nothing(uint32_t kind, uint32_t producers,
				uint32_t capacity, int refused)
{
	struct peal_queue_options o = of_kind(kind);
	struct peal_queue_end *p[PEAL_QUEUE_ENDS], *c;
	struct peal_queue *q;
	uint64_t word = 0, filled;
	uint32_t i;

	o.max_producers = producers;
	o.capacity = capacity;
	q = make(o);
	c = consumer(q);
	for (i = 0; i < producers; i++)
		p[i] = producer(q);
	for (i = 0; i < producers; i++)
		if (refused)
			fill_up(p[i]);
		else
			CHECK_OK(peal_queue_push(p[i], &word, 8, 0));
	while (!peal_queue_pop(c, &word, 8, NULL, 0))
		;
	for (i = 1; i < producers; i++)
		CHECK_OK(peal_queue_close(p[i]));
	filled = fill_up(p[0]);
	CHECK(filled > capacity - capacity / 2 / producers);
	for (i = 1; i < producers; i++) /* opened again, the ends continue */
		p[i] = producer(q);
	for (i = 0; i < filled; i++)
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
	CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
	for (i = 0; i < 4 * capacity; i++) {
		CHECK_OK(peal_queue_push(p[i % producers], &word, 8, 0));
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
	}
	close_all(q);
}

PEAL_TEST(closed_producers_hold_no_slots)
{
	uint32_t kind;
	int refused;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++)
		for (refused = 0; refused < 2; refused++) {
			closed_keep_nothing(kind, 2, 8, refused);
			closed_keep_nothing(kind, 4, 64, refused);
			closed_keep_nothing(kind, 4, 256, refused);
			closed_keep_nothing(kind, 8, 512, refused);
			closed_keep_nothing(kind, 64, 128, refused);
		}
}

/* ---- the end of the stream ----------------------------------------------- */

/* Takes a ticket, as a push that is not finished. Returns the ticket. */
static uint64_t begin_push(struct peal_queue *q, struct peal_queue_end *p)
{
	uint64_t number = 0;

	CHECK_OK(peal_work_take_tickets((struct peal_work *)(void *)q->memory,
					&p->at.worker, 1, &number));
	return number;
}

static void end_push(struct peal_queue *q, struct peal_queue_end *p,
		     uint64_t number, uint64_t word)
{
	const struct peal_header none = { 0, 0, 0 };

	peal_work_put_at((struct peal_work *)(void *)q->memory, number, none,
			 &word, 8);
	p->count->messages++;
}

/*
 * All consumers poll while a producer is between ticket and tag. Then any one
 * of them gets the message, and no other consumer has to call again.
 */
static void polls_keep_no_claim(uint32_t heir, int64_t timeout_ns)
{
	uint64_t words[4] = { 0 }, lengths[4], number;
	struct peal_queue_end *p, *c[3];
	struct peal_queue *q = work_with(3, &p, c);
	uint32_t i;

	number = begin_push(q, p);
	for (i = 0; i < 30; i++)
		CHECK_EQ(peal_queue_pop(c[i % 3], words, 8, NULL, 0),
			 PEAL_EAGAIN);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(peal_queue_pop_burst(c[i], words, 8, 4, lengths, 0),
			 PEAL_EAGAIN);
		CHECK_EQ(peal_queue_pop(c[i], words, 8, NULL, 1000),
			 PEAL_ETIMEDOUT);
	}
	end_push(q, p, number, 7);
	CHECK_OK(peal_queue_pop(c[heir], words, 8, NULL, timeout_ns));
	CHECK_EQ(words[0], 7);
	close_all(q);
}

PEAL_TEST(polls_of_a_work_queue_keep_no_claim)
{
	uint32_t heir;

	for (heir = 0; heir < 3; heir++) {
		polls_keep_no_claim(heir, 0);
		polls_keep_no_claim(heir, MAX_WAIT);
	}
}

/* One consumer polls and never calls again. The other one circulates. */
PEAL_TEST(idle_consumer_does_not_block_the_ring)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK);
	struct peal_queue_end *p, *c[2];
	uint64_t word, number, i;
	struct peal_queue *q;

	o.max_consumers = 2;
	o.capacity = 16;
	q = make(o);
	p = producer(q);
	c[0] = consumer(q);
	c[1] = consumer(q);
	number = begin_push(q, p);
	for (i = 0; i < 30; i++)
		CHECK_EQ(peal_queue_pop(c[0], &word, 8, NULL, 0), PEAL_EAGAIN);
	end_push(q, p, number, 0);
	for (i = 1; i < 100; i++) {
		CHECK_OK(peal_queue_push(p, &i, 8, 0));
		CHECK_OK(peal_queue_pop(c[1], &word, 8, NULL, 0));
		CHECK_EQ(word, i - 1);
	}
	close_all(q);
}

/* A call that runs has claimed the last message. */
PEAL_TEST(work_queue_does_not_end_while_a_call_has_a_claim)
{
	struct peal_queue_end *p, *c[2];
	struct peal_work_received got;
	uint64_t stage[8], word = 7, first = 0;
	struct peal_queue *q = work_with(2, &p, c);
	struct peal_work *w = (struct peal_work *)(void *)q->memory;

	CHECK_OK(peal_queue_push(p, &word, 8, 0));
	CHECK_OK(peal_queue_close(p));
	CHECK_EQ(peali_work_claim(w, &c[0]->at.taker, 1, &first), 1);
	CHECK_EQ(peal_queue_pop(c[1], &word, 8, NULL, 0), PEAL_EAGAIN);
	CHECK_FAILS(peal_queue_pop(c[1], &word, 8, NULL, 1000000),
		    PEAL_ETIMEDOUT, "is empty");
	/* the other call ends */
	CHECK_EQ(peali_work_read(w, (uint8_t *)stage, first, (uint8_t *)&word,
				 8, &got),
		 1);
	peali_work_done(w, &c[0]->at.taker, first, 1);
	c[0]->count->messages++;
	CHECK_EQ(word, 7);
	CHECK_EQ(peal_queue_pop(c[1], &word, 8, NULL, 0), PEAL_EEND);
	CHECK_EQ(peal_queue_pop(c[0], &word, 8, NULL, 0), PEAL_EEND);
	CHECK_EQ(info(q).delivered, 1);
	close_all(q);
}

/* A producer that repeatedly puts one message and closes. */
struct stream {
	struct peal_queue_end *p;
	sem_t turn; /* posted once per message */
};

#define STREAMS 1500

static void *put_and_close(void *argument)
{
	struct stream *s = argument;
	unsigned long long random = 1;
	uint64_t word;
	uint32_t i;

	for (i = 0; i < STREAMS; i++) {
		while (sem_wait(&s->turn))
			;
		for (word = test_random(&random) % 2000; word; word--)
			peal_pause();
		CHECK_OK(peal_queue_push(s->p, &word, 8, 0));
		CHECK_OK(peal_queue_close(s->p));
	}
	return NULL;
}

/*
 * Pops without a timeout. Later pops sleep, to give the producer a processor.
 */
#define LOOKS 2000

/* Takes all messages up to the end of a stream. Returns their number. */
static uint64_t take_stream(struct peal_queue_end *c)
{
	uint64_t word, got = 0;
	int i, result = PEAL_EAGAIN;

	for (i = 0; result != PEAL_EEND; i++) {
		result = peal_queue_pop(c, &word, 8, NULL,
					i < LOOKS ? 0 : MAX_WAIT);
		CHECK(!result || result == PEAL_EEND ||
		      (result == PEAL_EAGAIN && i < LOOKS));
		got += !result;
	}
	return got;
}

/* All messages that were put before the last close come before the end. */
PEAL_TEST(end_of_stream_follows_all_messages)
{
	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *c = consumer(q);
		struct stream s = { .p = NULL };
		pthread_t thread;
		uint32_t i;

		CHECK(!sem_init(&s.turn, 0, 0));
		CHECK(!pthread_create(&thread, NULL, put_and_close, &s));
		for (i = 0; i < STREAMS; i++) {
			s.p = producer(q);
			CHECK(!sem_post(&s.turn));
			CHECK_EQ(take_stream(c), 1);
		}
		pthread_join(thread, NULL);
		sem_destroy(&s.turn);
		close_all(q);
	}
}

/* The consumer learns of overwritten messages before the end. */
PEAL_TEST(topic_reports_misses_before_its_end)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_TOPIC);
	struct peal_queue_end *p, *c;
	struct peal_queue *q;
	uint64_t word, got;

	o.overwrite = 1;
	for (o.capacity = 1; o.capacity <= 64; o.capacity *= 8) {
		q = make(o);
		c = consumer(q);
		p = producer(q);
		for (word = 0; word < 40000; word++)
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
		CHECK_OK(peal_queue_close(p));
		for (got = 0; !peal_queue_pop(c, &word, 8, NULL, MAX_WAIT);)
			got++;
		CHECK(got >= 1);
		CHECK_EQ(word, 39999);
		CHECK_EQ(got + peal_queue_missed(c), 40000);
		close_all(q);
	}
}

PEAL_TEST(a_closed_end_is_refused)
{
	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);
		uint64_t word = 0;

		CHECK_OK(peal_queue_close(p));
		CHECK_FAILS(peal_queue_close(p), PEAL_EINVAL, "closed already");
		CHECK_FAILS(peal_queue_push(p, &word, 8, 0), PEAL_EINVAL,
			    "open another");
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EEND);
		CHECK_OK(peal_queue_close(c));
		CHECK_FAILS(peal_queue_close(c), PEAL_EINVAL, "closed already");
		CHECK_FAILS(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EINVAL,
			    "open another");
		CHECK_OK(peal_queue_destroy(q));
	}
}

/* ---- wakes --------------------------------------------------------------- */

static uint64_t wakes(void)
{
	struct peali_wait_counts counts;

	peali_wait_counts(&counts);
	return counts.wakes;
}

static void *push_without_consumer(void *argument)
{
	struct peal_queue_end *end = (struct peal_queue_end *)argument;
	uint64_t word = 0;

	CHECK_EQ(peal_queue_push(end, &word, 8, MAX_WAIT), PEAL_EPIPE);
	return NULL;
}

/* Returns 1 if closing `last` wakes a thread that waits for `end` in `wait`. */
static int close_wakes(struct peal_queue_end *last, struct peal_queue_end *end,
		       void *(*wait)(void *))
{
	uint64_t before;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, wait, end));
	while (!peal_load_relaxed_sys_u32(&end->bell->asleep))
		test_yield();
	before = wakes();
	CHECK_OK(peal_queue_close(last));
	before = wakes() - before;
	pthread_join(thread, NULL);
	return before != 0;
}

PEAL_TEST(close_wakes_waiting_ends)
{
	EACH_KIND(kind)
	{
		int consumers = 0, producers = 0, i;

		for (i = 0; i < 20 && (!consumers || !producers); i++) {
			struct peal_queue *q = make(of_kind(kind));
			struct peal_queue_end *p = producer(q);
			struct peal_queue_end *c = consumer(q);

			consumers |= close_wakes(p, c, pop_all);
			p = producer(q);
			fill_up(p);
			/* topics do not wait for closed consumers */
			producers |= kind == PEAL_QUEUE_TOPIC ||
				     close_wakes(c, p, push_without_consumer);
			close_all(q);
		}
		CHECK(consumers);
		CHECK(producers);
	}
}

static void *push_one(void *argument)
{
	struct peal_queue_end *end = (struct peal_queue_end *)argument;
	uint64_t word = 0;

	CHECK_OK(peal_queue_push(end, &word, 8, -1));
	return NULL;
}

static void fall_asleep(struct peal_queue_end *end, pthread_t *thread,
			void *(*wait)(void *))
{
	CHECK(!pthread_create(thread, NULL, wait, end));
	while (!peal_load_relaxed_sys_u32(&end->bell->asleep))
		test_yield();
}

/* Returns 1 if putting n messages at a time wakes a consumer that sleeps. */
static int putting_wakes(uint32_t kind, uint32_t n)
{
	struct peal_queue *q = make(of_kind(kind));
	struct peal_queue_end *p = producer(q), *c = consumer(q);
	uint64_t words[8] = { 0 }, before;
	pthread_t thread;

	fall_asleep(c, &thread, pop_all);
	before = wakes();
	CHECK_OK(n == 1 ? peal_queue_push(p, words, 8, 0) :
			  peal_queue_push_bulk(p, words, 8, n, 0));
	before = wakes() - before;
	CHECK_OK(peal_queue_close(p));
	pthread_join(thread, NULL);
	close_all(q);
	return before != 0;
}

/* Returns 1 if taking n messages at a time wakes a producer that sleeps. */
static int taking_wakes(uint32_t kind, uint32_t n)
{
	struct peal_queue *q = make(of_kind(kind));
	struct peal_queue_end *p = producer(q), *c = consumer(q);
	uint64_t words[8], before, left = fill_up(p);
	pthread_t thread;
	int got;

	fall_asleep(p, &thread, push_one);
	before = wakes();
	while (left) {
		got = peal_queue_pop_burst(c, words, 8, n, NULL, 0);
		CHECK(got > 0);
		left = (uint64_t)got < left ? left - (uint64_t)got : 0;
	}
	before = wakes() - before;
	pthread_join(thread, NULL);
	close_all(q);
	return before != 0;
}

/* In at least one of 20 tries the waiter is still asleep. */
PEAL_TEST(push_and_pop_wake_waiting_ends)
{
	EACH_KIND(kind)
	{
		for (uint32_t n = 1; n <= 8; n *= 8) {
			int put = 0, taken = 0, i;

			for (i = 0; i < 20 && !(put && taken); i++) {
				put |= putting_wakes(kind, n);
				taken |= taking_wakes(kind, n);
			}
			CHECK(put);
			CHECK(taken);
		}
	}
}

/* The free slots were reserved for `first`, which requested them first. */
PEAL_TEST(close_wakes_producer_that_gets_free_slots)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_MAILBOX);
	int woken = 0, i, k;

	o.max_producers = 2;
	o.capacity = 8;
	for (i = 0; i < 20 && !woken; i++) {
		struct peal_queue *q = make(o);
		struct peal_queue_end *p = producer(q), *first = producer(q);
		struct peal_queue_end *c = consumer(q);
		uint64_t word = 0;

		for (k = 0; k < 8; k++)
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
		CHECK_EQ(peal_queue_push(first, &word, 8, 0), PEAL_EAGAIN);
		CHECK_EQ(peal_queue_push(p, &word, 8, 0), PEAL_EAGAIN);
		for (k = 0; k < 2; k++)
			CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
		CHECK_EQ(peal_queue_push(p, &word, 8, 0), PEAL_EAGAIN);
		woken = close_wakes(first, p, push_one);
		close_all(q);
	}
	CHECK(woken);
}

/*
 * A claim hides the last message from c[1], which sleeps. The claim is taken
 * back, and c[0] pops the message. In at least one of 20 tries c[1] still sleeps
 * then.
 */
PEAL_TEST(consumer_waiting_for_other_claims_is_woken)
{
	uint64_t word = 1, before = wakes(), i;
	struct peal_queue_end *p, *c[2];
	struct peal_queue *q;
	struct peal_work *w;
	pthread_t thread;

	for (i = 0; i < 20 && wakes() == before; i++) {
		q = work_with(2, &p, c);
		w = (struct peal_work *)(void *)q->memory;
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		CHECK_OK(peal_queue_close(p));
		peal_add_relaxed_dev(&w->claimed, 1);
		CHECK(!pthread_create(&thread, NULL, pop_all, c[1]));
		while (!peal_load_relaxed_sys_u32(&c[1]->bell->asleep))
			test_yield();
		before = wakes();
		peal_add_relaxed_dev(&w->claimed, 0 - 1ull);
		peal_queue_pop(c[0], &word, 8, NULL, 0);
		pthread_join(thread, NULL);
		CHECK_EQ(info(q).queued, 0);
		close_all(q);
	}
	CHECK(wakes() != before);
}

PEAL_TEST_MAIN(RUN(closed_producers_hold_no_slots);
	       RUN(polls_of_a_work_queue_keep_no_claim);
	       RUN(idle_consumer_does_not_block_the_ring);
	       RUN(work_queue_does_not_end_while_a_call_has_a_claim);
	       RUN(end_of_stream_follows_all_messages);
	       RUN(topic_reports_misses_before_its_end);
	       RUN(a_closed_end_is_refused); RUN(close_wakes_waiting_ends);
	       RUN(push_and_pop_wake_waiting_ends);
	       RUN(close_wakes_producer_that_gets_free_slots);
	       RUN(consumer_waiting_for_other_claims_is_woken);)
