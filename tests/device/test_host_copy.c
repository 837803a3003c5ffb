/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the copies of the host backend: places, lists, overlap and refusals. */
#include "peal_test.h"
#include "runtime/device/backend.h"

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

PEAL_TEST(copy_outside_an_allocation_returns_efault)
{
	struct peali_place a, b, bad;

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

PEAL_TEST(device_operand_accepts_host_memory_address)
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

PEAL_TEST(batch_copies_all_ops_or_names_first_invalid_op)
{
	struct peali_copy_op moves[3];
	struct peali_place a, b;
	int i;

	open_two();
	a = take(0, 3 * 4096);
	b = take(1, 3 * 4096);
	fill(bytes_of(a), 3 * 4096, 4);
	for (i = 0; i < 3; i++) {
		moves[i].from = a;
		moves[i].from.address += 4096 * (unsigned)i;
		moves[i].to = b;
		moves[i].to.address += 4096 * (unsigned)(2 - i);
		moves[i].bytes = 4096;
	}
	CHECK_OK(ops->copy_all(backend, moves, 3));
	for (i = 0; i < 3; i++)
		CHECK(!memcmp(bytes_of(b) + 4096 * (2 - i),
			      bytes_of(a) + 4096 * i, 4096));
	moves[1].bytes = 3 * 4096;
	CHECK_EQ(ops->copy_all(backend, moves, 3), PEAL_EFAULT);
	CHECK_OK(ops->copy_all(backend, moves, 0));
	CHECK_OK(ops->close(backend));
}

PEAL_TEST(overlapping_memory_is_copied_correctly)
{
	static uint8_t expected[BYTES];
	uint64_t shift = 4096 + 1, n = BYTES - shift;
	struct peali_place a, b;
	int up;

	open_two();
	a = take(0, BYTES);
	for (up = 0; up < 2; up++) {
		b = a;
		b.address += shift;
		fill(bytes_of(a), BYTES, 5);
		memcpy(expected, bytes_of(up ? a : b), n);
		CHECK_OK(ops->copy(backend, up ? b : a, up ? a : b, n));
		CHECK(!memcmp(bytes_of(up ? b : a), expected, n));
	}
	CHECK_OK(ops->close(backend));
}

PEAL_TEST_MAIN(RUN(copy_needs_no_peer_access);
	       RUN(copy_outside_an_allocation_returns_efault);
	       RUN(device_operand_accepts_host_memory_address);
	       RUN(batch_copies_all_ops_or_names_first_invalid_op);
	       RUN(overlapping_memory_is_copied_correctly);)
