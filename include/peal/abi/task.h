/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_TASK_H
#define PEAL_ABI_TASK_H

#include <peal/abi/message.h>

/*
 * Tasks: what an executor on the host (peal/execute.h) and the handlers that do
 * its jobs (peal/device/task.h) agree on.
 */

/** The most arguments of a job, and the most bytes of its parameters. */
#define PEAL_TASK_ARGUMENTS 8
#define PEAL_TASK_PARAMETERS 96

/** Host to worker: some elements of a job, side by side. Of the parameters only
 * as many bytes are sent as there are. */
struct peal_task {
	uint64_t first; /* its first element's number in the job */
	uint64_t count; /* elements; 0: nothing to do, say so at once */
	uint32_t job; /* of the executor's, from 1 */
	uint16_t slot; /* which of the tasks that its device has at a time */
	uint16_t rank; /* of the device in the executor */
	uint32_t n_arguments;
	uint32_t parameter_bytes;
	/* as the device sees them: where the first element is; or the whole */
	uint64_t argument[PEAL_TASK_ARGUMENTS];
	uint64_t parameter[PEAL_TASK_PARAMETERS / 8];
};

PEAL_STATIC_ASSERT(offsetof(struct peal_task, argument) == 32 &&
			   sizeof(struct peal_task) == 192,
		   "task size");

/** Worker to host: it is over. */
struct peal_task_done {
	uint32_t job;
	uint16_t slot;
	uint16_t rank;
	int32_t result; /* 0, or PEAL_E... */
	uint32_t worker;
	uint64_t busy_ns; /* of the handler, by the device's clock */
};

#endif
