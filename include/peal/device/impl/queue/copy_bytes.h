/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_COPY_BYTES_H
#define PEAL_DEVICE_COPY_BYTES_H

#include <peal/abi/message.h>
#if PEAL_ON_HOST
#include <string.h>
#endif

/* Copies of payloads and headers, by one lane. */

/*
 * Copies up to 12 bytes. The host does not read past the end of `from`. A GPU
 * copies whole words: `from` and `to` are stages, or atoms in registers. So the
 * atoms do not go through local memory.
 */
static PEAL_DEV PEAL_INLINE void peali_copy_bytes(void *to, const void *from,
						  uint32_t n)
{
#if PEAL_ON_HOST
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint32_t i;

	for (i = 0; i < n; i++)
		out[i] = in[i];
#else
	uint32_t *out = (uint32_t *)to;
	const uint32_t *in = (const uint32_t *)from;

	if (n > 0)
		out[0] = in[0];
	if (n > 4)
		out[1] = in[1];
	if (n > 8)
		out[2] = in[2];
#endif
}

/*
 * Copies up to 12 bytes of a stage into three words. The other bytes are 0. A
 * GPU has no branch here, because it loads all words. A stage is readable to the
 * end of its last atom.
 */
static PEAL_DEV PEAL_INLINE void
peali_copy_padded(uint32_t word_out[3], const uint8_t *stage, uint32_t n)
{
#if PEAL_ON_HOST
	word_out[0] = word_out[1] = word_out[2] = 0;
	peali_copy_bytes(word_out, stage, n);
#else
	const uint32_t *in = (const uint32_t *)(const void *)stage;
	uint32_t first = in[0], middle = in[1], last = in[2];

	word_out[0] = n > 0 ? first : 0;
	word_out[1] = n > 4 ? middle : 0;
	word_out[2] = n > 8 ? last : 0;
#endif
}

/* peal/copy.h has a struct with this name. */
PEALI_NAMESAKES_BEGIN
/** Copies n bytes; the areas do not overlap. One lane. */
static PEAL_DEV PEAL_INLINE void peal_copy(void *to, const void *from,
					   uint64_t n)
{
#if PEAL_ON_HOST
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint64_t i;

	/* short ones without a call; the last 16 bytes may be written twice */
	if (n >= 16 && n <= 256) {
		for (i = 0; i + 16 < n; i += 16)
			memcpy(out + i, in + i, 16);
		memcpy(out + n - 16, in + n - 16, 16);
	} else if (n == 8) {
		memcpy(out, in, 8);
	} else if (n) { /* for 0 bytes, an address may be 0 */
		memcpy(out, in, (size_t)n);
	}
#else
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint64_t i = 0;

	if (!(((uintptr_t)to | (uintptr_t)from) & 7))
		for (; i + 8 <= n; i += 8)
			*(uint64_t *)(void *)(out + i) =
				*(const uint64_t *)(const void *)(in + i);
	for (; i < n; i++)
		out[i] = in[i];
#endif
}
PEALI_NAMESAKES_END

/* The 8 bytes of a header. */
static PEAL_DEV PEAL_INLINE uint64_t peali_header_word(struct peal_header header)
{
	return (uint64_t)header.flags << 48 | (uint64_t)header.type << 32 |
	       header.actor;
}

/* Reads a header with one load, from an address that is aligned to 8. */
static PEAL_DEV PEAL_INLINE uint64_t peali_header_load(const void *from)
{
	uint64_t word;

	__builtin_memcpy(&word, __builtin_assume_aligned(from, sizeof(word)),
			 sizeof(word));
	return word;
}

/* Writes the word of a header with one store. */
static PEAL_DEV PEAL_INLINE void peali_header_store(void *to, uint64_t word)
{
	__builtin_memcpy(__builtin_assume_aligned(to, sizeof(word)), &word,
			 sizeof(word));
}

/**
 * Writes a header with one store. The store buffer can then serve an early load
 * of all 8 bytes. It could not do so after two stores.
 *
 * @param to     8 bytes, the begin of a content, aligned to 8
 * @param header the header
 */
static PEAL_DEV PEAL_INLINE void peal_header_store(void *to,
						   struct peal_header header)
{
	peali_header_store(to, peali_header_word(header));
}

#endif
