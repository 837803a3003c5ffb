/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_CAF_H
#define PEAL_BENCH_CAF_H

/*
 * CAF, the C++ Actor Framework, as a baseline. CAF actors exchange the same
 * messages as ours. The code is a module that is loaded when it is needed. So
 * the command `peal` does not depend on CAF.
 */

#include <stdint.h>

/**
 * Functions of the module. They return 0, or -1 if a message was wrong. The
 * result `seconds` is the time from the first message to the last.
 */
struct peali_caf {
	/* Two actors exchange the numbers 0 to `last`, which is odd. */
	int (*rally)(uint32_t threads, uint64_t last, double *seconds);
	/* `callers` actors send `each` messages each to one actor, in order. */
	int (*gather)(uint32_t threads, uint32_t callers, uint64_t each,
		      double *seconds);
};

/**
 * Loads the module once.
 *
 * @param why receives the reason if there is no module; static text.
 * @return the module, or NULL.
 */
const struct peali_caf *peali_caf_open(const char **why);

#endif
