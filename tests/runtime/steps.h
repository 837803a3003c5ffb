/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_STEPS_H
#define PEAL_TESTS_STEPS_H

#include <peal/device/platform.h>

/* Messages and states of programs/steps.c and the tests of pipelines. */

/** Configuration of a stage: the begin of its state. */
struct step_config {
	uint64_t add; /* added to each value */
	uint64_t gate; /* address of a word: the stage waits while it is 0;
			* 0: no gate */
	uint64_t fail_at; /* 1 + number of the batch that fails; 0: none */
	uint64_t drop; /* 1: drops batches with an odd number */
};

struct step_state {
	struct step_config config;
	uint64_t seen;
};

/** A batch. The bytes that follow it are passed on. */
struct step_batch {
	uint64_t number, value;
};

#endif
