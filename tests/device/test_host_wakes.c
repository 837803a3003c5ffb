/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a new message wakes the sleeping worker that looks for it. A freed
 * slot wakes the worker that waits for it. No message would be lost without a
 * wake, as every sleep ends after 50 ms. So the test counts the sleeps that end
 * by timeout.
 */

#include <peal/pool.h>
#include <peal/topic.h>
#include "runtime/harness.h"
#include "runtime/host_support/idle.h"
#include "runtime/kernel/kernel.h"
#include "runtime/pools.h"
#include "runtime/runtime.h"
#include "runtime/topics.h"

PEAL_DECLARE_PROGRAM(pools);

#define TRIES 100
#define CAPACITY 4

static int asleep(struct peal_kernel *k, uint32_t worker)
{
	return (int)peal_load_relaxed_sys_u32(&k->bells[worker].asleep);
}

static struct peal_kernel_info info_of(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info;
}

static uint64_t timeouts(void)
{
	struct peali_wait_counts counts;

	peali_wait_counts(&counts);
	return counts.timeouts;
}

/*
 * All workers sleep, then a message comes for worker 0, which passes it on.
 * After `steps` more handlers it is handled, without a sleep that ends by
 * timeout. One such try is enough: in another try a sleep may end by chance.
 */
static void wake_each_other(struct peal_kernel *k, struct peal_endpoint *e,
			    uint64_t steps)
{
	uint64_t before, done;
	int try;

	for (try = 0; try < TRIES; try++) {
		EVENTUALLY(asleep(k, 0) && asleep(k, 1));
		/* the last look before the sleep is over */
		identity_sleep_us(1000);
		if (!asleep(k, 0) || !asleep(k, 1))
			continue;
		done = info_of(k).handled;
		before = timeouts();
		harness_send(e, 0, 1, (uint64_t)try, 1);
		EVENTUALLY(info_of(k).handled == done + steps);
		if (timeouts() == before)
			return;
	}
	CHECK(!"a worker has slept on");
}

/* ---- messages ------------------------------------------------------------ */

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k; /* of two workers */
	struct peal_endpoint *e;
	uint64_t from, to; /* actors on worker 0 and worker 1 */
	struct peal_link *link; /* between the actors; NULL: another way */
	uint64_t topic;
};

static struct peal_link_options few = { .capacity = CAPACITY };
static struct peal_link_options many = { .capacity = 64 };

static void open_fixture(struct fixture *s, const char *from, const char *to)
{
	struct peal_kernel_options o = { .workers = 2,
					 .mailbox.slots = 4 * CAPACITY };

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	s->k = harness_launch_with(s->rt, 0, o);
	s->to = harness_spawn(s->k, to, 1); /* actor 0 */
	s->from = harness_spawn(s->k, from, 0);
	harness_from(s->rt, s->e, 0, s->from, many);
}

static void use_topic(struct fixture *s)
{
	struct peal_topic_options o = { .capacity = CAPACITY };

	s->topic = topic_create(s->rt, 0, o);
	CHECK_OK(peal_publish(s->rt, s->from, 0, s->topic));
	CHECK_OK(peal_subscribe(s->rt, s->topic, s->to, 0));
}

PEAL_TEST(link_wakes_its_receiver)
{
	struct fixture s;

	open_fixture(&s, "echo", "sink");
	harness_link(s.rt, s.from, 0, s.to, few);
	wake_each_other(s.k, s.e, 2);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(mailbox_wakes_its_worker)
{
	struct fixture s;

	open_fixture(&s, "forward", "sink");
	wake_each_other(s.k, s.e, 2);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(publisher_wakes_its_subscribers)
{
	struct fixture s;

	open_fixture(&s, "echo", "sink");
	use_topic(&s);
	wake_each_other(s.k, s.e, 2);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* The input of the pool ends at worker 0, the only member is on worker 1. */
static void open_pool(struct fixture *s, const char *handler)
{
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 2 };
	struct peal_pool_options p = { .size = sizeof(p),
				       .capacity = CAPACITY };

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_pools, &o, &s->k));
	CHECK_OK(peal_pool_create(s->k, &p, &s->from));
	s->to = harness_spawn(s->k, handler, 1);
	CHECK_OK(peal_pool_join(s->rt, s->from, s->to));
	harness_from(s->rt, s->e, 0, s->from, many);
}

PEAL_TEST(pool_wakes_a_member)
{
	struct fixture s;

	open_pool(&s, "tally");
	wake_each_other(s.k, s.e, 1);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- free slots ---------------------------------------------------------- */

/*
 * A message with a gate: a word that its handler waits for. Each of the two
 * programs has its own field for it.
 */
struct gated {
	uint64_t word; /* as in struct relay_gate */
	uint64_t reserved[2];
	uint64_t gate; /* as in struct pool_task */
};

#define GATES 4096

/*
 * Returns the messages that have left worker 0: by the link, to the topic, or
 * told.
 */
static uint64_t left(const struct fixture *s)
{
	if (s->link)
		return harness_info(s->link).accepted;
	if (s->topic)
		return topic_info(s->rt, s->topic).published;
	return info_of(s->k).mailbox_sends;
}

/*
 * Worker 1 runs a handler. Worker 0 has a message for it, finds no free slot
 * and sleeps. When a slot is free, worker 0 continues before its sleep ends by
 * timeout. Each message has its own gate. Worker 1 always has a message, so it
 * reports free slots as a busy worker does: after each quarter.
 */
static void wake_waiting_sender(struct fixture *s)
{
	static uint64_t gates[GATES];
	struct gated m = { 0 };
	uint64_t first = left(s), before, base, most, sent = 0, opened = 0;
	uint64_t until;
	int try;

	memset(gates, 0, sizeof(gates));
	for (try = 0; try < TRIES; try++) {
		until = harness_now_ns() + MAX_WAIT;
		/* until worker 0 has a message and sleeps */
		while (sent == left(s) - first || !asleep(s->k, 0)) {
			CHECK(harness_now_ns() < until);
			if (sent < left(s) - first + 2 && sent < GATES) {
				m.word = (uint64_t)(uintptr_t)&gates[sent++];
				m.gate = m.word;
				CHECK_OK(peal_send(s->e, 0, 0, &m, sizeof(m),
						   MAX_WAIT, NULL));
			}
			identity_sleep_us(200);
		}
		/* the last look before the sleep is over */
		identity_sleep_us(1000);
		base = left(s) - first;
		if (!asleep(s->k, 0) || sent == base)
			continue;
		before = timeouts();
		most = opened + CAPACITY < base ? opened + CAPACITY : base - 1;
		while (left(s) - first == base) {
			CHECK(harness_now_ns() < until);
			if (opened < most)
				peal_store_release_sys(&gates[opened++], 1);
			identity_sleep_us(200);
		}
		if (timeouts() == before)
			break;
	}
	CHECK(try < TRIES);
	for (; opened < sent; opened++)
		peal_store_release_sys(&gates[opened], 1);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

PEAL_TEST(receiver_wakes_sender_waiting_for_credit)
{
	struct fixture s;

	open_fixture(&s, "echo", "gate");
	s.link = harness_link(s.rt, s.from, 0, s.to, few);
	wake_waiting_sender(&s);
}

PEAL_TEST(subscriber_wakes_the_publisher)
{
	struct fixture s;

	open_fixture(&s, "echo", "gate");
	use_topic(&s);
	wake_waiting_sender(&s);
}

PEAL_TEST(receiver_wakes_sender_waiting_for_mailbox)
{
	struct fixture s;

	open_fixture(&s, "forward", "gate");
	wake_waiting_sender(&s);
}

PEAL_TEST(member_wakes_sender_waiting_for_pool)
{
	struct peal_link_options all = { .capacity = GATES };
	struct fixture s;

	open_pool(&s, "toil");
	harness_to(s.rt, s.to, s.e, all);
	wake_waiting_sender(&s);
}

/*
 * Worker 0 has a member, too. This member waits for a slot at its port, and
 * there are more messages for the pool.
 */
PEAL_TEST(member_waiting_for_its_port_wakes_pool_sender)
{
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 2 };
	struct peal_pool_options p = { .size = sizeof(p),
				       .capacity = CAPACITY };
	struct peal_link_options one = { .capacity = 1 };
	struct peal_link_options all = { .capacity = GATES };
	struct gated m = { 0 };
	struct fixture s = { .rt = harness_open(1, "") };
	uint64_t full;

	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_pools, &o, &s.k));
	CHECK_OK(peal_pool_create(s.k, &p, &s.from));
	harness_from(s.rt, s.e, 0, s.from, many);
	full = harness_spawn(s.k, "toil", 0);
	harness_to(s.rt, full, s.e, one);
	CHECK_OK(peal_pool_join(s.rt, s.from, full));
	CHECK_OK(peal_send(s.e, 0, 0, &m, sizeof(m), MAX_WAIT, NULL));
	EVENTUALLY(info_of(s.k).handled == 1);
	s.to = harness_spawn(s.k, "toil", 1);
	harness_to(s.rt, s.to, s.e, all);
	CHECK_OK(peal_pool_join(s.rt, s.from, s.to));
	wake_waiting_sender(&s);
}

PEAL_TEST_MAIN(RUN(link_wakes_its_receiver); RUN(mailbox_wakes_its_worker);
	       RUN(publisher_wakes_its_subscribers); RUN(pool_wakes_a_member);
	       RUN(receiver_wakes_sender_waiting_for_credit);
	       RUN(subscriber_wakes_the_publisher);
	       RUN(receiver_wakes_sender_waiting_for_mailbox);
	       RUN(member_wakes_sender_waiting_for_pool);
	       RUN(member_waiting_for_its_port_wakes_pool_sender);)
