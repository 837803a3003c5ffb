/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_STRESS_WORD_H
#define TEST_STRESS_WORD_H

#include <peal/device/platform.h>

/* Defines the content of test messages, for the host and for devices. */

/** Returns the first word: producer and sequence number. */
static PEAL_HD PEAL_INLINE uint64_t stress_id(uint64_t producer,
					      uint64_t sequence)
{
	return producer << 56 | sequence;
}

/** Returns word i of message `id`. */
static PEAL_HD PEAL_INLINE uint64_t stress_word(uint64_t id, uint64_t i)
{
	uint64_t z = (id + i) * 0x9e3779b97f4a7c15ULL;

	return i ? z ^ z >> 29 : id;
}

#endif
