/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many transfers in one call copy all bytes, also by several routes at once.
 * The call merges transfers only if they are adjacent at source and target.
 */

#include <peal/buffer.h>
#include <peal/peer.h>
#include <peal/transfer.h>
#include "runtime/transfers.h"

/* Copies n parts of `bytes` bytes, `gap` bytes apart, in the call and in the
 * background. `wanted` copies are left after merging. */
static void check_batch(const char *links, uint32_t n, uint64_t bytes,
			uint64_t gap, uint32_t wanted)
{
	struct peal_buffer *a, *b;
	struct peal_transfer *t = calloc(n, sizeof(*t));
	struct peal_copy_result result;
	uint64_t all = n * (bytes + gap), i, *p = malloc(all);
	struct peal_copy *copy;

	CHECK(t && p);
	open_machine(2, links);
	a = make(0, all);
	b = make(1, all);
	write_words(peal_buffer_full_range(a), 3);
	for (i = 0; i < n; i++) {
		t[i].from = part(a, i * (bytes + gap), bytes);
		t[i].to = part(b, i * (bytes + gap), bytes);
	}
	CHECK_OK(peal_transfer_run(rt, t, n, NULL, &result));
	CHECK_EQ(result.n_copies, wanted);
	CHECK_EQ(result.bytes, n * bytes);
	CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), p));
	for (i = 0; i < all / 8; i++)
		CHECK_EQ(p[i], 8 * i % (bytes + gap) < bytes ? word(i, 3) : 0);
	CHECK_OK(peal_buffer_fill(peal_buffer_full_range(b), NULL, 8));
	CHECK_OK(peal_transfer_start(rt, t, n, NULL, &copy));
	CHECK_OK(peal_copy_wait(copy, MAX_WAIT));
	CHECK_OK(peal_copy_result(copy, &result));
	CHECK_EQ(result.n_copies, wanted);
	peal_copy_destroy(copy);
	CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), p));
	for (i = 0; i < all / 8; i++)
		CHECK_EQ(p[i], 8 * i % (bytes + gap) < bytes ? word(i, 3) : 0);
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
	free(t);
	free(p);
}

PEAL_TEST(adjacent_copies_of_a_batch_are_merged)
{
	check_batch("", 1000, 24, 8, 1000);
	check_batch("", 1000, 24, 0, 1);
	check_batch("0-1:none", 1000, 24, 8, 1000);
	check_batch("0-1:none", 1000, 24, 0, 1);
	check_batch("0-1:none", 100, 100000, 8, 100);
	check_batch("", 3, 3 * MIB, 8, 3);
}

/* Parts that are adjacent only at the source, or only at the target. The bytes
 * between the parts must not be copied. */
PEAL_TEST(copies_adjacent_on_one_side_are_not_merged)
{
	struct peal_buffer *a, *b;
	struct peal_transfer t[4];
	struct peal_copy_result result;
	uint64_t p[8], i, gather;

	open_machine(2, "");
	a = make(0, 64);
	b = make(1, 64);
	write_words(peal_buffer_full_range(a), 4);
	for (gather = 0; gather < 2; gather++) {
		CHECK_OK(peal_buffer_fill(peal_buffer_full_range(b), NULL, 8));
		for (i = 0; i < 4; i++) {
			t[i].from = part(a, gather ? 16 * i : 8 * i, 8);
			t[i].to = part(b, gather ? 8 * i : 16 * i, 8);
		}
		CHECK_OK(peal_transfer_run(rt, t, 4, NULL, &result));
		CHECK_EQ(result.n_copies, 4);
		CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), p));
		for (i = 0; i < 8; i++)
			CHECK_EQ(p[i], gather ? (i < 4 ? word(2 * i, 4) : 0) :
						(i % 2 ? 0 : word(i / 2, 4)));
	}
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
}

/* Transfers between separate buffers are never merged, even if the buffers are
 * adjacent in memory. */
static void copy_neighbours(const char *links)
{
	struct peal_buffer *from[4], *to[4];
	struct peal_transfer t[4];
	struct peal_copy_result result;
	int i;

	open_machine(2, links);
	for (i = 0; i < 4; i++) {
		from[i] = make(0, 4096);
		write_words(peal_buffer_full_range(from[i]), 20 + (uint64_t)i);
	}
	for (i = 0; i < 4; i++) {
		to[i] = make(1, 4096);
		t[i] = whole(to[i], from[i]);
	}
	CHECK_OK(peal_transfer_run(rt, t, 4, NULL, &result));
	CHECK_EQ(result.n_copies, 4);
	for (i = 0; i < 4; i++)
		CHECK(has_words(peal_buffer_full_range(to[i]),
				20 + (uint64_t)i));
	for (i = 0; i < 4; i++)
		destroy(from[i], to[i]);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(copies_of_contiguous_buffers_are_not_merged)
{
	copy_neighbours("");
	copy_neighbours("0-1:none");
}

PEAL_TEST(small_staged_copies_share_chunks)
{
	struct peal_buffer *a, *b;
	struct peal_transfer t[60];
	struct peal_copy_result result;
	uint64_t i;

	open_machine(2, "0-1:none");
	a = make(0, 60 * 64);
	b = make(1, 60 * 64);
	for (i = 0; i < 60; i++) {
		t[i].from = part(a, i * 64, 32);
		t[i].to = part(b, i * 64, 32);
	}
	CHECK_OK(peal_transfer_run(rt, t, 60, NULL, &result));
	CHECK_EQ(result.n_copies, 60);
	CHECK_EQ(result.chunks, 1);
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(a_batch_of_several_pairs_reports_its_slowest_route)
{
	struct peal_buffer *b[4];
	struct peal_transfer t[3];
	struct peal_copy_result result;
	int i;

	open_machine(3, "0-1:nvlink,0-2:none,1-2:none");
	for (i = 0; i < 4; i++)
		b[i] = make(i - 1, MIB);
	write_words(peal_buffer_full_range(b[1]), 8);
	t[0] = whole(b[2], b[1]); /* 0 -> 1 */
	t[1] = whole(b[3], b[1]); /* 0 -> 2 */
	t[2] = whole(b[0], b[1]); /* 0 -> host */
	CHECK_OK(peal_transfer_run(rt, t, 3, NULL, &result));
	CHECK_EQ(result.route, PEAL_ROUTE_STAGED);
	CHECK_EQ(result.staged_bytes, MIB);
	CHECK_EQ(result.bytes, 3 * MIB);
	for (i = 0; i < 4; i++)
		CHECK(has_words(peal_buffer_full_range(b[i]), 8));
	t[1] = t[2];
	CHECK_OK(peal_transfer_run(rt, t, 2, NULL, &result));
	CHECK_EQ(result.route, PEAL_ROUTE_MAPPED_HOST);
	CHECK_OK(peal_transfer_run(rt, t, 1, NULL, &result));
	CHECK_EQ(result.route, PEAL_ROUTE_PEER);
	for (i = 0; i < 4; i++)
		CHECK_OK(peal_buffer_destroy(b[i]));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(adjacent_copies_of_a_batch_are_merged);
	       RUN(copies_adjacent_on_one_side_are_not_merged);
	       RUN(copies_of_contiguous_buffers_are_not_merged);
	       RUN(small_staged_copies_share_chunks);
	       RUN(a_batch_of_several_pairs_reports_its_slowest_route);)
