/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RANGE_ALLOC_H
#define PEALI_RANGE_ALLOC_H

#include <stdint.h>

/*
 * Sub-allocation of an address range, first fit by address.
 *
 * The range itself is never accessed. The free lists lie outside of it, so that
 * stray writes into the range cannot damage them. Sizes and start offsets are
 * multiples of PEALI_SUBALLOC_ALIGN bytes. Blocks of a page or more start at a
 * page.
 *
 * No function takes a lock: the caller admits one thread at a time.
 */

#define PEALI_SUBALLOC_ALIGN 128
#define PEALI_SUBALLOC_PAGE 4096

struct peali_suballoc_block;

struct peali_suballoc {
	char name[24]; /* for texts: "device 1" */
	uint64_t base; /* address of offset 0, for texts */
	uint64_t bytes;
	uint64_t used; /* bytes in allocated blocks */
	uint64_t used_end; /* end of the highest block that was ever used */
	uint64_t random; /* for the tree's priorities */
	struct peali_suballoc_block *root; /* all blocks, by offset */
};

/** A block that was allocated or freed. */
struct peali_piece {
	uint64_t offset, bytes;
	/* peali_suballoc_take: no earlier block covered the bytes from here
	 * on */
	uint64_t fresh;
};

/** Free space of a peali_suballoc, or of the heap that it manages. */
struct peali_heap_usage {
	/* bytes; `largest` is the largest free piece */
	uint64_t total, free, largest;
	/* bytes of the largest possible allocation, which starts at a page */
	uint64_t fits;
};

/* Makes all of the range free. Returns 0 or PEAL_ENOMEM. */
int peali_suballoc_open(struct peali_suballoc *space, const char *name,
			uint64_t base, uint64_t bytes);
/*
 * Frees the bookkeeping, also of remaining allocations. Ignores a zeroed space.
 */
void peali_suballoc_close(struct peali_suballoc *space);

/*
 * Allocates the first block that fits. *out is the whole block. PEAL_EINVAL: 0
 * bytes. PEAL_ENOMEM: the error text says how much is free, or that the process
 * has no memory (peali_failed_in_system).
 */
int peali_suballoc_take(struct peali_suballoc *space, uint64_t bytes,
			struct peali_piece *out);
/*
 * Frees a block and sets *out to it. PEAL_EFAULT: no allocation starts at the
 * offset.
 */
int peali_suballoc_give(struct peali_suballoc *space, uint64_t offset,
			struct peali_piece *out);
/*
 * Finds the allocation that holds [offset, +bytes), or returns PEAL_EFAULT.
 * out->bytes is the size that the caller asked for.
 */
int peali_suballoc_find(const struct peali_suballoc *space, uint64_t offset,
			uint64_t bytes, struct peali_piece *out);
/* Returns the bytes of the largest free block. */
uint64_t peali_suballoc_largest(const struct peali_suballoc *space);
void peali_suballoc_usage(const struct peali_suballoc *space,
			  struct peali_heap_usage *out);

#endif
