/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_MODEL_INSTANCES_H
#define TEST_MODEL_INSTANCES_H

#include <string.h>

#include <peal/device/atomic.h>

#include "model/model.h"

#ifndef PEAL_MODEL
#error "the model's atomic_host.h has to come first in the include path"
#endif

/*
 * What is explored, and what instances share. To add a queue, write a file
 * like mailbox_instances.c and add its list to `lists` of instances.c.
 */

struct instance_list {
	const struct model_instance *instances;
	uint32_t n;
};

extern const struct instance_list link_instances, mailbox_instances,
	admission_instances, work_instances, topic_instances, barrier_instances,
	end_instances;
/* sound ones that take longer: explored once, not again for each order */
extern const struct instance_list deep_work_instances, deep_topic_instances;
/* queues with a planted fault: each has to be caught */
extern const struct instance_list broken_link_instances,
	broken_mailbox_instances, broken_admission_instances,
	broken_work_instances, broken_topic_instances, broken_end_instances,
	broken_instances;

#define INSTANCE_LIST(name, array)                                             \
	const struct instance_list name = { array,                             \
					    sizeof(array) / sizeof(array[0]) }

/* All sound ones, one after another; NULL behind the last. */
const struct model_instance *instance_number(uint32_t i);
/* All that take longer. */
const struct model_instance *deep_number(uint32_t i);
/* All with a fault. */
const struct model_instance *broken_number(uint32_t i);

/*
 * `replay NAME CHOICES [FILE:LINE:ORDER]` of any of these programs: prints
 * the trace of one execution. -1: the arguments do not say so.
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

/* Prints how to replay the counterexample, and its trace; whether the replay
 * ends the same way. */
int instance_explain(const struct model_instance *instance,
		     const struct model_search *search,
		     const struct model_result *found);

/* Bytes that say which message of whom they are part of; never 0. */
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
