/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_YIELD_H
#define PEAL_TESTS_YIELD_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

/*
 * test_yield() lets other threads of the test run. Next to busy processes a
 * yield can last a whole time slice. After a yield of 1 ms or more,
 * test_yield() sleeps for 1 us instead. It does so for one second. The
 * scheduler runs a woken thread sooner than a thread that has yielded.
 */
static inline uint64_t test_yield_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void test_yield(void)
{
	static const struct timespec nap = { 0, 1000 };
	static _Thread_local uint64_t naps_before;
	uint64_t begin = test_yield_clock();

	if (begin < naps_before) {
		nanosleep(&nap, NULL);
		return;
	}
	sched_yield();
	if (test_yield_clock() - begin >= 1000000)
		naps_before = begin + 1000000000;
}

#endif
