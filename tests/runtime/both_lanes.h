/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BOTH_LANES_H
#define PEAL_TESTS_BOTH_LANES_H

#include "runtime/harness.h"

/* Cases that run with kernels of one lane, and again with 32 lanes. The numbers
 * of lanes in PEAL_TEST_LANES, such as "4,32", take their place. */

static uint32_t lanes; /* of the case that runs */

/* Returns the first number of lanes larger than `before`. 0: there is none. The
 * numbers of the variable increase. */
static inline uint32_t lanes_after(uint32_t before)
{
	const char *at = getenv("PEAL_TEST_LANES");
	unsigned long n;
	char *end;

	for (at = at && *at ? at : "1,32"; *at; at = *end ? end + 1 : end) {
		n = strtoul(at, &end, 10);
		CHECK(end > at && (!*end || *end == ','));
		if (n > before)
			return (uint32_t)n;
	}
	return 0;
}

#define RUN_LANES(name)                                                        \
	for (lanes = lanes_after(0); lanes; lanes = lanes_after(lanes)) {      \
		RUN(name);                                                     \
	}

#endif
