/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_CYCLE_H
#define PEAL_TESTS_CYCLE_H

#include <peal/device/platform.h>

/* Messages and states of programs/cycle.c and its test. */

/** Types of messages to a runner. */
#define CYCLE_TOKEN 1 /* struct cycle_token: passed on at port 0 */
#define CYCLE_LATER 2 /* struct cycle_token: passed on after a delay */
#define CYCLE_TICKS 3 /* sets a periodic timer, period 1 ms */
#define CYCLE_TICK 4 /* from that timer */

#define CYCLE_FOR_EVER (~0ULL)

struct cycle_token {
	uint64_t left; /* links that it has to pass; CYCLE_FOR_EVER: no end */
	uint64_t delay_ns; /* of a CYCLE_LATER at each runner */
};

struct cycle_state {
	uint64_t tokens; /* CYCLE_TOKEN messages handled */
	uint64_t ticks;
};

#endif
