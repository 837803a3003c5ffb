/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_HEAP_H
#define PEALI_HOST_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/backend/space.h"

/*
 * One emulated device's memory: a memfd, mapped once, and the books of what is
 * handed out of it (space.h).
 *
 * The memory of an allocation is zero when it is handed out. Freed pages go
 * back to the system.
 *
 * Nothing in here takes a lock: the caller lets in one thread at a time.
 */

struct peali_heap {
	struct peali_space space;
	int fd; /* the memfd */
	uint8_t *base; /* the owner's own view */
	uint64_t bytes;
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
		    uint64_t bytes, struct peali_piece *out);
/* Whether an address lies in the heap's own view. */
int peali_heap_holds(const struct peali_heap *heap, uint64_t address);

#endif
