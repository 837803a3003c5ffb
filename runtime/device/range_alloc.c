/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/range_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

#define CALL "peal_memory_alloc"

/*
 * A block, allocated or free. The blocks of a space cover it without gaps.
 *
 * The blocks are the nodes of a treap: a search tree by offset and a heap by
 * random priority. The random priorities keep the tree balanced (Seidel and
 * Aragon, "Randomized search trees", Algorithmica 16, 1996). Each node stores
 * the largest free block of its subtree. First fit, the search for neighbours
 * and the search for an address take O(log n) each.
 */
struct peali_suballoc_block {
	uint64_t offset, bytes;
	uint64_t asked; /* bytes that the caller asked for; 0: free */
	uint64_t free_max; /* largest free block in this subtree */
	uint64_t priority;
	struct peali_suballoc_block *left, *right;
};

static uint64_t free_max_of(const struct peali_suballoc_block *b)
{
	return b ? b->free_max : 0;
}

static void update(struct peali_suballoc_block *b)
{
	uint64_t most = b->asked ? 0 : b->bytes;

	if (free_max_of(b->left) > most)
		most = free_max_of(b->left);
	if (free_max_of(b->right) > most)
		most = free_max_of(b->right);
	b->free_max = most;
}

/* Moves blocks below `offset` into *low, all others into *high. */
static void split(struct peali_suballoc_block *b, uint64_t offset,
		  struct peali_suballoc_block **low,
		  struct peali_suballoc_block **high)
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

/* Joins two trees. All blocks of `low` lie below those of `high`. */
static struct peali_suballoc_block *merge(struct peali_suballoc_block *low,
					  struct peali_suballoc_block *high)
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

static void insert(struct peali_suballoc *space, struct peali_suballoc_block *b)
{
	struct peali_suballoc_block *low, *high;

	b->left = b->right = NULL;
	update(b);
	split(space->root, b->offset, &low, &high);
	space->root = merge(merge(low, b), high);
}

static void take_out(struct peali_suballoc *space,
		     struct peali_suballoc_block *b)
{
	struct peali_suballoc_block *low, *self, *high;

	split(space->root, b->offset, &low, &high);
	split(high, b->offset + 1, &self, &high);
	space->root = merge(low, high);
}

/* Returns the block that holds `offset`. Every offset has a block. */
static struct peali_suballoc_block *block_at(const struct peali_suballoc *space,
					     uint64_t offset)
{
	struct peali_suballoc_block *b = space->root, *found = NULL;

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

static struct peali_suballoc_block *new_block(struct peali_suballoc *space)
{
	struct peali_suballoc_block *b = calloc(1, sizeof(*b));
	uint64_t z = (space->random += 0x9e3779b97f4a7c15ULL);

	if (!b)
		return NULL;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL; /* splitmix64 */
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	b->priority = z ^ (z >> 31);
	return b;
}

/* Reports that the process has no memory for a block. The space itself may have
 * enough. */
static int no_table(const char *name)
{
	return peali_fail_system(ENOMEM, CALL,
				 "no memory for the block table of %s", name);
}

static int fits(const struct peali_suballoc_block *b, uint64_t bytes,
		uint64_t align)
{
	uint64_t start = peali_round_up(b->offset, align);

	return !b->asked && start + bytes <= b->offset + b->bytes;
}

/* Returns the first free block by address that fits an aligned piece. */
static struct peali_suballoc_block *first_fit(struct peali_suballoc_block *b,
					      uint64_t bytes, uint64_t align)
{
	struct peali_suballoc_block *found;

	if (free_max_of(b) < bytes)
		return NULL;
	found = first_fit(b->left, bytes, align);
	if (found)
		return found;
	if (fits(b, bytes, align))
		return b;
	return first_fit(b->right, bytes, align);
}

static void free_tree(struct peali_suballoc_block *b)
{
	if (!b)
		return;
	free_tree(b->left);
	free_tree(b->right);
	free(b);
}

int peali_suballoc_open(struct peali_suballoc *space, const char *name,
			uint64_t base, uint64_t bytes)
{
	memset(space, 0, sizeof(*space));
	snprintf(space->name, sizeof(space->name), "%s", name);
	space->base = base;
	space->bytes = bytes;
	space->root = new_block(space);
	if (!space->root)
		return no_table(name);
	space->root->bytes = bytes;
	update(space->root);
	return 0;
}

void peali_suballoc_close(struct peali_suballoc *space)
{
	free_tree(space->root);
	memset(space, 0, sizeof(*space));
}

/* Cuts [offset, +bytes) out of the free block b. The rest stays free. */
static int carve(struct peali_suballoc *space, struct peali_suballoc_block *b,
		 uint64_t offset, uint64_t bytes, uint64_t asked)
{
	uint64_t before = offset - b->offset;
	uint64_t after = b->bytes - before - bytes;
	struct peali_suballoc_block *low = NULL, *high = NULL;

	if (before && !(low = new_block(space)))
		return PEAL_ENOMEM;
	if (after && !(high = new_block(space))) {
		free(low);
		return PEAL_ENOMEM;
	}
	take_out(space, b);
	if (low) {
		low->offset = b->offset;
		low->bytes = before;
		insert(space, low);
	}
	if (high) {
		high->offset = offset + bytes;
		high->bytes = after;
		insert(space, high);
	}
	b->offset = offset;
	b->bytes = bytes;
	b->asked = asked;
	insert(space, b);
	return 0;
}

int peali_suballoc_take(struct peali_suballoc *space, uint64_t bytes,
			struct peali_piece *out)
{
	uint64_t align = bytes >= PEALI_SUBALLOC_PAGE ? PEALI_SUBALLOC_PAGE :
							PEALI_SUBALLOC_ALIGN;
	struct peali_suballoc_block *b = NULL;
	uint64_t rounded, offset;

	if (!bytes)
		return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "allocation",
				    .problem = PEALI_PRINT("on %s has no bytes",
							   space->name),
				    .value = "0 bytes", .allowed = "1 or more",
				    .remedy = "allocate at least 1 byte");
	rounded = bytes > space->bytes ?
			  bytes :
			  peali_round_up(bytes, PEALI_SUBALLOC_ALIGN);
	/*
	 * A block with spare bytes for any alignment fits for certain. Search
	 * for such a block first.
	 */
	if (rounded <= space->bytes)
		b = first_fit(space->root,
			      rounded + align - PEALI_SUBALLOC_ALIGN,
			      PEALI_SUBALLOC_ALIGN);
	if (!b && rounded <= space->bytes)
		b = first_fit(space->root, rounded, align);
	if (!b)
		return peali_fail(
			PEAL_ENOMEM, CALL,
			"%llu bytes on %s: %llu of %llu are free, the largest "
			"piece has %llu",
			(unsigned long long)bytes, space->name,
			(unsigned long long)(space->bytes - space->used),
			(unsigned long long)space->bytes,
			(unsigned long long)free_max_of(space->root));
	offset = peali_round_up(b->offset, align);
	if (carve(space, b, offset, rounded, bytes) < 0)
		return no_table(space->name);
	space->used += rounded;
	out->offset = offset;
	out->bytes = rounded;
	out->fresh = space->used_end < offset ? offset : space->used_end;
	if (out->fresh > offset + rounded)
		out->fresh = offset + rounded;
	if (space->used_end < offset + rounded)
		space->used_end = offset + rounded;
	return 0;
}

/* Merges the free neighbour n into the free block b. */
static void swallow(struct peali_suballoc *space,
		    struct peali_suballoc_block *b,
		    struct peali_suballoc_block *n)
{
	take_out(space, n);
	if (n->offset < b->offset)
		b->offset = n->offset;
	b->bytes += n->bytes;
	free(n);
}

int peali_suballoc_find(const struct peali_suballoc *space, uint64_t offset,
			uint64_t bytes, struct peali_piece *out)
{
	const struct peali_suballoc_block *b = block_at(space, offset);
	uint64_t inside;

	if (!b || !b->asked)
		goto none;
	inside = offset - b->offset;
	if (inside > b->asked || bytes > b->asked - inside)
		goto none;
	out->offset = b->offset;
	out->bytes = b->asked;
	return 0;
none:
	return peali_fail(PEAL_EFAULT, CALL,
			  "%s: no allocation contains address 0x%llx with "
			  "%llu bytes",
			  space->name,
			  (unsigned long long)(space->base + offset),
			  (unsigned long long)bytes);
}

int peali_suballoc_give(struct peali_suballoc *space, uint64_t offset,
			struct peali_piece *out)
{
	struct peali_suballoc_block *b = block_at(space, offset);
	struct peali_suballoc_block *low = NULL, *high = NULL;

	if (!b || !b->asked || b->offset != offset)
		return peali_fail(PEAL_EFAULT, CALL,
				  "no allocation of %s starts at offset 0x%llx",
				  space->name, (unsigned long long)offset);
	out->offset = b->offset;
	out->bytes = b->bytes;
	space->used -= b->bytes;
	take_out(space, b);
	b->asked = 0;
	if (b->offset)
		low = block_at(space, b->offset - 1);
	if (b->offset + b->bytes < space->bytes)
		high = block_at(space, b->offset + b->bytes);
	if (low && !low->asked)
		swallow(space, b, low);
	if (high && !high->asked)
		swallow(space, b, high);
	insert(space, b);
	return 0;
}

uint64_t peali_suballoc_largest(const struct peali_suballoc *space)
{
	return free_max_of(space->root);
}

/* Returns the largest allocation that fits a free block of the subtree. */
static uint64_t fits_of(const struct peali_suballoc_block *b)
{
	uint64_t most = 0, below, page;

	if (!b)
		return 0;
	if (!b->asked) {
		most = b->bytes < PEALI_SUBALLOC_PAGE ?
			       b->bytes :
			       PEALI_SUBALLOC_PAGE - PEALI_SUBALLOC_ALIGN;
		page = peali_round_up(b->offset, PEALI_SUBALLOC_PAGE) -
		       b->offset;
		if (b->bytes >= page + PEALI_SUBALLOC_PAGE)
			most = b->bytes - page;
	}
	below = fits_of(b->left);
	most = below > most ? below : most;
	below = fits_of(b->right);
	return below > most ? below : most;
}

void peali_suballoc_usage(const struct peali_suballoc *space,
			  struct peali_heap_usage *out)
{
	out->total = space->bytes;
	out->free = space->bytes - space->used;
	out->largest = peali_suballoc_largest(space);
	out->fits = fits_of(space->root);
}
