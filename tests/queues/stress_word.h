/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_STRESS_WORD_H
#define TEST_STRESS_WORD_H

#include <peal/device/platform.h>

/* Content of a message, on the host and on devices. */

/** The first word: who sent it, as which of its messages. */
static PEAL_HD PEAL_INLINE uint64_t stress_id(uint64_t producer,
					      uint64_t sequence)
{
	return producer << 56 | sequence;
}

/** Word i of the message with that identity. */
static PEAL_HD PEAL_INLINE uint64_t stress_word(uint64_t id, uint64_t i)
{
	uint64_t z = (id + i) * 0x9e3779b97f4a7c15ULL;

	return i ? z ^ z >> 29 : id;
}

#endif
