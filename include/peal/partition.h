/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PARTITION_H
#define PEAL_PARTITION_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/*
 * Partitions: which of `count` elements are whose. Each element is in exactly one
 * part; a part may be empty. Within a part elements keep their order, and are
 * packed: the i-th of them is at i in the memory of the part. A partition is a
 * plan, numbers alone, of no runtime; peal_scatter and peal_gather move elements
 * by it.
 *
 *	block		0 0 0 1 1 2 2	one piece each, sizes differ by one at
 *					most: as peal_part has it
 *	cyclic		0 0 1 1 2 2 0	blocks in turn
 *	weighted	0 0 0 0 1 1 2	one piece each, as long as its weight says
 */

/** The most parts. */
#define PEAL_PARTS_MAX 64

enum peal_partition_kind {
	PEAL_PARTITION_BLOCK = 1,
	PEAL_PARTITION_CYCLIC = 2,
	PEAL_PARTITION_WEIGHTED = 3
};

/** A partition; filled by one of the three calls below, to be read by anybody. */
struct peal_partition {
	uint32_t kind; /* enum peal_partition_kind */
	uint32_t parts;
	uint64_t count; /* elements */
	uint64_t block; /* cyclic: elements of a block; else 0 */
	/* but for cyclic: part i has elements bound[i] .. bound[i + 1] - 1 */
	uint64_t bound[PEAL_PARTS_MAX + 1];
};

/** Elements that lie side by side. */
struct peal_extent {
	uint64_t offset; /* of the first one */
	uint64_t count; /* at least 1 */
};

/**
 * One piece for each part, of count / parts elements, and one more for each of
 * the first count % parts.
 *
 * @param count         elements; 0: all parts are empty.
 * @param parts         1 .. PEAL_PARTS_MAX.
 * @param partition_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe, wait-free.
 */
int peal_partition_block(uint64_t count, uint32_t parts,
			 struct peal_partition *partition_out);

/**
 * Blocks that go to the parts in turn; the last one may be shorter.
 *
 * @param count         elements.
 * @param block         elements of a block, at least 1.
 * @param parts         1 .. PEAL_PARTS_MAX.
 * @param partition_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe, wait-free.
 */
int peal_partition_cyclic(uint64_t count, uint64_t block, uint32_t parts,
			  struct peal_partition *partition_out);

/**
 * One piece for each part, as long as its share of the weights: the whole elements
 * of that, and one more where what is left of it is largest, of equal ones the
 * first, until all are given (the method of largest remainders; M. L. Balinski
 * and H. P. Young, "Fair Representation", 1982, calls it Hamilton's). A part that
 * has a limit gets no more than that, and what is over is shared by the others in
 * the same way.
 *
 * @param count         elements.
 * @param weights       `parts` of them; who has 0 gets nothing. Their sum is below
 *                      2^64. NULL: all alike.
 * @param limits        the most elements of each part; NULL: none has one.
 * @param parts         1 .. PEAL_PARTS_MAX.
 * @param partition_out filled on success.
 * @return 0; PEAL_EINVAL all weights are 0 and there are elements, or they are too
 *         large; PEAL_ENOSPC the limits of all whose weight is not 0 are less than
 *         `count` (the text says how much less). Thread-safe, wait-free.
 */
int peal_partition_weighted(uint64_t count, const uint64_t *weights,
			    const uint64_t *limits, uint32_t parts,
			    struct peal_partition *partition_out);

/**
 * How many elements a part has.
 *
 * @param partition a partition.
 * @param part      0 .. parts - 1; any other has none.
 * @return the number. Thread-safe, wait-free.
 */
uint64_t peal_partition_length(const struct peal_partition *partition,
			       uint32_t part);

/**
 * How many extents a part has: those of the whole that it consists of.
 *
 * @param partition a partition.
 * @param part      0 .. parts - 1; any other has none.
 * @return the number; 0: the part is empty. Thread-safe, wait-free.
 */
uint64_t peal_partition_extents(const struct peal_partition *partition,
				uint32_t part);

/**
 * One extent of a part; they are in order of their offsets.
 *
 * @param partition  a partition.
 * @param part       0 .. parts - 1.
 * @param i          0 .. peal_partition_extents - 1.
 * @param extent_out filled on success.
 * @return 0; PEAL_ENOENT the part has no such extent; PEAL_EINVAL a pointer is
 *         NULL. Thread-safe, wait-free.
 */
int peal_partition_extent(const struct peal_partition *partition, uint32_t part,
			  uint64_t i, struct peal_extent *extent_out);

/**
 * Where an element is.
 *
 * @param partition a partition.
 * @param element   0 .. count - 1.
 * @param part_out  the part that has it.
 * @param index_out its place in that part, from 0; NULL if not wanted.
 * @return 0; PEAL_ENOENT there is no such element; PEAL_EINVAL a pointer is NULL.
 *         Thread-safe, wait-free.
 */
int peal_partition_find(const struct peal_partition *partition,
			uint64_t element, uint32_t *part_out,
			uint64_t *index_out);

/** A whole and its parts in memory. */
struct peal_parts {
	uint32_t size; /* sizeof(struct peal_parts) */
	uint32_t element_bytes; /* 1 or more */
	const struct peal_partition *partition;
	int whole_device; /* index, or PEAL_HOST_MEMORY */
	uint64_t whole; /* address of element 0, as that device sees it, or a
			 * host pointer */
	const int *devices; /* of the parts; index or PEAL_HOST_MEMORY */
	const uint64_t *parts; /* address of each one's first element, as its
				* device sees it; of empty ones not read */
};

/**
 * Copies the elements of a whole to the parts whose they are. Where extents are
 * short they are put together in host memory, so that many go by one copy.
 *
 * @param runtime an open runtime.
 * @param parts   which, from and to where; no part overlaps the whole or another.
 * @return 0; PEAL_EINVAL; PEAL_ENODEV; PEAL_EFAULT a part or the whole is in no
 *         allocation (the text names the part): then some may have been copied;
 *         PEAL_ENOMEM; PEAL_EDRIVER. Thread-safe; blocking.
 */
int peal_scatter(struct peal_runtime *runtime, const struct peal_parts *parts);

/**
 * Copies the elements of all parts to the whole.
 *
 * @param runtime an open runtime.
 * @param parts   as peal_scatter.
 * @return as peal_scatter.
 */
int peal_gather(struct peal_runtime *runtime, const struct peal_parts *parts);

#ifdef __cplusplus
}
#endif
#endif
