/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_FRONT_H
#define TEST_FRONT_H

/* Helpers for tests of peal/queue.h. A call that fails ends the test. */

#include "peal_test.h"
#include "queues/queue.h"

#define MAX_WAIT 10000000000ll

static const struct peal_queue_options plain = { .size = sizeof(plain) };

static inline struct peal_queue *make(struct peal_queue_options o)
{
	struct peal_queue *q = NULL;

	o.size = sizeof(o);
	CHECK_OK(peal_queue_create(&o, &q));
	return q;
}

static inline struct peal_queue_end *open_end(struct peal_queue *q,
					      enum peal_queue_role role)
{
	struct peal_queue_end *end = NULL;

	CHECK_OK(peal_queue_open(q, role, &end));
	return end;
}

static inline struct peal_queue_end *producer(struct peal_queue *q)
{
	return open_end(q, PEAL_QUEUE_PRODUCER);
}

static inline struct peal_queue_end *consumer(struct peal_queue *q)
{
	return open_end(q, PEAL_QUEUE_CONSUMER);
}

static inline struct peal_queue_info info(struct peal_queue *q)
{
	struct peal_queue_info i;

	CHECK_OK(peal_queue_info(q, &i));
	if (i.kind != PEAL_QUEUE_TOPIC)
		CHECK_EQ(i.accepted, i.delivered + i.queued);
	CHECK(i.queued <= i.capacity);
	return i;
}

static inline struct peal_queue_options of_kind(uint32_t kind)
{
	struct peal_queue_options o = plain;

	o.kind = kind;
	o.capacity = 64;
	o.message_bytes = 8;
	return o;
}

/* Makes a work queue with one producer and n consumers. */
static inline struct peal_queue *
work_with(uint32_t n, struct peal_queue_end **p, struct peal_queue_end **c)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK);
	struct peal_queue *q;
	uint32_t i;

	o.max_consumers = n;
	q = make(o);
	*p = producer(q);
	for (i = 0; i < n; i++)
		c[i] = consumer(q);
	return q;
}

static inline void close_ends(struct peal_queue *q)
{
	uint32_t role, i;

	for (role = 0; role < 2; role++)
		for (i = 0; i < q->side[role].most; i++)
			if (q->side[role].end[i].open)
				CHECK_OK(peal_queue_close(
					&q->side[role].end[i]));
}

static inline void close_all(struct peal_queue *q)
{
	close_ends(q);
	CHECK_OK(peal_queue_destroy(q));
}

/* Pushes until the queue is full. Returns the number of messages. */
static inline uint64_t fill_up(struct peal_queue_end *p)
{
	uint64_t n = 0;

	while (!peal_queue_push(p, &n, 8, 0))
		n++;
	return n;
}

static inline void *pop_all(void *argument)
{
	struct peal_queue_end *end = (struct peal_queue_end *)argument;
	uint64_t words[PEAL_QUEUE_BURST];
	int n;

	do
		n = peal_queue_pop_burst(end, words, 8, PEAL_QUEUE_BURST, NULL,
					 -1);
	while (n > 0);
	CHECK_EQ(n, PEAL_EEND);
	return NULL;
}

#define EACH_KIND(kind)                                                        \
	for (uint32_t kind = PEAL_QUEUE_LINK; kind <= PEAL_QUEUE_TOPIC; kind++)

#endif
