/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/host/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/owner.h"
#include "runtime/base/system_call.h"
#include "runtime/device/range_alloc.h"
#include "runtime/host_support/sanitize.h"

#define CALL "host: heap"

/*
 * Sets a range to zero. Whole pages return to the system, which zeroes them at
 * the next access.
 */
static void wipe(struct peali_heap *heap, uint64_t offset, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t end = offset + bytes;
	uint64_t first = peali_round_up(offset, page), last = end / page * page;

	if (first >= last ||
	    fallocate(heap->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)first, (off_t)(last - first)) < 0) {
		memset(heap->base + offset, 0, bytes);
		return;
	}
	memset(heap->base + offset, 0, first - offset);
	memset(heap->base + last, 0, end - last);
}

/*
 * Makes AddressSanitizer report accesses to freed memory or beyond an
 * allocation's end. Of a large block only the ends are marked, because the
 * marks need memory, too.
 */
static void forbid(struct peali_heap *heap, uint64_t offset, uint64_t bytes)
{
	uint64_t most = 1 << 20;

	if (heap->unmarked)
		return;
	if (bytes <= 2 * most) {
		PEALI_ASAN_FORBID(heap->base + offset, bytes);
		return;
	}
	PEALI_ASAN_FORBID(heap->base + offset, most);
	PEALI_ASAN_FORBID(heap->base + offset + bytes - most, most);
}

static void permit(struct peali_heap *heap, uint64_t offset, uint64_t bytes)
{
	PEALI_ASAN_PERMIT(heap->base + offset, bytes);
}

int peali_heap_open(struct peali_heap *heap, const char *name, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char label[40];
	int r;

	memset(heap, 0, sizeof(*heap));
	heap->bytes = peali_round_up(bytes, page);
	snprintf(label, sizeof(label), "peal %s", name);
	heap->fd = memfd_create(label, MFD_CLOEXEC);
	if (heap->fd < 0)
		return peali_fail_system(errno, CALL, "memfd_create for %s",
					 name);
	if (peali_ftruncate(heap->fd, (off_t)heap->bytes)) {
		r = peali_fail_system(errno, CALL,
				      "%s cannot have the %llu bytes of "
				      "PEAL_HOST_MEMORY, set it lower",
				      name, (unsigned long long)heap->bytes);
		goto close_fd;
	}
	heap->base = mmap(NULL, heap->bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, heap->fd, 0);
	if (heap->base == MAP_FAILED) {
		r = peali_fail_system(errno, CALL,
				      "cannot map the %llu bytes of "
				      "PEAL_HOST_MEMORY for %s, set it lower",
				      (unsigned long long)heap->bytes, name);
		goto close_fd;
	}
	peali_keep_from_children(heap->base, heap->bytes);
	r = peali_suballoc_open(&heap->space, name, (uintptr_t)heap->base,
				heap->bytes);
	if (!r)
		return 0;
	munmap(heap->base, heap->bytes);
close_fd:
	close(heap->fd);
	memset(heap, 0, sizeof(*heap));
	return r;
}

void peali_heap_close(struct peali_heap *heap)
{
	if (!heap->base)
		return;
	permit(heap, 0, heap->space.used_end);
	munmap(heap->base, heap->bytes);
	close(heap->fd);
	peali_suballoc_close(&heap->space);
	memset(heap, 0, sizeof(*heap));
}

int peali_heap_alloc(struct peali_heap *heap, uint64_t bytes,
		     uint64_t *offset_out)
{
	struct peali_piece piece;
	int r = peali_suballoc_take(&heap->space, bytes, &piece);
	struct peal_error_info why;

	if (r == PEAL_ENOMEM && !peali_failed_in_system()) {
		why = *peal_last_error();
		return peali_fail(r, why.call,
				  "%.200s; set PEAL_HOST_MEMORY "
				  "higher",
				  why.text);
	}
	if (r < 0)
		return r;
	/* Zero again: a late write after the free may have hit the block. */
	permit(heap, piece.offset, piece.bytes);
	wipe(heap, piece.offset, piece.bytes);
	forbid(heap, piece.offset + bytes, piece.bytes - bytes);
	*offset_out = piece.offset;
	return 0;
}

int peali_heap_free(struct peali_heap *heap, uint64_t offset)
{
	struct peali_piece piece;
	int r = peali_suballoc_give(&heap->space, offset, &piece);

	if (r < 0)
		return r;
	permit(heap, piece.offset, piece.bytes);
	wipe(heap, piece.offset, piece.bytes);
	forbid(heap, piece.offset, piece.bytes);
	return 0;
}

int peali_heap_map_in_child(const struct peali_heap *heap)
{
	void *base = mmap(heap->base, heap->bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
			  heap->fd, 0);

	if (base == MAP_FAILED)
		return errno;
	/* an old system takes the address for a hint */
	return base == (void *)heap->base ? 0 : EEXIST;
}

int peali_heap_find(const struct peali_heap *heap, uint64_t offset,
		    uint64_t bytes, struct peali_piece *out)
{
	return peali_suballoc_find(&heap->space, offset, bytes, out);
}

int peali_heap_holds(const struct peali_heap *heap, uint64_t address)
{
	return address - (uintptr_t)heap->base < heap->bytes;
}
