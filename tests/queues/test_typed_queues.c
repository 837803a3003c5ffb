/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/typed.h>

#include "link_pair.h"
#include "queues/mailbox.h"
#include "queues/topic.h"
#include "queues/work.h"

/* Each kind of queue of one type; what must not compile is in
 * test_typed_compiles.sh. */

struct task {
	uint64_t first, n;
	uint32_t color;
};

PEAL_QUEUE_OF(task, struct task, 48)
PEAL_QUEUE_OF(number, uint64_t, 48)

/* What parameters are called. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
typedef struct task items, items_out;
PEAL_QUEUE_OF(hidden_in, items, 48)
PEAL_QUEUE_OF(hidden_out, items_out, 48)
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

PEAL_TEST(link_of_a_type)
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
		/* of another type: it stays */
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

PEAL_TEST(a_type_may_have_the_name_of_a_parameter)
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

PEAL_TEST(mailbox_of_a_type)
{
	struct peal_mailbox_lease lease = { 0, 0, 0 };
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

/* A ticket whose owner dies. */
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
	struct peal_mailbox_lease lease = { 0, 0, 0 };
	struct peal_mailbox *m;
	struct peal_header got;
	struct task in, out;
	uint32_t i, k;

	fill(&in, 1);
	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(m, &spec);
	for (i = 0; i < 10; i++) { /* more than once round */
		vanish(m, &lease);
		vanish(m, &lease);
		while (task_mailbox_put(m, &lease, header, &in))
			peal_mailbox_flush(m);
		for (k = 0; k < 2; k++) {
			CHECK_EQ(task_mailbox_take(m, &out, &got), PEAL_EAGAIN);
			CHECK(peal_mailbox_poison(m, m->ticket));
		}
		CHECK_EQ(task_mailbox_take(m, &out, &got), 0);
		CHECK_EQ(got.flags, 3);
		same(&in, &out, 1);
		vanish(m, &lease);
		CHECK(peal_mailbox_poison(m, m->ticket));
		CHECK_EQ(task_mailbox_take(m, &out, &got), PEAL_EAGAIN);
		CHECK_EQ(m->taken, m->ticket);
	}
	free(m);
}

PEAL_TEST(mailbox_of_a_type_skips_what_was_given_up)
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
	struct peal_work_got got[8];
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
	CHECK_EQ(number_set_pop_burst(&m, &number, 1, got), PEAL_EMSGSIZE);
	CHECK_EQ(task_work_pop(q, &m.mine, out, got), 1);
	CHECK_EQ(task_work_pop_burst(q, &m.mine, out + 1, 3, got), 3);
	CHECK_EQ(task_set_pop_burst(&m, out + 4, 8, got), 4);
	CHECK_EQ(task_set_pop_burst(&m, out, 8, got), PEAL_EAGAIN);
	same(in, out, 8);
	free(set);
}

PEAL_TEST(work_queue_of_a_type)
{
	EACH_POLICY(policy)
	work(policy);
}

PEAL_TEST(topic_of_a_type)
{
	struct peal_topic_publisher p;
	struct peal_topic_subscriber s;
	struct peal_topic_got got[8];
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

PEAL_TEST_MAIN(RUN(link_of_a_type);
	       RUN(a_type_may_have_the_name_of_a_parameter);
	       RUN(mailbox_of_a_type);
	       RUN(mailbox_of_a_type_skips_what_was_given_up);
	       RUN(work_queue_of_a_type); RUN(topic_of_a_type);)
