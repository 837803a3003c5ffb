/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/host/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/backend/error.h"
#include "runtime/backend/host/sanitize.h"

#define CALL "host: heap"

/*
 * A block, allocated or free; the blocks of a heap lie end to end. They are the
 * nodes of a treap: a search tree by offset and a heap by random priorities,
 * which keeps it balanced (Seidel and Aragon, "Randomized search trees",
 * Algorithmica 16, 1996). Each node knows the largest free block below it, so
 * that first fit, neighbours and "who holds this address" take O(log n) each.
 */
struct peali_heap_block {
	uint64_t offset, bytes;
	uint64_t asked; /* bytes that the caller asked for; 0: free */
	uint64_t free_max; /* largest free block in this subtree */
	uint64_t priority;
	struct peali_heap_block *left, *right;
};

static uint64_t free_max_of(const struct peali_heap_block *b)
{
	return b ? b->free_max : 0;
}

static void update(struct peali_heap_block *b)
{
	uint64_t most = b->asked ? 0 : b->bytes;

	if (free_max_of(b->left) > most)
		most = free_max_of(b->left);
	if (free_max_of(b->right) > most)
		most = free_max_of(b->right);
	b->free_max = most;
}

/* Blocks below `offset` go into *low, the others into *high. */
static void split(struct peali_heap_block *b, uint64_t offset,
		  struct peali_heap_block **low, struct peali_heap_block **high)
{
	if (!b) {
		*low = *high = NULL;
	} else if (b->offset < offset) {
		split(b->right, offset, &b->right, high);
		*low = b;
		update(b);
	} else {
		split(b->left, offset, low, &b->left);
		*high = b;
		update(b);
	}
}

/* All blocks of `low` lie below those of `high`. */
static struct peali_heap_block *merge(struct peali_heap_block *low,
				      struct peali_heap_block *high)
{
	if (!low || !high)
		return low ? low : high;
	if (low->priority > high->priority) {
		low->right = merge(low->right, high);
		update(low);
		return low;
	}
	high->left = merge(low, high->left);
	update(high);
	return high;
}

static void insert(struct peali_heap *heap, struct peali_heap_block *b)
{
	struct peali_heap_block *low, *high;

	b->left = b->right = NULL;
	update(b);
	split(heap->root, b->offset, &low, &high);
	heap->root = merge(merge(low, b), high);
}

static void take_out(struct peali_heap *heap, struct peali_heap_block *b)
{
	struct peali_heap_block *low, *self, *high;

	split(heap->root, b->offset, &low, &high);
	split(high, b->offset + 1, &self, &high);
	heap->root = merge(low, high);
}

/* The block that `offset` lies in; there is one for each offset. */
static struct peali_heap_block *block_at(const struct peali_heap *heap,
					 uint64_t offset)
{
	struct peali_heap_block *b = heap->root, *found = NULL;

	while (b) {
		if (b->offset <= offset) {
			found = b;
			b = b->right;
		} else {
			b = b->left;
		}
	}
	return found;
}

static struct peali_heap_block *new_block(struct peali_heap *heap)
{
	struct peali_heap_block *b = calloc(1, sizeof(*b));
	uint64_t z = (heap->random += 0x9e3779b97f4a7c15ULL);

	if (!b)
		return NULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL; /* splitmix64 */
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	b->priority = z ^ (z >> 31);
	return b;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static int fits(const struct peali_heap_block *b, uint64_t bytes,
		uint64_t align)
{
	uint64_t start = round_up(b->offset, align);

	return !b->asked && start + bytes <= b->offset + b->bytes;
}

/* The first free block by address that has room for an aligned piece. */
static struct peali_heap_block *first_fit(struct peali_heap_block *b,
					  uint64_t bytes, uint64_t align)
{
	struct peali_heap_block *found;

	if (free_max_of(b) < bytes)
		return NULL;
	found = first_fit(b->left, bytes, align);
	if (found)
		return found;
	if (fits(b, bytes, align))
		return b;
	return first_fit(b->right, bytes, align);
}

/*
 * Makes a range read as zeros. Whole pages are given back to the system, which
 * hands out zeroed ones at the next touch.
 */
static void wipe(struct peali_heap *heap, uint64_t offset, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t end = offset + bytes;
	uint64_t first = round_up(offset, page), last = end / page * page;

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
 * Under AddressSanitizer what was freed, and the rest behind an allocation's
 * last byte, must not be touched. Of a large block only the ends are marked:
 * the marks themselves take memory.
 */
static void forbid(struct peali_heap *heap, uint64_t offset, uint64_t bytes)
{
	uint64_t most = 1 << 20;

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
	char label[40];
	int r;

	memset(heap, 0, sizeof(*heap));
	snprintf(heap->name, sizeof(heap->name), "%s", name);
	heap->bytes = round_up(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	snprintf(label, sizeof(label), "peal %s", name);
	heap->fd = memfd_create(label, MFD_CLOEXEC);
	if (heap->fd < 0)
		return peali_fail_driver(PEAL_EDRIVER, errno, CALL,
					 "memfd_create for %s: %s", name,
					 strerror(errno));
	if (ftruncate(heap->fd, (off_t)heap->bytes) < 0) {
		r = peali_fail_driver(PEAL_ENOMEM, errno, CALL,
				      "%s cannot have %llu bytes: %s; set "
				      "PEAL_HOST_MEMORY lower",
				      name, (unsigned long long)heap->bytes,
				      strerror(errno));
		goto close_fd;
	}
	heap->base = mmap(NULL, heap->bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, heap->fd, 0);
	if (heap->base == MAP_FAILED) {
		r = peali_fail_driver(PEAL_ENOMEM, errno, CALL,
				      "mapping %llu bytes for %s: %s; set "
				      "PEAL_HOST_MEMORY lower",
				      (unsigned long long)heap->bytes, name,
				      strerror(errno));
		goto close_fd;
	}
	heap->root = new_block(heap);
	if (!heap->root) {
		r = peali_fail(PEAL_ENOMEM, CALL, "no memory for the books");
		goto unmap;
	}
	heap->root->bytes = heap->bytes;
	update(heap->root);
	return 0;
unmap:
	munmap(heap->base, heap->bytes);
close_fd:
	close(heap->fd);
	memset(heap, 0, sizeof(*heap));
	return r;
}

static void free_tree(struct peali_heap_block *b)
{
	if (!b)
		return;
	free_tree(b->left);
	free_tree(b->right);
	free(b);
}

void peali_heap_close(struct peali_heap *heap)
{
	if (!heap->base)
		return;
	permit(heap, 0, heap->used_end);
	munmap(heap->base, heap->bytes);
	close(heap->fd);
	free_tree(heap->root);
	memset(heap, 0, sizeof(*heap));
}

/* Cuts [offset, +bytes) out of the free block b; the rest stays free. */
static int carve(struct peali_heap *heap, struct peali_heap_block *b,
		 uint64_t offset, uint64_t bytes, uint64_t asked)
{
	uint64_t before = offset - b->offset;
	uint64_t after = b->bytes - before - bytes;
	struct peali_heap_block *low = NULL, *high = NULL;

	if (before && !(low = new_block(heap)))
		return PEAL_ENOMEM;
	if (after && !(high = new_block(heap))) {
		free(low);
		return PEAL_ENOMEM;
	}
	take_out(heap, b);
	if (low) {
		low->offset = b->offset;
		low->bytes = before;
		insert(heap, low);
	}
	if (high) {
		high->offset = offset + bytes;
		high->bytes = after;
		insert(heap, high);
	}
	b->offset = offset;
	b->bytes = bytes;
	b->asked = asked;
	insert(heap, b);
	return 0;
}

int peali_heap_alloc(struct peali_heap *heap, uint64_t bytes,
		     uint64_t *offset_out)
{
	uint64_t align = bytes >= PEALI_HEAP_PAGE ? PEALI_HEAP_PAGE :
						    PEALI_HEAP_ALIGN;
	struct peali_heap_block *b = NULL;
	uint64_t rounded, offset;

	if (!bytes)
		return peali_fail(PEAL_EINVAL, CALL,
				  "an allocation of 0 bytes on %s", heap->name);
	rounded = bytes > heap->bytes ? bytes :
					round_up(bytes, PEALI_HEAP_ALIGN);
	/* With room for any alignment the first one that is met will do. */
	if (rounded <= heap->bytes)
		b = first_fit(heap->root, rounded + align - PEALI_HEAP_ALIGN,
			      PEALI_HEAP_ALIGN);
	if (!b && rounded <= heap->bytes)
		b = first_fit(heap->root, rounded, align);
	if (!b)
		return peali_fail(
			PEAL_ENOMEM, CALL,
			"%llu bytes on %s: %llu of %llu are free, the largest "
			"piece has %llu",
			(unsigned long long)bytes, heap->name,
			(unsigned long long)(heap->bytes - heap->used),
			(unsigned long long)heap->bytes,
			(unsigned long long)free_max_of(heap->root));
	offset = round_up(b->offset, align);
	if (carve(heap, b, offset, rounded, bytes) < 0)
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory for the books of %s", heap->name);
	heap->used += rounded;
	if (heap->used_end < offset + rounded)
		heap->used_end = offset + rounded;
	/* Again, and not only at the free: a late writer may have been there.*/
	permit(heap, offset, rounded);
	wipe(heap, offset, rounded);
	forbid(heap, offset + bytes, rounded - bytes);
	*offset_out = offset;
	return 0;
}

/* The free block b swallows its neighbour n. */
static void swallow(struct peali_heap *heap, struct peali_heap_block *b,
		    struct peali_heap_block *n)
{
	take_out(heap, n);
	if (n->offset < b->offset)
		b->offset = n->offset;
	b->bytes += n->bytes;
	free(n);
}

int peali_heap_free(struct peali_heap *heap, uint64_t offset)
{
	struct peali_heap_block *b = block_at(heap, offset);
	struct peali_heap_block *low = NULL, *high = NULL;

	if (!b || !b->asked || b->offset != offset)
		return peali_fail(PEAL_EFAULT, CALL,
				  "no allocation of %s starts at offset 0x%llx",
				  heap->name, (unsigned long long)offset);
	permit(heap, b->offset, b->bytes);
	wipe(heap, b->offset, b->bytes);
	forbid(heap, b->offset, b->bytes);
	heap->used -= b->bytes;
	take_out(heap, b);
	b->asked = 0;
	if (b->offset)
		low = block_at(heap, b->offset - 1);
	if (b->offset + b->bytes < heap->bytes)
		high = block_at(heap, b->offset + b->bytes);
	if (low && !low->asked)
		swallow(heap, b, low);
	if (high && !high->asked)
		swallow(heap, b, high);
	insert(heap, b);
	return 0;
}

int peali_heap_find(const struct peali_heap *heap, uint64_t offset,
		    uint64_t bytes, uint64_t *start_out, uint64_t *bytes_out)
{
	const struct peali_heap_block *b = block_at(heap, offset);
	uint64_t inside;

	if (!b || !b->asked)
		goto none;
	inside = offset - b->offset;
	if (inside > b->asked || bytes > b->asked - inside)
		goto none;
	*start_out = b->offset;
	*bytes_out = b->asked;
	return 0;
none:
	return peali_fail(PEAL_EFAULT, CALL,
			  "%s: no allocation holds address 0x%llx with %llu "
			  "bytes",
			  heap->name,
			  (unsigned long long)((uintptr_t)heap->base + offset),
			  (unsigned long long)bytes);
}

int peali_heap_holds(const struct peali_heap *heap, uint64_t address)
{
	return address - (uintptr_t)heap->base < heap->bytes;
}

uint64_t peali_heap_largest(const struct peali_heap *heap)
{
	return free_max_of(heap->root);
}
