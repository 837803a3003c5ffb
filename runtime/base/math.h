/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_MATH_H
#define PEALI_MATH_H

#include <stdint.h>

#include <peal/device/platform.h>

/* Helpers that round sizes and numbers up. */

static inline uint64_t peali_round_up(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

/* Returns the power of two, at least 2, that is not below n. n <= 2^31. */
static inline uint32_t peali_power_of_two(uint32_t n)
{
	uint32_t power = 2;

	while (power < n)
		power *= 2;
	return power;
}

/*
 * Rounds up to whole lines, so that different writers do not share a cache
 * line.
 */
static inline uint64_t peali_whole_lines(uint64_t bytes)
{
	return peali_round_up(bytes, PEAL_SHARED_LINE);
}

#endif
