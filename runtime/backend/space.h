/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SPACE_H
#define PEALI_SPACE_H

#include <stdint.h>

/*
 * Sub-allocation of an address range. The books lie outside of it, so that who
 * writes there cannot damage them; the range itself is never touched. First fit
 * by address. Blocks are multiples of PEALI_SPACE_ALIGN bytes and start at
 * such, those of a page or more at a page.
 *
 * Nothing in here takes a lock: the caller lets in one thread at a time.
 */

#define PEALI_SPACE_ALIGN 128
#define PEALI_SPACE_PAGE 4096

struct peali_space_block;

struct peali_space {
	char name[24]; /* for texts: "device 1" */
	uint64_t base; /* address of offset 0, for texts */
	uint64_t bytes;
	uint64_t used; /* bytes in allocated blocks */
	uint64_t used_end; /* end of the highest block that was ever used */
	uint64_t random; /* for the tree's priorities */
	struct peali_space_block *root; /* all blocks, by offset */
};

/** A block that was handed out, or taken back. */
struct peali_piece {
	uint64_t offset, bytes;
	/* of peali_space_alloc: nobody ever had what lies from here on */
	uint64_t fresh;
};

/** What is left of a space, or of the heap that it keeps the books of. */
struct peali_room {
	uint64_t total, free, largest; /* bytes; of the largest free piece */
	uint64_t fits; /* of the largest allocation, which begins at a page */
};

/* PEAL_ENOMEM. */
int peali_space_open(struct peali_space *space, const char *name, uint64_t base,
		     uint64_t bytes);
/* Allocations that are left are gone. A zeroed space: nothing happens. */
void peali_space_close(struct peali_space *space);

/*
 * `out` is the whole block. PEAL_EINVAL for 0 bytes; PEAL_ENOMEM, the text says
 * how much is free.
 */
int peali_space_alloc(struct peali_space *space, uint64_t bytes,
		      struct peali_piece *out);
/* PEAL_EFAULT if no allocation starts at the offset; `out` is the block. */
int peali_space_free(struct peali_space *space, uint64_t offset,
		     struct peali_piece *out);
/* The allocation that holds [offset, +bytes), with the bytes that were asked
 * for; PEAL_EFAULT if none does. */
int peali_space_find(const struct peali_space *space, uint64_t offset,
		     uint64_t bytes, struct peali_piece *out);
/* Bytes of the largest free block. */
uint64_t peali_space_largest(const struct peali_space *space);
void peali_space_room(const struct peali_space *space, struct peali_room *out);

#endif
