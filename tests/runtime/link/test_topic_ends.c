/* SPDX-License-Identifier: Apache-2.0 */
/* A topic must work on after the kernel of a publisher or subscriber ends. */

#include <peal/topic.h>
#include "runtime/topics.h"

#define CAPACITY 8

/* endpoint -> echo -> topic -> to[0], to[1]. Each actor has its own kernel. */
static struct peal_runtime *rt;
static struct peal_endpoint *e;
static struct peal_kernel *from, *kernel[2];
static struct peal_link *in;
static uint64_t topic, echo, to[2];

static void begin(const char *handler)
{
	struct peal_topic_options o = { .capacity = CAPACITY, .name = "news" };
	struct peal_link_options link = { .capacity = 64 };
	int i;

	rt = harness_open(1, "");
	e = harness_endpoint(rt);
	from = harness_launch(rt, 0);
	topic = topic_create(rt, 0, o);
	echo = harness_spawn(from, "echo", 0);
	in = harness_from(rt, e, 0, echo, link);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	for (i = 0; i < 2; i++) {
		kernel[i] = harness_launch(rt, 0);
		to[i] = harness_spawn(kernel[i], i ? handler : "sink", 0);
		CHECK_OK(peal_subscribe(rt, topic, to[i], 0));
	}
}

static struct peal_subscriber_info told(int i)
{
	return topic_subscriber(rt, topic, to[i]);
}

/* Destroys the kernel of subscriber i. A GPU can hold only a few kernels. */
static void let_go(int i)
{
	CHECK_OK(peal_unsubscribe(rt, topic, to[i]));
	CHECK_OK(peal_kernel_destroy(kernel[i]));
}

/* Suspends subscriber 1 and sends n messages. The publisher waits for
 * subscriber 1 if n is larger than CAPACITY. */
static void hold_up(uint64_t n)
{
	CHECK_OK(peal_kernel_suspend(kernel[1], MAX_WAIT));
	harness_send(e, 0, 1, 0, n);
	EVENTUALLY(topic_info(rt, topic).published ==
		   (n < CAPACITY ? n : CAPACITY));
	EVENTUALLY(told(0).queued == 0);
}

static void stop_publisher(int (*stop)(struct peal_kernel *, int64_t))
{
	struct peal_link_info info;

	begin("sink");
	hold_up(30);
	CHECK_OK(stop(from, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[0], MAX_WAIT));
	CHECK_EQ(told(1).queued, CAPACITY);
	CHECK_OK(peal_kernel_resume(kernel[1]));
	CHECK_OK(peal_kernel_wait(kernel[1], MAX_WAIT));
	topic_delivered(rt, topic, to[0], CAPACITY);
	topic_delivered(rt, topic, to[1], CAPACITY);
	CHECK(told(0).ended && told(1).ended && !told(1).gone);
	CHECK_EQ(topic_info(rt, topic).ended, 0); /* no END mark */
	CHECK_EQ(topic_sink(rt, to[1]).received, CAPACITY);
	info = harness_info(in);
	CHECK_EQ(info.delivered, CAPACITY);
	CHECK_EQ(info.dead[PEAL_REASON_STOPPED], 30 - CAPACITY);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(subscribers_get_all_of_stopped_publisher_and_end)
{
	stop_publisher(peal_kernel_stop);
	stop_publisher(peal_kernel_abort);
}

PEAL_TEST(publisher_does_not_wait_for_stopped_subscriber)
{
	struct peal_subscriber_info s;

	begin("sink");
	hold_up(1);
	EVENTUALLY(told(1).queued == 1);
	CHECK_OK(peal_kernel_resume(kernel[1]));
	EVENTUALLY(told(1).delivered == 1);
	CHECK_OK(peal_kernel_suspend(kernel[1], MAX_WAIT));
	harness_send(e, 0, 1, 1, 40);
	EVENTUALLY(told(1).queued == CAPACITY);
	CHECK_OK(peal_kernel_stop(kernel[1], MAX_WAIT));
	EVENTUALLY(told(0).delivered == 41);
	s = told(1);
	CHECK_EQ(s.gone, 1);
	CHECK_EQ(s.delivered, 1);
	CHECK_EQ(s.dead[PEAL_REASON_STOPPED], s.published - 1);
	CHECK(s.published >= 1 + CAPACITY);
	CHECK_EQ(topic_info(rt, topic).slowest, 0);
	harness_send(e, 0, 1, 41, 40);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(from, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[0], MAX_WAIT));
	topic_delivered(rt, topic, to[0], 81);
	CHECK_EQ(told(1).published, s.published); /* as when its kernel ended */
	CHECK_OK(peal_unsubscribe(rt, topic, to[1]));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(publisher_does_not_wait_for_aborted_subscriber)
{
	struct peal_subscriber_info s;
	struct relay_message m;

	begin("moody");
	harness_fill(&m, sizeof(m), 1, 0);
	/* the handler stays in the message until its kernel is aborted */
	CHECK_OK(peal_send(e, 0, 2, &m, sizeof(m), MAX_WAIT, NULL));
	harness_send(e, 0, 1, 3, 40);
	EVENTUALLY(told(1).queued >= CAPACITY);
	EVENTUALLY(told(0).queued == 0);
	CHECK_OK(peal_kernel_abort(kernel[1], MAX_WAIT));
	EVENTUALLY(told(0).delivered == 41);
	s = told(1);
	CHECK_EQ(s.gone, 1);
	CHECK(s.delivered <= 1 && s.published >= CAPACITY);
	CHECK_EQ(s.dead[PEAL_REASON_STOPPED], s.published - s.delivered);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(publisher_does_not_wait_for_ended_subscriber)
{
	begin("sink");
	CHECK_OK(peal_unpublish(rt, topic));
	CHECK_OK(peal_kernel_stop(kernel[1], MAX_WAIT));
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	harness_send(e, 0, 1, 0, 40);
	EVENTUALLY(told(0).delivered == 40);
	CHECK_EQ(told(1).gone, 1);
	CHECK_EQ(told(1).published, 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(cursor_of_a_dead_subscriber_is_reused)
{
	uint64_t other;
	int i;

	begin("sink");
	for (i = 0; i < 8; i++) {
		CHECK_OK(peal_kernel_suspend(kernel[1], MAX_WAIT));
		harness_send(e, 0, 1, (uint64_t)i * 20, 20);
		CHECK_OK(peal_kernel_stop(kernel[1], MAX_WAIT));
		let_go(1);
		kernel[1] = harness_launch(rt, 0);
		other = harness_spawn(kernel[1], "sink", 0);
		CHECK_OK(peal_subscribe(rt, topic, other, 0));
		to[1] = other;
		/* the publisher goes on, with the new subscriber */
		EVENTUALLY(told(0).delivered == (uint64_t)i * 20 + 20);
	}
	EVENTUALLY(told(1).queued == 0);
	CHECK_OK(peal_kernel_suspend(kernel[1], MAX_WAIT));
	harness_send(e, 0, 1, 160, 30);
	EVENTUALLY(told(1).queued == CAPACITY);
	EVENTUALLY(topic_info(rt, topic).published == 160 + CAPACITY);
	CHECK_OK(peal_kernel_resume(kernel[1]));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[1], MAX_WAIT));
	CHECK(told(1).first <= 160);
	topic_delivered(rt, topic, to[1], 190 - told(1).first);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(failed_messages_count_as_dead_per_subscriber)
{
	struct relay_message m;

	begin("moody");
	harness_fill(&m, sizeof(m), 1, 0);
	CHECK_OK(peal_send(e, 0, 1, &m, sizeof(m), MAX_WAIT, NULL));
	CHECK_OK(peal_send(e, 0, 3, &m, sizeof(m), MAX_WAIT, NULL));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[0], MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[1], MAX_WAIT));
	CHECK_EQ(told(1).dead[PEAL_REASON_HANDLER], 1);
	CHECK_EQ(told(1).delivered, 1);
	CHECK_EQ(told(0).delivered, 2);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The END mark of a publisher is only for the subscribers at that time. */
PEAL_TEST(next_publisher_waits_for_all_to_reach_the_end)
{
	struct peal_link_options link = { .capacity = 64 };
	struct peal_kernel *next, *later;
	uint64_t again, sink;

	begin("sink");
	hold_up(5);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(from, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[0], MAX_WAIT));
	topic_delivered(rt, topic, to[0], 5);
	let_go(0);
	next = harness_launch(rt, 0);
	again = harness_spawn(next, "echo", 0);
	harness_from(rt, e, 1, again, link);
	CHECK_FAILS(peal_publish(rt, again, 0, topic), PEAL_EBUSY,
		    "actor 0 of kernel 'relay' has not read all");
	CHECK_OK(peal_kernel_resume(kernel[1]));
	CHECK_OK(peal_kernel_wait(kernel[1], MAX_WAIT));
	topic_delivered(rt, topic, to[1], 5);
	let_go(1);
	/* joins between the two publishers: gets only later messages */
	later = harness_launch(rt, 0);
	sink = harness_spawn(later, "sink", 0);
	CHECK_OK(peal_subscribe(rt, topic, sink, 0));
	CHECK_EQ(topic_subscriber(rt, topic, sink).first, 5);
	CHECK_OK(peal_publish(rt, again, 0, topic));
	harness_send(e, 1, 1, 0, 50);
	CHECK_OK(peal_send_end(e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(next, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(later, MAX_WAIT));
	topic_delivered(rt, topic, sink, 50);
	CHECK_EQ(topic_sink(rt, sink).misordered, 0);
	EVENTUALLY(topic_info(rt, topic).published == 55);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(end_mark_without_messages_ends_subscribers)
{
	begin("sink");
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[0], MAX_WAIT));
	CHECK_OK(peal_kernel_wait(kernel[1], MAX_WAIT));
	topic_delivered(rt, topic, to[0], 0);
	EVENTUALLY(topic_info(rt, topic).ended == 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(subscribers_get_all_of_stopped_publisher_and_end);
	       RUN(publisher_does_not_wait_for_stopped_subscriber);
	       RUN(publisher_does_not_wait_for_aborted_subscriber);
	       RUN(publisher_does_not_wait_for_ended_subscriber);
	       RUN(cursor_of_a_dead_subscriber_is_reused);
	       RUN(failed_messages_count_as_dead_per_subscriber);
	       RUN(next_publisher_waits_for_all_to_reach_the_end);
	       RUN(end_mark_without_messages_ends_subscribers);)
