/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "front.h"
#include "identity.h"
#include "proposed.h"
#include "runtime/host_support/idle.h"
#include "yield.h"

/* Shows the queues of peal/queue.h as the threads of a program use them. */

#define MESSAGES IDENTITY_COUNT(200000)

/* ---- choice of the kind -------------------------------------------------- */

static uint32_t kind_for(uint32_t producers, uint32_t consumers)
{
	struct peal_queue_options o = plain;
	struct peal_queue *q;
	uint32_t kind;

	o.max_producers = producers;
	o.max_consumers = consumers;
	q = make(o);
	kind = info(q).kind;
	CHECK_OK(peal_queue_destroy(q));
	return kind;
}

PEAL_TEST(number_of_ends_selects_the_kind)
{
	struct peal_queue *q = NULL;

	CHECK_EQ(kind_for(0, 0), PEAL_QUEUE_LINK);
	CHECK_EQ(kind_for(1, 1), PEAL_QUEUE_LINK);
	CHECK_EQ(kind_for(2, 1), PEAL_QUEUE_MAILBOX);
	CHECK_EQ(kind_for(64, 1), PEAL_QUEUE_MAILBOX);
	CHECK_EQ(kind_for(1, 2), PEAL_QUEUE_WORK);
	CHECK_EQ(kind_for(64, 64), PEAL_QUEUE_WORK);
	CHECK(!strcmp(peal_queue_kind_name(PEAL_QUEUE_LINK), "link"));
	CHECK(!strcmp(peal_queue_kind_name(77), "?"));
	CHECK_OK(peal_queue_create(NULL, &q));
	CHECK_EQ(info(q).capacity, 1024);
	CHECK_EQ(info(q).message_bytes, 48);
	CHECK_OK(peal_queue_destroy(q));
	CHECK_OK(peal_queue_destroy(NULL));
}

#define REFUSED(field, value, code, text)                                      \
	do {                                                                   \
		struct peal_queue_options o_ = plain;                          \
		struct peal_queue *q_ = NULL;                                  \
		o_.field = (value);                                            \
		CHECK_FAILS(peal_queue_create(&o_, &q_), code, text);          \
		CHECK(!q_);                                                    \
	} while (0)

PEAL_TEST(options_out_of_range_are_refused_with_their_value)
{
	struct peal_queue_options o = plain;
	struct peal_queue *q = NULL;

	REFUSED(size, 0, PEAL_EINVAL,
		"'size': is 0, or of a newer version (0, "
		"allowed 8..48)");
	REFUSED(capacity, 3, PEAL_EINVAL,
		"'capacity': must be a power of two "
		"(3, allowed 1..1048576)");
	REFUSED(capacity, 2u << 20, PEAL_EINVAL,
		"'capacity': is out of range "
		"(2097152, allowed 1..1048576)");
	REFUSED(message_bytes, 1ull << 40, PEAL_EINVAL, "1099511627776");
	REFUSED(policy, 9, PEAL_EINVAL, "policy");
	REFUSED(max_producers, 65, PEAL_EINVAL,
		"'max_producers': is out of "
		"range (65, allowed 0..64)");
	REFUSED(max_consumers, 65, PEAL_EINVAL,
		"'max_consumers': is out of "
		"range (65, allowed 0..64)");
	REFUSED(kind, 17, PEAL_EINVAL,
		"'kind': is not of enum peal_queue_kind "
		"(17, allowed 0..4)");
	REFUSED(reserved, 1, PEAL_EINVAL,
		"'reserved': is out of range (1, "
		"allowed 0)");
	REFUSED(overwrite, 1, PEAL_EINVAL,
		"'overwrite': is only for topics, and kind");
	REFUSED(overwrite, 2, PEAL_EINVAL, "'overwrite': is out of range (2");
	o.kind = PEAL_QUEUE_LINK;
	o.max_producers = 2;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL,
		    "'kind': is link, which has too few ends (max_producers 2, "
		    "max_consumers 1, allowed up to 1 and 1)");
	o.kind = PEAL_QUEUE_MAILBOX;
	o.message_bytes = 5000;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL,
		    "'message_bytes': is too large for the slots of a mailbox "
		    "(5000, allowed 0..4080)");
	o.message_bytes = 1ull << 33;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL, "8589934592");
	o.message_bytes = 8;
	o.max_producers = 64;
	o.capacity = 32;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL,
		    "'capacity': is too small for 64 producers (32, allowed "
		    "64..1048576)");
	CHECK_FAILS(peal_queue_create(NULL, NULL), PEAL_EINVAL, "NULL");
	o.kind = PEAL_QUEUE_WORK;
	o.capacity = 64;
	CHECK_FAILS(peal_queue_create(&o, &q), PEAL_EINVAL,
		    "'capacity': is too small for 64 producers (64, allowed "
		    "128..1048576)");
}

/* A queue of the capacity that a refusal proposes can be made. */
PEAL_TEST(proposed_capacities_are_legal)
{
	struct peal_queue_options o = plain;
	struct peal_queue *q = NULL;
	unsigned refused = 0;

	o.kind = PEAL_QUEUE_WORK;
	for (o.max_producers = 1; o.max_producers <= 64; o.max_producers++)
		for (o.capacity = 1; o.capacity <= 64; o.capacity++) {
			uint32_t given = o.capacity;

			if (peal_queue_create(&o, &q)) {
				o.capacity = test_proposed();
				CHECK(o.capacity > given);
				CHECK_OK(peal_queue_create(&o, &q));
				refused++;
			}
			CHECK_OK(peal_queue_destroy(q));
			o.capacity = given;
		}
	CHECK(refused > 1000);
}

PEAL_TEST(open_beyond_declared_ends_returns_ebusy)
{
	struct peal_queue *q = make(plain);
	struct peal_queue_end *p = producer(q), *other = NULL;

	CHECK_FAILS(peal_queue_open(q, PEAL_QUEUE_PRODUCER, &other), PEAL_EBUSY,
		    "a link with 1 producer, and all are open");
	CHECK_FAILS(peal_queue_destroy(q), PEAL_EBUSY, "1 producer and");
	CHECK_OK(peal_queue_close(p));
	p = producer(q);
	CHECK_OK(peal_queue_close(p));
	CHECK_OK(peal_queue_close(NULL));
	CHECK_OK(peal_queue_destroy(q));
}

/* ---- one thread ---------------------------------------------------------- */

PEAL_TEST(queue_delivers_messages_in_order)
{
	uint64_t in[32], out[32], lengths[32], length, i, k;

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		CHECK_EQ(peal_queue_pop(c, out, 8, &length, 0), PEAL_EAGAIN);
		for (i = 0; i < 1000; i++) {
			for (k = 0; k < 32; k++)
				in[k] = i * 32 + k;
			CHECK_OK(peal_queue_push_bulk(p, in, 8, 7, 0));
			CHECK_OK(peal_queue_push(p, in + 7, 8, 0));
			if (kind != PEAL_QUEUE_TOPIC)
				CHECK_EQ(info(q).queued, 8);
			CHECK_EQ(peal_queue_pop_burst(c, out, 8, 32, lengths,
						      0),
				 8);
			for (k = 0; k < 8; k++) {
				CHECK_EQ(out[k], i * 32 + k);
				CHECK_EQ(lengths[k], 8);
			}
		}
		CHECK_OK(peal_queue_push(p, NULL, 0, 0));
		CHECK_OK(peal_queue_pop(c, out, 8, &length, 0));
		CHECK_EQ(length, 0);
		if (kind <= PEAL_QUEUE_MAILBOX) {
			CHECK_OK(peal_queue_push(p, NULL, 0, 0));
			CHECK_OK(peal_queue_pop(c, NULL, 0, &length, 0));
		}
		CHECK_EQ(info(q).accepted,
			 kind <= PEAL_QUEUE_MAILBOX ? 8002 : 8001);
		CHECK_OK(peal_queue_close(p));
		CHECK_EQ(peal_queue_pop(c, out, 8, NULL, -1), PEAL_EEND);
		CHECK_OK(peal_queue_close(c));
		CHECK_OK(peal_queue_destroy(q));
	}
}

/* Returns 1 if the consumer has reported all free slots to the producers. */
static int told_all(const struct peal_queue *q)
{
	const struct peal_queue_end *end = q->side[PEAL_QUEUE_CONSUMER].end;
	const struct peal_link_consumer *c = &end->at.consumer;
	const struct peal_mailbox *m =
		(const struct peal_mailbox *)(const void *)q->memory;

	switch (q->kind->kind) {
	case PEAL_QUEUE_LINK:
		return c->credit_sent == c->head;
	case PEAL_QUEUE_MAILBOX:
		return m->head == m->taken;
	case PEAL_QUEUE_WORK:
		return !end->at.taker.kept;
	default:
		return end->at.subscriber.told == end->at.subscriber.number;
	}
}

PEAL_TEST(full_queue_refuses_push_without_loss)
{
	uint64_t i, k, out, n;

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		for (n = 0; !peal_queue_push(p, &n, 8, 0); n++)
			;
		CHECK(n <= 64 && n >= 32);
		CHECK_EQ(peal_queue_push(p, &n, 8, 0), PEAL_EAGAIN);
		CHECK_FAILS(peal_queue_push(p, &n, 8, 1000000), PEAL_ETIMEDOUT,
			    "'queue' is full");
		CHECK_EQ(info(q).accepted, n);
		for (i = 0; i < n; i++) {
			CHECK_OK(peal_queue_pop(c, &out, 8, NULL, 0));
			CHECK_EQ(out, i);
		}
		CHECK_EQ(peal_queue_pop(c, &out, 8, NULL, 0), PEAL_EAGAIN);
		/* a pop that finds nothing reports all free slots */
		for (k = 0; k < 5; k++)
			CHECK_OK(peal_queue_push(p, &k, 8, 0));
		while (!peal_queue_pop(c, &out, 8, NULL, 0))
			;
		CHECK(told_all(q));
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_close(c));
		CHECK_OK(peal_queue_destroy(q));
	}
}

PEAL_TEST(short_buffer_keeps_the_message)
{
	char in[48] = "a message of forty-eight bytes, more or less...";
	char out[2][48];
	uint64_t length = 0, lengths[2], n;

	EACH_KIND(kind)
	{
		struct peal_queue_options o = of_kind(kind);
		struct peal_queue_end *p, *c;
		struct peal_queue *q;

		o.message_bytes = 48;
		q = make(o);
		p = producer(q);
		c = consumer(q);
		CHECK_OK(peal_queue_push(p, in, 5, 0));
		CHECK_OK(peal_queue_push(p, in, 48, 0));
		/* work queues and topics check the buffer before the message */
		n = kind >= PEAL_QUEUE_WORK ? 48 : 10;
		if (n == 48)
			CHECK_EQ(peal_queue_pop(c, out, 47, &length, 0),
				 PEAL_EMSGSIZE);
		CHECK_EQ(peal_queue_pop_burst(c, out, n, 1, lengths, 0), 1);
		CHECK_EQ(lengths[0], 5);
		CHECK_FAILS(
			peal_queue_pop(c, out, 47, &length, 0), PEAL_EMSGSIZE,
			"'queue': has a message that is "
			"longer than the buffer (47, allowed 48 bytes or more)");
		CHECK_EQ(length, 48);
		CHECK_EQ(peal_queue_pop_burst(c, out, 40, 2, lengths, 0),
			 PEAL_EMSGSIZE);
		CHECK_EQ(lengths[0], 48);
		CHECK_OK(peal_queue_pop(c, out, 48, &length, 0));
		CHECK(!memcmp(in, out, 48));
		CHECK_FAILS(peal_queue_push(p, in, 49, 0), PEAL_EMSGSIZE,
			    "and the message is too long (49 bytes, allowed "
			    "0..48)");
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_close(c));
		CHECK_OK(peal_queue_destroy(q));
	}
}

PEAL_TEST(bulk_beyond_the_lease_limit_is_refused)
{
	uint64_t words[32] = { 0 };
	uint32_t kind;

	for (kind = PEAL_QUEUE_MAILBOX; kind <= PEAL_QUEUE_WORK; kind++) {
		struct peal_queue_options o = of_kind(kind);
		struct peal_queue_end *p;
		struct peal_queue *q;

		o.max_producers = 2;
		q = make(o);
		p = producer(q);
		CHECK_OK(peal_queue_push_bulk(p, words, 8, 16, 0));
		CHECK_FAILS(peal_queue_push_bulk(p, words, 8, 17, -1),
			    PEAL_EMSGSIZE, "at a time");
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_destroy(q));
	}
}

PEAL_TEST(invalid_ends_and_counts_are_refused)
{
	struct peal_queue *q = make(plain);
	struct peal_queue_end *p = producer(q), *c = consumer(q);
	uint64_t word = 0;

	CHECK_FAILS(peal_queue_push(c, &word, 8, 0), PEAL_EINVAL,
		    "is for a consumer");
	CHECK_FAILS(peal_queue_pop(p, &word, 8, NULL, 0), PEAL_EINVAL,
		    "is for a producer");
	CHECK_FAILS(peal_queue_push(p, NULL, 8, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_queue_push(NULL, &word, 8, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_queue_pop(c, NULL, 8, NULL, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_queue_push_bulk(p, &word, 8, 0, 0), PEAL_EINVAL,
		    "'n': is out of range (0, allowed 1..32)");
	CHECK_FAILS(peal_queue_push_bulk(p, &word, 8, 33, 0), PEAL_EINVAL,
		    "'n': is out of range (33, allowed 1..32)");
	CHECK_FAILS(
		peal_queue_open(q, (enum peal_queue_role)2, &p), PEAL_EINVAL,
		"argument 'role': is out of range (2, allowed 0..1); use 1");
	CHECK_FAILS(peal_queue_info(q, NULL), PEAL_EINVAL, "NULL");
	CHECK_EQ(info(q).accepted, 0);
	CHECK_OK(peal_queue_close(p));
	CHECK_OK(peal_queue_close(c));
	CHECK_OK(peal_queue_destroy(q));
}

PEAL_TEST(large_messages_use_a_link)
{
	struct peal_queue_options o = plain;
	static uint8_t in[100000], out[100000];
	struct peal_queue_end *p, *c;
	struct peal_queue *q;
	uint64_t i, length;

	o.message_bytes = sizeof(in);
	o.capacity = 16;
	q = make(o);
	p = producer(q);
	c = consumer(q);
	for (i = 0; i < 50; i++) {
		memset(in, (int)i, sizeof(in));
		CHECK_OK(peal_queue_push(p, in, sizeof(in) - i, 0));
		CHECK_OK(peal_queue_pop(c, out, sizeof(out), &length, 0));
		CHECK_EQ(length, sizeof(in) - i);
		CHECK(!memcmp(in, out, length));
	}
	CHECK_OK(peal_queue_close(p));
	CHECK_OK(peal_queue_close(c));
	CHECK_OK(peal_queue_destroy(q));
}

PEAL_TEST(reopened_end_continues_at_old_position)
{
	uint64_t i, out, next;

	EACH_KIND(kind)
	{
		if (kind == PEAL_QUEUE_TOPIC)
			break;
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p, *c;

		for (i = 0; i < 500; i++) {
			p = producer(q);
			c = consumer(q);
			next = 2 * i;
			CHECK_OK(peal_queue_push(p, &next, 8, 0));
			CHECK_OK(peal_queue_close(p));
			p = producer(q);
			next = 2 * i + 1;
			CHECK_OK(peal_queue_push(p, &next, 8, 0));
			CHECK_OK(peal_queue_pop(c, &out, 8, NULL, 0));
			CHECK_EQ(out, 2 * i);
			CHECK_OK(peal_queue_close(c));
			c = consumer(q);
			CHECK_OK(peal_queue_pop(c, &out, 8, NULL, 0));
			CHECK_EQ(out, 2 * i + 1);
			CHECK_EQ(peal_queue_pop(c, &out, 8, NULL, 0),
				 PEAL_EAGAIN);
			CHECK_OK(peal_queue_close(p));
			CHECK_EQ(peal_queue_pop(c, &out, 8, NULL, 0),
				 PEAL_EEND);
			CHECK_OK(peal_queue_close(c));
		}
		p = producer(q);
		CHECK_FAILS(peal_queue_push(p, &i, 8, 0), PEAL_EPIPE,
			    "every consumer of 'queue' is closed");
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_destroy(q));
	}
}

/* ---- several threads ----------------------------------------------------- */

struct sender {
	struct peal_queue_end *end;
	uint32_t number;
	pthread_t thread;
};

/* Sends bursts of all lengths, some of one message. */
static void *send_all(void *argument)
{
	struct sender *s = (struct sender *)argument;
	struct identity_message m[PEAL_QUEUE_BURST];
	uint64_t sent = 0;

	while (sent < MESSAGES) {
		uint32_t n = (uint32_t)(sent % 17 + 1), i;

		if (n > MESSAGES - sent)
			n = (uint32_t)(MESSAGES - sent);
		for (i = 0; i < n; i++)
			m[i] = identity_make(s->number, sent + i);
		if (n == 1)
			CHECK_OK(peal_queue_push(s->end, m, sizeof(*m), -1));
		else
			CHECK_OK(peal_queue_push_bulk(s->end, m, sizeof(*m), n,
						      MAX_WAIT));
		sent += n;
	}
	CHECK_OK(peal_queue_close(s->end));
	return NULL;
}

struct taker {
	struct peal_queue *q;
	struct peal_queue_end *end;
	struct identity id;
	pthread_t thread;
};

static void *take_all(void *argument)
{
	struct taker *t = (struct taker *)argument;
	struct identity_message m[PEAL_QUEUE_BURST];
	uint64_t lengths[PEAL_QUEUE_BURST];
	uint32_t burst = 1;
	int n, k;

	for (;;) {
		n = peal_queue_pop_burst(t->end, m, sizeof(*m), burst, lengths,
					 -1);
		if (n < 0)
			break;
		for (k = 0; k < n; k++)
			identity_tick(&t->id, &m[k], lengths[k] == sizeof(*m));
		burst = burst % PEAL_QUEUE_BURST + 1;
		if (t->id.received % 4096 == 0)
			info(t->q);
	}
	CHECK_EQ(n, PEAL_EEND);
	return NULL;
}

/* Adds the records of all takers to the first record. */
static void gather(struct taker *t, uint32_t n, uint64_t messages)
{
	struct identity *all = &t[0].id;
	uint32_t i;
	uint64_t k;

	for (i = 1; i < n; i++) {
		for (k = 0; k < messages; k++) {
			all->doubled += all->seen[k] & t[i].id.seen[k];
			all->seen[k] |= t[i].id.seen[k];
		}
		all->received += t[i].id.received;
		all->corrupt += t[i].id.corrupt;
		all->doubled += t[i].id.doubled;
		all->reordered += t[i].id.reordered;
		free(t[i].id.seen);
	}
}

static void stress(struct peal_queue_options o)
{
	uint64_t accepted[4] = { MESSAGES, MESSAGES, MESSAGES, MESSAGES };
	struct peal_queue *q = make(o);
	struct taker t[4];
	struct sender s[4];
	uint32_t i;

	for (i = 0; i < o.max_producers; i++) {
		s[i].end = producer(q);
		s[i].number = i;
	}
	for (i = 0; i < o.max_consumers; i++) {
		t[i].q = q;
		t[i].end = consumer(q);
		identity_begin(&t[i].id, o.max_producers, MESSAGES);
	}
	for (i = 0; i < o.max_consumers; i++)
		CHECK(!pthread_create(&t[i].thread, NULL, take_all, &t[i]));
	for (i = 0; i < o.max_producers; i++)
		CHECK(!pthread_create(&s[i].thread, NULL, send_all, &s[i]));
	for (i = 0; i < o.max_producers; i++)
		pthread_join(s[i].thread, NULL);
	for (i = 0; i < o.max_consumers; i++)
		pthread_join(t[i].thread, NULL);
	CHECK_EQ(info(q).accepted, o.max_producers * MESSAGES);
	CHECK_EQ(info(q).queued, 0);
	if (o.kind != PEAL_QUEUE_TOPIC) {
		gather(t, o.max_consumers, o.max_producers * MESSAGES);
		o.max_consumers = 1;
	}
	for (i = 0; i < o.max_consumers; i++) {
		CHECK_EQ(t[i].id.received, o.max_producers * MESSAGES);
		CHECK(identity_end(&t[i].id, accepted));
	}
	for (i = 0; t[i].end && i < q->options.max_consumers; i++)
		CHECK_OK(peal_queue_close(t[i].end));
	CHECK_OK(peal_queue_destroy(q));
}

PEAL_TEST(concurrent_threads_keep_order_without_loss)
{
	/* kind, producers, consumers, capacity */
	static const uint32_t shapes[][4] = {
		{ PEAL_QUEUE_LINK, 1, 1, 64 },
		{ PEAL_QUEUE_MAILBOX, 3, 1, 1024 },
		{ PEAL_QUEUE_WORK, 2, 3, 1024 },
		{ PEAL_QUEUE_TOPIC, 1, 3, 64 },
	};
	struct peal_queue_options o = plain;
	uint32_t policy, i;

	o.message_bytes = sizeof(struct identity_message);
	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++)
		for (i = 0; i < 4; i++) {
			o.policy = policy;
			o.kind = shapes[i][0];
			o.max_producers = shapes[i][1];
			o.max_consumers = shapes[i][2];
			o.capacity = shapes[i][3];
			stress(o);
		}
}

PEAL_TEST(overwriting_topic_reports_missed_messages)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_TOPIC);
	struct peal_queue_end *p, *fast, *slow;
	uint64_t i, out = 0, got = 0;
	struct peal_queue *q;

	o.overwrite = 1;
	o.max_consumers = 2;
	q = make(o);
	p = producer(q);
	CHECK_OK(peal_queue_push(p, &out, 8, 0)); /* no consumer is open */
	fast = consumer(q);
	slow = consumer(q);
	for (i = 1; i <= 1000; i++) {
		CHECK_OK(peal_queue_push(p, &i, 8, 0));
		CHECK_OK(peal_queue_pop(fast, &out, 8, NULL, 0));
		CHECK_EQ(out, i);
	}
	CHECK_EQ(peal_queue_missed(fast), 0);
	CHECK_OK(peal_queue_close(p));
	while (!peal_queue_pop(slow, &out, 8, NULL, 0))
		got++;
	CHECK_EQ(peal_queue_pop(slow, &out, 8, NULL, 0), PEAL_EEND);
	CHECK_EQ(out, 1000);
	CHECK(got > 0 && got <= 64);
	CHECK_EQ(peal_queue_missed(slow), 1000 - got);
	CHECK_EQ(peal_queue_missed(NULL), 0);
	CHECK_OK(peal_queue_close(fast));
	CHECK_OK(peal_queue_close(slow));
	CHECK_OK(peal_queue_destroy(q));
}

/* A consumer claims messages and closes. The other consumer gets them. */
PEAL_TEST(closing_consumer_releases_its_claims)
{
	struct peal_queue_options o = of_kind(PEAL_QUEUE_WORK);
	struct peal_queue_end *p, *c[2];
	uint64_t out[32], i, k;
	struct peal_queue *q;
	int n;

	o.max_consumers = 2;
	q = make(o);
	p = producer(q);
	for (i = 0; i < 300; i++) {
		c[0] = consumer(q);
		c[1] = consumer(q);
		for (k = 0; k < 20; k++)
			CHECK_OK(peal_queue_push(p, &k, 8, 0));
		n = peal_queue_pop_burst(c[0], out, 8, 1 + i % 32, NULL, 0);
		CHECK(n > 0);
		CHECK_OK(peal_queue_close(c[0]));
		while (n < 20)
			n += peal_queue_pop_burst(c[1], out, 8, 32, NULL,
						  MAX_WAIT);
		CHECK_EQ(n, 20);
		CHECK_OK(peal_queue_close(c[1]));
	}
	CHECK_OK(peal_queue_close(p));
	CHECK_OK(peal_queue_destroy(q));
}

/* ---- sleep and wake ------------------------------------------------------ */

#define ROUNDS 20 /* in at least one round the waiter is still asleep */

/* An end, and the end of the other side that waits for it. */
struct later {
	struct peal_queue_end *end, *waits;
};

static void await_sleep(const struct later *l)
{
	while (!peal_load_relaxed_sys_u32(&l->waits->bell->asleep))
		test_yield();
}

static void *push_later(void *argument)
{
	const struct later *l = (const struct later *)argument;
	uint64_t word = 7;

	await_sleep(l);
	CHECK_OK(peal_queue_push(l->end, &word, 8, 0));
	return NULL;
}

static void *pop_later(void *argument)
{
	const struct later *l = (const struct later *)argument;
	uint64_t word;

	await_sleep(l);
	while (!peal_queue_pop(l->end, &word, 8, NULL, 0))
		;
	return NULL;
}

static uint64_t wakes(void)
{
	struct peali_wait_counts counts;

	peali_wait_counts(&counts);
	return counts.wakes;
}

/* Fills the queue. Then waits for a slot that the other thread frees. */
static void push_until_woken(struct peal_queue_end *p, struct peal_queue_end *c)
{
	uint64_t word = 0, before = wakes();
	struct later later = { c, p };
	pthread_t thread;
	int round;

	for (round = 0; round < ROUNDS && wakes() == before; round++) {
		while (!peal_queue_push(p, &word, 8, 0))
			;
		before = wakes();
		CHECK(!pthread_create(&thread, NULL, pop_later, &later));
		CHECK_OK(peal_queue_push(p, &word, 8, MAX_WAIT));
		pthread_join(thread, NULL);
	}
	CHECK(round < ROUNDS || wakes() != before);
	while (!peal_queue_pop(c, &word, 8, NULL, 0))
		;
}

PEAL_TEST(waiting_end_sleeps_and_is_woken)
{
	uint64_t word = 0, before;
	pthread_t thread;
	int round;

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);
		struct later later = { p, c };

		before = wakes();
		for (round = 0; round < ROUNDS && wakes() == before; round++) {
			CHECK(!pthread_create(&thread, NULL, push_later,
					      &later));
			CHECK_OK(peal_queue_pop(c, &word, 8, NULL, MAX_WAIT));
			CHECK_EQ(word, 7);
			pthread_join(thread, NULL);
		}
		CHECK(wakes() != before);
		push_until_woken(p, c);
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_close(c));
		CHECK_OK(peal_queue_destroy(q));
	}
}

static void *close_later(void *argument)
{
	usleep(100000);
	CHECK_OK(peal_queue_close((struct peal_queue_end *)argument));
	return NULL;
}

PEAL_TEST(waiting_end_returns_when_other_side_closes)
{
	uint64_t word = 0;
	pthread_t thread;

	EACH_KIND(kind)
	{
		struct peal_queue *q = make(of_kind(kind));
		struct peal_queue_end *p = producer(q), *c = consumer(q);

		CHECK(!pthread_create(&thread, NULL, close_later, p));
		CHECK_EQ(peal_queue_pop(c, &word, 8, NULL, -1), PEAL_EEND);
		pthread_join(thread, NULL);
		p = producer(q);
		while (!peal_queue_push(p, &word, 8, 0))
			;
		CHECK(!pthread_create(&thread, NULL, close_later, c));
		/* without a consumer a topic is never full */
		CHECK_EQ(peal_queue_push(p, &word, 8, -1),
			 kind == PEAL_QUEUE_TOPIC ? 0 : PEAL_EPIPE);
		pthread_join(thread, NULL);
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_destroy(q));
	}
}

/* ---- two threads on one end ---------------------------------------------- */

static void *wait_for_one(void *argument)
{
	struct peal_queue_end *end = (struct peal_queue_end *)argument;
	uint64_t word;

	CHECK_OK(peal_queue_pop(end, &word, 8, NULL, MAX_WAIT));
	return NULL;
}

PEAL_TEST(second_thread_on_an_end_is_detected)
{
	struct peal_queue *q = make(plain);
	struct peal_queue_end *p = producer(q), *c = consumer(q);
	pthread_t thread;
	uint64_t word = 0;

	if (!PEALI_QUEUE_CHECKED) {
		CHECK_OK(peal_queue_close(p));
		CHECK_OK(peal_queue_close(c));
		CHECK_OK(peal_queue_destroy(q));
		test_leave_out(
			"only builds with assertions or sanitizers look");
	}
	CHECK(!pthread_create(&thread, NULL, wait_for_one, c));
	while (!atomic_load(&c->busy))
		test_yield();
	CHECK_FAILS(peal_queue_pop(c, &word, 8, NULL, 0), PEAL_EBUSY,
		    "another thread");
	CHECK_OK(peal_queue_push(p, &word, 8, 0));
	pthread_join(thread, NULL);
	CHECK_OK(peal_queue_push(p, &word, 8, 0));
	CHECK_OK(peal_queue_pop(c, &word, 8, NULL, 0));
	CHECK_OK(peal_queue_close(p));
	CHECK_OK(peal_queue_close(c));
	CHECK_OK(peal_queue_destroy(q));
}

PEAL_TEST_MAIN(RUN(number_of_ends_selects_the_kind);
	       RUN(options_out_of_range_are_refused_with_their_value);
	       RUN(proposed_capacities_are_legal);
	       RUN(open_beyond_declared_ends_returns_ebusy);
	       RUN(queue_delivers_messages_in_order);
	       RUN(full_queue_refuses_push_without_loss);
	       RUN(short_buffer_keeps_the_message);
	       RUN(bulk_beyond_the_lease_limit_is_refused);
	       RUN(invalid_ends_and_counts_are_refused);
	       RUN(large_messages_use_a_link);
	       RUN(reopened_end_continues_at_old_position);
	       RUN(concurrent_threads_keep_order_without_loss);
	       RUN(overwriting_topic_reports_missed_messages);
	       RUN(closing_consumer_releases_its_claims);
	       RUN(waiting_end_sleeps_and_is_woken);
	       RUN(waiting_end_returns_when_other_side_closes);
	       RUN(second_thread_on_an_end_is_detected);)
