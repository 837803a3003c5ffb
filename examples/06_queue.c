/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a queue between threads, without a device. Two threads push readings,
 * and the main thread pops them. The queue has one message type, which the
 * compiler checks.
 *
 * Prints the kind of queue that the library chose, its capacity and its counts.
 */
#include <inttypes.h>
#include <pthread.h>

#include <peal/typed_queue.h>

#include "example.h"

#define MESSAGES 100000

struct reading {
	uint64_t sensor, number;
	double value;
};
/* Declares the queue type, its two end types and their functions. */
PEAL_TYPED_QUEUE(reading, struct reading)

struct sensor {
	struct reading_producer out;
	uint64_t number;
	pthread_t thread;
};

/* Runs in each producer thread: pushes all readings of one sensor. */
static void *measure(void *argument)
{
	struct sensor *s = (struct sensor *)argument;
	uint64_t i;

	for (i = 0; i < MESSAGES; i++) {
		struct reading r = { s->number, i, 0.5 * (double)i };

		check(reading_queue_push(s->out, &r, -1), "push");
	}
	check(peal_queue_close(s->out.end), "close a producer");
	return NULL;
}

int main(void)
{
	struct peal_queue_options options = {
		.size = sizeof(options),
		.max_producers = 2,
	};
	uint64_t next[2] = { 0, 0 };
	struct sensor sensor[2];
	struct reading_consumer in;
	struct reading_queue queue;
	struct peal_queue_info info;
	struct reading r;
	uint64_t i;
	int result;

	/*
	 * Create the queue. Each thread that uses the queue opens an end of its
	 * own.
	 */
	check(reading_queue_create(&options, &queue), "make a queue");
	check(reading_queue_open_consumer(queue, &in), "open");
	for (i = 0; i < 2; i++) {
		sensor[i].number = i;
		check(reading_queue_open_producer(queue, &sensor[i].out),
		      "open");
	}
	for (i = 0; i < 2; i++)
		expect(!pthread_create(&sensor[i].thread, NULL, measure,
				       &sensor[i]),
		       "a thread");
	/*
	 * Pop until both producers have closed their ends. Readings of one
	 * sensor arrive in order.
	 */
	while (!(result = reading_queue_pop(in, &r, -1)))
		expect(r.number == next[r.sensor]++ &&
			       r.value == 0.5 * (double)r.number,
		       "the order of each sensor");
	expect(result == PEAL_EEND, "the end");
	for (i = 0; i < 2; i++)
		pthread_join(sensor[i].thread, NULL);
	check(peal_queue_info(queue.queue, &info), "ask");
	printf("a %s of %" PRIu32 " slots: %" PRIu64 " accepted, %" PRIu64
	       " delivered\n",
	       peal_queue_kind_name(info.kind), info.capacity, info.accepted,
	       info.delivered);
	expect(next[0] == MESSAGES && next[1] == MESSAGES, "all of them");
	check(peal_queue_close(in.end), "close");
	check(peal_queue_destroy(queue.queue), "destroy");
	return 0;
}
