/* SPDX-License-Identifier: Apache-2.0 */
/* Shows an emulated device's heap: alignment, reuse, limits and refusals. */
#include <sys/stat.h>
#include <time.h>

#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/device/host/heap.h"

#define MIB ((uint64_t)1 << 20)

static struct peali_heap heap;

static uint64_t take(uint64_t bytes)
{
	uint64_t offset = 0;

	CHECK_OK(peali_heap_alloc(&heap, bytes, &offset));
	return offset;
}

static int is_zero(uint64_t offset, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (heap.base[offset + i])
			return 0;
	return 1;
}

PEAL_TEST(small_blocks_align_to_128_large_blocks_to_pages)
{
	static const uint64_t sizes[] = { 1,	127,  128,  129,  4095,
					  4096, 4097, 1000, 65536 };
	uint64_t offset[9];
	int i;

	CHECK_OK(peali_heap_open(&heap, "device 0", MIB));
	for (i = 0; i < 9; i++) {
		offset[i] = take(sizes[i]);
		CHECK_EQ(offset[i] % (sizes[i] < 4096 ? 128 : 4096), 0);
		CHECK(is_zero(offset[i], sizes[i]));
		memset(heap.base + offset[i], i + 1, sizes[i]);
	}
	for (i = 0; i < 9; i++) {
		CHECK_EQ(heap.base[offset[i]], i + 1);
		CHECK_EQ(heap.base[offset[i] + sizes[i] - 1], i + 1);
		CHECK_OK(peali_heap_free(&heap, offset[i]));
	}
	CHECK_EQ(heap.space.used, 0);
	CHECK_EQ(peali_suballoc_largest(&heap.space), MIB);
	peali_heap_close(&heap);
}

PEAL_TEST(reused_memory_is_zeroed)
{
	static const uint64_t sizes[] = { 100, 5000, 300000 };
	uint64_t offset, again;
	int i;

	CHECK_OK(peali_heap_open(&heap, "device 0", MIB));
	take(128); /* so that the next block does not begin at a page */
	for (i = 0; i < 3; i++) {
		offset = take(sizes[i]);
		memset(heap.base + offset, 0xa5, sizes[i]);
		CHECK_OK(peali_heap_free(&heap, offset));
		again = take(sizes[i]);
		CHECK_EQ(again, offset);
		CHECK(is_zero(again, sizes[i]));
		CHECK_OK(peali_heap_free(&heap, again));
	}
	peali_heap_close(&heap);
}

PEAL_TEST(freed_pages_go_back_to_the_system)
{
	struct stat full, empty;
	uint64_t offset;

	CHECK_OK(peali_heap_open(&heap, "device 0", 64 * MIB));
	offset = take(32 * MIB);
	memset(heap.base + offset, 1, 32 * MIB);
	CHECK_EQ(fstat(heap.fd, &full), 0);
	CHECK_OK(peali_heap_free(&heap, offset));
	CHECK_EQ(fstat(heap.fd, &empty), 0);
	CHECK((uint64_t)full.st_blocks * 512 >= 32 * MIB);
	CHECK((uint64_t)empty.st_blocks * 512 < MIB);
	peali_heap_close(&heap);
}

PEAL_TEST(full_heap_error_reports_free_bytes)
{
	uint64_t offset, a, b;

	CHECK_OK(peali_heap_open(&heap, "device 3", MIB));
	a = take(MIB / 2);
	b = take(MIB / 2);
	CHECK_EQ(peali_heap_alloc(&heap, 1, &offset), PEAL_ENOMEM);
	CHECK_CONTAINS(peal_last_error()->text, "device 3");
	CHECK_CONTAINS(peal_last_error()->text, "0 of 1048576 are free");
	CHECK_OK(peali_heap_free(&heap, a));
	CHECK_EQ(peali_heap_alloc(&heap, MIB, &offset), PEAL_ENOMEM);
	CHECK_CONTAINS(peal_last_error()->text, "524288 of 1048576 are free");
	CHECK_OK(peali_heap_free(&heap, b));
	CHECK_EQ(take(MIB), 0);
	peali_heap_close(&heap);
}

PEAL_TEST(zero_and_oversized_allocations_are_refused)
{
	uint64_t offset;

	CHECK_OK(peali_heap_open(&heap, "device 0", MIB));
	CHECK_EQ(peali_heap_alloc(&heap, 0, &offset), PEAL_EINVAL);
	CHECK_EQ(peali_heap_alloc(&heap, MIB + 1, &offset), PEAL_ENOMEM);
	CHECK_EQ(peali_heap_alloc(&heap, UINT64_MAX, &offset), PEAL_ENOMEM);
	CHECK_EQ(peali_heap_alloc(&heap, UINT64_MAX - 127, &offset),
		 PEAL_ENOMEM);
	CHECK_EQ(take(MIB), 0);
	peali_heap_close(&heap);
}

PEAL_TEST(exact_fit_hole_is_allocated)
{
	uint64_t a, b, c;

	CHECK_OK(peali_heap_open(&heap, "device 0", 3 * 8192));
	a = take(8192);
	b = take(8192);
	c = take(8192);
	CHECK_OK(peali_heap_free(&heap, b));
	CHECK_EQ(take(8192), b);
	CHECK_OK(peali_heap_free(&heap, a));
	CHECK_OK(peali_heap_free(&heap, c));
	peali_heap_close(&heap);
}

PEAL_TEST(free_of_interior_address_returns_efault)
{
	uint64_t a;

	CHECK_OK(peali_heap_open(&heap, "device 1", MIB));
	a = take(1000);
	CHECK_EQ(peali_heap_free(&heap, a + 128), PEAL_EFAULT);
	CHECK_CONTAINS(peal_last_error()->text, "device 1");
	CHECK_EQ(peali_heap_free(&heap, 65536), PEAL_EFAULT);
	CHECK_EQ(peali_heap_free(&heap, UINT64_MAX), PEAL_EFAULT);
	CHECK_OK(peali_heap_free(&heap, a));
	CHECK_EQ(peali_heap_free(&heap, a), PEAL_EFAULT);
	peali_heap_close(&heap);
}

PEAL_TEST(find_refuses_ranges_outside_one_allocation)
{
	struct peali_piece piece;
	uint64_t a, b;

	CHECK_OK(peali_heap_open(&heap, "device 0", MIB));
	a = take(1000);
	b = take(1024);
	CHECK_EQ(b, a + 1024);
	CHECK_OK(peali_heap_find(&heap, a + 10, 990, &piece));
	CHECK_EQ(piece.offset, a);
	CHECK_EQ(piece.bytes, 1000);
	CHECK_EQ(peali_heap_find(&heap, a + 10, 991, &piece), PEAL_EFAULT);
	CHECK_CONTAINS(peal_last_error()->text, "991");
	CHECK_EQ(peali_heap_find(&heap, a + 1000, 24, &piece), PEAL_EFAULT);
	CHECK_EQ(peali_heap_find(&heap, a + 10, UINT64_MAX, &piece),
		 PEAL_EFAULT);
	CHECK_OK(peali_heap_find(&heap, b + 1023, 1, &piece));
	CHECK_EQ(piece.offset, b);
	CHECK_EQ(peali_heap_find(&heap, b + 1024, 1, &piece), PEAL_EFAULT);
	CHECK_EQ(peali_heap_find(&heap, UINT64_MAX - 5, 1, &piece),
		 PEAL_EFAULT);
	peali_heap_close(&heap);
}

/* Allocates and frees at random. Compares the heap with a list of blocks. */
PEAL_TEST(random_alloc_and_free_keep_blocks_intact)
{
	enum { SLOTS = 200, ROUNDS = 20000 };
	static struct {
		uint64_t offset, bytes;
		uint8_t mark;
	} slot[SLOTS];
	unsigned long long seed = 7;
	struct peali_piece piece;
	uint64_t used = 0;
	int i, refused = 0;

	CHECK_OK(peali_heap_open(&heap, "device 0", 2 * MIB));
	for (i = 0; i < ROUNDS; i++) {
		int s = (int)(test_random(&seed) % SLOTS);
		uint64_t n = 1 + test_random(&seed) % 500;

		if (slot[s].bytes) {
			uint8_t *p = heap.base + slot[s].offset;

			CHECK_EQ(p[0], slot[s].mark);
			CHECK_EQ(p[slot[s].bytes - 1], slot[s].mark);
			CHECK_OK(peali_heap_find(&heap, slot[s].offset,
						 slot[s].bytes, &piece));
			CHECK_EQ(piece.offset, slot[s].offset);
			CHECK_OK(peali_heap_free(&heap, slot[s].offset));
			used -= (slot[s].bytes + 127) / 128 * 128;
			slot[s].bytes = 0;
			continue;
		}
		n = test_random(&seed) % 2 ? n : n * 100;
		if (peali_heap_alloc(&heap, n, &slot[s].offset) < 0) {
			refused++;
			continue;
		}
		slot[s].bytes = n;
		slot[s].mark = (uint8_t)(1 + i % 250);
		CHECK(is_zero(slot[s].offset, n));
		memset(heap.base + slot[s].offset, slot[s].mark, n);
		used += (n + 127) / 128 * 128;
		CHECK_EQ(heap.space.used, used);
	}
	CHECK(refused > 0);
	for (i = 0; i < SLOTS; i++)
		if (slot[i].bytes)
			CHECK_OK(peali_heap_free(&heap, slot[i].offset));
	CHECK_EQ(heap.space.used, 0);
	CHECK_EQ(peali_suballoc_largest(&heap.space), 2 * MIB);
	peali_heap_close(&heap);
}

/* A list instead of a tree takes minutes for this. */
PEAL_TEST(hundred_thousand_blocks_allocate_in_seconds)
{
	enum { N = 100000 };
	static uint64_t offset[N];
	clock_t began = clock();
	int i;

	CHECK_OK(peali_heap_open(&heap, "device 0", 64 * MIB));
	for (i = 0; i < N; i++)
		offset[i] = take(200);
	for (i = 0; i < N; i += 2)
		CHECK_OK(peali_heap_free(&heap, offset[i]));
	for (i = 0; i < N; i += 2)
		offset[i] = take(256);
	for (i = 0; i < N; i++)
		CHECK_OK(peali_heap_free(&heap, offset[i]));
	CHECK_EQ(peali_suballoc_largest(&heap.space), 64 * MIB);
	CHECK((clock() - began) / CLOCKS_PER_SEC < 20);
	peali_heap_close(&heap);
}

PEAL_TEST(close_of_a_zeroed_heap_does_nothing)
{
	struct peali_heap none;

	memset(&none, 0, sizeof(none));
	peali_heap_close(&none);
}

PEAL_TEST_MAIN(RUN(small_blocks_align_to_128_large_blocks_to_pages);
	       RUN(reused_memory_is_zeroed);
	       RUN(freed_pages_go_back_to_the_system);
	       RUN(full_heap_error_reports_free_bytes);
	       RUN(zero_and_oversized_allocations_are_refused);
	       RUN(exact_fit_hole_is_allocated);
	       RUN(free_of_interior_address_returns_efault);
	       RUN(find_refuses_ranges_outside_one_allocation);
	       RUN(random_alloc_and_free_keep_blocks_intact);
	       RUN(hundred_thousand_blocks_allocate_in_seconds);
	       RUN(close_of_a_zeroed_heap_does_nothing);)
