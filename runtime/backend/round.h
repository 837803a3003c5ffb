/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ROUND_H
#define PEALI_ROUND_H

#include <stdint.h>

#include <peal/device/platform.h>

/* Sizes of memory, rounded up. */

static inline uint64_t peali_round_up(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

/* To what different sides may write behind one another. */
static inline uint64_t peali_whole_lines(uint64_t bytes)
{
	return peali_round_up(bytes, PEAL_SHARED_LINE);
}

#endif
