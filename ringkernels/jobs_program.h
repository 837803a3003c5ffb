/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_JOBS_PROGRAM_H
#define PEAL_RINGKERNELS_JOBS_PROGRAM_H

/* Interface of `peal bench balance` and `tasks`, and their program. Device dialect. */

#include <peal/device/platform.h>

#define PEALI_CRAWL_DEVICES 3

/** Parameters of `crawl`. */
struct peali_crawl {
	/* time per element, by rank of the device */
	uint64_t element_ns[PEALI_CRAWL_DEVICES];
};

/** First bytes of the state of `serve`, which takes tasks from a work queue. */
struct peali_serve {
	uint64_t queue; /* of the device */
	uint64_t done; /* address of a uint64_t: tasks that it has handled */
	uint64_t sum; /* address of a uint64_t: sum of their numbers */
	uint64_t task_ns; /* time of a task */
	uint32_t consumer; /* its number among the queue's consumers */
	uint32_t reserved;
};

/** Message to `load`: put tasks with the numbers 1 .. n into a queue. */
struct peali_load {
	uint64_t queue;
	uint64_t n;
};

/** Parameters of `step`, and its argument: a chain of tasks. */
struct peali_step {
	uint64_t number; /* in the chain, from 0 */
	uint64_t task_ns; /* time that the task takes */
};
struct peali_chain {
	uint64_t next; /* number of the next task */
	uint64_t wrong; /* tasks out of order */
};

/** Message that two actors `hop` exchange. Each message is a task. */
struct peali_hop {
	uint64_t number, last; /* `last` ends the chain and is no task */
	uint64_t task_ns;
	uint64_t wrong; /* tasks out of order so far */
};

#endif
