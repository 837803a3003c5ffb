/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_FRONT_H
#define TEST_FRONT_H

/* Queues of peal/queue.h for tests, whose calls have to succeed. */

#include "peal_test.h"
#include "queues/queue.h"

#define PATIENCE 10000000000ll

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

#define EACH_KIND(kind)                                                        \
	for (uint32_t kind = PEAL_QUEUE_LINK; kind <= PEAL_QUEUE_TOPIC; kind++)

#endif
