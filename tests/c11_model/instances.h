/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MODEL_INSTANCES_H
#define TEST_MODEL_INSTANCES_H

#include <string.h>

#include <peal/device/atomic.h>

#include "c11_model/model.h"

#ifndef PEAL_MODEL
#error "the model's atomic_host.h has to come first in the include path"
#endif

/*
 * The lists of instances, and helpers that instances share. To add a queue,
 * write a file like mailbox_instances.c and add its list to `lists` of
 * instances.c.
 */

struct instance_list {
	const struct model_instance *instances;
	uint32_t n;
};

extern const struct instance_list link_instances, mailbox_instances,
	admission_instances, work_instances, circle_instances, topic_instances,
	barrier_instances, end_instances;
/* correct but slow instances: not explored again for each removed order */
extern const struct instance_list deep_work_instances, deep_circle_instances,
	deep_topic_instances;
/* queues with a planted fault: each must have a counterexample */
extern const struct instance_list broken_link_instances,
	broken_mailbox_instances, broken_admission_instances,
	broken_work_instances, broken_circle_instances, broken_topic_instances,
	broken_end_instances, broken_instances;

#define INSTANCE_LIST(name, array)                                             \
	const struct instance_list name = { array,                             \
					    sizeof(array) / sizeof(array[0]) }

/* Returns correct instance i; NULL behind the last. */
const struct model_instance *instance_number(uint32_t i);
/* Returns slow instance i; NULL behind the last. */
const struct model_instance *deep_number(uint32_t i);
/* Returns faulty instance i; NULL behind the last. */
const struct model_instance *broken_number(uint32_t i);

/*
 * Runs `replay NAME CHOICES [FILE:LINE:OPERATION:ORDER]` of a test program:
 * prints the trace of one execution. Returns 1 for a counterexample, 0 for
 * none, 2 for wrong arguments and -1 if argv has no replay.
 */
int instance_replay(int argc, char **argv);

#define INSTANCE_MAIN(cases)                                                   \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		int peal_cases_ = 0, replayed = instance_replay(argc, argv);   \
		if (replayed >= 0)                                             \
			return replayed;                                       \
		cases printf("%d cases passed\n", peal_cases_);                \
		return peal_cases_ ? 0 : 1;                                    \
	}

/* Prints the counterexample, how to replay it, and its trace. Returns 1 if the
 * replay ends the same way. */
int instance_explain(const struct model_instance *instance,
		     const struct model_search *search,
		     const struct model_result *found);

/* Fills a payload with bytes of this producer and message; never 0. */
static inline void instance_fill(void *to, uint64_t bytes, uint32_t producer,
				 uint32_t message)
{
	uint8_t *out = (uint8_t *)to;
	uint64_t i;

	for (i = 0; i < bytes; i++)
		out[i] = (uint8_t)(1 + producer * 64 + message * 16 + i % 15);
}

static inline int instance_filled(const void *from, uint64_t bytes,
				  uint32_t producer, uint32_t message)
{
	const uint8_t *in = (const uint8_t *)from;
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (in[i] !=
		    (uint8_t)(1 + producer * 64 + message * 16 + i % 15))
			return 0;
	return 1;
}

#endif
