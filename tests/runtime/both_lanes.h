/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BOTH_LANES_H
#define PEAL_TESTS_BOTH_LANES_H

#include "runtime/harness.h"

/* Cases that run with kernels of one lane, and again with 32 lanes. */

static uint32_t lanes; /* of the case that runs */

#define RUN_LANES(name)                                                        \
	for (lanes = 1; lanes <= 32; lanes += 31) {                            \
		RUN(name);                                                     \
	}

#endif
