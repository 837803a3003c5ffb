/* SPDX-License-Identifier: Apache-2.0 */
/* Every refusal of topics, with its text. */

#include <peal/topic.h>
#include "runtime/topics.h"

static struct peal_runtime *rt;
static struct peal_endpoint *e;
static struct peal_kernel *k;
static uint64_t topic, echo, sink;

static void begin(int devices)
{
	struct peal_topic_options o = { .capacity = 8,
					.max_subscribers = 2,
					.name = "news" };

	rt = harness_open(devices, "");
	e = harness_endpoint(rt);
	k = harness_launch(rt, 0);
	topic = topic_create(rt, 0, o);
	echo = harness_spawn(k, "echo", 0);
	sink = harness_spawn(k, "sink", 0);
}

static void end(void)
{
	CHECK_OK(peal_runtime_shutdown(rt));
}

static void refuses(struct peal_topic_options o, int code, const char *part)
{
	uint64_t address = 77;

	o.size = sizeof(o);
	CHECK_FAILS(peal_topic_create(rt, 0, &o, &address), code, part);
	CHECK_EQ(address, 77);
}

PEAL_TEST(create_names_the_option_out_of_range)
{
	struct peal_topic_options o = { .capacity = 3 };
	uint64_t address;

	begin(1);
	refuses(o, PEAL_EINVAL,
		"'capacity': must be a power of two (3, "
		"allowed 1..1048576)");
	o.capacity = 1u << 21;
	refuses(o, PEAL_EINVAL,
		"'capacity': is out of range (2097152, allowed "
		"1..1048576)");
	o.capacity = 0;
	o.message_bytes = 5000;
	refuses(o, PEAL_EINVAL, "'message_bytes': is too large for policy");
	o.message_bytes = 0;
	o.max_subscribers = 257;
	refuses(o, PEAL_EINVAL,
		"'max_subscribers': is out of range (257, "
		"allowed 1..256)");
	o.max_subscribers = 0;
	o.overwrite = 2;
	refuses(o, PEAL_EINVAL,
		"'overwrite': is out of range (2, allowed 0..1)");
	o.overwrite = 0;
	o.policy = 4;
	refuses(o, PEAL_EINVAL,
		"'policy': is no policy (4, allowed 0 "
		"(default), 1 (sequence), 2 (atom16) or 3 (atom8))");
	o.size = 1000000;
	CHECK_EQ(peal_topic_create(rt, 0, &o, &address), PEAL_EINVAL);
	CHECK_EQ(peal_topic_create(NULL, 0, NULL, &address), PEAL_EINVAL);
	CHECK_EQ(peal_topic_create(rt, 0, NULL, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_topic_create(rt, 7, NULL, &address), PEAL_ENODEV, "7");
	end();
}

PEAL_TEST(defaults_match_the_header)
{
	struct peal_topic_info info;
	uint64_t address;

	begin(1);
	CHECK_OK(peal_topic_create(rt, 0, NULL, &address));
	info = topic_info(rt, address);
	CHECK_EQ(info.capacity, 64);
	CHECK_EQ(info.message_bytes, 48);
	CHECK_EQ(info.max_subscribers, 8);
	CHECK_EQ(info.overwrite, 0);
	CHECK(!strcmp(info.name, "topic") && info.memory_bytes);
	CHECK_OK(peal_topic_destroy(rt, address));
	end();
}

PEAL_TEST(publish_error_names_the_sender_problem)
{
	struct peal_topic_options small = { .capacity = 8 };
	struct peal_topic_options tiny = { .message_bytes = 8 };
	uint64_t host, burst, lanes, other;

	begin(2);
	host = peal_endpoint_address(e);
	CHECK_EQ(peal_publish(NULL, echo, 0, topic), PEAL_EINVAL);
	CHECK_FAILS(peal_publish(rt, echo, 0, 99), PEAL_ENOENT, "no topic");
	CHECK_FAILS(peal_publish(rt, 99, 0, topic), PEAL_ENOENT,
		    "'from': is "
		    "the address of no actor (0x63, ");
	CHECK_FAILS(peal_publish(rt, topic, 0, topic), PEAL_ENOENT,
		    "is a topic");
	CHECK_FAILS(peal_publish(rt, host, 0, topic), PEAL_EINVAL,
		    "'from': is endpoint 'endpoint', and topics have actors");
	CHECK_FAILS(peal_publish(rt, echo, 1, topic), PEAL_ENOENT,
		    "'relay': has no such port (1, allowed 0)");
	other = harness_spawn(harness_launch(rt, 1), "echo", 0);
	CHECK_FAILS(peal_publish(rt, other, 0, topic), PEAL_ENOPEER,
		    "'from': is on another device than topic 'news' (device 1, "
		    "allowed device 0)");
	burst = harness_spawn(k, "burst", 0);
	CHECK_FAILS(peal_publish(rt, burst, 0, topic_create(rt, 0, small)),
		    PEAL_EINVAL,
		    "'topic': has too small a capacity for the "
		    "messages that handler 'burst' emits at once (8, allowed "
		    "16..1048576)");
	small.overwrite = 1; /* it never waits for free slots */
	CHECK_OK(peal_publish(rt, burst, 0, topic_create(rt, 0, small)));
	lanes = harness_spawn(k, "lanes", 0);
	CHECK_FAILS(peal_publish(rt, lanes, 0, topic_create(rt, 0, tiny)),
		    PEAL_EMSGSIZE,
		    "'topic': has too small message_bytes for "
		    "handler 'lanes' (8, allowed 48 or more)");
	end();
}

PEAL_TEST(topic_has_one_publisher_and_port_one_target)
{
	struct peal_link_options none = { .size = sizeof(none) };
	uint64_t second;

	begin(1);
	second = topic_create(rt, 0, (struct peal_topic_options){ 0 });
	CHECK_FAILS(peal_unpublish(rt, topic), PEAL_ENOENT, "no publisher");
	CHECK_FAILS(peal_unpublish(rt, 99), PEAL_ENOENT, "no topic");
	CHECK_EQ(peal_unpublish(NULL, topic), PEAL_EINVAL);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	CHECK_EQ(topic_info(rt, topic).publisher, echo);
	CHECK_FAILS(peal_publish(rt, harness_spawn(k, "echo", 0), 0, topic),
		    PEAL_EEXIST, "topic 'news' has a publisher: actor 0");
	CHECK_FAILS(peal_publish(rt, echo, 0, second), PEAL_EEXIST,
		    "publishes to topic 'news'");
	CHECK_FAILS(peal_connect(rt, echo, 0, sink, &none, NULL), PEAL_EEXIST,
		    "publishes to topic 'news'");
	CHECK_FAILS(peal_connect(rt, echo, 0, topic, &none, NULL), PEAL_ENOENT,
		    "is a topic");
	CHECK_OK(peal_unpublish(rt, topic));
	CHECK_OK(peal_connect(rt, echo, 0, sink, &none, NULL));
	CHECK_FAILS(peal_publish(rt, echo, 0, topic), PEAL_EEXIST, "by link");
	end();
}

PEAL_TEST(subscribe_error_names_the_receiver_problem)
{
	struct peal_kernel_options narrow = { .max_inputs = 1 };
	uint64_t other, third;

	begin(2);
	CHECK_EQ(peal_subscribe(NULL, topic, sink, 0), PEAL_EINVAL);
	CHECK_FAILS(peal_subscribe(rt, topic, sink, 4), PEAL_EINVAL,
		    "argument 'flags': has unknown bits (0x4");
	CHECK_FAILS(peal_subscribe(rt, 99, sink, 0), PEAL_ENOENT, "no topic");
	CHECK_FAILS(peal_subscribe(rt, topic, 99, 0), PEAL_ENOENT,
		    "'actor': is the address of no actor (0x63, ");
	CHECK_FAILS(peal_subscribe(rt, topic, peal_endpoint_address(e), 0),
		    PEAL_EINVAL, "endpoint 'endpoint'");
	CHECK_OK(peal_subscribe(rt, topic, sink, 0));
	CHECK_FAILS(peal_subscribe(rt, topic, sink, 0), PEAL_EEXIST,
		    "subscribes to topic 'news' already");
	other = harness_spawn(harness_launch_with(rt, 0, narrow), "sink", 0);
	CHECK_OK(peal_subscribe(rt, topic, other, 0));
	third = harness_spawn(k, "sink", 0);
	CHECK_FAILS(peal_subscribe(rt, topic, third, 0), PEAL_ENOSPC,
		    "'news': has too many subscribers (3, allowed 0..2)");
	CHECK_OK(peal_unsubscribe(rt, topic, sink));
	third = topic_create(rt, 0, (struct peal_topic_options){ 0 });
	CHECK_FAILS(peal_subscribe(rt, third, other, 0), PEAL_ENOSPC,
		    "all 1 of the receiver's max_inputs");
	CHECK_FAILS(peal_unsubscribe(rt, topic, sink), PEAL_ENOENT,
		    "'news': has no such subscriber");
	CHECK_FAILS(peal_unsubscribe(rt, topic, 0), PEAL_ENOENT,
		    "'news': has no such subscriber");
	CHECK_FAILS(peal_unsubscribe(rt, 99, sink), PEAL_ENOENT, "no topic");
	CHECK_EQ(peal_unsubscribe(NULL, topic, sink), PEAL_EINVAL);
	end();
}

PEAL_TEST(ends_of_a_stopped_kernel_are_refused)
{
	begin(1);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(peal_publish(rt, echo, 0, topic), PEAL_ESTOPPED, "`from`");
	CHECK_FAILS(peal_subscribe(rt, topic, sink, 0), PEAL_ESTOPPED,
		    "`actor`");
	CHECK_OK(peal_topic_destroy(rt, topic));
	end();
}

PEAL_TEST(topic_in_use_is_not_destroyed)
{
	struct peal_runtime_info info;

	begin(1);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	CHECK_OK(peal_subscribe(rt, topic, sink, 0));
	CHECK_FAILS(peal_topic_destroy(rt, topic), PEAL_EBUSY,
		    "actor 0 of kernel 'relay' publishes to topic 'news'");
	CHECK_FAILS(peal_actor_retire(rt, echo), PEAL_EBUSY, "actor 0");
	CHECK_FAILS(peal_actor_retire(rt, sink), PEAL_EBUSY, "actor 1");
	CHECK_OK(peal_unpublish(rt, topic));
	CHECK_FAILS(peal_topic_destroy(rt, topic), PEAL_EBUSY,
		    "actor 1 of kernel 'relay' subscribes to topic 'news'");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(peal_kernel_destroy(k), PEAL_EBUSY, "to a topic");
	CHECK_OK(peal_unsubscribe(rt, topic, sink));
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_topics, 1);
	CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "1 topic");
	CHECK_EQ(peal_topic_destroy(NULL, topic), PEAL_EINVAL);
	CHECK_OK(peal_topic_destroy(rt, topic));
	CHECK_FAILS(peal_topic_destroy(rt, topic), PEAL_ENOENT, "no topic");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(info_refuses_unknown_topics)
{
	struct peal_subscriber_info s[2];
	struct peal_topic_info info;

	begin(1);
	CHECK_EQ(peal_topic_info(NULL, topic, &info), PEAL_EINVAL);
	CHECK_EQ(peal_topic_info(rt, topic, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_topic_info(rt, sink, &info), PEAL_ENOENT, "no topic");
	CHECK_EQ(peal_topic_subscribers(NULL, topic, s, 2), PEAL_EINVAL);
	CHECK_EQ(peal_topic_subscribers(rt, topic, NULL, 2), PEAL_EINVAL);
	CHECK_EQ(peal_topic_subscribers(rt, 99, s, 2), PEAL_ENOENT);
	CHECK_EQ(peal_topic_subscribers(rt, topic, NULL, 0), 0);
	CHECK_OK(peal_subscribe(rt, topic, sink, 0));
	CHECK_OK(peal_subscribe(rt, topic, echo, 0));
	CHECK_EQ(peal_topic_subscribers(rt, topic, s, 1), 2);
	CHECK_EQ(s[0].address, sink);
	CHECK_EQ(peal_link_list(rt, NULL, 0), 0); /* topics are no links */
	end();
}

PEAL_TEST_MAIN(RUN(create_names_the_option_out_of_range);
	       RUN(defaults_match_the_header);
	       RUN(publish_error_names_the_sender_problem);
	       RUN(topic_has_one_publisher_and_port_one_target);
	       RUN(subscribe_error_names_the_receiver_problem);
	       RUN(ends_of_a_stopped_kernel_are_refused);
	       RUN(topic_in_use_is_not_destroyed);
	       RUN(info_refuses_unknown_topics);)
