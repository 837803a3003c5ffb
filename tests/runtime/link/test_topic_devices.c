/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers on other devices than the topic's: the runtime's forwarders. */

#include <peal/name.h>
#include <peal/topic.h>
#include "runtime/topics.h"

#define DEVICES 3
#define SINKS 2 /* of each device */
#define ROWS 16

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *source, *sinks[DEVICES];
	uint64_t topic, echo, sink[DEVICES][SINKS];
};

/* endpoint -> echo on 0 -> topic on 0; sinks on all devices, not subscribed. The
 * kernels of the sinks end with their inputs if they `drain`. */
static void begin(struct fixture *s, struct peal_topic_options o,
		  uint32_t drain)
{
	struct peal_kernel_options k = { .drain_when_inputs_end = drain };
	struct peal_link_options link = { .capacity = 16 };
	int d, i;

	s->rt = harness_open(DEVICES, "");
	s->e = harness_endpoint(s->rt);
	s->source = harness_launch(s->rt, 0);
	o.capacity = o.capacity ? o.capacity : 16;
	s->topic = topic_create(s->rt, 0, o);
	s->echo = harness_spawn(s->source, "echo", 0);
	CHECK_OK(peal_publish(s->rt, s->echo, 0, s->topic));
	for (d = 0; d < DEVICES; d++) {
		s->sinks[d] = harness_launch_with(s->rt, d, k);
		for (i = 0; i < SINKS; i++)
			s->sink[d][i] = harness_spawn(s->sinks[d], "sink", 0);
	}
	harness_from(s->rt, s->e, 0, s->echo, link);
}

static void subscribe_all(struct fixture *s, uint64_t topic)
{
	int d, i;

	for (d = 0; d < DEVICES; d++)
		for (i = 0; i < SINKS; i++)
			CHECK_OK(
				peal_subscribe(s->rt, topic, s->sink[d][i], 0));
}

static uint32_t n_kernels(const struct fixture *s)
{
	struct peal_runtime_info info;

	CHECK_OK(peal_runtime_info(s->rt, &info));
	return info.n_kernels;
}

/* Returns the forwarders among the subscribers of the topic. */
static uint32_t n_forwarders(const struct fixture *s)
{
	struct peal_subscriber_info row[ROWS];
	int n = peal_topic_subscribers(s->rt, s->topic, row, ROWS), i;
	uint32_t forwarders = 0;

	CHECK(n >= 0 && n <= ROWS);
	for (i = 0; i < n; i++)
		forwarders += row[i].forwarder == 1;
	return forwarders;
}

static void check_sink(struct fixture *s, uint64_t sink, int device, uint64_t n)
{
	struct relay_sink seen = topic_sink(s->rt, sink);
	struct peal_subscriber_info row =
		topic_subscriber(s->rt, s->topic, sink);

	CHECK_EQ(seen.received, n);
	CHECK_EQ(seen.misordered, 0);
	CHECK_EQ(row.delivered, n);
	CHECK_EQ(row.device, device);
	CHECK_EQ(row.forwarder, 0);
}

PEAL_TEST(every_device_gets_all_messages_and_one_copy_of_each)
{
	struct peal_topic_options o = { .capacity = 0 };
	const uint64_t n = 1000;
	struct peal_subscriber_info row[ROWS];
	struct fixture s;
	uint64_t found = 0;
	int d, i, rows;

	begin(&s, o, 1);
	CHECK_OK(peal_name_set(s.rt, s.topic, "news"));
	CHECK_OK(peal_name_find(s.rt, "news", &found));
	subscribe_all(&s, found);
	CHECK_EQ(topic_info(s.rt, s.topic).subscribers, SINKS + DEVICES - 1);
	CHECK_EQ(topic_info(s.rt, s.topic).far_subscribers,
		 SINKS * (DEVICES - 1));
	harness_send(s.e, 0, 1, 0, n);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	for (d = 0; d < DEVICES; d++) { /* the end crosses too */
		CHECK_OK(peal_kernel_wait(s.sinks[d], MAX_WAIT));
		for (i = 0; i < SINKS; i++)
			check_sink(&s, s.sink[d][i], d, n);
	}
	rows = peal_topic_subscribers(s.rt, s.topic, row, ROWS);
	CHECK_EQ(rows, SINKS * DEVICES + DEVICES - 1);
	for (i = 0; i < rows; i++) /* one copy for each device */
		CHECK_EQ(row[i].delivered, n);
	CHECK_EQ(n_forwarders(&s), DEVICES - 1);
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(slow_subscriber_of_another_device_makes_the_publisher_wait)
{
	struct peal_topic_options o = { .capacity = 16 };
	struct fixture s;

	begin(&s, o, 1);
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[1][0], 0));
	CHECK_OK(peal_kernel_suspend(s.sinks[1], MAX_WAIT));
	/* the copy, the link and the topic hold 16 each */
	harness_send(s.e, 0, 1, 0, 16 + 16 + 16 + 8);
	EVENTUALLY(topic_info(s.rt, s.topic).published >= 48);
	CHECK(topic_info(s.rt, s.topic).published < 56);
	CHECK_OK(peal_kernel_resume(s.sinks[1]));
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s.sinks[1], MAX_WAIT));
	check_sink(&s, s.sink[1][0], 1, 56);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(forwarder_ends_with_its_last_subscriber)
{
	struct peal_topic_options o = { .capacity = 0 };
	struct fixture s;
	uint32_t before;
	int i;

	begin(&s, o, 0);
	before = n_kernels(&s);
	for (i = 0; i < 3; i++) {
		subscribe_all(&s, s.topic);
		CHECK_EQ(n_kernels(&s), before + 1 + (DEVICES - 1));
		CHECK_FAILS(peal_subscribe(s.rt, s.topic, s.sink[1][0], 0),
			    PEAL_EEXIST, "subscribes to topic");
		CHECK_FAILS(peal_topic_destroy(s.rt, s.topic), PEAL_EBUSY,
			    "publishes to");
		harness_send(s.e, 0, 1, 10 * (uint64_t)i, 10);
		EVENTUALLY(topic_subscriber(s.rt, s.topic, s.sink[2][1])
				   .delivered == 10);
		CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[1][0]));
		CHECK_EQ(n_forwarders(&s), 2);
		CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[1][1]));
		CHECK_EQ(n_forwarders(&s), 1);
		CHECK_FAILS(peal_unsubscribe(s.rt, s.topic, s.sink[1][1]),
			    PEAL_ENOENT, "has no such subscriber");
		CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[2][0]));
		CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[2][1]));
		CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[0][0]));
		CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[0][1]));
		CHECK_EQ(topic_info(s.rt, s.topic).subscribers, 0);
		CHECK_EQ(n_kernels(&s), before);
	}
	CHECK_OK(peal_unpublish(s.rt, s.topic));
	CHECK_OK(peal_topic_destroy(s.rt, s.topic));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(topic_with_a_subscriber_of_another_device_is_in_use)
{
	struct peal_topic_options o = { .name = "news" };
	struct fixture s;

	begin(&s, o, 0);
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[2][0], 0));
	CHECK_OK(peal_unpublish(s.rt, s.topic));
	CHECK_FAILS(peal_topic_destroy(s.rt, s.topic), PEAL_EBUSY,
		    "subscribes to topic 'news'; call peal_unsubscribe first");
	CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[2][0]));
	CHECK_OK(peal_topic_destroy(s.rt, s.topic));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(first_subscriber_may_begin_with_the_oldest_message)
{
	struct peal_topic_options o = { .capacity = 16, .overwrite = 1 };
	struct fixture s;

	begin(&s, o, 0);
	harness_send(s.e, 0, 1, 0, 12);
	EVENTUALLY(topic_info(s.rt, s.topic).published == 12);
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[1][0],
				PEAL_SUBSCRIBE_OLDEST));
	EVENTUALLY(topic_subscriber(s.rt, s.topic, s.sink[1][0]).delivered ==
		   12);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(next_publisher_reaches_subscribers_that_subscribe_again)
{
	struct peal_topic_options o = { .capacity = 0 };
	struct peal_link_options link = { .capacity = 16 };
	struct peal_kernel *next;
	struct fixture s;
	uint64_t echo;

	begin(&s, o, 1);
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[1][0], 0));
	harness_send(s.e, 0, 1, 0, 5);
	CHECK_OK(peal_kernel_stop(s.source, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s.sinks[1], MAX_WAIT));
	CHECK_OK(peal_kernel_stop(s.sinks[0], MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(s.sinks[0]));
	CHECK_OK(peal_unsubscribe(s.rt, s.topic, s.sink[1][0]));
	CHECK_OK(peal_unpublish(s.rt, s.topic));
	next = harness_launch(s.rt, 0);
	echo = harness_spawn(next, "echo", 0);
	CHECK_OK(peal_publish(s.rt, echo, 0, s.topic));
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[2][0], 0));
	harness_from(s.rt, s.e, 1, echo, link);
	harness_send(s.e, 1, 1, 0, 7);
	EVENTUALLY(topic_subscriber(s.rt, s.topic, s.sink[2][0]).delivered ==
		   7);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(group_of_kernels_with_forwarders_drains)
{
	struct peal_topic_options o = { .capacity = 0 };
	struct peal_kernel *group[2];
	struct fixture s;

	begin(&s, o, 0);
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[1][0], 0));
	harness_send(s.e, 0, 1, 0, 100);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	group[0] = s.source;
	group[1] = s.sinks[1];
	CHECK_OK(peal_kernel_drain_many(group, 2, MAX_WAIT));
	check_sink(&s, s.sink[1][0], 1, 100);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(full_topic_refuses_a_forwarder_and_nothing_is_left)
{
	struct peal_topic_options o = { .max_subscribers = 1 };
	struct fixture s;
	uint32_t before;

	begin(&s, o, 0);
	CHECK_OK(peal_subscribe(s.rt, s.topic, s.sink[0][0], 0));
	before = n_kernels(&s);
	CHECK_FAILS(peal_subscribe(s.rt, s.topic, s.sink[1][0], 0), PEAL_ENOSPC,
		    "has too many subscribers");
	CHECK_EQ(n_kernels(&s), before);
	CHECK_EQ(topic_info(s.rt, s.topic).far_subscribers, 0);
	CHECK_FAILS(peal_unsubscribe(s.rt, s.topic, s.sink[1][0]), PEAL_ENOENT,
		    "has no such subscriber");
	CHECK_FAILS(peal_subscribe(s.rt, s.topic, peal_endpoint_address(s.e),
				   0),
		    PEAL_EINVAL, "is endpoint");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN(every_device_gets_all_messages_and_one_copy_of_each);
	       RUN(slow_subscriber_of_another_device_makes_the_publisher_wait);
	       RUN(forwarder_ends_with_its_last_subscriber);
	       RUN(topic_with_a_subscriber_of_another_device_is_in_use);
	       RUN(first_subscriber_may_begin_with_the_oldest_message);
	       RUN(next_publisher_reaches_subscribers_that_subscribe_again);
	       RUN(group_of_kernels_with_forwarders_drains);
	       RUN(full_topic_refuses_a_forwarder_and_nothing_is_left);)
