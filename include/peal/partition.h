/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PARTITION_H
#define PEAL_PARTITION_H

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/*
 * Partitions divide an array of `count` elements into parts.
 *
 * Create a partition by one of the three peal_partition_* calls below. Then
 * peal_scatter copies the whole array to its parts, and peal_gather copies the
 * parts back. A partition holds numbers only: no memory, no runtime.
 *
 * Each element belongs to exactly one part, and a part may be empty. The
 * elements of a part keep their order and are packed: index i in the part is
 * its i-th element.
 *
 * The part of each of 7 elements, for 3 parts:
 *
 *	block		0 0 0 1 1 2 2	one piece per part, as peal_part
 *					computes it; lengths differ by 1 at most
 *	cyclic		0 0 1 1 2 2 0	blocks of 2 elements in turn
 *	weighted	0 0 0 0 1 1 2	one piece per part, here of weights 4,
 *					2 and 1
 */

/** The largest number of parts. */
#define PEAL_PARTS_MAX 128

enum peal_partition_kind {
	PEAL_PARTITION_BLOCK = 1,
	PEAL_PARTITION_CYCLIC = 2,
	PEAL_PARTITION_WEIGHTED = 3
};

/** A partition. Callers only read it, from any thread. */
struct peal_partition {
	uint32_t kind; /* enum peal_partition_kind */
	uint32_t parts; /* number of parts, 1 .. PEAL_PARTS_MAX */
	uint64_t count; /* elements of the whole array */
	uint64_t block; /* cyclic: elements of a block; other kinds: 0 */
	/*
	 * Block and weighted: part i has the elements bound[i] to
	 * bound[i + 1] - 1. Cyclic: all 0.
	 */
	uint64_t bound[PEAL_PARTS_MAX + 1];
};

/** A run of consecutive elements of the whole array. */
struct peal_extent {
	uint64_t offset; /* index of the first element */
	uint64_t count; /* elements, at least 1 */
};

/**
 * Divides an array into one piece per part, of almost equal length.
 *
 * Each part gets count / parts elements. Each of the first count % parts parts
 * gets one more.
 *
 * Thread-safe, wait-free.
 *
 * @param count         elements; 0: all parts are empty.
 * @param parts         number of parts, 1 .. PEAL_PARTS_MAX.
 * @param partition_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `partition_out` is NULL, or `parts` is out of range.
 */
int peal_partition_block(uint64_t count, uint32_t parts,
			 struct peal_partition *partition_out);

/**
 * Divides an array into blocks that go to the parts in turn.
 *
 * The last block may be shorter than the others.
 *
 * Thread-safe, wait-free.
 *
 * @param count         elements; 0: all parts are empty.
 * @param block         elements of a block, at least 1.
 * @param parts         number of parts, 1 .. PEAL_PARTS_MAX.
 * @param partition_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `partition_out` is NULL, `parts` is out of range, or
 *                      `block` is 0.
 */
int peal_partition_cyclic(uint64_t count, uint64_t block, uint32_t parts,
			  struct peal_partition *partition_out);

/**
 * Divides an array into one piece per part, of lengths by weight.
 *
 * The exact share of a part is count * weight / sum of weights. Each part gets
 * the whole elements of its share. The remaining elements go, one each, to the
 * parts with the largest remainders. Of equal remainders the first part wins.
 * This is the method of largest remainders, also known as Hamilton's method
 * (M. L. Balinski and H. P. Young, "Fair Representation", 1982).
 *
 * A part never gets more elements than its limit. The other parts share the
 * elements above that limit by this method, too.
 *
 * Thread-safe, wait-free.
 *
 * @param count         elements; 0: all parts are empty.
 * @param weights       `parts` weights with a sum below 2^64. A part with
 *                      weight 0 is empty. NULL: all weights are equal.
 * @param limits        `parts` limits in elements. NULL: no limits.
 * @param parts         number of parts, 1 .. PEAL_PARTS_MAX.
 * @param partition_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `partition_out` is NULL, or `parts` is out of range.
 *                      Or the sum of weights is 2^64 or more. Or all weights
 *                      are 0 and `count` is not.
 * @retval PEAL_ENOSPC  the limits of all parts with a weight above 0 add up to
 *                      less than `count`. The text names the difference.
 */
int peal_partition_weighted(uint64_t count, const uint64_t *weights,
			    const uint64_t *limits, uint32_t parts,
			    struct peal_partition *partition_out);

/**
 * Returns the number of elements of a part.
 *
 * Thread-safe, wait-free.
 *
 * @param partition a partition.
 * @param part      index of the part.
 * @return the number; 0 if `partition` is NULL or has no such part.
 */
uint64_t peal_partition_length(const struct peal_partition *partition,
			       uint32_t part);

/**
 * Returns the number of extents of a part.
 *
 * The extents of a part are its runs of elements in the whole array. In a
 * cyclic partition each block is one extent. In other partitions a part has
 * one extent, or none if it is empty.
 *
 * Thread-safe, wait-free.
 *
 * @param partition a partition.
 * @param part      index of the part.
 * @return the number; 0 if the part is empty, if `partition` is NULL or if it
 *         has no such part.
 */
uint64_t peal_partition_extents(const struct peal_partition *partition,
				uint32_t part);

/**
 * Returns one extent of a part.
 *
 * The extents of a part are in ascending order of their offsets.
 *
 * Thread-safe, wait-free.
 *
 * @param partition  a partition.
 * @param part       index of the part, 0 .. parts - 1.
 * @param i          index of the extent, 0 .. peal_partition_extents - 1.
 * @param extent_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL.
 * @retval PEAL_ENOENT  there is no such part, or the part has no such extent.
 */
int peal_partition_extent(const struct peal_partition *partition, uint32_t part,
			  uint64_t i, struct peal_extent *extent_out);

/**
 * Finds the part of an element.
 *
 * Thread-safe, wait-free.
 *
 * @param partition a partition.
 * @param element   index in the whole array, 0 .. count - 1.
 * @param part_out  index of the part, set on success.
 * @param index_out index of the element in its part, from 0, set on success.
 *                  NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `partition` or `part_out` is NULL.
 * @retval PEAL_ENOENT  there is no such element.
 */
int peal_partition_find(const struct peal_partition *partition,
			uint64_t element, uint32_t *part_out,
			uint64_t *index_out);

/** The memory of a whole array and of its parts. */
struct peal_partition_memory {
	uint32_t size; /* sizeof(struct peal_partition_memory) */
	uint32_t element_bytes; /* bytes of an element, 1 or more */
	const struct peal_partition *partition; /* not NULL */
	int whole_device; /* device index, or PEAL_HOST_MEMORY */
	/* address of element 0 as that device sees it, or a host pointer */
	uint64_t whole;
	/* device index or PEAL_HOST_MEMORY of each part */
	const int *devices;
	/*
	 * Address of the first element of each part, as its device sees it.
	 * Addresses of empty parts are not read.
	 */
	const uint64_t *parts;
};

/**
 * Copies the elements of a whole array to its parts.
 *
 * For short blocks of a cyclic partition the runtime packs elements in host
 * memory first. It then copies many blocks at a time. Blocks below 16 KiB are
 * short.
 *
 * No memory may overlap: neither two parts nor a part with the whole. After an
 * error other than PEAL_EINVAL some elements may be copied.
 *
 * Thread-safe. Blocks until all copies have ended.
 *
 * @param runtime an open runtime.
 * @param memory  the partition and the memory. All memory stays allocated
 *                during the call.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL, `size` or `element_bytes` is wrong,
 *                      or the partition is none of the calls above.
 * @retval PEAL_ENODEV  a device index is out of range.
 * @retval PEAL_EFAULT  a part or the whole is in no allocation. The text names
 *                      the part.
 * @retval PEAL_ENOMEM  no host memory to pack elements or to stage a copy.
 * @retval PEAL_EDRIVER a driver call failed.
 */
int peal_scatter(struct peal_runtime *runtime,
		 const struct peal_partition_memory *memory);

/**
 * Copies the elements of all parts to the whole array.
 *
 * All rules of peal_scatter apply.
 *
 * Thread-safe. Blocks until all copies have ended.
 *
 * @param runtime an open runtime.
 * @param memory  as peal_scatter.
 * @return as peal_scatter.
 */
int peal_gather(struct peal_runtime *runtime,
		const struct peal_partition_memory *memory);

/**
 * Returns the name of a kind: "block", "cyclic" or "weighted".
 *
 * Thread-safe, wait-free.
 *
 * @param kind enum peal_partition_kind.
 * @return a static string; "?" for an unknown number.
 */
const char *peal_partition_kind_name(uint32_t kind);

PEAL_END_C
#endif
