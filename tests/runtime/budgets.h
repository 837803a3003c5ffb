/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BUDGETS_H
#define PEAL_TESTS_BUDGETS_H

#include <peal/device/platform.h>

/* Message types and messages of programs/budgets.c and its tests. */

/** Types of messages. */
#define BUDGETS_COUNT 1 /* counts, and answers with its state */
#define BUDGETS_STEPS 2 /* takes `steps` steps, counts, and answers */
#define BUDGETS_ENDLESS 3 /* takes steps until its budget is spent */
#define BUDGETS_DEAF 4 /* as BUDGETS_ENDLESS, then one more step */
#define BUDGETS_WATCH                                                          \
	5 /* counts, and monitors the actor with the number in `number` */

struct budgets_wish {
	uint64_t steps;
	uint64_t number; /* comes back in the answer; or an actor's number */
};

/** State of an actor. The initial bytes set `name`. The rest begins as 0. */
struct budgets {
	uint64_t name;
	uint64_t count; /* messages since the actor began */
	uint64_t steps; /* steps that were granted for these messages */
	uint64_t split; /* steps with different results in its lanes */
	uint64_t number; /* of the latest message */
};

#endif
