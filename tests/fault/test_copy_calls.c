/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows by the number of driver calls that a batch has one wait. A transfer is
 * one copy if one device has access to the other. Else it goes in chunks
 * through pinned memory. A staged copy that fails in part gives an error.
 */
#include <dlfcn.h>

#include <peal/buffer.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/transfer.h>

#include "runtime/harness.h"

#define MIB ((uint64_t)1 << 20)

static struct peal_runtime *rt;

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

static const char *copy_symbol(void)
{
	return is_hip() ? "hipMemcpyAsync" : "cuMemcpyAsync";
}

static const char *wait_symbol(void)
{
	return is_hip() ? "hipStreamSynchronize" : "cuStreamSynchronize";
}

/* Returns how often the driver's symbol was called so far. */
static int calls(const char *symbol)
{
	void *library =
		dlopen(is_hip() ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "peal_driver_double_calls") :
				NULL;
	int (*of_double)(const char *symbol);
	int n;

	CHECK(found);
	memcpy(&of_double, &found, sizeof(found));
	n = of_double(symbol);
	dlclose(library);
	return n;
}

static void open_double(const char *links)
{
	if (!test_on_gpu())
		SKIP("PEAL_BACKENDS names no driver double: run it by ctest");
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	rt = harness_open(2, links);
}

static struct peal_buffer *make(int device, uint64_t bytes)
{
	const struct peal_buffer_options o = { .size = sizeof(o),
					       .device = device,
					       .bytes = bytes };
	struct peal_buffer *b;

	CHECK_OK(peal_buffer_create(rt, &o, &b));
	return b;
}

static int holds(struct peal_buffer *b, uint64_t bytes, uint8_t value)
{
	uint8_t *p = malloc(bytes);
	uint64_t i;

	CHECK(p);
	CHECK_OK(peal_buffer_read(peal_buffer_full_range(b), p));
	for (i = 0; i < bytes && p[i] == value; i++)
		;
	free(p);
	return i == bytes;
}

PEAL_TEST(copy_batch_synchronizes_once)
{
	struct peal_buffer *a, *b;
	struct peal_transfer t[64];
	struct peal_copy_result result;
	int copies, waits, i;

	open_double("");
	a = make(0, 64 * 512);
	b = make(1, 64 * 512);
	CHECK_OK(peal_buffer_fill(peal_buffer_full_range(a), "q", 1));
	for (i = 0; i < 64; i++) {
		CHECK_OK(peal_buffer_range(a, (uint64_t)i * 512, 256,
					   &t[i].from));
		CHECK_OK(
			peal_buffer_range(b, (uint64_t)i * 512, 256, &t[i].to));
	}
	copies = calls(copy_symbol());
	waits = calls(wait_symbol());
	CHECK_OK(peal_transfer_run(rt, t, 64, NULL, &result));
	CHECK_EQ(result.route, PEAL_ROUTE_PEER);
	CHECK_EQ(calls(copy_symbol()) - copies, 64);
	CHECK_EQ(calls(wait_symbol()) - waits, 1);
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(peer_copy_works_with_one_way_access)
{
	struct peal_buffer *a, *b;
	struct peal_transfer t;
	struct peal_copy_result result;
	int copies, i;

	open_double("1>0:nvlink,0>1:none");
	a = make(0, 8 * MIB);
	b = make(1, 8 * MIB);
	for (i = 0; i < 2; i++) {
		t.from = peal_buffer_full_range(i ? b : a);
		t.to = peal_buffer_full_range(i ? a : b);
		CHECK_OK(peal_buffer_fill(t.from, "xy" + i, 1));
		copies = calls(copy_symbol());
		CHECK_OK(peal_transfer_run(rt, &t, 1, NULL, &result));
		CHECK_EQ(result.route, PEAL_ROUTE_PEER);
		CHECK_EQ(calls(copy_symbol()) - copies, 1);
		CHECK(holds(t.to.buffer, 8 * MIB, (uint8_t) "xy"[i]));
	}
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(unpinned_host_memory_is_copied_in_chunks)
{
	uint8_t *p = malloc(8 * MIB);
	struct peal_transfer_counts counts;
	struct peal_buffer *b;
	uint64_t pinned;
	int copies;

	CHECK(p);
	open_double("");
	memset(p, 'm', 8 * MIB);
	b = make(1, 8 * MIB);
	copies = calls(copy_symbol());
	CHECK_OK(peal_buffer_write(peal_buffer_full_range(b), p));
	CHECK_EQ(calls(copy_symbol()) - copies, 8);
	CHECK(holds(b, 8 * MIB, 'm'));
	CHECK_OK(peal_transfer_counts(rt, PEAL_HOST_MEMORY, 1, &counts));
	CHECK_EQ(counts.staged_bytes, 8 * MIB);
	CHECK_EQ(counts.warnings, 0); /* no faster route exists */
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 8 * MIB, &pinned));
	copies = calls(copy_symbol());
	CHECK_OK(peal_buffer_write(peal_buffer_full_range(b),
				   (void *)(uintptr_t)pinned));
	CHECK_EQ(calls(copy_symbol()) - copies, 1);
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, pinned));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
	free(p);
}

/* Any call of a staged copy may fail, in each of its two threads. */
PEAL_TEST(failed_staged_copy_leaves_next_copy_intact)
{
	struct peal_copy_result result = { .n_copies = 77 };
	struct peal_buffer *a, *b;
	struct peal_transfer t;
	struct peal_copy *copy;
	char fault[64];
	int i;

	open_double("0-1:none");
	a = make(0, 4 * MIB);
	b = make(1, 4 * MIB);
	t.from = peal_buffer_full_range(a);
	t.to = peal_buffer_full_range(b);
	CHECK_OK(peal_buffer_fill(t.from, "f", 1));
	for (i = 1; i <= 8; i++) {
		snprintf(fault, sizeof(fault), "%s:700:%d", copy_symbol(),
			 calls(copy_symbol()) + i);
		setenv("PEAL_DOUBLE_FAIL", fault, 1);
		CHECK_EQ(peal_transfer_run(rt, &t, 1, NULL, &result) < 0, 1);
		CHECK_CONTAINS(peal_last_error()->call, "peal_transfer_run");
		CHECK_CONTAINS(peal_last_error()->text, copy_symbol());
		CHECK_EQ(peal_last_error()->driver_code, 700);
		CHECK_EQ(result.n_copies, 77);
		snprintf(fault, sizeof(fault), "%s:700:%d", copy_symbol(),
			 calls(copy_symbol()) + i);
		setenv("PEAL_DOUBLE_FAIL", fault, 1);
		CHECK_OK(peal_transfer_start(rt, &t, 1, NULL, &copy));
		CHECK(peal_copy_wait(copy, MAX_WAIT) < 0);
		CHECK_CONTAINS(peal_last_error()->text, "device 0 -> device 1");
		peal_copy_destroy(copy);
		unsetenv("PEAL_DOUBLE_FAIL");
	}
	CHECK_OK(peal_transfer_run(rt, &t, 1, NULL, &result));
	CHECK(holds(b, 4 * MIB, 'f'));
	CHECK_OK(peal_buffer_destroy(a));
	CHECK_OK(peal_buffer_destroy(b));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(copy_batch_synchronizes_once);
	       RUN(peer_copy_works_with_one_way_access);
	       RUN(unpinned_host_memory_is_copied_in_chunks);
	       RUN(failed_staged_copy_leaves_next_copy_intact);)
