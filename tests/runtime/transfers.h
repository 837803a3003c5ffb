/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers with known content for the tests of transfers. */
#ifndef PEAL_TESTS_TRANSFERS_H
#define PEAL_TESTS_TRANSFERS_H

#include <peal/buffer.h>
#include <peal/memory.h>
#include <peal/transfer.h>

#include "runtime/harness.h"

#define MIB ((uint64_t)1 << 20)

static struct peal_runtime *rt;

static inline void open_machine(int devices, const char *links)
{
	rt = harness_open(devices, links);
}

static inline struct peal_buffer *make(int device, uint64_t bytes)
{
	const struct peal_buffer_options o = {
		.size = sizeof(o),
		.kind = device == PEAL_HOST_MEMORY ? PEAL_BUFFER_PINNED :
						     PEAL_BUFFER_DEVICE,
		.device = device == PEAL_HOST_MEMORY ? 0 : device,
		.bytes = bytes,
	};
	struct peal_buffer *b = NULL;

	CHECK_OK(peal_buffer_create(rt, &o, &b));
	return b;
}

static inline struct peal_range part(struct peal_buffer *b, uint64_t offset,
				     uint64_t bytes)
{
	struct peal_range r;

	CHECK_OK(peal_buffer_range(b, offset, bytes, &r));
	return r;
}

static inline uint64_t word(uint64_t i, uint64_t seed)
{
	return (i + seed) * 0x9e3779b97f4a7c15u;
}

/* Writes the words of a seed. The size is a multiple of 8 bytes. */
static inline void write_words(struct peal_range to, uint64_t seed)
{
	uint64_t *p = malloc(to.bytes), i;

	CHECK(p);
	for (i = 0; i < to.bytes / 8; i++)
		p[i] = word(i, seed);
	CHECK_OK(peal_buffer_write(to, p));
	free(p);
}

static inline int has_words(struct peal_range from, uint64_t seed)
{
	uint64_t *p = malloc(from.bytes), i;

	CHECK(p);
	CHECK_OK(peal_buffer_read(from, p));
	for (i = 0; i < from.bytes / 8 && p[i] == word(i, seed); i++)
		;
	free(p);
	return i == from.bytes / 8;
}

static inline struct peal_transfer whole(struct peal_buffer *to,
					 struct peal_buffer *from)
{
	struct peal_transfer t = { peal_buffer_full_range(to),
				   peal_buffer_full_range(from) };

	return t;
}

static inline int destroy(struct peal_buffer *a, struct peal_buffer *b)
{
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_OK(peal_buffer_destroy(b));
	return 0;
}

#endif
