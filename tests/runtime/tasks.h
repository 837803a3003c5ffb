/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TASKS_H
#define PEAL_TESTS_TASKS_H

#include <peal/device/platform.h>

/* Parameters of programs/tasks.c and its tests. */

/** Parameters of `visit`. */
struct visit {
	uint64_t gate; /* address of a host word; the task waits while the
			* word is 0. 0: no wait */
	uint64_t gate_at; /* element of the waiting task; UINT64_MAX: all */
	uint64_t fails_at; /* element of the failing task; UINT64_MAX: none */
	int64_t error; /* error of the failing task */
	uint64_t leader; /* 1: all lanes fail; 0: the lane with the element */
	uint64_t slow_ns; /* ns of work for each element */
	uint64_t slower_ns; /* as many more for each rank */
	uint64_t began; /* address of a host word for each rank; its tasks set
			 * it to 1. 0: none */
};

/** Numbers of a thread that `cover` writes, in x, y and z. */
struct cover {
	uint32_t id[3], thread[3], block[3];
	uint32_t threads[3], per_block[3], blocks[3];
};

#endif
