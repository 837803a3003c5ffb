/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TASK_H
#define PEALI_TASK_H

#include <peal/abi/task.h>
#include "runtime/runtime.h"

/* What executors and graphs have in common: kernels whose workers do tasks. */

/* Whether a handler does tasks, and how many of a program do. */
int peali_is_task(const struct peal_handler_info *handler);
uint32_t peali_task_count(const struct peal_program *program);

/** A kernel for tasks. */
struct peali_task_kernel {
	const struct peal_program *program;
	int device;
	uint32_t workers; /* that do tasks; 0 is replaced by the default */
	uint32_t lanes; /* 0 likewise */
	const char *name;
};

/* Launches it. PEAL_ENOTSUP no handler does tasks; what peal_kernel_launch says. */
int peali_task_launch(struct peal_runtime *rt, struct peali_task_kernel *what,
		      struct peal_kernel **kernel_out, const char *call);

/** Where tasks of a kernel report to. */
struct peali_task_reports {
	uint64_t to; /* address */
	uint32_t capacity; /* of the links there */
	uint64_t *owner; /* of each worker the actor whose ports all use; 0 */
	struct peal_link **links; /* where to keep the links, with their count */
	uint32_t *n_links;
};

/* A pool of a handler's actors, one on each of so many workers. */
int peali_task_pool(struct peal_kernel *kernel, const char *handler,
		    uint32_t workers, uint32_t capacity,
		    const struct peali_task_reports *reports,
		    uint64_t *pool_out);

#endif
