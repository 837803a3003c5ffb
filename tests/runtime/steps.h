/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_STEPS_H
#define PEAL_TESTS_STEPS_H

#include <peal/device/platform.h>

/* What the handlers of programs/steps.c and the test of pipelines agree on. */

/** What a stage does; the rest of its state is what it counts. */
struct step_config {
	uint64_t add; /* to each value */
	uint64_t gate; /* address of a word: works on while it is not 0 */
	uint64_t fail_at; /* 1 + number of the batch that it fails on */
	uint64_t drop; /* 1: those of an odd number */
};

struct step_state {
	struct step_config config;
	uint64_t seen;
};

/** A batch; more bytes follow it, which are passed on. */
struct step_batch {
	uint64_t number, value;
};

#endif
