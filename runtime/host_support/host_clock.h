/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_CLOCK_H
#define PEALI_HOST_CLOCK_H

#include <stdint.h>

/** Difference of a clock to the host's clock. */
struct peali_clock_skew {
	int64_t ahead_ns;
	int32_t ppm; /* millionths by which it is faster, -500 .. 500 */
};

/* Makes peal_host_clock_ns of the calling thread return the given clock. */
void peali_clock_skew_set(struct peali_clock_skew clock);

#endif
