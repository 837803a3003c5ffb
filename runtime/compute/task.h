/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TASK_H
#define PEALI_TASK_H

#include <peal/abi/task.h>
#include "runtime/runtime.h"

/* Kernels with workers that run tasks, for executors and graphs. */

/* Returns 1 if a handler runs tasks, else 0. */
int peali_is_task(const struct peal_handler_info *handler);
/* Returns the number of handlers of a program that run tasks. 0 if the program
 * has no pools. */
uint32_t peali_task_count(const struct peal_program *program);

/** The options of a kernel that runs tasks. */
struct peali_task_kernel {
	const struct peal_program *program;
	int device;
	uint32_t workers; /* that run tasks; 0: the call stores the default
			   * here */
	uint32_t lanes; /* 0: a default of the device */
	const char *name;
};

/* Launches the kernel. Returns PEAL_ENOTSUP if no handler runs tasks, or an
 * error of peal_kernel_launch. */
int peali_task_launch(struct peal_runtime *rt, struct peali_task_kernel *what,
		      struct peal_kernel **kernel_out, const char *call);

/** Where the tasks of a kernel send their reports. */
struct peali_task_reports {
	uint64_t to; /* address of the receiver */
	uint32_t capacity; /* of each link to the receiver */
	/* Per worker: the actor that owns the ports of all actors; 0: none. */
	uint64_t *owner;
	struct peal_link **links; /* receives the links */
	uint32_t *n_links; /* number of links in `links` */
};

/* Makes a pool of a handler's actors, one on each of the first `workers`
 * workers. */
int peali_task_pool(struct peal_kernel *kernel, const char *handler,
		    uint32_t workers, uint32_t capacity,
		    const struct peali_task_reports *reports,
		    uint64_t *pool_out);

#endif
