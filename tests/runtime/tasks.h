/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TASKS_H
#define PEAL_TESTS_TASKS_H

#include <peal/device/platform.h>

/* What the handlers of programs/tasks.c and the tests agree on. */

/** Parameters of `visit`. */
struct visit {
	uint64_t gate; /* address of a host word: it waits until that is not 0; 0:
			* it does not wait */
	uint64_t gate_at; /* the element whose task waits; UINT64_MAX: all */
	uint64_t fails_at; /* the element whose task fails; UINT64_MAX: none */
	int64_t error; /* with what */
	uint64_t leader; /* 1: all lanes fail; 0: the one that has it */
	uint64_t slow_ns; /* for each element */
};

#endif
