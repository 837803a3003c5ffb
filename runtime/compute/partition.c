/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partitions: computes which elements belong to which part.
 * partition_scatter.c copies elements accordingly.
 */
#include <string.h>

#include <peal/abi/collective.h>
#include <peal/partition.h>
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/runtime.h"

#define BLOCK "peal_partition_block"
#define CYCLIC "peal_partition_cyclic"
#define WEIGHTED "peal_partition_weighted"
#define EXTENT "peal_partition_extent"
#define FIND "peal_partition_find"

__extension__ typedef unsigned __int128 wide;

/* ---- creation ------------------------------------------------------------ */

static int check(uint32_t parts, const struct peal_partition *out,
		 const char *call)
{
	if (!out)
		return peali_refuse_null(call, "partition_out");
	if (!parts || parts > PEAL_PARTS_MAX)
		return peali_refuse_range(call, "argument", "parts", parts, 1,
					  PEAL_PARTS_MAX);
	return 0;
}

static void begin(struct peal_partition *p, uint32_t kind, uint64_t count,
		  uint32_t parts)
{
	memset(p, 0, sizeof(*p));
	p->kind = kind;
	p->count = count;
	p->parts = parts;
}

const char *peal_partition_kind_name(uint32_t kind)
{
	static const char *const names[] = { "?", "block", "cyclic",
					     "weighted" };

	return kind < 4 ? names[kind] : "?";
}

int peal_partition_block(uint64_t count, uint32_t parts,
			 struct peal_partition *partition_out)
{
	uint64_t length;
	uint32_t i;
	int result = check(parts, partition_out, BLOCK);

	if (result)
		return result;
	begin(partition_out, PEAL_PARTITION_BLOCK, count, parts);
	for (i = 0; i < parts; i++)
		partition_out->bound[i] = peal_part(count, parts, i, &length);
	partition_out->bound[parts] = count;
	return 0;
}

int peal_partition_cyclic(uint64_t count, uint64_t block, uint32_t parts,
			  struct peal_partition *partition_out)
{
	int result = check(parts, partition_out, CYCLIC);

	if (!result && !block)
		result = peali_refuse_range(CYCLIC, "argument", "block", 0, 1,
					    UINT64_MAX);
	if (result)
		return result;
	begin(partition_out, PEAL_PARTITION_CYCLIC, count, parts);
	partition_out->block = block;
	return 0;
}

/*
 * Distributes `count` elements in proportion to weights with the sum `sum`, by
 * the largest remainder method. Each part gets its whole share. Then the parts
 * with the largest remainders get one more element each.
 */
static void share(uint64_t count, const uint64_t *weight, uint64_t sum,
		  uint32_t n, uint64_t *share_out)
{
	uint64_t rest[PEAL_PARTS_MAX], left = count;
	uint32_t i, most;

	for (i = 0; i < n; i++) {
		wide all = (wide)count * weight[i];

		share_out[i] = (uint64_t)(all / sum);
		rest[i] = (uint64_t)(all % sum);
		left -= share_out[i];
	}
	for (; left; left--) { /* left < number of parts with a remainder */
		for (most = 0, i = 1; i < n; i++)
			if (rest[i] > rest[most])
				most = i;
		share_out[most]++;
		rest[most] = 0;
	}
}

/*
 * Adds up the weights into *sum_out. Returns PEAL_ENOSPC if the parts with a
 * weight cannot take `count` elements.
 */
static int add_up(uint64_t count, const uint64_t *weight,
		  const uint64_t *limits, uint32_t n, uint64_t *sum_out)
{
	uint64_t sum = 0, capacity = 0, more;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (weight[i] > UINT64_MAX - sum)
			return PEALI_REFUSE(
				PEAL_EINVAL, WEIGHTED, .object = "argument",
				.name = "weights",
				.problem = "has a sum that is too large",
				.value = "2^64 or more",
				.allowed = "sums below 2^64",
				.remedy = "divide all by one number");
		sum += weight[i];
		more = limits && weight[i] ? limits[i] :
		       weight[i]	   ? UINT64_MAX :
					     0;
		capacity = more > UINT64_MAX - capacity ? UINT64_MAX :
							  capacity + more;
	}
	if (count && !sum)
		return PEALI_REFUSE(
			PEAL_EINVAL, WEIGHTED, .object = "argument",
			.name = "weights",
			.problem = PEALI_PRINT(
				"has only zeros, and no part takes the "
				"%llu element%s",
				(unsigned long long)count, peali_s(count)),
			.value = "sum 0", .allowed = "a sum of 1 or more",
			.remedy = "set a weight");
	if (capacity < count)
		return PEALI_REFUSE(
			PEAL_ENOSPC, WEIGHTED, .object = "argument",
			.name = "count",
			.problem = "is larger than the sum of the limits",
			.number = count, .most = capacity);
	*sum_out = sum;
	return 0;
}

/*
 * Distributes elements by weights, but no more than its limit to any part.
 *
 * 1. Compute the shares of all parts that have a weight.
 * 2. Give each part with a larger share its limit, and set its weight to 0.
 * 3. Repeat from step 1 with the rest until no share exceeds its limit.
 * 4. Give the remaining parts their shares.
 */
static void share_limited(uint64_t count, uint64_t *weight, uint64_t sum,
			  const uint64_t *limits, uint32_t n,
			  uint64_t *length_out)
{
	uint64_t given[PEAL_PARTS_MAX], left = count;
	uint32_t i;
	int again = 1;

	memset(length_out, 0, n * sizeof(*length_out));
	while (again && left) {
		again = 0;
		share(left, weight, sum, n, given);
		for (i = 0; limits && i < n; i++) {
			if (given[i] <= limits[i])
				continue;
			again = 1;
			length_out[i] = limits[i];
			left -= limits[i];
			sum -= weight[i];
			weight[i] = 0;
		}
	}
	for (i = 0; left && i < n; i++)
		if (weight[i])
			length_out[i] = given[i];
}

int peal_partition_weighted(uint64_t count, const uint64_t *weights,
			    const uint64_t *limits, uint32_t parts,
			    struct peal_partition *partition_out)
{
	uint64_t weight[PEAL_PARTS_MAX], length[PEAL_PARTS_MAX], sum = 0;
	uint32_t i;
	int result = check(parts, partition_out, WEIGHTED);

	if (result)
		return result;
	for (i = 0; i < parts; i++)
		weight[i] = weights ? weights[i] : 1;
	result = add_up(count, weight, limits, parts, &sum);
	if (result)
		return result;
	share_limited(count, weight, sum, limits, parts, length);
	begin(partition_out, PEAL_PARTITION_WEIGHTED, count, parts);
	for (i = 0; i < parts; i++)
		partition_out->bound[i + 1] =
			partition_out->bound[i] + length[i];
	return 0;
}

/* ---- queries ------------------------------------------------------------- */

static int is_part(const struct peal_partition *p, uint32_t part)
{
	return p && part < p->parts && p->parts <= PEAL_PARTS_MAX;
}

/* Returns the number of blocks of all parts. */
static uint64_t blocks(const struct peal_partition *p)
{
	return p->count ? (p->count - 1) / p->block + 1 : 0;
}

uint64_t peal_partition_length(const struct peal_partition *p, uint32_t part)
{
	uint64_t all, n, last;

	if (!is_part(p, part))
		return 0;
	if (p->kind != PEAL_PARTITION_CYCLIC)
		return p->bound[part + 1] - p->bound[part];
	n = peal_partition_extents(p, part);
	if (!n)
		return 0;
	all = blocks(p);
	last = (all - 1) % p->parts == part ? p->count - (all - 1) * p->block :
					      p->block;
	return (n - 1) * p->block + last;
}

uint64_t peal_partition_extents(const struct peal_partition *p, uint32_t part)
{
	uint64_t all;

	if (!is_part(p, part))
		return 0;
	if (p->kind != PEAL_PARTITION_CYCLIC)
		return p->bound[part + 1] > p->bound[part];
	all = blocks(p);
	return all > part ? (all - part - 1) / p->parts + 1 : 0;
}

int peal_partition_extent(const struct peal_partition *p, uint32_t part,
			  uint64_t i, struct peal_extent *extent_out)
{
	if (!p || !extent_out)
		return peali_refuse_null(EXTENT, "partition or extent_out");
	if (i >= peal_partition_extents(p, part))
		return peali_refuse_index(EXTENT, PEALI_PRINT("part %u", part),
					  NULL, "extent", i,
					  peal_partition_extents(p, part),
					  "use a part with elements");
	if (p->kind != PEAL_PARTITION_CYCLIC) {
		extent_out->offset = p->bound[part];
		extent_out->count = p->bound[part + 1] - p->bound[part];
		return 0;
	}
	extent_out->offset = (i * p->parts + part) * p->block;
	extent_out->count = p->count - extent_out->offset < p->block ?
				    p->count - extent_out->offset :
				    p->block;
	return 0;
}

int peal_partition_find(const struct peal_partition *p, uint64_t element,
			uint32_t *part_out, uint64_t *index_out)
{
	uint64_t block, index;
	uint32_t part = 0;

	if (!p || !part_out)
		return peali_refuse_null(FIND, "partition or part_out");
	if (element >= p->count)
		return peali_refuse_index(
			FIND, "partition", NULL, "element", element, p->count,
			"create a partition of 1 element or more");
	if (p->kind == PEAL_PARTITION_CYCLIC) {
		block = element / p->block;
		part = (uint32_t)(block % p->parts);
		index = block / p->parts * p->block + element % p->block;
	} else {
		while (p->bound[part + 1] <= element)
			part++;
		index = element - p->bound[part];
	}
	*part_out = part;
	if (index_out)
		*index_out = index;
	return 0;
}
