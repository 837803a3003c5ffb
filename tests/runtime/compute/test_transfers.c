/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers copy the same bytes by every route, and the result names the route.
 * The log names a staged pair once. Other cases cancel copies, or pass
 * arguments that are refused before any byte moves.
 */

#include <peal/buffer.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/topology.h>
#include <peal/transfer.h>
#include "runtime/transfers.h"

#define BIG (32 * MIB)

/* Copies from one place to another, in the call and in the background. Checks
 * the bytes, the route and the counters. */
static void check_route(int to, int from, uint64_t bytes,
			struct peal_transfer_options o, enum peal_route route)
{
	struct peal_buffer *a = make(from, bytes), *b = make(to, bytes);
	struct peal_transfer t = whole(b, a);
	struct peal_transfer_counts before, after;
	struct peal_copy_progress progress;
	struct peal_copy_result result;
	struct peal_copy *copy;
	int background;

	o.size = sizeof(o);
	for (background = 0; background < 2; background++) {
		CHECK_OK(peal_transfer_counts(rt, from, to, &before));
		write_words(t.from, 5 + (unsigned)background);
		if (background) {
			CHECK_OK(peal_transfer_start(rt, &t, 1, &o, &copy));
			CHECK_OK(peal_copy_wait(copy, MAX_WAIT));
			CHECK_OK(peal_copy_result(copy, &result));
			CHECK_OK(peal_copy_progress(copy, &progress));
			CHECK_EQ(progress.bytes, bytes);
			CHECK_EQ(progress.done_bytes, bytes);
			peal_copy_destroy(copy);
		} else {
			CHECK_OK(peal_transfer_run(rt, &t, 1, &o, &result));
		}
		CHECK(has_words(t.to, 5 + (unsigned)background));
		CHECK_EQ(result.route, route);
		CHECK_EQ(result.n_copies, 1);
		CHECK_EQ(result.bytes, bytes);
		CHECK(result.nanoseconds > 0);
		CHECK_EQ(result.staged_bytes,
			 route == PEAL_ROUTE_STAGED ? bytes : 0);
		if (o.chunk_bytes && route == PEAL_ROUTE_STAGED)
			CHECK_EQ(result.chunks,
				 (bytes + o.chunk_bytes - 1) / o.chunk_bytes);
		CHECK_OK(peal_transfer_counts(rt, from, to, &after));
		if (to >= 0 && from >= 0 && to != from) {
			CHECK_EQ(after.copies - before.copies, 1);
			CHECK_EQ(after.bytes - before.bytes, bytes);
			CHECK_EQ(after.staged_bytes - before.staged_bytes,
				 result.staged_bytes);
			CHECK(after.nanoseconds > before.nanoseconds &&
			      after.nanoseconds - before.nanoseconds <=
				      result.nanoseconds);
		}
	}
	destroy(a, b);
}

PEAL_TEST(each_memory_pair_uses_its_route)
{
	static const struct peal_transfer_options plain;
	static const uint64_t sizes[] = { 8, 4096, MIB + 8 };
	int a, b;
	size_t i;

	open_machine(3, "0-1:nvlink,0-2:none,1>2:pcie,2>1:none");
	for (i = 0; i < 3; i++) {
		for (a = 0; a < 3; a++)
			check_route(a, a, sizes[i], plain, PEAL_ROUTE_LOCAL);
		check_route(-1, -1, sizes[i], plain, PEAL_ROUTE_LOCAL);
		for (a = 0; a < 3; a++) {
			check_route(-1, a, sizes[i], plain,
				    PEAL_ROUTE_MAPPED_HOST);
			check_route(a, -1, sizes[i], plain,
				    PEAL_ROUTE_MAPPED_HOST);
		}
		for (a = 0; a < 3; a++) {
			b = (a + 1) % 3; /* access one way is enough */
			check_route(a, b, sizes[i], plain,
				    a + b == 2 ? PEAL_ROUTE_STAGED :
						 PEAL_ROUTE_PEER);
			check_route(b, a, sizes[i], plain,
				    a + b == 2 ? PEAL_ROUTE_STAGED :
						 PEAL_ROUTE_PEER);
		}
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(staged_copies_are_correct_for_any_chunk)
{
	static const uint64_t chunks[] = { 4096, 4097, 65536 + 8, 524288,
					   2 * MIB };
	static const uint64_t sizes[] = { 8, 4088, 4096, 8192, 655376 };
	struct peal_transfer_options o = { .routes = PEAL_ROUTE_STAGED };
	size_t i, k;

	open_machine(2, "");
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 5; k++) {
			o.chunk_bytes = chunks[i];
			check_route(1, 0, sizes[k], o, PEAL_ROUTE_STAGED);
		}
	}
	/* Local and host copies are staged if the caller asks for it. */
	check_route(0, 0, 3 * MIB, o, PEAL_ROUTE_STAGED);
	check_route(0, -1, 3 * MIB, o, PEAL_ROUTE_STAGED);
	check_route(-1, 0, 3 * MIB, o, PEAL_ROUTE_STAGED);
	CHECK_OK(peal_runtime_close(rt));
}

/* Stores the log output of a call in `text`. level: PEAL_LOG; NULL: not set. */
static void logged(void (*call)(void), const char *level, char *text,
		   size_t size)
{
	FILE *file = tmpfile();
	int saved = dup(2);
	size_t n;

	CHECK(file && saved >= 0);
	unsetenv("PEAL_LOG");
	if (level)
		setenv("PEAL_LOG", level, 1);
	fflush(stderr);
	CHECK(dup2(fileno(file), 2) >= 0);
	call();
	fflush(stderr);
	CHECK(dup2(saved, 2) >= 0);
	close(saved);
	unsetenv("PEAL_LOG");
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = 0;
	fclose(file);
}

static struct peal_buffer *two[2];

static void copy_both_ways(void)
{
	struct peal_transfer t[2] = { whole(two[0], two[1]),
				      whole(two[1], two[0]) };
	struct peal_copy *copy;

	CHECK_OK(peal_transfer_run(rt, &t[0], 1, NULL, NULL));
	CHECK_OK(peal_transfer_run(rt, &t[0], 1, NULL, NULL));
	CHECK_OK(peal_transfer_run(rt, &t[1], 1, NULL, NULL));
	CHECK_OK(peal_transfer_start(rt, &t[1], 1, NULL, &copy));
	CHECK_OK(peal_copy_wait(copy, MAX_WAIT));
	peal_copy_destroy(copy);
}

PEAL_TEST(staged_pair_is_warned_of_once)
{
	struct peal_transfer_counts counts;
	char text[1024];
	const char *first;

	open_machine(3, "0-1:none");
	two[0] = make(0, 4096);
	two[1] = make(1, 4096);
	CHECK_OK(peal_transfer_counts(rt, 0, 1, &counts));
	CHECK_EQ(counts.warnings, 0);
	logged(copy_both_ways, NULL, text, sizeof(text));
	first = strstr(
		text,
		"device 1 -> device 0: copies are staged through the host");
	CHECK(first && !strstr(first + 1, "device 1 -> device 0"));
	CHECK_CONTAINS(first,
		       "neither device has access to the memory of the other");
	first = strstr(
		text,
		"device 0 -> device 1: copies are staged through the host");
	CHECK(first && !strstr(first + 1, "device 0 -> device 1"));
	logged(copy_both_ways, "1", text, sizeof(text));
	CHECK(!text[0]);
	CHECK_OK(peal_transfer_counts(rt, 0, 1, &counts));
	CHECK_EQ(counts.warnings, 1);
	CHECK_EQ(counts.copies, 4);
	CHECK_EQ(counts.staged_bytes, 4 * 4096);
	destroy(two[0], two[1]);
	two[0] = make(0, 4096); /* a pair that is not staged is never named */
	two[1] = make(2, 4096);
	logged(copy_both_ways, NULL, text, sizeof(text));
	CHECK(!text[0]);
	destroy(two[0], two[1]);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(log_level_zero_hides_the_warning)
{
	char text[1024];

	open_machine(2, "0-1:none");
	two[0] = make(0, 4096);
	two[1] = make(1, 4096);
	logged(copy_both_ways, "0", text, sizeof(text));
	CHECK(!text[0]);
	destroy(two[0], two[1]);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(broken_pair_is_staged)
{
	static const struct peal_transfer_options plain;
	struct peal_pair_info info;

	HOST_CASE("only emulated pairs lie");
	open_machine(2, "0>1:nvlink!lost");
	check_route(1, 0, 4096, plain, PEAL_ROUTE_PEER);
	CHECK_OK(peal_topology_pair(rt, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_NEVER_VISIBLE);
	check_route(1, 0, 4096, plain, PEAL_ROUTE_STAGED);
	check_route(0, 1, 4096, plain, PEAL_ROUTE_STAGED);
	CHECK_OK(peal_runtime_close(rt));
}

/* Cancels a copy after its first bytes have arrived. Tries again if the copy
 * ends before the cancel. */
static void cancel_in_the_middle(const char *links)
{
	struct peal_copy_progress progress = { 0, 0 }, after;
	struct peal_copy_result result;
	struct peal_buffer *a, *b;
	struct peal_transfer t;
	struct peal_copy *copy;
	uint64_t last = 0;
	int i, r = 0;

	open_machine(2, links);
	a = make(0, BIG);
	b = make(1, BIG);
	write_words(peal_buffer_full_range(a), 2);
	t = whole(b, a);
	for (i = 0; i < 200 && r != PEAL_ECANCELED; i++) {
		CHECK_OK(peal_buffer_fill(part(b, 0, MIB), NULL, 8));
		CHECK_OK(peal_transfer_start(rt, &t, 1, NULL, &copy));
		r = peal_buffer_destroy(b);
		if (!r) { /* the copy had already ended */
			CHECK_OK(peal_copy_result(copy, &result));
			peal_copy_destroy(copy);
			b = make(1, BIG);
			t = whole(b, a);
			continue;
		}
		CHECK_EQ(r, PEAL_EBUSY);
		do {
			CHECK_OK(peal_copy_progress(copy, &progress));
			CHECK(progress.done_bytes >= last);
			CHECK(progress.done_bytes <= BIG);
			last = progress.done_bytes;
		} while (!progress.done_bytes &&
			 peal_copy_result(copy, &result) == PEAL_EAGAIN);
		CHECK_OK(peal_copy_cancel(copy));
		r = peal_copy_wait(copy, MAX_WAIT);
		CHECK(r == 0 || r == PEAL_ECANCELED);
		CHECK_OK(peal_copy_result(copy, &result));
		CHECK_OK(peal_copy_progress(copy, &after));
		CHECK_EQ(after.done_bytes, result.bytes);
		CHECK(after.done_bytes >= progress.done_bytes);
		CHECK_EQ(result.bytes == BIG, r == 0);
		peal_copy_destroy(copy);
		last = 0;
		/* The bytes that the result counts have arrived. */
		CHECK(has_words(part(b, 0, result.bytes), 2));
	}
	CHECK_EQ(r, PEAL_ECANCELED);
	/* The next copy of this pair is complete. */
	CHECK_OK(peal_transfer_run(rt, &t, 1, NULL, &result));
	CHECK(has_words(peal_buffer_full_range(b), 2));
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(cancelled_copy_reports_copied_bytes)
{
	cancel_in_the_middle("");
	cancel_in_the_middle("0-1:none");
}

PEAL_TEST(running_copy_has_no_result_and_holds_its_buffers)
{
	struct peal_copy_result result;
	struct peal_copy_progress progress;
	struct peal_leak_report report;
	struct peal_buffer *a, *b, *c;
	struct peal_transfer t[2];
	struct peal_copy *copy, *behind;
	int gone = 0, seen = 0, i;

	open_machine(2, "0-1:none");
	a = make(0, BIG);
	b = make(1, BIG);
	c = make(1, 4096);
	t[0] = whole(b, a);
	t[1].to = peal_buffer_full_range(c);
	t[1].from = part(a, 0, 4096);
	for (i = 0; i < 200 && !seen && !gone; i++) {
		if (i) {
			peal_copy_destroy(behind);
			peal_copy_destroy(copy);
		}
		CHECK_OK(peal_transfer_start(rt, &t[0], 1, NULL, &copy));
		CHECK_OK(peal_transfer_start(rt, &t[1], 1, NULL, &behind));
		/* both copies are to device 1: `behind` runs after `copy` */
		seen = peal_copy_result(behind, &result) == PEAL_EAGAIN;
		if (!seen)
			continue;
		CHECK_CONTAINS(peal_last_error()->text, "in progress");
		gone = !peal_buffer_destroy(c);
		if (gone)
			CHECK_OK(peal_copy_wait(behind, 0));
	}
	CHECK(seen);
	CHECK_EQ(peal_runtime_close_report(rt, &report), PEAL_EBUSY);
	CHECK_OK(peal_copy_wait(behind, MAX_WAIT));
	CHECK_OK(peal_copy_wait(copy, 0));
	CHECK_EQ(peal_copy_progress(NULL, &progress), PEAL_EINVAL);
	CHECK_EQ(peal_copy_progress(copy, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_copy_result(NULL, &result), PEAL_EINVAL);
	CHECK_EQ(peal_copy_result(copy, NULL), PEAL_EINVAL);
	peal_copy_destroy(behind);
	peal_copy_destroy(copy);
	destroy(a, b);
	CHECK_OK(peal_runtime_close_report(rt, &report));
	CHECK_EQ(report.n_buffers, !gone);
}

/* Copies from device 0 to 1 to 2. Each copy reads the bytes of the copy
 * before. */
PEAL_TEST(copies_of_the_same_memory_keep_their_order)
{
	struct peal_buffer *b[4], *other;
	struct peal_copy *copy[4];
	struct peal_transfer t;
	int i, round;

	open_machine(3, "0-1:none");
	other = make(0, 8);
	for (i = 0; i < 4; i++)
		b[i] = make(i < 3 ? i : 2, 8 * MIB);
	for (round = 0; round < 3; round++) {
		write_words(peal_buffer_full_range(b[0]), (unsigned)round);
		for (i = 0; i < 3; i++) {
			t = whole(b[i + 1], b[i]);
			CHECK_OK(
				peal_transfer_start(rt, &t, 1, NULL, &copy[i]));
		}
		/* This copy overwrites bytes that the first copy reads. */
		t.from = peal_buffer_full_range(other);
		t.to = part(b[0], 8 * MIB - 8, 8);
		CHECK_OK(peal_transfer_start(rt, &t, 1, NULL, &copy[3]));
		for (i = 3; i >= 0; i--) {
			CHECK_OK(peal_copy_wait(copy[i], MAX_WAIT));
			peal_copy_destroy(copy[i]);
		}
		for (i = 1; i < 4; i++)
			CHECK(has_words(peal_buffer_full_range(b[i]),
					(unsigned)round));
	}
	for (i = 0; i < 4; i++)
		CHECK_OK(peal_buffer_destroy(b[i]));
	CHECK_OK(peal_buffer_destroy(other));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(a_shutdown_ends_copies_and_frees_buffers)
{
	const char *const links[] = { "", "0-1:none" };
	struct peal_buffer *a, *b;
	struct peal_transfer t;
	struct peal_copy *copy;
	int i, k;

	for (k = 0; k < 2; k++) {
		open_machine(2, links[k]);
		a = make(0, BIG);
		b = make(1, BIG);
		t = whole(b, a);
		for (i = 0; i < 4; i++)
			CHECK_OK(peal_transfer_start(rt, &t, 1, NULL, &copy));
		CHECK_OK(peal_runtime_shutdown(rt));
	}
}

static void refused(int code, const struct peal_transfer *t, uint32_t n,
		    const struct peal_transfer_options *o, const char *part_of)
{
	struct peal_copy_result result = { .n_copies = 77 };
	struct peal_copy *copy = NULL;

	CHECK_FAILS(peal_transfer_run(rt, t, n, o, &result), code, part_of);
	CHECK_CONTAINS(peal_last_error()->call, "peal_transfer_run");
	CHECK_EQ(result.n_copies, 77);
	CHECK_FAILS(peal_transfer_start(rt, t, n, o, &copy), code, part_of);
	CHECK_CONTAINS(peal_last_error()->call, "peal_transfer_start");
	CHECK(!copy);
}

PEAL_TEST(overlapping_ranges_are_refused)
{
	struct peal_buffer *a, *b;
	struct peal_transfer t[4];

	open_machine(2, "");
	a = make(0, 4096);
	b = make(1, 4096);
	t[0].to = part(a, 100, 1000);
	t[0].from = part(a, 0, 1000);
	refused(PEAL_EINVAL, t, 1, NULL,
		"copy 0: reads a range of device 0 "
		"that copy 0 writes (overlapping ranges, allowed ranges apart)");
	t[0].from = part(a, 1099, 1000);
	refused(PEAL_EINVAL, t, 1, NULL, "overlapping ranges");
	t[0].from = t[0].to;
	refused(PEAL_EINVAL, t, 1, NULL, "overlapping ranges");
	t[0].from = part(a, 1100, 1000); /* adjacent */
	CHECK_OK(peal_transfer_run(rt, t, 1, NULL, NULL));
	/* Two copies may read the same bytes. No copy may write bytes that
	 * another copy reads or writes. Other ranges may start between two
	 * ranges that overlap. */
	t[0].to = part(b, 0, 2000);
	t[0].from = part(a, 0, 2000);
	t[1].to = part(b, 2000, 10);
	t[1].from = part(a, 5, 10);
	t[2].to = part(b, 2010, 10);
	t[2].from = part(a, 5, 10);
	CHECK_OK(peal_transfer_run(rt, t, 3, NULL, NULL));
	t[2].to = part(b, 1990, 10);
	refused(PEAL_EINVAL, t, 3, NULL,
		"that copy 2 writes (overlapping "
		"ranges, allowed ranges apart)");
	CHECK_CONTAINS(peal_last_error()->text, "device 1");
	t[2].to = part(a, 1500, 10);
	refused(PEAL_EINVAL, t, 3, NULL,
		"that copy 2 writes (overlapping "
		"ranges, allowed ranges apart)");
	t[2].to = part(b, 2010, 10);
	t[2].from = part(b, 1000, 10);
	refused(PEAL_EINVAL, t, 3, NULL,
		"copy 0: writes a range of device 1 that copy 2 reads "
		"(overlapping ranges, allowed ranges apart)");
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(invalid_arguments_are_named_without_copying)
{
	struct peal_transfer_options o = { .size = sizeof(o) };
	const struct peal_transfer_options good = o;
	struct peal_transfer_counts counts;
	struct peal_buffer *a, *b;
	struct peal_transfer t[2];
	struct peal_copy *copy;

	open_machine(2, "0-1:none");
	a = make(0, 4096);
	b = make(1, 4096);
	write_words(peal_buffer_full_range(a), 1);
	t[0] = t[1] = whole(b, a);
	refused(PEAL_EINVAL, NULL, 1, NULL,
		"'transfers': is NULL (NULL, "
		"allowed an address)");
	refused(PEAL_EINVAL, t, 0, NULL, "argument 'n': is out of range (0");
	refused(PEAL_EINVAL, t, PEAL_TRANSFERS_MAX + 1, NULL,
		"allowed 1..16777216)");
	CHECK_EQ(peal_transfer_run(NULL, t, 1, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_transfer_start(NULL, t, 1, NULL, &copy), PEAL_EINVAL);
	CHECK_EQ(peal_transfer_start(rt, t, 1, NULL, NULL), PEAL_EINVAL);
	t[0].to.bytes = 4088;
	refused(PEAL_EINVAL, t, 1, NULL,
		"copy 0: has ranges of two lengths "
		"(4096 to 4088, in bytes, allowed equal lengths)");
	t[0].from.bytes = t[0].to.bytes = 0;
	refused(PEAL_EINVAL, t, 1, NULL, "0 bytes");
	t[0].from.bytes = t[0].to.bytes = 4097;
	refused(PEAL_EFAULT, t, 1, NULL, "range: is beyond the buffer (409");
	t[0] = t[1];
	t[0].to.offset = UINT64_MAX - 8;
	refused(PEAL_EFAULT, t, 1, NULL, "range: is beyond the buffer (409");
	t[0].to.buffer = NULL;
	refused(PEAL_EINVAL, t, 1, NULL, "no buffer");
	t[0] = t[1];
	o.routes = 16;
	refused(PEAL_EINVAL, t, 1, &o, "'routes': has unknown bits");
	o = good;
	o.chunk_bytes = PEAL_TRANSFER_CHUNK_MIN - 1;
	refused(PEAL_EINVAL, t, 1, &o,
		"'chunk_bytes': is out of range (4095, "
		"allowed 4096..2097152)");
	o.chunk_bytes = PEAL_TRANSFER_CHUNK_MAX + 1;
	refused(PEAL_EINVAL, t, 1, &o,
		"'chunk_bytes': is out of range "
		"(2097153, allowed 4096..2097152)");
	o = good;
	o.size = 5;
	refused(PEAL_EINVAL, t, 1, &o, "size");
	/* The pair has none of the allowed routes. */
	o = good;
	o.routes = PEAL_ROUTE_PEER | PEAL_ROUTE_LOCAL;
	CHECK_FAILS(peal_transfer_run(rt, t, 1, &o, NULL), PEAL_ENOPEER,
		    "'routes': excludes route staged of device 0 -> device 1");
	CHECK_OK(peal_transfer_start(rt, t, 1, &o, &copy));
	CHECK_EQ(peal_copy_wait(copy, MAX_WAIT), PEAL_ENOPEER);
	peal_copy_destroy(copy);
	CHECK(!has_words(peal_buffer_full_range(b), 1));
	CHECK_EQ(peal_transfer_counts(rt, 0, 1, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_transfer_counts(NULL, 0, 1, &counts), PEAL_EINVAL);
	CHECK_EQ(peal_transfer_counts(rt, 2, 1, &counts), PEAL_ENODEV);
	CHECK_EQ(peal_transfer_counts(rt, 0, -2, &counts), PEAL_ENODEV);
	CHECK_OK(peal_transfer_counts(rt, 0, 1, &counts));
	CHECK_EQ(counts.bytes + counts.copies + counts.warnings, 0);
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(buffers_of_another_runtime_are_refused)
{
	struct peal_runtime *other, *first;
	struct peal_buffer *a, *b;
	struct peal_transfer t;

	HOST_CASE("a process has one runtime with a GPU");
	open_machine(1, "");
	first = rt;
	a = make(0, 64);
	open_machine(1, "");
	other = rt;
	b = make(0, 64);
	t = whole(b, a);
	refused(PEAL_EINVAL, &t, 1, NULL, "another runtime");
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(other));
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_OK(peal_runtime_close(first));
}

PEAL_TEST(staged_copy_without_pinned_memory_fails)
{
	/* Needs more memory than a stage keeps from an earlier copy. */
	const struct peal_transfer_options o = {
		.size = sizeof(o),
		.chunk_bytes = PEAL_TRANSFER_CHUNK_MAX,
	};
	struct peal_memory_info info;
	struct peal_buffer *a, *b, *all[8];
	struct peal_transfer t;
	int n = 0;

	open_machine(2, "0-1:none");
	a = make(0, 4096);
	b = make(1, 4096);
	write_words(peal_buffer_full_range(a), 6);
	t = whole(b, a);
	CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	all[n++] = make(PEAL_HOST_MEMORY, info.largest_buffer_bytes);
	CHECK_FAILS(peal_transfer_run(rt, &t, 1, &o, NULL), PEAL_ENOMEM,
		    "no pinned host memory to stage a copy");
	CHECK_CONTAINS(peal_last_error()->call, "peal_transfer_run");
	CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	for (; n < 8 && info.largest_buffer_bytes > 65536; n++) {
		all[n] = make(PEAL_HOST_MEMORY, info.largest_buffer_bytes);
		CHECK_OK(peal_memory_info(rt, PEAL_HOST_MEMORY, &info));
	}
	/* Copies to and from process memory need no pinned memory. */
	write_words(t.to, 9);
	CHECK(has_words(t.to, 9));
	CHECK_EQ(peal_transfer_run(rt, &t, 1, NULL, NULL), PEAL_ENOMEM);
	while (n--)
		CHECK_OK(peal_buffer_destroy(all[n]));
	CHECK_OK(peal_transfer_run(rt, &t, 1, NULL, NULL));
	CHECK(has_words(t.to, 6));
	destroy(a, b);
	CHECK_OK(peal_runtime_close(rt));
}

static void *copy_about(void *argument)
{
	unsigned i, seed = (unsigned)(uintptr_t)argument;
	struct peal_buffer *a = make((int)(seed % 3), MIB / 2);
	struct peal_buffer *b = make((int)((seed + 1) % 3), MIB / 2);
	struct peal_transfer t = whole(b, a);
	struct peal_copy *copy;

	for (i = 0; i < 10; i++) {
		write_words(t.from, 100 * seed + i);
		if (i % 2) {
			CHECK_OK(peal_transfer_run(rt, &t, 1, NULL, NULL));
		} else {
			CHECK_OK(peal_transfer_start(rt, &t, 1, NULL, &copy));
			CHECK_OK(peal_copy_wait(copy, MAX_WAIT));
			peal_copy_destroy(copy);
		}
		CHECK(has_words(t.to, 100 * seed + i));
	}
	destroy(a, b);
	return NULL;
}

/* More copies run at the same time than there are stages. */
PEAL_TEST(concurrent_staged_copies_do_not_interfere)
{
	pthread_t thread[9];
	uintptr_t i;

	open_machine(3, "*:none");
	for (i = 0; i < 9; i++)
		CHECK(!pthread_create(&thread[i], NULL, copy_about, (void *)i));
	for (i = 0; i < 9; i++)
		pthread_join(thread[i], NULL);
	CHECK_OK(peal_runtime_close(rt));
}

/* A process warns of a pair once: the warnings come before other copies. */
PEAL_TEST_MAIN(RUN(log_level_zero_hides_the_warning);
	       RUN(staged_pair_is_warned_of_once);
	       RUN(each_memory_pair_uses_its_route);
	       RUN(staged_copies_are_correct_for_any_chunk);
	       RUN(broken_pair_is_staged);
	       RUN(cancelled_copy_reports_copied_bytes);
	       RUN(running_copy_has_no_result_and_holds_its_buffers);
	       RUN(copies_of_the_same_memory_keep_their_order);
	       RUN(a_shutdown_ends_copies_and_frees_buffers);
	       RUN(overlapping_ranges_are_refused);
	       RUN(invalid_arguments_are_named_without_copying);
	       RUN(buffers_of_another_runtime_are_refused);
	       RUN(staged_copy_without_pinned_memory_fails);
	       RUN(concurrent_staged_copies_do_not_interfere);)
