/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_HEAP_H
#define PEALI_HOST_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/device/range_alloc.h"

/*
 * The memory of one emulated device: a memfd with one mapping, and the space
 * that allocates from it (range_alloc.h).
 *
 * Allocated memory is zero. Freed pages return to the system.
 *
 * No function takes a lock: the caller admits one thread at a time.
 */

struct peali_heap {
	struct peali_suballoc space;
	int fd; /* the memfd */
	uint8_t *base; /* the owner's view */
	uint64_t bytes;
	/* 1: no marks for AddressSanitizer: other processes do not see them */
	int unmarked;
};

/* Makes a heap. Rounds `bytes` up to whole pages. PEAL_EDRIVER, PEAL_ENOMEM. */
int peali_heap_open(struct peali_heap *heap, const char *name, uint64_t bytes);
/* Frees a heap with its remaining allocations. Ignores a zeroed heap. */
void peali_heap_close(struct peali_heap *heap);

/*
 * Allocates zeroed memory. PEAL_EINVAL: 0 bytes. PEAL_ENOMEM: the error text
 * says how much is free.
 */
int peali_heap_alloc(struct peali_heap *heap, uint64_t bytes,
		     uint64_t *offset_out);
/* Frees an allocation. PEAL_EFAULT: no allocation starts at the offset. */
int peali_heap_free(struct peali_heap *heap, uint64_t offset);
/* Maps a heap at its address, in a child of fork. Returns 0 or errno. */
int peali_heap_map_in_child(const struct peali_heap *heap);
/* Finds the allocation that holds [offset, +bytes), or returns PEAL_EFAULT. */
int peali_heap_find(const struct peali_heap *heap, uint64_t offset,
		    uint64_t bytes, struct peali_piece *out);
/* Returns 1 if an address lies in the owner's view of the heap. */
int peali_heap_holds(const struct peali_heap *heap, uint64_t address);

#endif
