/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_TASK_H
#define PEAL_ABI_TASK_H

#include <peal/abi/message.h>

/*
 * Tasks: messages between an executor on the host (peal/executor.h) and the
 * handlers that run its jobs (peal/device/task.h).
 */

/** The most arguments of a job, and the most bytes of its parameters. */
#define PEAL_TASK_ARGUMENTS 8
#define PEAL_TASK_PARAMETERS 96

/** The grid of a job, in x, y and z (peal/device/grid.h). */
struct peal_task_grid {
	uint32_t dimensions; /* 1..3; an element of the job is one step in the
			      * last dimension */
	uint32_t threads[3]; /* 1 beyond the dimensions */
	uint32_t block[3]; /* threads of a block, 1 beyond the dimensions */
	uint32_t reserved; /* 0 */
};

/** Host to worker: successive elements of a job. Without a grid, the message
 * ends after parameter_bytes of the parameters. */
struct peal_task {
	uint64_t first; /* number of its first element in the job */
	uint64_t count; /* elements; 0: only report the end */
	uint32_t job; /* number of the job in the executor, from 1 */
	uint16_t slot; /* index among the device's concurrent tasks */
	uint16_t rank; /* of the device in the executor */
	uint32_t n_arguments;
	uint32_t parameter_bytes;
	/* addresses for the device: of the first element, or of the whole
	 * argument */
	uint64_t argument[PEAL_TASK_ARGUMENTS];
	uint64_t parameter[PEAL_TASK_PARAMETERS / 8];
	struct peal_task_grid grid; /* only in a message with a grid */
};

PEAL_STATIC_ASSERT(offsetof(struct peal_task, argument) == 32 &&
			   offsetof(struct peal_task, grid) == 192 &&
			   sizeof(struct peal_task) == 224,
		   "task size");

/** Worker to host: the task has ended. */
struct peal_task_done {
	uint32_t job;
	uint16_t slot;
	uint16_t rank;
	int32_t result; /* 0, or PEAL_E... */
	uint32_t worker;
	uint64_t busy_ns; /* run time of the handler, by the device's clock */
};

#endif
