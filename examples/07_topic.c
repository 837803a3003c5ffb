/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings are published once, and whoever subscribes gets each of them: two
 * actors on the first device, and two on the second, to which every reading
 * goes only once. The handlers are in programs/topic.c.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(topic);

#define READINGS 1000

/* A topic to which an actor's port 0 publishes. */
static uint64_t publish(struct peal_runtime *runtime, int device, uint64_t from)
{
	uint64_t topic;

	check(peal_topic_create(runtime, device, NULL, &topic), "make a topic");
	check(peal_publish(runtime, from, 0, topic), "publish");
	return topic;
}

/* An actor that gets the topic's messages, and reports to the host. */
static void subscribe(struct peal_runtime *runtime, struct peal_kernel *kernel,
		      const char *handler, uint64_t topic,
		      struct peal_endpoint *host)
{
	uint64_t actor = spawn(kernel, handler);

	check(peal_connect(runtime, actor, 0, peal_endpoint_address(host), NULL,
			   NULL),
	      "connect");
	check(peal_subscribe(runtime, topic, actor, 0), "subscribe");
}

static void say(struct peal_runtime *runtime, const char *name, uint64_t topic)
{
	struct peal_topic_info info;

	check(peal_topic_info(runtime, topic, &info), "read a topic");
	printf("%s: %" PRIu64 " messages, %u subscribers\n", name,
	       info.published, info.subscribers);
	expect(info.published == READINGS + 1, "what was published");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(2);
	struct peal_kernel *near = launch(runtime, 0, &peal_program_topic);
	struct peal_kernel *far = launch(runtime, 1, &peal_program_topic);
	uint64_t source = spawn(near, "pass"), out = spawn(near, "pass");
	uint64_t in = spawn(far, "pass"), topic[2], value, sum = 0, most = 0;
	struct peal_received received;
	struct peal_endpoint *host;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	topic[0] = publish(runtime, 0, source);
	topic[1] = publish(runtime, 1, in);
	subscribe(runtime, near, "total", topic[0], host);
	subscribe(runtime, near, "highest", topic[0], host);
	subscribe(runtime, far, "total", topic[1], host);
	subscribe(runtime, far, "highest", topic[1], host);
	/* one more subscriber: it leads to the other device */
	link_up(runtime, "first to second device", out, 0, in, sizeof(value));
	check(peal_subscribe(runtime, topic[0], out, 0), "subscribe");
	link_up(runtime, "host to publisher", peal_endpoint_address(host), 0,
		source, sizeof(value));

	for (uint64_t i = 0; i < READINGS; i++) {
		value = i * 7919 % 1009;
		sum += value;
		if (value > most)
			most = value;
		check(peal_send(host, 0, 0, &value, sizeof(value), SECOND),
		      "send");
	}
	check(peal_send(host, 0, 1, &value, sizeof(value), SECOND), "send");
	for (int i = 0; i < 4; i++) {
		check(peal_receive(host, &value, sizeof(value), &received,
				   10 * SECOND),
		      "receive");
		expect(value == (received.type ? most : sum), "a report");
	}
	say(runtime, "on the first device", topic[0]);
	say(runtime, "on the second", topic[1]);
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
