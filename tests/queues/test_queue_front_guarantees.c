/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include <peal/device/work_abandon.h>

#include "front.h"
#include "runtime/host_support/idle.h"
#include "yield.h"

/* Shows promises of peal/queue.h that test_queue_front.c does not show. */

#define BULKS (PEAL_TSAN || PEAL_ASAN ? 2000 : 20000)

/* ---- making -------------------------------------------------------------- */

PEAL_TEST(the_name_is_copied)
{
	struct peal_queue_options o = plain;
	char name[] = "frames";
	struct peal_queue *q;
	uint64_t word;

	o.name = name;
	q = make(o);
	memset(name, '-', sizeof(name) - 1);
	CHECK_FAILS(peal_queue_pop(consumer(q), &word, 8, NULL, 1),
		    PEAL_ETIMEDOUT, "'frames' is empty");
	close_all(q);
}

PEAL_TEST(null_queue_arguments_return_einval)
{
	struct peal_queue *q = make(plain);
	struct peal_queue_end *end = NULL;
	struct peal_queue_info i;

	CHECK_FAILS(peal_queue_open(NULL, PEAL_QUEUE_PRODUCER, &end),
		    PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_queue_open(q, PEAL_QUEUE_PRODUCER, NULL), PEAL_EINVAL,
		    "NULL");
	CHECK_FAILS(peal_queue_info(NULL, &i), PEAL_EINVAL, "NULL");
	CHECK(!end);
	CHECK_EQ(info(q).producers, 0);
	CHECK_OK(peal_queue_destroy(q));
}

/* The largest message passes. One byte more is refused. */
static void largest(struct peal_queue_options o, uint64_t most,
		    const char *refused)
{
	uint8_t *data = malloc(most);
	struct peal_queue_end *p, *c;
	struct peal_queue *q = NULL;
	uint64_t i, length = 0;

	o.message_bytes = most + 1;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL, refused);
	CHECK(!q && data);
	o.message_bytes = most;
	q = make(o);
	p = producer(q);
	c = consumer(q);
	for (i = 0; i < most; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	CHECK_OK(peal_queue_push(p, data, most, 0));
	memset(data, 0, most);
	CHECK_OK(peal_queue_pop(c, data, most, &length, 0));
	CHECK_EQ(length, most);
	for (i = 0; i < most; i++)
		if (data[i] != (uint8_t)(i * 7 + (i >> 8)))
			CHECK_EQ(i, most);
	close_all(q);
	free(data);
}

PEAL_TEST(slot_capacity_matches_its_policy)
{
	static const uint32_t most[] = { 0, 4080, 3064, 1016 };
	char refused[64];
	uint32_t policy;

	EACH_KIND(kind)
	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++) {
		struct peal_queue_options o = of_kind(kind);

		if (kind == PEAL_QUEUE_LINK ||
		    !(peali_queue_policies() & 1u << policy))
			continue;
		o.policy = policy;
		snprintf(refused, sizeof(refused), "allowed 0..%u); use",
			 most[policy]);
		largest(o, most[policy], refused);
	}
}

PEAL_TEST(link_accepts_messages_up_to_256_mib)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_LINK);
	struct peal_queue *q = NULL;

	o.capacity = 1;
	if (!PEAL_TSAN && !PEAL_ASAN) {
		largest(o, 256ull << 20,
			"'message_bytes': is out of range "
			"(268435457, allowed 1..268435456)");
		return;
	}
	o.message_bytes = (256ull << 20) + 1;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL,
		    "'message_bytes': is out of range (268435457, allowed "
		    "1..268435456)");
	test_leave_out("a sanitizer's copy of so much memory takes long");
}

/* ---- peal_queue_info ----------------------------------------------------- */

PEAL_TEST(info_counts_open_ends)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK);
	struct peal_queue_end *p[3], *c[2];
	struct peal_queue *q;
	uint32_t i;

	o.max_producers = 3;
	o.max_consumers = 2;
	q = make(o);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(info(q).producers, i);
		p[i] = producer(q);
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(info(q).consumers, i);
		c[i] = consumer(q);
	}
	CHECK_EQ(info(q).producers, 3);
	CHECK_EQ(info(q).consumers, 2);
	CHECK_OK(peal_queue_close(p[1]));
	CHECK_OK(peal_queue_close(c[0]));
	CHECK_EQ(info(q).producers, 2);
	CHECK_EQ(info(q).consumers, 1);
	p[1] = producer(q);
	CHECK_EQ(info(q).producers, 3);
	close_all(q);
}

/* The sizes of the table in queues/README.md, for messages of 48 bytes. */
PEAL_TEST(info_reports_memory_bytes)
{
	static const uint64_t slots = 1024 * 64;
	const uint64_t bytes[] = { 0, 128 + slots + 128 + 256, 384 + slots,
				   384 + slots + 128 * 32, 384 + slots + 128 };

	EACH_KIND(kind)
	{
		struct peal_queue_options o = plain;
		struct peal_queue *q;

		o.kind = kind;
		q = make(o);
		CHECK_EQ(info(q).kind, kind);
		CHECK_EQ(info(q).memory_bytes, bytes[kind]);
		CHECK_OK(peal_queue_destroy(q));
	}
}

PEAL_TEST(a_topic_delivers_to_each_consumer)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_TOPIC);
	struct peal_queue_end *p, *c[3];
	struct peal_queue *q;
	uint64_t word, i, k;

	o.max_consumers = 3;
	q = make(o);
	p = producer(q);
	for (i = 0; i < 3; i++)
		c[i] = consumer(q);
	for (i = 0; i < 5; i++)
		CHECK_OK(peal_queue_push(p, &i, 8, 0));
	for (i = 0; i < 3; i++)
		for (k = 0; k < 2 * i; k++)
			CHECK_OK(peal_queue_pop(c[i], &word, 8, NULL, 0));
	CHECK_EQ(info(q).accepted, 5);
	CHECK_EQ(info(q).delivered, 0 + 2 + 4);
	CHECK_EQ(info(q).queued, 0);
	/* messages of a closed end stay counted */
	CHECK_OK(peal_queue_close(c[2]));
	CHECK_EQ(info(q).delivered, 6);
	close_all(q);
}

PEAL_TEST(queues_without_overwrite_miss_no_message)
{
	uint64_t word = 0, n;

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		for (n = 0; n < 200; n++) {
			while (peal_queue_push(p, &word, 8, 0))
				CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
			CHECK_EQ(peal_queue_missed(c), 0);
			CHECK_EQ(peal_queue_missed(p), 0);
		}
		close_all(q);
	}
}

struct watch {
	struct peal_queue *q;
	atomic_int stop;
	uint64_t most; /* most queued messages that were seen */
};

static void *watch_counts(void *argument)
{
	struct watch *w = (struct watch *)argument;
	struct peal_queue_info before = info(w->q), now;

	while (!atomic_load(&w->stop)) {
		now = info(w->q); /* checks the counters */
		CHECK(now.accepted >= before.accepted);
		CHECK(now.delivered >= before.delivered);
		if (now.queued > w->most)
			w->most = now.queued;
		before = now;
	}
	return NULL;
}

PEAL_TEST(queued_count_never_exceeds_capacity)
{
	uint64_t words[8] = { 0 };
	uint32_t i;

	EACH_KIND(kind)
	{
		struct peal_queue_options o = of_kind(kind);
		struct peal_queue_end *p, *c;
		struct watch w = { .most = 0 };
		pthread_t watcher, taker;

		o.capacity = 16;
		w.q = make(o);
		p = producer(w.q);
		c = consumer(w.q);
		CHECK(!pthread_create(&watcher, NULL, watch_counts, &w));
		CHECK(!pthread_create(&taker, NULL, pop_all, c));
		for (i = 0; i < BULKS; i++)
			CHECK_OK(peal_queue_push_bulk(p, words, 8, 8, -1));
		CHECK_OK(peal_queue_close(p));
		pthread_join(taker, NULL);
		atomic_store(&w.stop, 1);
		pthread_join(watcher, NULL);
		CHECK_EQ(info(w.q).accepted, 8 * BULKS);
		CHECK_EQ(info(w.q).delivered, 8 * BULKS);
		close_all(w.q);
	}
}

/*
 * A consumer has taken messages without counting them, and their slots are full
 * again. A thread that pauses between these steps leaves this state.
 */
PEAL_TEST(uncounted_taken_messages_are_not_queued)
{
	struct peal_queue_info before, now;

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q);
		uint64_t words[PEAL_QUEUE_BURST] = { 0 }, n;

		if (kind == PEAL_QUEUE_TOPIC) {
			close_all(q);
			continue;
		}
		for (n = 0; !peal_queue_push(p, words, 8, 0); n++)
			;
		before = info(q);
		CHECK_EQ(before.queued, n);
		p->count->messages += 20;
		now = info(q);
		CHECK_EQ(now.queued, 64);
		CHECK_EQ(now.delivered, n + 20 - 64);
		CHECK_EQ(now.accepted, n + 20);
		close_all(q);
	}
}

/* ---- bulks and waits ----------------------------------------------------- */

PEAL_TEST(bulk_above_capacity_is_refused)
{
	struct peal_queue_options o = plain;
	uint64_t words[32] = { 0 };
	struct peal_queue_end *p;
	struct peal_queue *q;

	EACH_KIND(kind)
	{
		uint32_t leases = kind == PEAL_QUEUE_MAILBOX ||
				  kind == PEAL_QUEUE_WORK;
		uint32_t most = leases ? 8 : 16;

		o = of_kind(kind);
		o.capacity = 16;
		q = make(o);
		p = producer(q);
		CHECK_FAILS(peal_queue_push_bulk(p, words, 8, most + 1, -1),
			    PEAL_EMSGSIZE, "at a time");
		CHECK_FAILS(peal_queue_push_bulk(p, words, 9, 2, -1),
			    PEAL_EMSGSIZE,
			    "and the message is too long (9 "
			    "bytes, allowed 0..8)");
		CHECK_EQ(info(q).accepted, 0);
		CHECK_OK(peal_queue_push_bulk(p, words, 8, most, 0));
		CHECK_EQ(info(q).accepted, most);
		close_all(q);
	}
	/* with a slab, each message of a bulk must fit its slot */
	o = of_kind(PEAL_QUEUE_LINK);
	o.message_bytes = 100000;
	q = make(o);
	p = producer(q);
	CHECK_FAILS(peal_queue_push_bulk(p, words, 64, 2, -1), PEAL_EMSGSIZE,
		    "push one at a time");
	CHECK_EQ(info(q).accepted, 0);
	CHECK_OK(peal_queue_push_bulk(p, words, 48, 2, 0));
	CHECK_OK(peal_queue_push(p, words, 64, 0));
	close_all(q);
}

PEAL_TEST(bulk_after_last_consumer_closed_is_refused)
{
	uint64_t words[8] = { 0 };

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q);

		/* a consumer may open later */
		CHECK_OK(peal_queue_push_bulk(p, words, 8, 8, 0));
		CHECK_OK(peal_queue_close(consumer(q)));
		if (kind == PEAL_QUEUE_TOPIC)
			CHECK_OK(peal_queue_push_bulk(p, words, 8, 8, 0));
		else
			CHECK_FAILS(peal_queue_push_bulk(p, words, 8, 8, -1),
				    PEAL_EPIPE,
				    "every consumer of 'queue' is closed");
		CHECK_EQ(info(q).accepted, kind == PEAL_QUEUE_TOPIC ? 16 : 8);
		close_all(q);
	}
}

PEAL_TEST(timed_out_call_changes_nothing)
{
	const uint64_t mark = 0x5a5a5a5a5a5a5a5aull;
	uint64_t word, length, lengths[4];

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		word = length = lengths[0] = mark;
		CHECK_FAILS(peal_queue_pop(c, &word, 8, &length, 1000000),
			    PEAL_ETIMEDOUT, "'queue' is empty");
		CHECK_FAILS(peal_queue_pop_burst(c, &word, 8, 1, lengths, 1),
			    PEAL_ETIMEDOUT, "'queue' is empty");
		CHECK_EQ(peal_queue_pop_burst(c, &word, 8, 1, lengths, 0),
			 PEAL_EAGAIN);
		CHECK_EQ(word, mark);
		CHECK_EQ(length, mark);
		CHECK_EQ(lengths[0], mark);
		word = 3;
		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		CHECK_EQ(peal_queue_pop_burst(c, &word, 8, 1, NULL, 1), 1);
		CHECK_EQ(word, 3);
		close_all(q);
	}
}

/*
 * Below `sure` queued messages every push succeeds, for any unused leases and
 * any free slots that are not reported.
 */
static void free_slots_suffice(uint32_t kind, uint32_t producers,
			       uint32_t consumers)
{
	struct peal_queue_options o = of_kind(kind);
	uint64_t words[PEAL_QUEUE_BURST], queued = 0, full = 0, random = 1, i;
	uint64_t sure =
		kind == PEAL_QUEUE_MAILBOX || kind == PEAL_QUEUE_WORK ? 16 : 48;
	struct peal_queue_end *p[4], *c[2];
	struct peal_queue *q;
	int n;

	o.max_producers = producers;
	o.max_consumers = consumers;
	q = make(o);
	for (i = 0; i < producers; i++)
		p[i] = producer(q);
	for (i = 0; i < consumers; i++)
		c[i] = consumer(q);
	for (i = 0; i < 20000; i++) {
		random = random * 6364136223846793005ull +
			 1442695040888963407ull;
		/* by turns more pushes and more pops */
		if ((random >> 62) < (i & 1024 ? 3 : 2)) {
			n = peal_queue_push(p[(random >> 40) % producers], &i,
					    8, 0);
			CHECK(!n || (n == PEAL_EAGAIN && queued >= sure));
			queued += !n;
			full += n && queued < 64;
			continue;
		}
		n = peal_queue_pop_burst(c[(random >> 40) % consumers], words,
					 8, (uint32_t)(random >> 50) % 3 + 1,
					 NULL, 0);
		queued -= n > 0 ? (uint64_t)n : 0;
	}
	CHECK(full); /* some pushes failed although a slot was free */
	close_all(q);
}

PEAL_TEST(guaranteed_free_slots_are_available)
{
	free_slots_suffice(PEAL_QUEUE_LINK, 1, 1);
	free_slots_suffice(PEAL_QUEUE_MAILBOX, 1, 1);
	free_slots_suffice(PEAL_QUEUE_MAILBOX, 4, 1);
	free_slots_suffice(PEAL_QUEUE_WORK, 1, 2);
	free_slots_suffice(PEAL_QUEUE_WORK, 4, 2);
	free_slots_suffice(PEAL_QUEUE_TOPIC, 1, 1);
}

/* A consumer handles its message for a long time. The others continue. */
PEAL_TEST(slow_consumer_stops_no_other_consumer)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK);
	struct peal_queue_end *p, *busy, *c;
	struct peal_queue *q;
	uint64_t word, i;

	o.max_consumers = 2;
	for (o.capacity = 2; o.capacity <= 4096; o.capacity *= 2) {
		q = make(o);
		p = producer(q);
		busy = consumer(q);
		c = consumer(q);
		for (i = 0; i < 5ull * o.capacity; i++) {
			CHECK_OK(peal_queue_push(p, &i, 8, 0));
			CHECK_OK(peal_queue_pop(i % 61 ? c : busy, &word, 8,
						NULL, 0));
			CHECK_EQ(word, i);
		}
		for (i = 0; i < 5ull * o.capacity; i++) {
			CHECK_OK(peal_queue_push(p, &i, 8, 0));
			CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
		}
		close_all(q);
	}
}

static void *push_one(void *argument)
{
	struct peal_queue_end *end = (struct peal_queue_end *)argument;
	uint64_t word = 0;

	CHECK_OK(peal_queue_push(end, &word, 8, MAX_WAIT));
	return NULL;
}

PEAL_TEST(second_pushing_thread_is_detected)
{
	struct peal_queue *q = make(of_kind(PEAL_QUEUE_LINK));
	struct peal_queue_end *p = producer(q), *c = consumer(q);
	uint64_t words[2] = { 0 };
	pthread_t thread;

	if (!PEALI_QUEUE_CHECKED) {
		close_all(q);
		test_leave_out(
			"only builds with assertions or sanitizers look");
	}
	while (!peal_queue_push(p, words, 8, 0))
		;
	CHECK(!pthread_create(&thread, NULL, push_one, p));
	while (!atomic_load(&p->busy))
		test_yield();
	CHECK_FAILS(peal_queue_push(p, words, 8, 0), PEAL_EBUSY,
		    "'queue': another thread is in a call on this end");
	CHECK_FAILS(peal_queue_push_bulk(p, words, 8, 2, 0), PEAL_EBUSY,
		    "another thread");
	while (!peal_queue_pop(c, words, 8, NULL, 0))
		;
	pthread_join(thread, NULL);
	CHECK_OK(peal_queue_push(p, words, 8, 0));
	close_all(q);
}

/* ---- ends that come and go ----------------------------------------------- */

PEAL_TEST(topic_consumer_starts_at_next_message)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_TOPIC);
	struct peal_queue_end *p, *c;
	struct peal_queue *q;
	uint64_t word, i, k;

	for (k = 0; k < 2; k++) {
		o.overwrite = (uint32_t)k;
		q = make(o);
		p = producer(q);
		for (i = 0; i < 200; i++) {
			c = consumer(q);
			CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0),
				 PEAL_EAGAIN);
			word = i;
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
			/* not taken before the close: no consumer gets it */
			word = ~i;
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
			CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
			CHECK_EQ(word, i);
			CHECK_EQ(peal_queue_missed(c), 0);
			CHECK_OK(peal_queue_close(c));
			/* no consumer is open: no consumer gets it */
			CHECK_OK(peal_queue_push(p, &word, 8, 0));
		}
		close_all(q);
	}
}

PEAL_TEST_MAIN(RUN(the_name_is_copied); RUN(null_queue_arguments_return_einval);
	       RUN(slot_capacity_matches_its_policy);
	       RUN(link_accepts_messages_up_to_256_mib);
	       RUN(info_counts_open_ends); RUN(info_reports_memory_bytes);
	       RUN(a_topic_delivers_to_each_consumer);
	       RUN(queues_without_overwrite_miss_no_message);
	       RUN(queued_count_never_exceeds_capacity);
	       RUN(uncounted_taken_messages_are_not_queued);
	       RUN(bulk_above_capacity_is_refused);
	       RUN(bulk_after_last_consumer_closed_is_refused);
	       RUN(timed_out_call_changes_nothing);
	       RUN(guaranteed_free_slots_are_available);
	       RUN(slow_consumer_stops_no_other_consumer);
	       RUN(second_pushing_thread_is_detected);
	       RUN(topic_consumer_starts_at_next_message);)
