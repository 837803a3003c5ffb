/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/typed_queue.h>
#include <peal/typed_queue.h>

#include "front.h"
#include "link_pair.h"
#include "queues/mailbox.h"
#include "queues/topic.h"
#include "queues/work.h"

/*
 * Shows the typed calls of each kind of queue. test_typed_compiles.sh checks
 * the code that must not compile.
 */

struct task {
	uint64_t first, n;
	uint32_t color;
};

struct wide {
	uint8_t bytes[5000];
};

PEAL_TYPED_DEVICE_QUEUE(task, struct task, 48)
PEAL_TYPED_DEVICE_QUEUE(number, uint64_t, 48)

PEAL_TYPED_QUEUE(task, struct task)
PEAL_TYPED_QUEUE(number, uint64_t)
PEAL_TYPED_QUEUE(wide, struct wide)

/* Types with the names of the macros' parameters. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
typedef struct task items, items_out;
PEAL_TYPED_DEVICE_QUEUE(hidden_in, items, 48)
PEAL_TYPED_DEVICE_QUEUE(hidden_out, items_out, 48)
PEAL_TYPED_QUEUE(hidden_in, items)
PEAL_TYPED_QUEUE(hidden_out, items_out)
#pragma GCC diagnostic pop

static const struct peal_header header = { 1, 2, 3 };

static void fill(struct task *t, uint64_t n)
{
	uint64_t i;

	memset(t, 0, n * sizeof(*t));
	for (i = 0; i < n; i++) {
		t[i].first = i;
		t[i].n = ~i;
		t[i].color = (uint32_t)i * 3;
	}
}

static void same(const struct task *a, const struct task *b, uint64_t n)
{
	CHECK(!memcmp(a, b, n * sizeof(*a)));
}

PEAL_TEST(typed_link_delivers_values)
{
	struct task in[8], out[8];
	struct peal_message m;
	struct link_pair l;
	uint64_t number = 7;

	fill(in, 8);
	EACH_POLICY(policy)
	{
		struct peali_ring_spec spec;

		memset(&spec, 0, sizeof(spec));
		spec.capacity = 16;
		spec.message_bytes = sizeof(struct task);
		spec.policy = policy;
		link_pair_open(&l, spec);
		CHECK_EQ(task_link_pop(&l.c, out, &m), PEAL_EAGAIN);
		CHECK_EQ(task_link_push(&l.p, header, in), 0);
		CHECK_EQ(task_link_push_bulk(&l.p, header, in + 1, 7), 0);
		CHECK_EQ(task_link_pop(&l.c, out, &m), 0);
		CHECK_EQ(m.header.type, 2);
		CHECK_EQ(task_link_pop_burst(&l.c, out + 1, 8), 7);
		same(in, out, 8);
		/* a message of another type stays */
		CHECK_EQ(number_link_push(&l.p, header, &number), 0);
		CHECK_EQ(task_link_pop(&l.c, out, &m), PEAL_EMSGSIZE);
		CHECK_EQ(task_link_pop_burst(&l.c, out, 8), PEAL_EMSGSIZE);
		number = 0;
		CHECK_EQ(number_link_pop(&l.c, &number, &m), 0);
		CHECK_EQ(number, 7);
		CHECK_EQ(peal_link_push_mark(&l.p, PEAL_KIND_END), 0);
		CHECK_EQ(task_link_pop_burst(&l.c, out, 8), 0);
		CHECK_EQ(task_link_pop(&l.c, out, &m), PEAL_EEND);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(type_may_be_named_like_a_parameter)
{
	struct peali_ring_spec spec;
	struct task in[8], out[8];
	struct link_pair l;

	fill(in, 8);
	memset(&spec, 0, sizeof(spec));
	spec.capacity = 16;
	spec.message_bytes = sizeof(struct task);
	link_pair_open(&l, spec);
	CHECK_EQ(hidden_in_link_push_bulk(&l.p, header, in, 8), 0);
	CHECK_EQ(hidden_out_link_pop_burst(&l.c, out, 8), 8);
	same(in, out, 8);
	link_pair_close(&l);
}

PEAL_TEST(typed_mailbox_delivers_values)
{
	struct peal_mailbox_lease lease = { 0, 0, 0, 0 };
	struct peal_header got;
	struct task in, out;
	uint64_t number = 7;

	fill(&in, 1);
	EACH_POLICY(policy)
	{
		struct peali_mailbox_spec spec = {
			4, sizeof(struct task), 1, 1, 0, 0, policy
		};
		struct peal_mailbox *m;

		memset(&lease, 0, sizeof(lease));
		CHECK_OK(peali_mailbox_spec_complete(
			&spec, 14, PEAL_POLICY_SEQUENCE, "test"));
		m = (struct peal_mailbox *)link_memory(
			peali_mailbox_bytes(&spec));
		peali_mailbox_header(m, &spec);
		CHECK_EQ(task_mailbox_take(m, &out, &got), PEAL_EAGAIN);
		CHECK_EQ(task_mailbox_put(m, &lease, header, &in), 0);
		CHECK_EQ(number_mailbox_take(m, &number, &got), PEAL_EMSGSIZE);
		CHECK_EQ(task_mailbox_take(m, &out, &got), 0);
		CHECK_EQ(got.flags, 3);
		same(&in, &out, 1);
		free(m);
	}
}

/* Takes a ticket, and dies. */
static void vanish(struct peal_mailbox *m, struct peal_mailbox_lease *lease)
{
	while (!peal_mailbox_admit(m, lease, 1))
		peal_mailbox_flush(m);
	lease->granted--;
	peali_mailbox_ticket(m, 1);
}

static void give_up(uint32_t policy)
{
	struct peali_mailbox_spec spec = {
		8, sizeof(struct task), 1, 1, 0, 0, policy
	};
	struct peal_mailbox_lease lease = { 0, 0, 0, 0 };
	struct peal_mailbox *m;
	struct peal_header got;
	struct task in, out;
	uint32_t i, k;

	fill(&in, 1);
	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(m, &spec);
	for (i = 0; i < 10; i++) { /* more than one lap */
		vanish(m, &lease);
		vanish(m, &lease);
		while (task_mailbox_put(m, &lease, header, &in))
			peal_mailbox_flush(m);
		for (k = 0; k < 2; k++) {
			CHECK_EQ(task_mailbox_take(m, &out, &got), PEAL_EAGAIN);
			CHECK(peal_mailbox_abandon(m, m->ticket));
		}
		CHECK_EQ(task_mailbox_take(m, &out, &got), 0);
		CHECK_EQ(got.flags, 3);
		same(&in, &out, 1);
		vanish(m, &lease);
		CHECK(peal_mailbox_abandon(m, m->ticket));
		CHECK_EQ(task_mailbox_take(m, &out, &got), PEAL_EAGAIN);
		CHECK_EQ(m->taken, m->ticket);
	}
	free(m);
}

PEAL_TEST(typed_mailbox_skips_abandoned_slots)
{
	EACH_POLICY(policy)
	give_up(policy);
}

static void work(uint32_t policy)
{
	struct peali_work_spec spec = {
		16, sizeof(struct task), 1, 8, 0, 0, 0, policy
	};
	struct peal_work_set *set;
	struct peal_work_producer p;
	struct peal_work_member m;
	struct peal_work_received got[8];
	struct task in[8], out[8];
	struct peal_work *q;
	uint8_t stage[128];
	uint64_t number = 7;

	fill(in, 8);
	CHECK_OK(peali_work_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					  "test"));
	set = (struct peal_work_set *)link_memory(
		peali_work_set_bytes(&spec, 1));
	peali_work_set_header(set, &spec, 1);
	q = peal_work_set_shard(set, 0);
	peali_work_header(q, &spec);
	peal_work_producer_init(q, &p);
	peal_work_member_init(&m, set, 0, stage);
	CHECK_EQ(task_work_push(q, &p, header, in), 0);
	CHECK_EQ(task_work_push_bulk(q, &p, header, in + 1, 7), 0);
	CHECK_EQ(number_work_push(q, &p, header, &number), PEAL_EMSGSIZE);
	CHECK_EQ(number_work_pop(q, &m.mine, &number, got), PEAL_EMSGSIZE);
	CHECK_EQ(number_work_set_pop_burst(&m, &number, 1, got), PEAL_EMSGSIZE);
	CHECK_EQ(task_work_pop(q, &m.mine, out, got), 1);
	CHECK_EQ(task_work_pop_burst(q, &m.mine, out + 1, 3, got), 3);
	CHECK_EQ(task_work_set_pop_burst(&m, out + 4, 8, got), 4);
	CHECK_EQ(task_work_set_pop_burst(&m, out, 8, got), PEAL_EAGAIN);
	same(in, out, 8);
	free(set);
}

PEAL_TEST(typed_work_queue_delivers_values)
{
	EACH_POLICY(policy)
	work(policy);
}

PEAL_TEST(typed_topic_delivers_values)
{
	struct peal_topic_publisher p;
	struct peal_topic_subscriber s;
	struct peal_topic_received got[8];
	struct task in[8], out[8];
	uint8_t stage[128];
	uint64_t number = 7;

	fill(in, 8);
	EACH_POLICY(policy)
	{
		struct peali_topic_spec spec = { 16, sizeof(struct task),
						 1,  0,
						 0,  policy };
		struct peal_topic *t;

		CHECK_OK(peali_topic_spec_complete(
			&spec, 14, PEAL_POLICY_SEQUENCE, "test"));
		t = (struct peal_topic *)link_memory(peali_topic_bytes(&spec));
		peali_topic_header(t, &spec);
		peal_topic_publisher_init(t, &p);
		CHECK_EQ(peal_topic_join(t, &s, 0, 0, stage), 0);
		CHECK_EQ(task_topic_publish(t, &p, header, in), 0);
		CHECK_EQ(task_topic_publish_bulk(t, &p, header, in + 1, 7), 0);
		CHECK_EQ(number_topic_publish(t, &p, header, &number),
			 PEAL_EMSGSIZE);
		CHECK_EQ(number_topic_take(t, &s, &number, got), PEAL_EMSGSIZE);
		CHECK_EQ(task_topic_take(t, &s, out, got), 1);
		CHECK_EQ(task_topic_take_burst(t, &s, out + 1, 8, got), 7);
		same(in, out, 8);
		free(t);
	}
}

/* ---- among threads ------------------------------------------------------- */

struct task_ends {
	struct task_queue q;
	struct task_producer p;
	struct task_consumer c;
};

static struct task_ends task_ends(uint32_t kind)
{
	struct peal_queue_options o = of_kind(kind);
	struct task_ends e;

	o.message_bytes = 0;
	CHECK_OK(task_queue_create(&o, &e.q));
	CHECK_EQ(info(e.q.queue).message_bytes, sizeof(struct task));
	CHECK_OK(task_queue_open_producer(e.q, &e.p));
	CHECK_OK(task_queue_open_consumer(e.q, &e.c));
	return e;
}

static void task_end(struct task_ends *e)
{
	struct task out;

	CHECK_OK(peal_queue_close(e->p.end));
	CHECK_EQ(task_queue_pop(e->c, &out, -1), PEAL_EEND);
	CHECK_OK(peal_queue_close(e->c.end));
	CHECK_OK(peal_queue_destroy(e->q.queue));
}

PEAL_TEST(typed_thread_queue_delivers_values)
{
	struct task in[8], out[8];

	fill(in, 8);
	EACH_KIND(kind)
	{
		struct task_ends e = task_ends(kind);

		CHECK_EQ(task_queue_pop(e.c, out, 0), PEAL_EAGAIN);
		CHECK_EQ(task_queue_pop_burst(e.c, out, 8, 0), PEAL_EAGAIN);
		memset(out, 0xee, sizeof(out));
		CHECK_OK(task_queue_push(e.p, in, 0));
		CHECK_OK(task_queue_push_bulk(e.p, in + 1, 7, 0));
		CHECK_EQ(task_queue_pop(e.c, out, 0), 0);
		CHECK_EQ(task_queue_pop_burst(e.c, out + 1, 7, 0), 7);
		same(in, out, 8);
		CHECK_EQ(info(e.q.queue).accepted, 8);
		CHECK_EQ(info(e.q.queue).delivered, 8);
		task_end(&e);
	}
}

PEAL_TEST(queue_type_may_be_named_like_a_parameter)
{
	struct hidden_out_queue out_of;
	struct hidden_out_consumer c;
	struct hidden_in_producer p;
	struct hidden_in_queue q;
	struct task in[8], out[8];

	fill(in, 8);
	CHECK_OK(hidden_in_queue_create(NULL, &q));
	CHECK_OK(hidden_in_queue_open_producer(q, &p));
	CHECK_OK(hidden_in_queue_push_bulk(p, in, 8, 0));
	out_of.queue = q.queue; /* messages of equal length */
	CHECK_OK(hidden_out_queue_open_consumer(out_of, &c));
	CHECK_EQ(hidden_out_queue_pop_burst(c, out, 8, 0), 8);
	same(in, out, 8);
	CHECK_OK(peal_queue_close(p.end));
	CHECK_OK(peal_queue_close(c.end));
	CHECK_OK(peal_queue_destroy(q.queue));
}

PEAL_TEST(typed_thread_queue_refuses_other_lengths)
{
	struct task in[4], out;
	uint64_t bytes;

	fill(in, 4);
	EACH_KIND(kind)
	{
		struct task_ends e = task_ends(kind);

		for (bytes = 0; bytes < 2 * sizeof(*in); bytes++) {
			if (bytes == sizeof(*in))
				continue;
			CHECK_FAILS(peal_queue_push(e.p.end, in, bytes, 0),
				    PEAL_EMSGSIZE,
				    "the message is of another length (");
			CHECK_FAILS(peal_queue_push_bulk(e.p.end, in, bytes, 2,
							 0),
				    PEAL_EMSGSIZE,
				    "the message is of another length (");
		}
		CHECK_EQ(info(e.q.queue).accepted, 0);
		CHECK_EQ(task_queue_pop(e.c, &out, 0), PEAL_EAGAIN);
		/* a call without a type may put this length, too */
		CHECK_OK(peal_queue_push(e.p.end, in, sizeof(*in), 0));
		CHECK_EQ(task_queue_pop(e.c, &out, 0), 0);
		same(in, &out, 1);
		task_end(&e);
	}
}

PEAL_TEST(typed_thread_queue_has_length_of_type)
{
	struct peal_queue_options o = plain;
	struct task_queue q = { NULL };
	struct peal_queue *raw = NULL;

	o.message_bytes = 8;
	CHECK_FAILS(task_queue_create(&o, &q), PEAL_EINVAL,
		    "'message_bytes': differs from the length of the messages "
		    "(8, allowed 0 or 24)");
	o.message_bytes = 48;
	CHECK_FAILS(task_queue_create(&o, &q), PEAL_EINVAL,
		    "'message_bytes': differs from the length of the messages "
		    "(48, allowed 0 or 24)");
	CHECK_FAILS(task_queue_create(NULL, NULL), PEAL_EINVAL, "NULL");
	CHECK_FAILS(
		peal_queue_create_of(NULL, 0, &raw), PEAL_EINVAL,
		"'bytes': is too small for a message (0, allowed 1 or more)");
	CHECK(!q.queue && !raw);
	o.message_bytes = sizeof(struct task);
	CHECK_OK(task_queue_create(&o, &q));
	CHECK_OK(peal_queue_destroy(q.queue));
	CHECK_OK(task_queue_create(NULL, &q));
	CHECK_EQ(info(q.queue).message_bytes, sizeof(struct task));
	CHECK_EQ(info(q.queue).capacity, 1024);
	CHECK_OK(peal_queue_destroy(q.queue));
}

PEAL_TEST(large_type_thread_queue_is_a_link)
{
	struct peal_queue_options o = plain;
	static struct wide in, out;
	struct wide_producer p;
	struct wide_consumer c;
	struct wide_queue q;

	o.max_producers = 2;
	CHECK_FAILS(wide_queue_create(&o, &q), PEAL_EINVAL,
		    "'message_bytes': is too large for the slots of a mailbox "
		    "(5000, allowed 0..4080)");
	CHECK_OK(wide_queue_create(NULL, &q));
	CHECK_OK(wide_queue_open_producer(q, &p));
	CHECK_OK(wide_queue_open_consumer(q, &c));
	memset(&in, 7, sizeof(in));
	CHECK_OK(wide_queue_push(p, &in, 0));
	CHECK_FAILS(peal_queue_push(p.end, &in, sizeof(in) - 1, 0),
		    PEAL_EMSGSIZE,
		    "'queue': is a link, and the message is of "
		    "another length (4999 bytes, allowed 5000)");
	CHECK_EQ(wide_queue_pop_burst(c, &out, 1, 0), 1);
	CHECK(!memcmp(&in, &out, sizeof(in)));
	CHECK_OK(peal_queue_close(p.end));
	CHECK_OK(peal_queue_close(c.end));
	CHECK_OK(peal_queue_destroy(q.queue));
}

static void no_ends_on(struct peal_queue *raw, int result, const char *text)
{
	struct task_queue q = { raw };
	struct task_producer p = { NULL };
	struct task_consumer c = { NULL };

	CHECK_FAILS(task_queue_open_producer(q, &p), result, text);
	CHECK_FAILS(task_queue_open_consumer(q, &c), result, text);
	CHECK(!p.end && !c.end);
	CHECK_OK(peal_queue_destroy(raw));
}

PEAL_TEST(typed_ends_open_only_on_equal_length_queue)
{
	struct peal_queue_options o = plain;
	struct peal_queue_end *end = NULL;
	struct peal_queue *raw = NULL;
	struct task_producer p;
	struct number_queue n;
	struct task_queue q;

	no_ends_on(NULL, PEAL_EINVAL, "NULL");
	no_ends_on(make(plain), PEAL_EMSGSIZE,
		   "'queue': has messages of up to 48 bytes (24, allowed 48)");
	/* this queue would also accept shorter messages */
	o.message_bytes = sizeof(struct task);
	no_ends_on(make(o), PEAL_EMSGSIZE,
		   "'queue': has messages of up to 24 bytes (24, allowed 24)");
	CHECK_OK(number_queue_create(NULL, &n));
	no_ends_on(n.queue, PEAL_EMSGSIZE,
		   "'queue': has messages of 8 bytes "
		   "(24, allowed 8)");
	CHECK_OK(peal_queue_create_of(NULL, sizeof(struct task), &raw));
	q.queue = raw;
	CHECK_FAILS(task_queue_open_producer(q, NULL), PEAL_EINVAL, "NULL");
	CHECK_OK(task_queue_open_producer(q, &p));
	CHECK_OK(peal_queue_close(p.end));
	CHECK_OK(peal_queue_destroy(raw));
	raw = make(plain);
	CHECK_FAILS(peal_queue_open_of(raw, 0, PEAL_QUEUE_PRODUCER, &end),
		    PEAL_EMSGSIZE,
		    "'queue': has messages of up to 48 bytes "
		    "(0, allowed 48)");
	CHECK_OK(peal_queue_destroy(raw));
}

PEAL_TEST_MAIN(RUN(typed_link_delivers_values);
	       RUN(type_may_be_named_like_a_parameter);
	       RUN(typed_mailbox_delivers_values);
	       RUN(typed_mailbox_skips_abandoned_slots);
	       RUN(typed_work_queue_delivers_values);
	       RUN(typed_topic_delivers_values);
	       RUN(typed_thread_queue_delivers_values);
	       RUN(queue_type_may_be_named_like_a_parameter);
	       RUN(typed_thread_queue_refuses_other_lengths);
	       RUN(typed_thread_queue_has_length_of_type);
	       RUN(large_type_thread_queue_is_a_link);
	       RUN(typed_ends_open_only_on_equal_length_queue);)
