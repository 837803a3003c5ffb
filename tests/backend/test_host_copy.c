/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

#include <peal/device/host.h>

#include "peal_test.h"
#include "runtime/backend/backend.h"

#define BYTES ((uint64_t)5 << 20)

static const struct peali_backend_ops *const ops = &peali_host_backend;
static struct peali_backend *backend;

static void open_two(void)
{
	setenv("PEAL_HOST_DEVICES", "2", 1);
	setenv("PEAL_HOST_LINKS", "0-1:none", 1);
	CHECK_OK(ops->open(&backend));
}

static struct peali_place take(int device, uint64_t bytes)
{
	struct peali_place place;
	struct peali_memory memory;

	CHECK_OK(ops->alloc(backend,
			    device == PEALI_HOST ? PEALI_MEMORY_HOST :
						   PEALI_MEMORY_DEVICE,
			    device, bytes, &memory));
	place.device = device;
	place.address = ops->view(backend, device, &memory);
	CHECK(place.address);
	return place;
}

static uint8_t *bytes_of(struct peali_place place)
{
	return (uint8_t *)(uintptr_t)place.address;
}

static void fill(uint8_t *p, uint64_t n, unsigned seed)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)((i + seed) * 2654435761u >> 11);
}

static int wait_for(struct peali_copy *copy)
{
	int r;

	while ((r = ops->copy_query(copy)) == PEAL_EAGAIN)
		usleep(100);
	return r;
}

PEAL_TEST(copy_needs_no_peer_access)
{
	static uint8_t before[BYTES], after[BYTES];
	struct peali_place a, b, from = { PEALI_HOST, (uintptr_t)before };
	struct peali_place to = { PEALI_HOST, (uintptr_t)after };

	open_two();
	a = take(0, BYTES);
	b = take(1, BYTES);
	fill(before, BYTES, 1);
	CHECK_OK(ops->copy(backend, a, from, BYTES));
	CHECK_OK(ops->copy(backend, b, a, BYTES));
	CHECK_OK(ops->copy(backend, to, b, BYTES));
	CHECK(!memcmp(before, after, BYTES));
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(place_outside_of_an_allocation_is_refused)
{
	struct peali_place a, b, bad;
	struct peali_copy *copy;

	open_two();
	a = take(0, 1000);
	b = take(1, 1000);
	bad = a;
	CHECK_EQ(ops->copy(backend, b, a, 1001), PEAL_EFAULT);
	CHECK_CONTAINS(peal_last_error()->text, "1001");
	CHECK_CONTAINS(peal_last_error()->text, "device 1");
	bad.address += 1;
	CHECK_EQ(ops->copy(backend, b, bad, 1000), PEAL_EFAULT);
	CHECK_CONTAINS(peal_last_error()->text, "device 0");
	CHECK_EQ(ops->copy_start(backend, b, bad, 1000, 0, &copy), PEAL_EFAULT);
	bad = a;
	bad.device = 1; /* an address of device 0 */
	CHECK_EQ(ops->copy(backend, b, bad, 8), PEAL_EFAULT);
	bad.device = 2;
	CHECK_EQ(ops->copy(backend, b, bad, 8), PEAL_ENODEV);
	bad.device = PEALI_HOST;
	bad.address = 0;
	CHECK_EQ(ops->copy(backend, b, bad, 8), PEAL_EFAULT);
	CHECK_OK(ops->copy(backend, b, bad, 0));
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(device_may_name_host_memory_by_its_address)
{
	struct peali_place host, a;

	open_two();
	host = take(PEALI_HOST, 4096);
	a = take(0, 4096);
	fill(bytes_of(host), 4096, 3);
	host.device = 0;
	CHECK_OK(ops->copy(backend, a, host, 4096));
	CHECK(!memcmp(bytes_of(a), bytes_of(host), 4096));
	CHECK_EQ(ops->copy(backend, a, host, 4097), PEAL_EFAULT);
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(background_copies_all_arrive_and_ring)
{
	enum { N = 20 };
	struct peali_copy *copy[N];
	struct peali_place from[N], to[N];
	struct peal_bell bell;
	int i;

	memset(&bell, 0, sizeof(bell));
	open_two();
	for (i = 0; i < N; i++) {
		from[i] = take(0, BYTES);
		to[i] = take(1, BYTES);
		fill(bytes_of(from[i]), BYTES, (unsigned)i);
		CHECK_OK(ops->copy_start(backend, to[i], from[i], BYTES,
					 (uintptr_t)&bell, &copy[i]));
	}
	bell.max_sleep_us = 60000000; /* only a ring ends this in time */
	for (i = 0; i < N; i++) {
		while (ops->copy_query(copy[i]) == PEAL_EAGAIN)
			peal_host_idle(&bell, 1);
		peal_bell_reset(&bell);
		CHECK_EQ(ops->copy_query(copy[i]), 0);
		CHECK(!memcmp(bytes_of(from[i]), bytes_of(to[i]), BYTES));
		ops->copy_free(copy[i]);
	}
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(overlapping_places_are_copied_as_if_there_were_no_overlap)
{
	static uint8_t expected[BYTES];
	uint64_t shift = 4096 + 1, n = BYTES - shift;
	struct peali_place a, b;
	struct peali_copy *copy;
	int up;

	open_two();
	a = take(0, BYTES);
	for (up = 0; up < 2; up++) {
		b = a;
		b.address += shift;
		fill(bytes_of(a), BYTES, 5);
		memcpy(expected, bytes_of(up ? a : b), n);
		CHECK_OK(ops->copy_start(backend, up ? b : a, up ? a : b, n, 0,
					 &copy));
		CHECK_EQ(wait_for(copy), 0);
		CHECK(!memcmp(bytes_of(up ? b : a), expected, n));
		ops->copy_free(copy);
	}
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(cancelled_copy_ends_early)
{
	uint64_t large = (uint64_t)1 << 30;
	struct peali_copy *first, *second;
	struct peali_place a, b;

	open_two();
	a = take(0, large);
	b = take(1, large);
	bytes_of(a)[large - 1] = 1;
	CHECK_OK(ops->copy_start(backend, b, a, large, 0, &first));
	CHECK_OK(ops->copy_start(backend, b, a, large, 0, &second));
	ops->copy_cancel(second);
	ops->copy_cancel(first);
	CHECK_EQ(wait_for(first), PEAL_ECANCELED);
	CHECK_EQ(wait_for(second), PEAL_ECANCELED);
	CHECK_EQ(bytes_of(b)[large - 1], 0);
	ops->copy_free(first);
	ops->copy_free(second);
	ops->copy_free(NULL);
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(close_with_a_copy_that_is_not_freed_is_busy)
{
	struct peali_copy *copy;
	struct peali_place a, b;

	open_two();
	a = take(0, BYTES);
	b = take(1, BYTES);
	fill(bytes_of(a), BYTES, 9);
	CHECK_OK(ops->copy_start(backend, b, a, BYTES, 0, &copy));
	CHECK_EQ(ops->close(backend), PEAL_EBUSY);
	CHECK_CONTAINS(peal_last_error()->text, "1 copies");
	ops->copy_free(copy); /* waits for its end */
	CHECK(!memcmp(bytes_of(a), bytes_of(b), BYTES));
	CHECK_OK(ops->close(backend));
}

PEAL_TEST_MAIN(RUN(copy_needs_no_peer_access);
	       RUN(place_outside_of_an_allocation_is_refused);
	       RUN(device_may_name_host_memory_by_its_address);
	       RUN(background_copies_all_arrive_and_ring);
	       RUN(overlapping_places_are_copied_as_if_there_were_no_overlap);
	       RUN(cancelled_copy_ends_early);
	       RUN(close_with_a_copy_that_is_not_freed_is_busy);)
