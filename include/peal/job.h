/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_JOB_H
#define PEAL_JOB_H

#include <stdint.h>

#include <peal/abi/task.h>

PEAL_BEGIN_C

struct peal_partition;

/*
 * Jobs of executors (peal/executor.h).
 * A job runs one handler for each of `count` elements (peal/device/task.h).
 * A job may also have a grid of threads in x, y and z (peal/device/grid.h).
 */

/** How devices share the elements of a job. */
enum peal_schedule {
	/*
	 * Static if the job has a partition or weights, else dynamic. A dynamic
	 * job below the threshold of struct peal_executor_report stays on the
	 * fastest device. The limit of that device must allow it.
	 */
	PEAL_SCHEDULE_DEFAULT = 0,
	/* Each device has a fixed part, by a partition or by weights. */
	PEAL_SCHEDULE_STATIC = 1,
	/*
	 * The next task goes to the device that would finish the task first,
	 * by the measured speeds. A task is the share of one worker in half of
	 * the elements left (S. F. Hummel, E. Schonberg, L. E. Flynn,
	 * "Factoring", 1992). All devices end together if all elements take
	 * equally long.
	 */
	PEAL_SCHEDULE_DYNAMIC = 2,
	/*
	 * A device with a free worker gets the next task. With P workers in
	 * total, the task is 1/P of the elements left (C. D. Polychronopoulos,
	 * D. J. Kuck, "Guided Self-Scheduling", 1987). Speeds have no
	 * influence. It suits elements of uneven cost.
	 */
	PEAL_SCHEDULE_GUIDED = 3,
	/*
	 * Static, with weights by the memory of the devices: the largest buffer
	 * that peal_buffer_create could make, within peal_memory_limit. See
	 * peal_executor_arrays_run for the sizes of ranges.
	 */
	PEAL_SCHEDULE_MEMORY = 4,
	PEAL_SCHEDULE_COUNT = 5
};

/** The most threads of a block of a grid. */
#define PEAL_BLOCK_THREADS 1024

/** An argument of a job. Exactly one of element_bytes and bytes is 0. */
struct peal_job_argument {
	/*
	 * One address for each rank of the executor: element 0, or the whole
	 * argument, as the device sees it. It may be in the device's memory, in
	 * host memory, or in memory of peal_peer_map. The allocation must exist
	 * until the job is over.
	 */
	const uint64_t *address;
	uint64_t element_bytes; /* bytes of one element, below 2^32; 0: all
				 * tasks get the whole argument */
	uint64_t bytes; /* bytes of the whole argument if element_bytes is 0,
			 * else 0 */
};

/** A job. A field with value 0 takes its default. */
struct peal_job {
	uint32_t size; /* sizeof(struct peal_job) */
	uint32_t schedule; /* enum peal_schedule */
	const char *handler; /* name of a handler that PEAL_TASK defines */
	/*
	 * Elements. 0: the job does nothing, or the grid sets the number. Of a
	 * job with a grid: 0 or grid[dimensions - 1].
	 */
	uint64_t count;
	/*
	 * Fewest elements of a task (default 1; 0: default). A task can be
	 * smaller where few elements are left, or because of a limit.
	 */
	uint64_t grain;
	uint32_t n_arguments; /* 0..PEAL_TASK_ARGUMENTS */
	uint32_t parameter_bytes; /* 0..PEAL_TASK_PARAMETERS */
	const struct peal_job_argument *arguments; /* n_arguments of them */
	const void *parameters; /* parameter_bytes bytes */
	/*
	 * Static schedule: part i is the part of rank i. The partition has as
	 * many parts as the executor has devices, and `count` elements.
	 * Arguments with element_bytes are then packed: each device has only
	 * the elements of its part (peal_scatter). No task crosses an extent.
	 * NULL: each device has all elements of each argument.
	 */
	const struct peal_partition *partition;
	/*
	 * Static schedule without a partition: one weight for each rank, see
	 * peal_partition_weighted. NULL: equal weights.
	 */
	const uint64_t *weights;
	/*
	 * One limit for each rank: the bytes of elements that a device has at
	 * most, for all arguments. A static schedule limits the device's
	 * part, others the tasks that the device has at a time. Each limit must
	 * allow `grain` elements, or all of the job. NULL: no limits.
	 */
	const uint64_t *limits;
	/*
	 * 1: a task may run twice. Other devices then repeat the tasks of a
	 * device with an ended kernel, unless there is a partition.
	 * 0: a task runs at most once.
	 */
	uint32_t repeatable;
	/*
	 * Dimensions of the grid (0..3; 0: default: no grid). An element of the
	 * job is then one step in the last dimension. With 2 it is a row. With
	 * 3 it is a plane, for example one image of a batch.
	 */
	uint32_t dimensions;
	/*
	 * Threads in x, y and z, each 1 or more. The numbers, rounded up to
	 * whole blocks, have a product below 2^64. Beyond `dimensions`: 0 or 1.
	 */
	uint32_t grid[3];
	/*
	 * Threads of a block in x, y and z, each 1 or more. Their product is at
	 * most PEAL_BLOCK_THREADS. It need not be the number of lanes. Beyond
	 * `dimensions`: 0 or 1.
	 */
	uint32_t threads_per_block[3];
};

/**
 * Returns the name of a schedule, for example "dynamic".
 *
 * Thread-safe, wait-free.
 *
 * @param schedule enum peal_schedule.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_schedule_name(uint32_t schedule);

PEAL_END_C

#endif
