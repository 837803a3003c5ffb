/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks partitions against the owner of each element, computed one element at
 * a time. Also checks that scatter and gather move the elements of a partition.
 */
#include <peal/memory.h>
#include <peal/partition.h>
#include <peal/peer.h>

#include "runtime/harness.h"

#define MOST 2000 /* elements of the cases that check each one */

static uint32_t owner[MOST];
static unsigned long long seed = 4711;

/* ---- definitions --------------------------------------------------------- */

/*
 * Deals elements like cards, then sorts them by part. The first count % parts
 * parts get one more element.
 */
static void deal_block(uint64_t count, uint32_t parts)
{
	uint64_t length[PEAL_PARTS_MAX] = { 0 }, i;
	uint32_t part = 0;

	for (i = 0; i < count; i++)
		length[i % parts]++;
	for (i = 0; i < count; i++) {
		while (!length[part])
			part++;
		owner[i] = part;
		length[part]--;
	}
}

static void deal_cyclic(uint64_t count, uint64_t block, uint32_t parts)
{
	uint64_t i, in = 0;
	uint32_t part = 0;

	for (i = 0; i < count; i++) {
		owner[i] = part;
		if (++in == block) {
			in = 0;
			part = part + 1 == parts ? 0 : part + 1;
		}
	}
}

/*
 * Checks that each element lies in one extent of one part, at the index of
 * peal_partition_find. Checks that extents do not touch.
 */
static void check_owners(const struct peal_partition *p)
{
	uint64_t seen = 0, i, index, at, k;
	uint32_t part, found;
	struct peal_extent e;

	for (part = 0; part < p->parts; part++) {
		uint64_t n = peal_partition_extents(p, part), end = 0;

		for (i = index = 0; i < n; i++) {
			CHECK_OK(peal_partition_extent(p, part, i, &e));
			CHECK(e.count > 0);
			CHECK(!i || e.offset > end); /* extents do not touch */
			end = e.offset + e.count;
			CHECK(end <= p->count);
			for (k = 0; k < e.count; k++, index++, seen++) {
				CHECK_EQ(owner[e.offset + k], part);
				CHECK_OK(peal_partition_find(p, e.offset + k,
							     &found, &at));
				CHECK_EQ(found, part);
				CHECK_EQ(at, index);
			}
		}
		CHECK_EQ(peal_partition_length(p, part), index);
		CHECK_FAILS(peal_partition_extent(p, part, n, &e), PEAL_ENOENT,
			    "has no such extent (");
	}
	CHECK_EQ(seen, p->count);
}

PEAL_TEST(block_lengths_differ_by_at_most_one)
{
	struct peal_partition p;
	uint64_t count;
	uint32_t parts;

	for (count = 0; count < 200; count++)
		for (parts = 1; parts <= PEAL_PARTS_MAX; parts++) {
			CHECK_OK(peal_partition_block(count, parts, &p));
			deal_block(count, parts);
			check_owners(&p);
		}
	CHECK_OK(peal_partition_block(1999, 7, &p));
	deal_block(1999, 7);
	check_owners(&p);
}

PEAL_TEST(cyclic_blocks_go_round_robin)
{
	struct peal_partition p;
	uint64_t count, block;
	uint32_t parts;

	for (count = 0; count < 120; count++)
		for (block = 1; block < 14; block++)
			for (parts = 1; parts < 9; parts++) {
				CHECK_OK(peal_partition_cyclic(count, block,
							       parts, &p));
				deal_cyclic(count, block, parts);
				if (parts > 1)
					check_owners(&p);
				CHECK(parts > 1 ||
				      peal_partition_length(&p, 0) == count);
			}
}

/*
 * Checks the shares by definition. Each share is the exact share, rounded down
 * or up. No share rounded down has a larger remainder than a share rounded up.
 */
static void check_shares(const struct peal_partition *p, const uint64_t *weight)
{
	uint64_t sum = 0, least = UINT64_MAX, most = 0, whole, length, rest;
	uint32_t i;

	for (i = 0; i < p->parts; i++)
		sum += weight[i];
	for (i = 0; i < p->parts; i++) {
		whole = p->count * weight[i] / sum;
		rest = p->count * weight[i] % sum;
		length = peal_partition_length(p, i);
		CHECK(length == whole || (length == whole + 1 && rest));
		if (length > whole && rest < least)
			least = rest;
		if (length == whole && rest > most)
			most = rest;
	}
	CHECK(least >= most);
}

PEAL_TEST(weights_use_the_largest_remainder_rule)
{
	uint64_t weight[PEAL_PARTS_MAX], count, i;
	struct peal_partition p;
	uint32_t parts, turn, k;

	for (turn = 0; turn < 4000; turn++) {
		count = test_random(&seed) % MOST;
		parts = 1 + (uint32_t)(test_random(&seed) % 12);
		for (k = 0; k < parts; k++)
			weight[k] = test_random(&seed) % 5 *
				    (test_random(&seed) % 1000);
		weight[test_random(&seed) % parts] += 1;
		CHECK_OK(peal_partition_weighted(count, weight, NULL, parts,
						 &p));
		check_shares(&p, weight);
		for (i = k = 0; k < parts; k++)
			for (uint64_t n = peal_partition_length(&p, k); n; n--)
				owner[i++] = k;
		CHECK_EQ(i, count);
		check_owners(&p);
	}
}

PEAL_TEST(equal_remainders_go_to_the_first_part)
{
	static const uint64_t weight[] = { 4, 2, 1 }, even[] = { 3, 3, 3, 3 };
	struct peal_partition p, block;
	uint32_t i;

	CHECK_OK(peal_partition_weighted(100, weight, NULL, 3, &p));
	CHECK_EQ(peal_partition_length(&p, 0), 57); /* 57 1/7 */
	CHECK_EQ(peal_partition_length(&p, 1), 29); /* 28 4/7 */
	CHECK_EQ(peal_partition_length(&p, 2), 14); /* 14 2/7 */
	CHECK_OK(peal_partition_weighted(10, even, NULL, 4, &p));
	CHECK_OK(peal_partition_block(10, 4, &block));
	for (i = 0; i <= 4; i++)
		CHECK_EQ(p.bound[i], block.bound[i]);
	CHECK_OK(peal_partition_weighted(10, NULL, NULL, 4, &p));
	for (i = 0; i <= 4; i++)
		CHECK_EQ(p.bound[i], block.bound[i]);
}

/*
 * Elements above a part's limit go to the parts below their limits. Those parts
 * get the shares of a partition of the remaining elements.
 */
PEAL_TEST(element_limits_are_respected)
{
	uint64_t weight[8], limit[8], rest_weight[8], count, sum, left;
	struct peal_partition p, rest;
	uint32_t parts, turn, i, open;
	int result;

	for (turn = 0; turn < 4000; turn++) {
		parts = 1 + (uint32_t)(test_random(&seed) % 8);
		count = test_random(&seed) % 500;
		for (i = 0, sum = 0; i < parts; i++) {
			weight[i] = 1 + test_random(&seed) % 9;
			limit[i] = test_random(&seed) % 200;
			sum += limit[i];
		}
		result = peal_partition_weighted(count, weight, limit, parts,
						 &p);
		CHECK_EQ(result, sum < count ? PEAL_ENOSPC : 0);
		if (result)
			continue;
		for (i = open = 0, left = count; i < parts; i++) {
			uint64_t n = peal_partition_length(&p, i);

			CHECK(n <= limit[i]);
			rest_weight[i] = n < limit[i] ? weight[i] : 0;
			open += n < limit[i];
			left -= n < limit[i] ? 0 : n;
		}
		CHECK_EQ(p.bound[parts], count);
		if (!open)
			continue;
		CHECK_OK(peal_partition_weighted(left, rest_weight, NULL, parts,
						 &rest));
		for (i = 0; i < parts; i++) {
			uint64_t n = peal_partition_length(&p, i),
				 m = peal_partition_length(&rest, i);

			/* a part at its limit may change the remainders */
			CHECK(!rest_weight[i] || n + 1 >= m);
			CHECK(!rest_weight[i] || m + 1 >= n);
		}
	}
}

PEAL_TEST(large_numbers_do_not_overflow)
{
	static const uint64_t huge[] = { UINT64_MAX / 2, UINT64_MAX / 4, 1 };
	struct peal_partition p;
	struct peal_extent e;
	uint64_t index;
	uint32_t part;

	CHECK_OK(peal_partition_block(UINT64_MAX, 64, &p));
	CHECK_EQ(p.bound[64] == UINT64_MAX, 1);
	CHECK_EQ(peal_partition_length(&p, 63), UINT64_MAX / 64);
	CHECK_EQ(peal_partition_length(&p, 0), UINT64_MAX / 64 + 1);
	CHECK_OK(peal_partition_weighted(UINT64_MAX, huge, NULL, 3, &p));
	CHECK(peal_partition_length(&p, 0) / 2 - peal_partition_length(&p, 1) <
	      3);
	CHECK_EQ(p.bound[3] == UINT64_MAX, 1);
	CHECK_OK(peal_partition_cyclic(UINT64_MAX, UINT64_MAX - 1, 64, &p));
	CHECK_EQ(peal_partition_length(&p, 0) == UINT64_MAX - 1, 1);
	CHECK_EQ(peal_partition_length(&p, 1), 1);
	CHECK_EQ(peal_partition_length(&p, 2), 0);
	CHECK_OK(peal_partition_extent(&p, 1, 0, &e));
	CHECK_EQ(e.offset == UINT64_MAX - 1, 1);
	CHECK_EQ(e.count, 1);
	CHECK_OK(peal_partition_cyclic(UINT64_MAX, 1, 64, &p));
	CHECK_OK(peal_partition_find(&p, UINT64_MAX - 1, &part, &index));
	CHECK_EQ(part, 62);
	CHECK_EQ(index, UINT64_MAX / 64);
}

PEAL_TEST(invalid_partitions_are_refused)
{
	static const uint64_t none[] = { 0, 0 }, one[] = { 1, 0 },
			      much[] = { UINT64_MAX, 1 }, few[] = { 3, 90 };
	struct peal_partition p;
	struct peal_extent e;
	uint32_t part;

	CHECK_FAILS(peal_partition_block(4, 0, &p), PEAL_EINVAL,
		    "'parts': is "
		    "out of range (0, allowed 1..128)");
	CHECK_FAILS(peal_partition_block(4, 129, &p), PEAL_EINVAL,
		    "'parts': is out of range (129, allowed 1..128)");
	CHECK_EQ(peal_partition_block(4, 1, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_partition_cyclic(4, 0, 1, &p), PEAL_EINVAL,
		    "'block': is out of range (0, allowed "
		    "1 or more)");
	CHECK_FAILS(peal_partition_weighted(4, none, NULL, 2, &p), PEAL_EINVAL,
		    "'weights': has only zeros, and no part takes the 4 "
		    "elements (sum 0, allowed a sum of 1 or more)");
	CHECK_OK(peal_partition_weighted(0, none, NULL, 2, &p));
	CHECK_EQ(p.bound[2], 0);
	CHECK_FAILS(peal_partition_weighted(4, much, NULL, 2, &p), PEAL_EINVAL,
		    "too large");
	CHECK_FAILS(peal_partition_weighted(4, one, few, 2, &p), PEAL_ENOSPC,
		    "'count': is larger than the sum of the limits (4, allowed "
		    "0..3)");
	CHECK_EQ(peal_partition_extent(NULL, 0, 0, &e), PEAL_EINVAL);
	CHECK_EQ(peal_partition_extent(&p, 0, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_partition_find(&p, 0, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_partition_find(&p, 0, &part, NULL), PEAL_ENOENT);
	CHECK_EQ(peal_partition_length(&p, 2), 0);
	CHECK_EQ(peal_partition_extents(&p, 2), 0);
}

/* ---- scatter and gather -------------------------------------------------- */

#define PARTS 3

struct fixture {
	struct peal_runtime *rt;
	uint8_t *host;
	uint64_t bytes, whole, part[PARTS];
	int device[PARTS]; /* the last part is in host memory */
	int whole_device;
};

static void fixture_open(struct fixture *s, uint64_t bytes, int whole_device)
{
	uint32_t i;

	s->rt = harness_open(2, "");
	s->bytes = bytes;
	s->whole_device = whole_device;
	s->host = malloc(bytes);
	CHECK(s->host);
	CHECK_OK(peal_memory_alloc(s->rt, whole_device, bytes, &s->whole));
	for (i = 0; i < PARTS; i++) {
		s->device[i] = i < 2 ? (int)i : PEAL_HOST_MEMORY;
		CHECK_OK(peal_memory_alloc(s->rt, s->device[i], bytes,
					   &s->part[i]));
	}
}

static void fixture_close(struct fixture *s)
{
	uint32_t i;

	CHECK_OK(peal_memory_free(s->rt, s->whole_device, s->whole));
	for (i = 0; i < PARTS; i++)
		CHECK_OK(peal_memory_free(s->rt, s->device[i], s->part[i]));
	CHECK_OK(peal_runtime_close(s->rt));
	free(s->host);
}

static void put(struct fixture *s, int device, uint64_t to, int fetch)
{
	uint64_t host = (uintptr_t)s->host;

	if (fetch)
		CHECK_OK(peal_peer_copy(s->rt, PEAL_HOST_MEMORY, host, device,
					to, s->bytes));
	else
		CHECK_OK(peal_peer_copy(s->rt, device, to, PEAL_HOST_MEMORY,
					host, s->bytes));
}

static uint8_t byte_of(uint64_t element, uint32_t i)
{
	return (uint8_t)(harness_byte(
				 &(struct relay_message){ .check = element }, 0,
				 i + 1) |
			 1); /* never 0 */
}

/*
 * Scatters and gathers. Checks that each element is where peal_partition_find
 * says, and that no other byte is written.
 */
static void check_moves(struct fixture *s, const struct peal_partition *p,
			uint32_t element_bytes)
{
	struct peal_partition_memory m = { .size = sizeof(m),
					   .element_bytes = element_bytes,
					   .partition = p,
					   .whole_device = s->whole_device,
					   .whole = s->whole,
					   .devices = s->device,
					   .parts = s->part };
	uint64_t e, index, used = p->count * element_bytes;
	uint32_t i, part;

	CHECK(used <= s->bytes);
	memset(s->host, 0, s->bytes);
	for (i = 0; i < PARTS; i++)
		put(s, s->device[i], s->part[i], 0);
	for (e = 0; e < p->count; e++)
		for (i = 0; i < element_bytes; i++)
			s->host[e * element_bytes + i] = byte_of(e, i);
	put(s, s->whole_device, s->whole, 0);
	CHECK_OK(peal_scatter(s->rt, &m));
	for (part = 0; part < PARTS; part++) {
		uint64_t has = peal_partition_length(p, part) * element_bytes;

		put(s, s->device[part], s->part[part], 1);
		for (e = 0; e < p->count; e++) {
			uint32_t found;

			CHECK_OK(peal_partition_find(p, e, &found, &index));
			for (i = 0; i < element_bytes && found == part; i++)
				CHECK_EQ(s->host[index * element_bytes + i],
					 byte_of(e, i));
		}
		for (e = has; e < s->bytes; e++)
			CHECK_EQ(s->host[e], 0);
	}
	memset(s->host, 0, s->bytes);
	put(s, s->whole_device, s->whole, 0);
	CHECK_OK(peal_gather(s->rt, &m));
	put(s, s->whole_device, s->whole, 1);
	for (e = 0; e < s->bytes; e++)
		CHECK_EQ(s->host[e],
			 e < used ? byte_of(e / element_bytes,
					    (uint32_t)(e % element_bytes)) :
				    0);
}

static void check_all(int whole_device, uint64_t count, uint32_t element_bytes)
{
	static const uint64_t weight[] = { 2, 0, 5 };
	static const uint64_t block[] = { 1, 3, 40, 9000 };
	struct peal_partition p;
	struct fixture s;
	uint32_t i;

	fixture_open(&s, count * element_bytes + 64, whole_device);
	CHECK_OK(peal_partition_block(count, PARTS, &p));
	check_moves(&s, &p, element_bytes);
	CHECK_OK(peal_partition_weighted(count, weight, NULL, PARTS, &p));
	check_moves(&s, &p, element_bytes);
	for (i = 0; i < 4; i++) {
		CHECK_OK(peal_partition_cyclic(count, block[i], PARTS, &p));
		check_moves(&s, &p, element_bytes);
	}
	fixture_close(&s);
}

PEAL_TEST(gather_restores_scatter_of_host_memory)
{
	check_all(PEAL_HOST_MEMORY, 10007, 4);
	check_all(PEAL_HOST_MEMORY, 2, 12);
	check_all(PEAL_HOST_MEMORY, 0, 8);
}

PEAL_TEST(gather_restores_scatter_of_device_memory)
{
	check_all(1, 10007, 4);
	check_all(0, 5000, 3);
	check_all(0, 1, 8);
}

/* The whole moves in pieces. The last one ends within a round of blocks. */
PEAL_TEST(many_short_blocks_are_copied_in_pieces)
{
	struct peal_partition p;
	struct fixture s;

	fixture_open(&s, (3u << 20) + 64, 0);
	CHECK_OK(peal_partition_cyclic((3u << 20) / 8 - 5, 7, PARTS, &p));
	check_moves(&s, &p, 8);
	fixture_close(&s);
}

PEAL_TEST(invalid_scatter_and_gather_are_refused)
{
	struct peal_partition p, q;
	struct peal_partition_memory m = { .size = sizeof(m),
					   .element_bytes = 4,
					   .partition = &p },
				     n;
	uint64_t parts[PARTS];
	struct fixture s;

	fixture_open(&s, 4000, 0);
	CHECK_OK(peal_partition_block(1000, PARTS, &p));
	memcpy(parts, s.part, sizeof(parts));
	m.whole = s.whole;
	m.devices = s.device;
	m.parts = parts;
	CHECK_OK(peal_scatter(s.rt, &m));
	CHECK_EQ(peal_scatter(NULL, &m), PEAL_EINVAL);
	CHECK_EQ(peal_gather(s.rt, NULL), PEAL_EINVAL);
	n = m, n.partition = NULL;
	CHECK_FAILS(peal_gather(s.rt, &n), PEAL_EINVAL,
		    "'partition': is NULL "
		    "(NULL, allowed an address)");
	n = m, n.devices = NULL;
	CHECK_FAILS(peal_gather(s.rt, &n), PEAL_EINVAL,
		    "'devices': is NULL "
		    "(NULL, allowed an address)");
	n = m, n.parts = NULL;
	CHECK_FAILS(peal_gather(s.rt, &n), PEAL_EINVAL,
		    "'parts': is NULL "
		    "(NULL, allowed an address)");
	n = m, n.element_bytes = 0;
	CHECK_FAILS(peal_scatter(s.rt, &n), PEAL_EINVAL,
		    "'element_bytes': is "
		    "0, or too large for 1000 elements (0, allowed "
		    "1..18446744073709551)");
	n = m, n.partition = &q;
	CHECK_OK(peal_partition_block(UINT64_MAX, PARTS, &q));
	CHECK_FAILS(
		peal_scatter(s.rt, &n), PEAL_EINVAL,
		"'element_bytes': is "
		"0, or too large for 18446744073709551615 elements (4, allowed "
		"1)");
	q.parts = 0;
	CHECK_FAILS(peal_scatter(s.rt, &n), PEAL_EINVAL,
		    "not created by a call");
	/*
	 * the host packs short blocks, and must check the address of the whole,
	 * too
	 */
	CHECK_OK(peal_partition_cyclic(1000, 1, PARTS, &q));
	n.whole_device = PEAL_HOST_MEMORY;
	n.whole = 0;
	CHECK_FAILS(peal_scatter(s.rt, &n), PEAL_EFAULT, "NULL");
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY, 400, &n.whole));
	CHECK_FAILS(peal_scatter(s.rt, &n), PEAL_EFAULT, "beyond its");
	CHECK_FAILS(peal_gather(s.rt, &n), PEAL_EFAULT, "beyond its");
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY, n.whole));
	parts[1] += 8000;
	CHECK_FAILS(peal_scatter(s.rt, &m), PEAL_EFAULT, "part 1: ");
	CHECK_FAILS(peal_gather(s.rt, &m), PEAL_EFAULT, "part 1: ");
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN(block_lengths_differ_by_at_most_one);
	       RUN(cyclic_blocks_go_round_robin);
	       RUN(weights_use_the_largest_remainder_rule);
	       RUN(equal_remainders_go_to_the_first_part);
	       RUN(element_limits_are_respected);
	       RUN(large_numbers_do_not_overflow);
	       RUN(invalid_partitions_are_refused);
	       RUN(gather_restores_scatter_of_host_memory);
	       RUN(gather_restores_scatter_of_device_memory);
	       RUN(many_short_blocks_are_copied_in_pieces);
	       RUN(invalid_scatter_and_gather_are_refused);)
