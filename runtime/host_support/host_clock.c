/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host_support/host_clock.h"

#include <time.h>

#include <peal/device/impl/base/host_support.h>

/* of the calling thread: of a worker's device, or the host's */
static _Thread_local struct peali_clock_skew here;

void peali_clock_skew_set(struct peali_clock_skew clock)
{
	here = clock;
}

uint64_t peal_host_clock_ns(void)
{
	struct timespec t;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (PEAL_LIKELY(!here.ahead_ns && !here.ppm))
		return (uint64_t)ns;
	/*
	 * The rate correction changes once per microsecond, by at most 1 ns. So
	 * the clock never goes back.
	 */
	return (uint64_t)(ns + here.ahead_ns + ns / 1000 * here.ppm / 1000);
}
