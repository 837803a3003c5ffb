/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue among threads, without devices: two of them put, one takes, and the
 * queue says which kind it is.
 */
#include <inttypes.h>
#include <pthread.h>

#include <peal/queue.h>

#include "example.h"

#define MESSAGES 100000

struct reading {
	uint64_t sensor, number;
	double value;
};

struct sensor {
	struct peal_queue_end *end;
	uint64_t number;
	pthread_t thread;
};

static void *measure(void *argument)
{
	struct sensor *s = (struct sensor *)argument;
	uint64_t i;

	for (i = 0; i < MESSAGES; i++) {
		struct reading r = { s->number, i, 0.5 * (double)i };

		check(peal_queue_push(s->end, &r, sizeof(r), -1), "push");
	}
	check(peal_queue_close(s->end), "close a producer");
	return NULL;
}

int main(void)
{
	struct peal_queue_options options = {
		.size = sizeof(options),
		.producers = 2,
		.message_bytes = sizeof(struct reading),
	};
	uint64_t next[2] = { 0, 0 };
	struct sensor sensor[2];
	struct peal_queue_end *end;
	struct peal_queue_info info;
	struct peal_queue *queue;
	struct reading r;
	uint64_t i;
	int result;

	check(peal_queue_create(&options, &queue), "make a queue");
	check(peal_queue_open(queue, PEAL_QUEUE_CONSUMER, &end), "open");
	for (i = 0; i < 2; i++) {
		sensor[i].number = i;
		check(peal_queue_open(queue, PEAL_QUEUE_PRODUCER,
				      &sensor[i].end),
		      "open");
	}
	for (i = 0; i < 2; i++)
		expect(!pthread_create(&sensor[i].thread, NULL, measure,
				       &sensor[i]),
		       "a thread");
	while (!(result = peal_queue_pop(end, &r, sizeof(r), NULL, -1)))
		expect(r.number == next[r.sensor]++ &&
			       r.value == 0.5 * (double)r.number,
		       "the order of each sensor");
	expect(result == PEAL_EEND, "the end");
	for (i = 0; i < 2; i++)
		pthread_join(sensor[i].thread, NULL);
	check(peal_queue_info(queue, &info), "ask");
	printf("a %s of %" PRIu32 " slots: %" PRIu64 " accepted, %" PRIu64
	       " delivered\n",
	       peal_queue_kind_name(info.kind), info.capacity, info.accepted,
	       info.delivered);
	expect(next[0] == MESSAGES && next[1] == MESSAGES, "all of them");
	check(peal_queue_close(end), "close");
	check(peal_queue_destroy(queue), "destroy");
	return 0;
}
