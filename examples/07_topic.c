/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows topics: an actor publishes each reading once, and every subscriber gets
 * it. Two kernels have a topic with two subscribers each. Each kernel has a
 * device of its own, if there are two. Each reading crosses to the second kernel
 * once. The handlers are in programs/topic.c.
 *
 * Prints the routes, then the messages and subscribers of both topics.
 */
#include <inttypes.h>

#include <peal/device/kernel.h>
#include <peal/topic.h>

#include "example.h"

PEAL_DECLARE_PROGRAM(topic);

#define READINGS 1000

/*
 * Creates a topic on a device and connects port 0 of `from` to it. Returns the
 * topic's address.
 */
static uint64_t publish(struct peal_runtime *runtime, int device, uint64_t from)
{
	uint64_t topic;

	check(peal_topic_create(runtime, device, NULL, &topic), "make a topic");
	check(peal_publish(runtime, from, 0, topic), "publish");
	return topic;
}

/* Spawns an actor that subscribes to the topic and reports to the host. */
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

/* Prints the counts of a topic and checks the number of messages. */
static void say(struct peal_runtime *runtime, int device, uint64_t topic)
{
	struct peal_topic_info info;

	check(peal_topic_info(runtime, topic, &info), "read a topic");
	printf("topic on device %d: %" PRIu64 " messages, %u subscribers\n",
	       device, info.published, info.subscribers);
	expect(info.published == READINGS + 1, "what was published");
}

int main(void)
{
	struct peal_runtime *runtime = open_runtime(2);
	int second = device_of_part(runtime, 1);
	struct peal_kernel *near = launch(runtime, 0, &peal_program_topic);
	struct peal_kernel *far = launch(runtime, second, &peal_program_topic);
	uint64_t source = spawn(near, "pass"), out = spawn(near, "pass");
	uint64_t in = spawn(far, "pass"), topic[2], value, sum = 0, most = 0;
	struct peal_received received;
	struct peal_endpoint *host;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	/*
	 * One topic for each kernel. An actor forwards the messages to the
	 * second one. peal_subscribe can do that by itself: it accepts actors
	 * of other kernels and devices.
	 */
	topic[0] = publish(runtime, 0, source);
	topic[1] = publish(runtime, second, in);
	subscribe(runtime, near, "total", topic[0], host);
	subscribe(runtime, near, "highest", topic[0], host);
	subscribe(runtime, far, "total", topic[1], host);
	subscribe(runtime, far, "highest", topic[1], host);
	/*
	 * Another subscriber forwards the readings to the publisher of the
	 * second kernel.
	 */
	link_up(runtime, "first to second kernel", out, 0, in, sizeof(value));
	check(peal_subscribe(runtime, topic[0], out, 0), "subscribe");
	link_up(runtime, "host to publisher", peal_endpoint_address(host), 0,
		source, sizeof(value));

	/* Send all readings to the first publisher. */
	for (uint64_t i = 0; i < READINGS; i++) {
		value = i * 7919 % 1009;
		sum += value;
		if (value > most)
			most = value;
		check(peal_send(host, 0, 0, &value, sizeof(value), SECOND,
				NULL),
		      "send");
	}
	/* A message of type 1 asks the four subscribers for their results. */
	check(peal_send(host, 0, 1, &value, sizeof(value), SECOND, NULL),
	      "send");
	for (int i = 0; i < 4; i++) {
		check(peal_receive(host, &value, sizeof(value), &received,
				   10 * SECOND),
		      "receive");
		expect(value == (received.type ? most : sum), "a report");
	}
	say(runtime, 0, topic[0]);
	say(runtime, second, topic[1]);
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
