/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ROUND_H
#define PEALI_ROUND_H

#include <stdint.h>

#include <peal/device/platform.h>

/* Sizes and numbers, rounded up. */

static inline uint64_t peali_round_up(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

/* To a power of two, 2 or more; n is at most 2^31. */
static inline uint32_t peali_power_of_two(uint32_t n)
{
	uint32_t power = 2;

	while (power < n)
		power *= 2;
	return power;
}

/* To what different sides may write behind one another. */
static inline uint64_t peali_whole_lines(uint64_t bytes)
{
	return peali_round_up(bytes, PEAL_SHARED_LINE);
}

#endif
