/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TOPICS_H
#define PEAL_TESTS_TOPICS_H

#include <peal/topic.h>

/* Helpers that make topics and check their counters. */

#include "runtime/harness.h"
#include "runtime/runtime.h"

#define TOPIC_SUBSCRIBERS_MAX 16

static inline uint64_t topic_create(struct peal_runtime *rt, int device,
				    struct peal_topic_options o)
{
	uint64_t topic = 0;

	o.size = sizeof(o);
	CHECK_OK(peal_topic_create(rt, device, &o, &topic));
	return topic;
}

static inline struct peal_topic_info topic_info(struct peal_runtime *rt,
						uint64_t topic)
{
	struct peal_topic_info info;

	CHECK_OK(peal_topic_info(rt, topic, &info));
	return info;
}

static inline uint64_t topic_dead(const struct peal_subscriber_info *s)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < PEAL_REASON_COUNT; i++)
		sum += s->dead[i];
	return sum;
}

/* Returns the counters of a subscriber, and checks their identity. */
static inline struct peal_subscriber_info
topic_subscriber(struct peal_runtime *rt, uint64_t topic, uint64_t actor)
{
	struct peal_subscriber_info info[TOPIC_SUBSCRIBERS_MAX];
	int n = peal_topic_subscribers(rt, topic, info, TOPIC_SUBSCRIBERS_MAX);
	int i;

	CHECK(n >= 0 && n <= TOPIC_SUBSCRIBERS_MAX);
	for (i = 0; i < n && info[i].address != actor; i++)
		;
	CHECK(i < n);
	CHECK_EQ(info[i].published, info[i].delivered + info[i].missed +
					    topic_dead(&info[i]) +
					    info[i].queued);
	return info[i];
}

/* n messages were published for the subscriber. All are delivered. */
static inline void topic_delivered(struct peal_runtime *rt, uint64_t topic,
				   uint64_t actor, uint64_t n)
{
	struct peal_subscriber_info s = topic_subscriber(rt, topic, actor);

	CHECK_EQ(s.published, n);
	CHECK_EQ(s.delivered, n);
	CHECK_EQ(s.queued, 0);
}

/* Returns the state of a `sink`. Its kernel has ended or is suspended. */
static inline struct relay_sink topic_sink(struct peal_runtime *rt,
					   uint64_t actor)
{
	struct relay_sink sink;

	CHECK_OK(peal_actor_state(rt, actor, &sink, sizeof(sink)));
	CHECK_EQ(sink.damaged, 0);
	return sink;
}

#endif
