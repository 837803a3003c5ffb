/* SPDX-License-Identifier: Apache-2.0 */
/* An overwriting topic tells a slow subscriber how many messages it missed. */

#include <peal/topic.h>
#include "runtime/topics.h"

#define CAPACITY 8

static struct peal_runtime *rt;
static struct peal_endpoint *e;
static struct peal_kernel *from, *fast_kernel, *slow_kernel;
static uint64_t topic, fast, slow;

static void begin(uint32_t policy, uint32_t lanes)
{
	struct peal_topic_options o = { .capacity = CAPACITY, .overwrite = 1 };
	struct peal_kernel_options kernel = { .lanes = lanes,
					      .drain_when_inputs_end = 1 };
	struct peal_link_options link = { .capacity = 64 };
	uint64_t echo;

	rt = harness_open(1, "");
	o.policy = harness_policy(rt, policy);
	e = harness_endpoint(rt);
	from = harness_launch_with(rt, 0, kernel);
	fast_kernel = harness_launch_with(rt, 0, kernel);
	slow_kernel = harness_launch_with(rt, 0, kernel);
	topic = topic_create(rt, 0, o);
	echo = harness_spawn(from, "echo", 0);
	fast = harness_spawn(fast_kernel, "sink", 0);
	slow = harness_spawn(slow_kernel, "sink", 0);
	harness_from(rt, e, 0, echo, link);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	CHECK_OK(peal_subscribe(rt, topic, fast, 0));
	CHECK_OK(peal_subscribe(rt, topic, slow, 0));
}

/* Checks that the sink's state agrees with the counters of its subscription. */
static struct peal_subscriber_info check_sink(uint64_t actor, uint64_t n)
{
	struct peal_subscriber_info s = topic_subscriber(rt, topic, actor);
	struct relay_sink sink = topic_sink(rt, actor);

	CHECK_EQ(s.published, n);
	CHECK_EQ(s.queued, 0);
	CHECK_EQ(s.delivered, sink.received);
	CHECK_EQ(s.delivered + s.missed, n);
	CHECK_EQ(sink.misordered, 0); /* the sink knew the length of each gap */
	CHECK(sink.missed <= s.missed);
	return s;
}

static void finish(void)
{
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(from, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(fast_kernel, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
}

static void slow_misses(uint32_t policy, uint32_t lanes)
{
	struct peal_subscriber_info s;
	const uint64_t n = 1000;

	begin(policy, lanes);
	harness_send(e, 0, 1, 0, 5);
	EVENTUALLY(topic_subscriber(rt, topic, slow).delivered == 5);
	CHECK_OK(peal_kernel_suspend(slow_kernel, MAX_WAIT));
	harness_send(e, 0, 1, 5, n - 5); /* the publisher does not wait */
	EVENTUALLY(topic_info(rt, topic).published == n);
	/* the fast subscriber may count earlier than the publisher */
	EVENTUALLY(topic_subscriber(rt, topic, slow).queued == n - 5);
	CHECK_OK(peal_kernel_resume(slow_kernel));
	finish();
	check_sink(fast, n);
	s = check_sink(slow, n);
	CHECK(s.missed >= n - 5 - CAPACITY);
	CHECK(s.delivered > 5); /* the latest messages are left */
	CHECK_EQ(topic_sink(rt, slow).missed, s.missed);
	CHECK_EQ(topic_sink(rt, slow).next, n);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(slow_subscriber_gets_its_missed_count)
{
	uint32_t policy;

	for (policy = 1; policy < 4; policy++) {
		slow_misses(policy, 1);
		slow_misses(policy, 4);
	}
}

PEAL_TEST(fast_overwrites_never_tear_messages)
{
	uint32_t policy;

	for (policy = 1; policy < 4; policy++) {
		begin(policy, 1);
		harness_send(e, 0, 1, 0, 3000);
		finish();
		check_sink(fast, 3000);
		check_sink(slow, 3000);
		CHECK_OK(peal_runtime_shutdown(rt));
	}
}

PEAL_TEST(stopped_publisher_keeps_published_messages)
{
	struct peal_subscriber_info s;

	begin(PEAL_POLICY_DEFAULT, 1);
	CHECK_OK(peal_kernel_suspend(slow_kernel, MAX_WAIT));
	harness_send(e, 0, 1, 0, 100);
	EVENTUALLY(topic_info(rt, topic).published == 100);
	CHECK_OK(peal_kernel_stop(from, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(slow_kernel));
	CHECK_OK(peal_kernel_wait(fast_kernel, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(slow_kernel, MAX_WAIT));
	check_sink(fast, 100);
	s = check_sink(slow, 100);
	CHECK(s.ended && s.missed >= 100 - CAPACITY);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(slow_subscriber_gets_its_missed_count);
	       RUN(fast_overwrites_never_tear_messages);
	       RUN(stopped_publisher_keeps_published_messages);)
