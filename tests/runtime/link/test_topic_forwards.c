/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers on another device: one copy of each message goes there. */

#include <peal/topic.h>
#include "runtime/topics.h"

#define SINKS 3

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *source, *relay[2], *sinks;
	struct peal_link *across;
	uint64_t near, far, near_sink, sink[SINKS];
};

/*
 * endpoint -> echo -> topic on 0 -> sink on 0
 *                               -> echo -> link -> echo on 1 -> topic on 1
 *                                                            -> 3 sinks on 1
 */
static void begin(struct fixture *s, uint32_t overwrite)
{
	struct peal_topic_options o = { .capacity = 16,
					.overwrite = overwrite };
	struct peal_link_options link = { .capacity = 16 };
	uint64_t echo[3];
	int i;

	s->rt = harness_open(2, "");
	s->e = harness_endpoint(s->rt);
	s->source = harness_launch(s->rt, 0);
	s->relay[0] = harness_launch(s->rt, 0);
	s->relay[1] = harness_launch(s->rt, 1);
	s->sinks = harness_launch(s->rt, 1);
	s->near = topic_create(s->rt, 0, o);
	s->far = topic_create(s->rt, 1, o);
	echo[0] = harness_spawn(s->source, "echo", 0);
	echo[1] = harness_spawn(s->relay[0], "echo", 0);
	echo[2] = harness_spawn(s->relay[1], "echo", 0);
	s->near_sink = harness_spawn(s->relay[0], "sink", 0);
	CHECK_OK(peal_publish(s->rt, echo[0], 0, s->near));
	CHECK_OK(peal_subscribe(s->rt, s->near, echo[1], 0));
	CHECK_OK(peal_subscribe(s->rt, s->near, s->near_sink, 0));
	s->across = harness_link(s->rt, echo[1], 0, echo[2], link);
	CHECK_OK(peal_publish(s->rt, echo[2], 0, s->far));
	for (i = 0; i < SINKS; i++) {
		s->sink[i] = harness_spawn(s->sinks, "sink", 0);
		CHECK_OK(peal_subscribe(s->rt, s->far, s->sink[i], 0));
	}
	harness_from(s->rt, s->e, 0, echo[0], link);
}

PEAL_TEST(forwarded_topic_delivers_published_messages)
{
	const uint64_t n = 1000;
	struct relay_sink seen;
	struct fixture s;
	int i;

	begin(&s, 0);
	harness_send(s.e, 0, 1, 0, n);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s.sinks, MAX_WAIT)); /* the end crosses too */
	CHECK_OK(peal_kernel_wait(s.relay[0], MAX_WAIT));
	harness_delivered(s.across, n);
	EVENTUALLY(topic_info(s.rt, s.near).published == n);
	EVENTUALLY(topic_info(s.rt, s.far).published == n);
	topic_delivered(s.rt, s.near, s.near_sink, n);
	for (i = 0; i < SINKS; i++) {
		topic_delivered(s.rt, s.far, s.sink[i], n);
		seen = topic_sink(s.rt, s.sink[i]);
		CHECK_EQ(seen.received, n);
		CHECK_EQ(seen.misordered, 0);
	}
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(back_pressure_reaches_the_publisher_by_the_link)
{
	struct fixture s;

	begin(&s, 0);
	CHECK_OK(peal_kernel_suspend(s.sinks, MAX_WAIT));
	harness_send(s.e, 0, 1, 0, 16 + 16 + 16 + 8);
	/* the far topic, the link and the near topic are full */
	EVENTUALLY(topic_info(s.rt, s.far).published == 16);
	EVENTUALLY(harness_info(s.across).accepted == 32);
	EVENTUALLY(topic_subscriber(s.rt, s.near, s.near_sink).delivered >= 48);
	CHECK(topic_info(s.rt, s.near).published < 56);
	CHECK_OK(peal_kernel_resume(s.sinks));
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(s.sinks, MAX_WAIT));
	topic_delivered(s.rt, s.far, s.sink[2], 56);
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN(forwarded_topic_delivers_published_messages);
	       RUN(back_pressure_reaches_the_publisher_by_the_link);)
