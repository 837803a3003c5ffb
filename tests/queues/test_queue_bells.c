/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/work_abandon.h>

#include "front.h"

/*
 * Shows which ends each call of peal/queue.h rings. No thread sleeps: the test
 * marks the bell of an end as asleep. So it can check the ring of every call.
 */

static void doze(struct peal_queue_end *end)
{
	peal_store_relaxed_sys_u32(&end->bell->asleep, 1);
}

/* Returns 1 if the end was rung after doze. The end is then awake. */
static int was_rung(struct peal_queue_end *end)
{
	int asleep = peal_load_relaxed_sys_u32(&end->bell->asleep) != 0;

	peal_store_relaxed_sys_u32(&end->bell->asleep, 0);
	return !asleep;
}

PEAL_TEST(requested_number_of_sleepers_is_rung)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK);
	struct peal_queue_end *c[5];
	struct peal_queue *q;
	uint32_t i, n, rung;

	o.max_consumers = 5;
	q = make(o);
	for (i = 0; i < 5; i++)
		c[i] = consumer(q);
	for (n = 0; n <= 5; n++) {
		for (i = 1; i < 5; i++) /* the first consumer is awake */
			doze(c[i]);
		peali_queue_ring(q, PEAL_QUEUE_CONSUMER, n);
		CHECK(was_rung(c[0]));
		for (i = 1, rung = 0; i < 5; i++)
			rung += (uint32_t)was_rung(c[i]);
		CHECK_EQ(rung, n < 4 ? n : 4);
	}
	close_all(q);
}

PEAL_TEST(push_rings_consumers_and_pop_rings_producers)
{
	uint64_t words[PEAL_QUEUE_BURST] = { 0 };

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		doze(c);
		CHECK_OK(peal_queue_push(p, words, 8, 0));
		CHECK(was_rung(c));
		fill_up(p);
		doze(p);
		CHECK_EQ(peal_queue_pop_burst(c, words, 8, 32, NULL, 0), 32);
		CHECK(was_rung(p));
		close_all(q);
	}
}

/*
 * One taken message is too little for a credit, a block or a cursor. So the
 * consumer reports its slot before it waits. Otherwise no producer would look
 * for this slot.
 */
PEAL_TEST(empty_pop_publishes_free_slots_and_rings)
{
	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);
		uint64_t word = 0;

		CHECK_OK(peal_queue_push(p, &word, 8, 0));
		doze(p);
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
		CHECK(!was_rung(p)); /* the credit comes later */
		doze(p);
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
		CHECK(was_rung(p));
		/* all slots were reported before */
		doze(p);
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
		CHECK(!was_rung(p));
		close_all(q);
	}
}

/* ---- leases -------------------------------------------------------------- */

/*
 * Makes a queue with three producers. The second one leases more than it uses.
 */
static struct peal_queue *leased(uint32_t kind, struct peal_queue_end *p[3])
{
	struct peal_queue_options o = of_kind(kind);
	struct peal_queue *q;
	uint64_t word = 0;
	uint32_t i;

	o.capacity = 256;
	o.max_producers = 3;
	q = make(o);
	for (i = 0; i < 3; i++)
		p[i] = producer(q);
	CHECK_OK(peal_queue_push(p[1], &word, 8, 0));
	return q;
}

static uint64_t granted(const struct peal_queue_end *p)
{
	return p->queue->kind == &peali_queue_work ? p->at.worker.granted :
						     p->at.lease.granted;
}

PEAL_TEST(closing_producer_returns_lease_and_rings)
{
	struct peal_queue_end *p[3];

	for (uint32_t kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK;
	     kind++) {
		struct peal_queue *q = leased(kind, p);

		CHECK(granted(p[1]) > 0);
		doze(p[0]);
		doze(p[2]);
		CHECK_OK(peal_queue_close(p[1]));
		CHECK_EQ(granted(p[1]), 0);
		CHECK(was_rung(p[0]));
		CHECK(was_rung(p[2]));
		close_all(q);
	}
}

PEAL_TEST(refused_producer_returns_lease_and_rings)
{
	uint64_t words[PEAL_QUEUE_BURST] = { 0 };
	struct peal_queue_end *p[3];

	for (uint32_t kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK;
	     kind++) {
		struct peal_queue *q = leased(kind, p);
		uint32_t more = (uint32_t)granted(p[1]) + 1;

		CHECK(more > 1 && more <= q->bulk);
		fill_up(p[0]);
		CHECK_EQ(granted(p[1]), more - 1);
		doze(p[0]);
		doze(p[2]);
		CHECK_EQ(peal_queue_push_bulk(p[1], words, 8, more, 0),
			 PEAL_EAGAIN);
		CHECK_EQ(granted(p[1]), 0);
		CHECK(was_rung(p[0]));
		CHECK(was_rung(p[2]));
		close_all(q);
	}
}

/* Makes a full mailbox. Two producers wait for a lease that they requested. */
static struct peal_queue *asked(struct peal_queue_end *p[4],
				struct peal_queue_end **c_out)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_MAILBOX);
	struct peal_queue *q;
	uint64_t word = 0;
	uint32_t i;

	o.capacity = 16;
	o.max_producers = 4;
	q = make(o);
	*c_out = consumer(q);
	for (i = 0; i < 4; i++)
		p[i] = producer(q);
	fill_up(p[0]);
	for (i = 1; i < 3; i++) {
		CHECK_EQ(peal_queue_push(p[i], &word, 8, 0), PEAL_EAGAIN);
		CHECK(p[i]->at.lease.asked > 0);
	}
	return q;
}

static void free_slots(struct peal_queue_end *c, uint32_t n)
{
	uint64_t word;

	while (n--)
		CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
}

/*
 * p[1] is closed while it waits for a lease. Its request gets slots. A producer
 * without slots returns them for p[1], and rings the producers that sleep.
 */
PEAL_TEST(producer_returns_lease_of_closed_producer)
{
	struct peal_queue_end *p[4], *c;
	struct peal_queue *q = asked(p, &c);
	uint64_t word = 0;

	CHECK_EQ(peal_queue_push(p[0], &word, 8, 0), PEAL_EAGAIN);
	CHECK_OK(peal_queue_close(p[1]));
	CHECK_EQ(atomic_load(&q->owed), 1);
	free_slots(c, 16);
	CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EAGAIN);
	doze(p[3]);
	while (atomic_load(&q->owed)) /* until p[0] has used its own lease */
		CHECK_OK(peal_queue_push(p[0], &word, 8, 0));
	CHECK_EQ(p[1]->at.lease.asked, 0);
	/* an open producer keeps its request */
	CHECK(p[2]->at.lease.asked > 0);
	CHECK(was_rung(p[3]));
	close_all(q);
}

PEAL_TEST(reopened_end_takes_over_its_slot_debt)
{
	struct peal_queue_end *p[4], *c;
	struct peal_queue *q = asked(p, &c);
	uint32_t i;

	for (i = 1; i < 3; i++) {
		CHECK_OK(peal_queue_close(p[i]));
		CHECK_EQ(atomic_load(&q->owed), i);
	}
	for (i = 1; i < 3; i++) {
		CHECK_EQ(producer(q), p[i]);
		CHECK(p[i]->at.lease.asked > 0);
		CHECK_EQ(atomic_load(&q->owed), 2 - i);
	}
	close_all(q);
}

/* ---- claims and leases that are taken back ------------------------------- */

/*
 * A consumer claims too much because its view is old: for a moment the others
 * see no message. It takes the claims back and rings them.
 */
PEAL_TEST(consumer_that_undoes_claims_rings_other_consumers)
{
	uint64_t words[3] = { 7, 8, 9 }, lengths[2];
	struct peal_queue_end *p, *c[3];
	struct peal_queue *q = work_with(3, &p, c);

	CHECK_OK(peal_queue_push_bulk(p, words, 8, 3, 0));
	/* c[0] knows of three messages, but has claimed only one */
	peali_work_learn((struct peal_work *)(void *)q->memory, &c[0]->at.taker,
			 3);
	CHECK_OK(peal_queue_pop(c[0], words, 8, NULL, 0));
	CHECK_OK(peal_queue_pop(c[1], words, 8, NULL, 0));
	doze(c[1]);
	doze(c[2]);
	CHECK_EQ(peal_queue_pop_burst(c[0], words, 8, 2, lengths, 0), 1);
	CHECK_EQ(words[0], 9);
	CHECK(was_rung(c[1]));
	CHECK(was_rung(c[2]));
	close_all(q);
}

PEAL_TEST_MAIN(RUN(requested_number_of_sleepers_is_rung);
	       RUN(push_rings_consumers_and_pop_rings_producers);
	       RUN(empty_pop_publishes_free_slots_and_rings);
	       RUN(closing_producer_returns_lease_and_rings);
	       RUN(refused_producer_returns_lease_and_rings);
	       RUN(producer_returns_lease_of_closed_producer);
	       RUN(reopened_end_takes_over_its_slot_debt);
	       RUN(consumer_that_undoes_claims_rings_other_consumers);)
