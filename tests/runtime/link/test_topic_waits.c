/* SPDX-License-Identifier: Apache-2.0 */
/* The publisher of a topic waits for its slowest subscriber. Subscribers may
 * join late and leave early. */

#include <peal/topic.h>
#include "runtime/topics.h"

#define CAPACITY 8

/* endpoint -> echo -> topic -> fast, slow. Each actor has its own kernel. */
static struct peal_runtime *rt;
static struct peal_endpoint *e;
static struct peal_kernel *from, *fast_kernel, *slow_kernel;
static uint64_t topic, echo, fast, slow;

static void begin(uint32_t overwrite)
{
	struct peal_topic_options o = { .capacity = CAPACITY,
					.overwrite = overwrite };
	struct peal_link_options link = { .capacity = 64 };

	rt = harness_open(1, "");
	e = harness_endpoint(rt);
	from = harness_launch(rt, 0);
	fast_kernel = harness_launch(rt, 0);
	slow_kernel = harness_launch(rt, 0);
	topic = topic_create(rt, 0, o);
	echo = harness_spawn(from, "echo", 0);
	fast = harness_spawn(fast_kernel, "sink", 0);
	slow = harness_spawn(slow_kernel, "sink", 0);
	harness_from(rt, e, 0, echo, link);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	CHECK_OK(peal_subscribe(rt, topic, fast, 0));
}

static void finish(void)
{
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(from, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(fast_kernel, MAX_WAIT));
}

static void end(void)
{
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The sink got n messages in a row, from `first` on. */
static void check_sink(uint64_t actor, uint64_t first, uint64_t n)
{
	struct relay_sink s = topic_sink(rt, actor);

	CHECK_EQ(s.received, n);
	CHECK_EQ(s.misordered, first != 0); /* it expects 0 first */
	CHECK_EQ(s.missed, 0);
	CHECK_EQ(s.next, first + n);
}

static int is_blocked(void)
{
	struct peal_worker_info info;

	CHECK_OK(peal_worker_info(from, 0, &info));
	return info.blocked_port == 0 && info.blocked_actor == (uint32_t)echo;
}

PEAL_TEST(slowest_subscriber_blocks_publisher_and_is_named)
{
	struct peal_topic_info info;

	begin(0);
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
	CHECK_OK(peal_kernel_suspend(slow_kernel, MAX_WAIT));
	harness_send(e, 0, 1, 0, 3 * CAPACITY);
	EVENTUALLY(topic_info(rt, topic).published == CAPACITY);
	EVENTUALLY(is_blocked());
	EVENTUALLY(topic_subscriber(rt, topic, fast).delivered == CAPACITY);
	info = topic_info(rt, topic);
	CHECK_EQ(info.published, CAPACITY);
	CHECK_EQ(info.slowest, slow);
	CHECK_EQ(topic_subscriber(rt, topic, slow).queued, CAPACITY);
	CHECK_FAILS(peal_kernel_drain(from, 30 * MS), PEAL_ETIMEDOUT,
		    "port 0 is full (topic 'topic')");
	CHECK_OK(peal_kernel_resume(slow_kernel));
	finish();
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	check_sink(fast, 0, 3 * CAPACITY);
	check_sink(slow, 0, 3 * CAPACITY);
	CHECK_EQ(topic_info(rt, topic).slowest, 0);
	end();
}

PEAL_TEST(new_subscriber_starts_at_the_next_message)
{
	begin(0);
	harness_send(e, 0, 1, 0, 100);
	EVENTUALLY(topic_subscriber(rt, topic, fast).delivered == 100);
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
	CHECK_EQ(topic_subscriber(rt, topic, slow).first, 100);
	harness_send(e, 0, 1, 100, 100);
	finish();
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	topic_delivered(rt, topic, fast, 200);
	topic_delivered(rt, topic, slow, 100);
	check_sink(fast, 0, 200);
	check_sink(slow, 100, 100);
	end();
}

PEAL_TEST(new_subscriber_may_start_at_the_oldest_message)
{
	begin(0);
	harness_send(e, 0, 1, 0, CAPACITY - 1);
	EVENTUALLY(topic_subscriber(rt, topic, fast).delivered == CAPACITY - 1);
	CHECK_OK(peal_subscribe(rt, topic, slow, PEAL_SUBSCRIBE_OLDEST));
	CHECK_EQ(topic_subscriber(rt, topic, slow).first, 0);
	finish();
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	topic_delivered(rt, topic, slow, CAPACITY - 1);
	check_sink(slow, 0, CAPACITY - 1);
	end();
}

PEAL_TEST(publisher_does_not_wait_after_unsubscribe)
{
	struct peal_link_options link = { .capacity = 4 };

	begin(0);
	/* an input that keeps the kernel from its end */
	harness_from(rt, e, 2, slow, link);
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
	CHECK_OK(peal_unsubscribe(rt, topic, slow));
	CHECK_EQ(topic_info(rt, topic).subscribers, 1);
	harness_send(e, 0, 1, 0, 3 * CAPACITY);
	EVENTUALLY(topic_subscriber(rt, topic, fast).delivered == 3 * CAPACITY);
	/* subscribes again: its cursor and its input are free */
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
	harness_send(e, 0, 1, 3 * CAPACITY, CAPACITY);
	CHECK_OK(peal_send_end(e, 2, MAX_WAIT));
	finish();
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	topic_delivered(rt, topic, fast, 4 * CAPACITY);
	topic_delivered(rt, topic, slow, CAPACITY);
	end();
}

PEAL_TEST(publisher_without_subscribers_never_waits)
{
	begin(0);
	CHECK_OK(peal_unsubscribe(rt, topic, fast));
	harness_send(e, 0, 1, 0, 10 * CAPACITY);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(from, MAX_WAIT));
	EVENTUALLY(topic_info(rt, topic).published == 10 * CAPACITY);
	end();
}

PEAL_TEST(resumed_publisher_continues_at_its_position)
{
	uint64_t i;

	begin(0);
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
	for (i = 0; i < 20; i++) {
		struct peal_kernel *k = i % 2 ? from : slow_kernel;

		CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
		harness_send(e, 0, 1, i * 20, 20);
		CHECK_OK(peal_kernel_resume(k));
		EVENTUALLY(topic_subscriber(rt, topic, slow).delivered ==
			   i * 20 + 20);
	}
	finish();
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	check_sink(fast, 0, 400);
	check_sink(slow, 0, 400);
	end();
}

/* `burst` needs all slots of the topic. So it runs only after the idle
 * subscriber has reported its last message. */
PEAL_TEST(handler_may_emit_a_full_topic)
{
	struct peal_topic_options o = { .capacity = RELAY_BURST };
	struct peal_link_options link = { .capacity = 2 * RELAY_BURST };
	struct relay_order order = { 1, 10 * RELAY_BURST };
	uint64_t all, burst;

	begin(0);
	all = topic_create(rt, 0, o);
	burst = harness_spawn(from, "burst", 0);
	CHECK_OK(peal_publish(rt, burst, 0, all));
	harness_link(rt, burst, 1, burst, link);
	harness_from(rt, e, 1, burst, link);
	CHECK_OK(peal_subscribe(rt, all, slow, 0));
	CHECK_OK(peal_send(e, 1, 0, &order, sizeof(order), MAX_WAIT, NULL));
	EVENTUALLY(topic_subscriber(rt, all, slow).delivered ==
		   10 * RELAY_BURST);
	CHECK_OK(peal_kernel_stop(from, MAX_WAIT)); /* never ends by itself */
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	check_sink(slow, 0, 10 * RELAY_BURST);
	end();
}

PEAL_TEST(unpublished_port_drops_and_next_publisher_continues)
{
	struct peal_link_options link = { .capacity = 64 };
	uint64_t other;

	begin(0);
	other = harness_spawn(from, "echo", 0);
	harness_send(e, 0, 1, 0, 50);
	EVENTUALLY(topic_subscriber(rt, topic, fast).delivered == 50);
	CHECK_OK(peal_unpublish(rt, topic));
	CHECK_EQ(topic_info(rt, topic).publisher, 0);
	CHECK_OK(peal_publish(rt, other, 0, topic));
	harness_from(rt, e, 1, other, link);
	harness_send(e, 0, 1, 50, 5); /* dropped: port closed */
	harness_send(e, 1, 1, 50, 50);
	EVENTUALLY(topic_subscriber(rt, topic, fast).delivered == 100);
	CHECK_OK(peal_send_end(e, 1, MAX_WAIT));
	finish();
	EVENTUALLY(topic_info(rt, topic).published == 100);
	check_sink(fast, 0, 100);
	end();
}

/* 1: watch() checks the counters while messages flow. */
static atomic_int watching;

static void *watch(void *argument)
{
	uint64_t last = 0;

	(void)argument;
	do {
		struct peal_subscriber_info s =
			topic_subscriber(rt, topic, fast);

		topic_subscriber(rt, topic, slow);
		CHECK(s.delivered >= last);
		CHECK(topic_info(rt, topic).published >= s.delivered);
		last = s.delivered;
		identity_sleep_us(50);
	} while (atomic_load(&watching));
	return NULL;
}

static void identity_holds_always(uint32_t overwrite)
{
	struct peal_subscriber_info s;
	pthread_t thread;

	begin(overwrite);
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
	atomic_store(&watching, 1);
	CHECK(!pthread_create(&thread, NULL, watch, NULL));
	harness_send(e, 0, 1, 0, 5000);
	finish();
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	atomic_store(&watching, 0);
	CHECK(!pthread_join(thread, NULL));
	s = topic_subscriber(rt, topic, slow);
	CHECK_EQ(s.published, 5000);
	CHECK_EQ(s.delivered + s.missed, 5000);
	CHECK(overwrite || !s.missed);
	end();
}

PEAL_TEST(counters_conserve_at_any_moment)
{
	identity_holds_always(0);
	identity_holds_always(1);
}

PEAL_TEST_MAIN(RUN(slowest_subscriber_blocks_publisher_and_is_named);
	       RUN(new_subscriber_starts_at_the_next_message);
	       RUN(new_subscriber_may_start_at_the_oldest_message);
	       RUN(publisher_does_not_wait_after_unsubscribe);
	       RUN(publisher_without_subscribers_never_waits);
	       RUN(resumed_publisher_continues_at_its_position);
	       RUN(handler_may_emit_a_full_topic);
	       RUN(unpublished_port_drops_and_next_publisher_continues);
	       RUN(counters_conserve_at_any_moment);)
