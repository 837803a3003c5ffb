/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BUDGETS_H
#define PEAL_TESTS_BUDGETS_H

#include <peal/device/platform.h>

/* What the handlers of programs/budgets.c and the tests agree on. */

/** Types of messages. */
#define BUDGETS_COUNT 1 /* counts, and answers with its state */
#define BUDGETS_STEPS 2 /* takes so many steps, counts, and answers */
#define BUDGETS_ENDLESS 3 /* takes steps as long as it may */
#define BUDGETS_DEAF 4 /* the same, once more after it is to end */
#define BUDGETS_WATCH                                                          \
	5 /* counts, and is told when the actor of that number ends */

struct budgets_wish {
	uint64_t steps;
	uint64_t number; /* comes back */
};

/** A state: begins with `name`, and with zeros behind that. */
struct budgets {
	uint64_t name;
	uint64_t count; /* messages since it began */
	uint64_t steps; /* that it got for all of them */
	uint64_t split; /* lanes did not get the same */
	uint64_t number; /* of the latest message */
};

#endif
