/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_CAF_H
#define PEAL_BENCH_CAF_H

/*
 * CAF, the C++ Actor Framework, as a peer: the same rallies and calls between its
 * actors. A module of its own, loaded when it is asked for, so that the command
 * needs no library of CAF.
 */

#include <stdint.h>

/** What the module has; 0, or -1: a message was wrong. Seconds of the part from
 * the first message to the last. */
struct peali_caf {
	/* Two actors play the numbers 0 to `last`, an odd one. */
	int (*rally)(uint32_t threads, uint64_t last, double *seconds);
	/* `callers` actors send `each` messages to one, in order. */
	int (*gather)(uint32_t threads, uint32_t callers, uint64_t each,
		      double *seconds);
};

/**
 * Loads it, once.
 *
 * @param why set to why there is none; static
 * @return NULL: there is none
 */
const struct peali_caf *peali_caf_open(const char **why);

#endif
