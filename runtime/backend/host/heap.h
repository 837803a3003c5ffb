/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_HEAP_H
#define PEALI_HOST_HEAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * One emulated device's memory: a memfd, mapped once, and a sub-allocator that
 * keeps its books outside of it, so that no device can damage them. First fit
 * by address. Blocks are multiples of PEALI_HEAP_ALIGN bytes and start at such,
 * those of a page or more at a page.
 *
 * The memory of an allocation is zero when it is handed out. Freed pages go
 * back to the system.
 *
 * Nothing in here takes a lock: the caller lets in one thread at a time.
 */

#define PEALI_HEAP_ALIGN 128
#define PEALI_HEAP_PAGE 4096

struct peali_heap_block;

struct peali_heap {
	char name[24]; /* for texts: "device 1" */
	int fd; /* the memfd */
	uint8_t *base; /* the owner's own view */
	uint64_t bytes;
	uint64_t used; /* bytes in allocated blocks */
	uint64_t used_end; /* end of the highest block that was ever used */
	uint64_t random; /* for the tree's priorities */
	struct peali_heap_block *root; /* all blocks, by offset */
};

/* `bytes` is rounded up to whole pages. PEAL_EDRIVER, PEAL_ENOMEM. */
int peali_heap_open(struct peali_heap *heap, const char *name, uint64_t bytes);
/* Allocations that are left are gone. A zeroed heap: nothing happens. */
void peali_heap_close(struct peali_heap *heap);

/* PEAL_EINVAL for 0 bytes; PEAL_ENOMEM, the text says how much is free. */
int peali_heap_alloc(struct peali_heap *heap, uint64_t bytes,
		     uint64_t *offset_out);
/* PEAL_EFAULT if no allocation starts at the offset. */
int peali_heap_free(struct peali_heap *heap, uint64_t offset);
/* The allocation that holds [offset, +bytes); PEAL_EFAULT if none does. */
int peali_heap_find(const struct peali_heap *heap, uint64_t offset,
		    uint64_t bytes, uint64_t *start_out, uint64_t *bytes_out);
/* Whether an address lies in the heap's own view. */
int peali_heap_holds(const struct peali_heap *heap, uint64_t address);
/* Bytes of the largest free block. */
uint64_t peali_heap_largest(const struct peali_heap *heap);

#endif
