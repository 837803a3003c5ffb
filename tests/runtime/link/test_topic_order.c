/* SPDX-License-Identifier: Apache-2.0 */
/* Every subscriber gets each message, once and in order. */

#include <peal/topic.h>
#include "runtime/topics.h"

/* An endpoint feeds an echo, which publishes to sinks. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *from, *to[2];
	struct peal_link *in;
	uint64_t topic, publisher, sink[TOPIC_SUBSCRIBERS_MAX];
	uint32_t n_sinks;
};

static struct peal_kernel *launch(struct peal_runtime *rt, uint32_t workers,
				  uint32_t lanes, uint64_t epoch_ns)
{
	struct peal_kernel_options o = { .workers = workers,
					 .lanes = lanes,
					 .drain_when_inputs_end = 1,
					 .epoch_ns = epoch_ns };

	return harness_launch_with(rt, 0, o);
}

/* The sinks are on one other kernel, or on two. */
static void open_fixture(struct fixture *s, uint32_t n_sinks, uint32_t kernels,
			 uint32_t lanes, struct peal_topic_options o,
			 uint64_t epoch_ns)
{
	struct peal_link_options link = { .capacity = 64 };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	s->n_sinks = n_sinks;
	s->from = launch(s->rt, 1, lanes, epoch_ns);
	s->to[0] = launch(s->rt, 2, lanes, epoch_ns);
	s->to[1] = s->to[0];
	if (kernels == 2)
		s->to[1] = launch(s->rt, 2, lanes, epoch_ns);
	s->topic = topic_create(s->rt, 0, o);
	s->publisher = harness_spawn(s->from, "echo", 0);
	s->in = harness_from(s->rt, s->e, 0, s->publisher, link);
	CHECK_OK(peal_publish(s->rt, s->publisher, 0, s->topic));
	for (i = 0; i < n_sinks; i++) {
		s->sink[i] = harness_spawn(s->to[i % 2], "sink", -1);
		CHECK_OK(peal_subscribe(s->rt, s->topic, s->sink[i], 0));
	}
}

/* Ends the stream; the end reaches every kernel. */
static void finish(struct fixture *s)
{
	int i;

	CHECK_OK(peal_send_end(s->e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s->from, MAX_WAIT));
	for (i = 0; i < 2; i++)
		if (s->n_sinks > (uint32_t)i)
			CHECK_OK(peal_kernel_wait(s->to[i], MAX_WAIT));
}

static void close_fixture(struct fixture *s)
{
	uint32_t i;

	harness_conserved(s->rt);
	for (i = 0; i < s->n_sinks; i++)
		CHECK_OK(peal_unsubscribe(s->rt, s->topic, s->sink[i]));
	CHECK_OK(peal_unpublish(s->rt, s->topic));
	CHECK_OK(peal_topic_destroy(s->rt, s->topic));
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static void each_gets_all(uint32_t n_sinks, uint32_t kernels, uint32_t lanes,
			  struct peal_topic_options o, uint64_t epoch_ns)
{
	struct peal_topic_info info;
	struct relay_sink sink;
	const uint64_t n = 500;
	struct fixture s;
	uint32_t i;

	open_fixture(&s, n_sinks, kernels, lanes, o, epoch_ns);
	harness_send(s.e, 0, 7, 0, n);
	finish(&s);
	harness_delivered(s.in, n);
	info = topic_info(s.rt, s.topic);
	CHECK_EQ(info.published, n);
	CHECK_EQ(info.published_bytes, n * sizeof(struct relay_message));
	CHECK_EQ(info.subscribers, n_sinks);
	CHECK_EQ(info.ended, 1);
	CHECK_EQ(info.slowest, 0);
	for (i = 0; i < n_sinks; i++) {
		topic_delivered(s.rt, s.topic, s.sink[i], n);
		sink = topic_sink(s.rt, s.sink[i]);
		CHECK_EQ(sink.received, n);
		CHECK_EQ(sink.misordered, 0);
	}
	close_fixture(&s);
}

PEAL_TEST(subscribers_on_one_and_two_kernels_keep_order)
{
	struct peal_topic_options o = { .capacity = 16 };
	uint32_t kernels;

	for (kernels = 1; kernels <= 2; kernels++) {
		each_gets_all(1, kernels, 1, o, 0);
		each_gets_all(3, kernels, 1, o, 0);
		each_gets_all(1, kernels, 32, o, 0);
		each_gets_all(3, kernels, 32, o, 0);
	}
}

PEAL_TEST(topics_with_one_and_two_slots_keep_order)
{
	struct peal_topic_options o = { .capacity = 1 };

	each_gets_all(2, 1, 1, o, 0);
	o.capacity = 2;
	each_gets_all(2, 2, 1, o, 0);
}

PEAL_TEST(every_policy_of_the_device_keeps_order)
{
	struct peal_topic_options o = { .capacity = 8 };
	struct peal_runtime *rt = harness_open(1, "");
	uint32_t policy, chosen[4];

	for (policy = 1; policy < 4; policy++)
		chosen[policy] = harness_policy(rt, policy);
	CHECK_OK(peal_runtime_close(rt));
	for (policy = 1; policy < 4; policy++) {
		o.policy = chosen[policy];
		each_gets_all(2, 1, 1, o, 0);
		each_gets_all(2, 2, 4, o, 0);
	}
}

PEAL_TEST(workers_of_one_kernel_publish_and_subscribe)
{
	struct peal_topic_options o = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, 2, 1, 0);
	struct peal_link_options link = { .capacity = 64 };
	uint64_t topic = topic_create(rt, 0, o), sink[2], echo;
	struct relay_sink seen;
	int i;

	echo = harness_spawn(k, "echo", 0);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	harness_from(rt, e, 0, echo, link);
	for (i = 0; i < 2; i++) {
		sink[i] = harness_spawn(k, "sink", i);
		CHECK_OK(peal_subscribe(rt, topic, sink[i], 0));
	}
	harness_send(e, 0, 3, 0, 300);
	for (i = 0; i < 2; i++)
		EVENTUALLY(topic_subscriber(rt, topic, sink[i]).delivered ==
			   300);
	/* as with a link to itself, the kernel waits for its own end */
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_FAILS(peal_kernel_drain(k, 30 * MS), PEAL_ETIMEDOUT,
		    "an input has not ended: topic 'topic', its publisher is "
		    "in kernel '");
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_unsubscribe(rt, topic, sink[i]));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	for (i = 0; i < 2; i++) {
		seen = topic_sink(rt, sink[i]);
		CHECK_EQ(seen.received, 300);
		CHECK_EQ(seen.misordered, 0);
	}
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(epochs_do_not_change_topic_order)
{
	struct peal_topic_options o = { .capacity = 8 };

	each_gets_all(3, 2, 1, o, 200000);
}

PEAL_TEST_MAIN(RUN(subscribers_on_one_and_two_kernels_keep_order);
	       RUN(topics_with_one_and_two_slots_keep_order);
	       RUN(every_policy_of_the_device_keeps_order);
	       RUN(workers_of_one_kernel_publish_and_subscribe);
	       RUN(epochs_do_not_change_topic_order);)
