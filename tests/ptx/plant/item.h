/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_PLANT_ITEM_H
#define PTX_PLANT_ITEM_H

/*
 * Messages that carry their number, sender, length and a pattern. The host and
 * the devices make and check them.
 */

#include <peal/device/platform.h>

#define ITEM_WORDS 64
#define ITEM_MIN 8 /* bytes */

struct item {
	uint32_t word[ITEM_WORDS];
};

/* Returns word i of a message. Words 0 and 1 name it. */
static PEAL_DEV PEAL_INLINE uint32_t item_word(uint32_t from, uint32_t number,
					       uint32_t bytes, uint32_t i)
{
	if (i == 0)
		return number;
	if (i == 1)
		return from << 16 | bytes;
	return (number * 0x9e3779b9u ^ from << 20) + i * 0x85ebca6bu;
}

/* Returns a length of 8 .. most bytes, a multiple of 4. */
static PEAL_DEV PEAL_INLINE uint32_t item_bytes(uint32_t from, uint32_t number,
						uint32_t most)
{
	uint32_t mixed = (number * 2654435761u ^ from * 40503u) >> 8;

	return ITEM_MIN + mixed % (most / 4 - 1) * 4;
}

static PEAL_DEV PEAL_UNUSED inline void
item_fill(uint32_t *to, uint32_t from, uint32_t number, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes / 4; i++)
		to[i] = item_word(from, number, bytes, i);
}

/* Returns 1 if a message is the sender's message with that number. */
static PEAL_DEV PEAL_UNUSED inline int
item_is(const uint32_t *word, uint64_t length, uint32_t from, uint32_t number)
{
	uint32_t bytes = (uint32_t)length, i;

	if (length < ITEM_MIN || length > sizeof(struct item))
		return 0;
	for (i = 0; i < bytes / 4; i++)
		if (word[i] != item_word(from, number, bytes, i))
			return 0;
	return 1;
}

static PEAL_DEV PEAL_INLINE uint32_t item_from(const uint32_t *word)
{
	return word[1] >> 16;
}

#endif
