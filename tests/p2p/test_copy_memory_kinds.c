/* SPDX-License-Identifier: Apache-2.0 */
/* Shows copies between all places, and the refusal of wrong ranges. */
#include <pthread.h>

#include "machine.h"

#define BYTES 100000u

static struct peal_runtime *rt;

PEAL_TEST(all_memory_pairs_copy_without_peer_access)
{
	uint64_t from, to;
	int a, b;

	rt = machine_open("3", "*:none");
	for (a = HOST; a < 3; a++) {
		for (b = HOST; b < 3; b++) {
			from = machine_alloc(rt, a, BYTES);
			to = machine_alloc(rt, b, BYTES);
			machine_fill(rt, a, from, BYTES,
				     (unsigned)(a * 7 + b + 20));
			CHECK_OK(peal_peer_copy(rt, b, to, a, from, BYTES));
			CHECK(machine_holds(rt, b, to, BYTES,
					    (unsigned)(a * 7 + b + 20)));
			CHECK_OK(peal_memory_free(rt, a, from));
			CHECK_OK(peal_memory_free(rt, b, to));
		}
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(only_the_range_is_written)
{
	uint64_t from, to;
	uint8_t *p;

	rt = machine_open("2", "");
	from = machine_alloc(rt, 0, 4096);
	to = machine_alloc(rt, 1, 4096);
	machine_fill(rt, 0, from, 4096, 1);
	CHECK_OK(peal_peer_copy(rt, 1, to + 100, 0, from + 3, 37));
	p = (uint8_t *)(uintptr_t)to;
	CHECK(!p[99] && !p[137]);
	CHECK(!memcmp(p + 100, (uint8_t *)(uintptr_t)from + 3, 37));
	CHECK_OK(peal_memory_free(rt, 0, from));
	CHECK_OK(peal_memory_free(rt, 1, to));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(copy_accepts_device_view_addresses)
{
	uint64_t memory, host, mapped, target;

	rt = machine_open("2", "");
	memory = machine_alloc(rt, 1, 4096);
	host = machine_alloc(rt, HOST, 4096);
	target = machine_alloc(rt, 0, 4096);
	machine_fill(rt, 1, memory, 4096, 3);
	machine_fill(rt, HOST, host, 4096, 4);
	CHECK_OK(peal_peer_map(rt, 1, memory, 0, 4096, -1, &mapped));
	/* device 0 reads device 1's memory at its mapped address */
	CHECK_OK(peal_peer_copy(rt, 0, target, 0, mapped, 4096));
	CHECK(machine_holds(rt, 0, target, 4096, 3));
	/* device 0 reads host memory, which every device sees */
	CHECK_OK(peal_peer_copy(rt, 0, target, 0, host, 4096));
	CHECK(machine_holds(rt, 0, target, 4096, 4));
	CHECK_OK(peal_peer_copy(rt, 0, mapped, 0, target, 4096));
	CHECK(machine_holds(rt, 1, memory, 4096, 4));
	CHECK_EQ(peal_peer_copy(rt, 0, target, 0, mapped, 4097), PEAL_EFAULT);
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, -1));
	CHECK_OK(peal_memory_free(rt, 1, memory));
	CHECK_OK(peal_memory_free(rt, HOST, host));
	CHECK_OK(peal_memory_free(rt, 0, target));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(zero_byte_copy_still_checks_devices)
{
	struct peal_copy *copy;

	rt = machine_open("2", "");
	CHECK_OK(peal_peer_copy(rt, 0, 0, 1, 0, 0));
	CHECK_OK(peal_peer_copy(rt, HOST, 0, HOST, 0, 0));
	CHECK_EQ(peal_peer_copy(rt, 2, 0, 1, 0, 0), PEAL_ENODEV);
	CHECK_OK(peal_peer_copy_async(rt, 0, 0, 1, 0, 0, &copy));
	CHECK_OK(peal_copy_wait(copy, 0));
	CHECK_OK(peal_copy_cancel(copy));
	peal_copy_destroy(copy);
	CHECK_OK(peal_runtime_close(rt));
}

/* Checks that both calls refuse these places. */
static void refused(int code, int to, uint64_t to_address, int from,
		    uint64_t from_address, uint64_t bytes)
{
	struct peal_copy *copy = NULL;

	CHECK_EQ(peal_peer_copy(rt, to, to_address, from, from_address, bytes),
		 code);
	CHECK_CONTAINS(peal_last_error()->call, "peal_peer_copy");
	CHECK_EQ(peal_peer_copy_async(rt, to, to_address, from, from_address,
				      bytes, &copy),
		 code);
	CHECK_CONTAINS(peal_last_error()->call, "peal_peer_copy_async");
	CHECK(!copy);
}

PEAL_TEST(ranges_outside_an_allocation_return_efault)
{
	static uint8_t foreign[8192];
	uint64_t a, b, h;

	rt = machine_open("2", "");
	a = machine_alloc(rt, 0, 4096);
	b = machine_alloc(rt, 1, 4096);
	h = machine_alloc(rt, HOST, 4096);
	machine_fill(rt, 1, b, 4096, 5);
	refused(PEAL_EFAULT, 1, b, 0, a, 4097);
	refused(PEAL_EFAULT, 1, b + 1, 0, a, 4096);
	refused(PEAL_EFAULT, 1, b, 0, a + 1, 4096);
	refused(PEAL_EFAULT, 1, b, 0, b, 16); /* device 0 has not mapped it */
	refused(PEAL_EFAULT, 1, b, 0, (uintptr_t)foreign, 16);
	refused(PEAL_EFAULT, 1, b, 0, 0, 16);
	refused(PEAL_EFAULT, 1, b, HOST, 0, 16);
	refused(PEAL_EFAULT, 1, b, HOST, h + 1, 4096);
	refused(PEAL_EFAULT, HOST, h, 1, b, 4097);
	refused(PEAL_EFAULT, 1, b, 0, a, UINT64_MAX);
	refused(PEAL_EFAULT, 1, b, 0, a, -a);
	refused(PEAL_EFAULT, HOST, (uintptr_t)foreign, 1, b, -(uint64_t)8);
	refused(PEAL_EFAULT, 1, UINT64_MAX - 7, 0, a, 16);
	refused(PEAL_ENODEV, 2, b, 0, a, 16);
	refused(PEAL_ENODEV, 1, b, -2, a, 16);
	/* no refused copy has written */
	CHECK(machine_holds(rt, 1, b, 4096, 5));
	CHECK_OK(peal_memory_free(rt, 0, a));
	CHECK_OK(peal_memory_free(rt, 1, b));
	refused(PEAL_EFAULT, HOST, (uintptr_t)foreign, 1, b, 16);
	CHECK_OK(peal_memory_free(rt, HOST, h));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(null_arguments_return_einval)
{
	struct peal_copy *copy;

	rt = machine_open("2", "");
	CHECK_EQ(peal_peer_copy(NULL, 0, 0, 1, 0, 0), PEAL_EINVAL);
	CHECK_EQ(peal_peer_copy_async(NULL, 0, 0, 1, 0, 0, &copy), PEAL_EINVAL);
	CHECK_EQ(peal_peer_copy_async(rt, 0, 0, 1, 0, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_copy_wait(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_copy_cancel(NULL), PEAL_EINVAL);
	peal_copy_destroy(NULL);
	CHECK_OK(peal_runtime_close(rt));
}

static void *copy_about(void *argument)
{
	unsigned long long seed = (uintptr_t)argument + 1;
	uint64_t a = machine_alloc(rt, 0, BYTES), b;
	int i;

	for (i = 0; i < 40; i++) {
		b = machine_alloc(rt, 1, BYTES);
		machine_fill(rt, 0, a, BYTES, seed + (unsigned)i);
		CHECK_OK(peal_peer_copy(rt, 1, b, 0, a, BYTES));
		CHECK(machine_holds(rt, 1, b, BYTES, seed + (unsigned)i));
		CHECK_OK(peal_memory_free(rt, 1, b));
	}
	CHECK_OK(peal_memory_free(rt, 0, a));
	return NULL;
}

PEAL_TEST(concurrent_copies_do_not_interfere)
{
	pthread_t thread[4];
	uintptr_t i;

	rt = machine_open("2", "");
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, copy_about, (void *)i));
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHECK_OK(peal_runtime_close(rt));
}

/* Moves 5 MiB by `shift` bytes within a device. */
static void move_by(int64_t shift, int background)
{
	const uint64_t n = (5 << 20) + 13, margin = (1 << 20) + 4096;
	struct peal_runtime *runtime = machine_open("1", "");
	uint64_t base = machine_alloc(runtime, 0, n + 2 * margin) + margin;
	struct peal_copy *copy;

	machine_fill(runtime, 0, base, n, 77);
	if (background) {
		CHECK_OK(peal_peer_copy_async(
			runtime, 0, base + (uint64_t)shift, 0, base, n, &copy));
		CHECK_OK(peal_copy_wait(copy, -1));
		peal_copy_destroy(copy);
	} else {
		CHECK_OK(peal_peer_copy(runtime, 0, base + (uint64_t)shift, 0,
					base, n));
	}
	CHECK(machine_holds(runtime, 0, base + (uint64_t)shift, n, 77));
	CHECK_OK(peal_memory_free(runtime, 0, base - margin));
	CHECK_OK(peal_runtime_close(runtime));
}

PEAL_TEST(overlapping_ranges_are_copied_correctly)
{
	static const int64_t shifts[] = { 16,	 -16,	  4096,
					  -4096, 1 << 20, -(1 << 20) };
	size_t i;

	for (i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		move_by(shifts[i], 0);
		move_by(shifts[i], 1);
	}
}

PEAL_TEST_MAIN(machine_begin(); RUN(all_memory_pairs_copy_without_peer_access);
	       RUN(only_the_range_is_written);
	       RUN(copy_accepts_device_view_addresses);
	       RUN(zero_byte_copy_still_checks_devices);
	       RUN(ranges_outside_an_allocation_return_efault);
	       RUN(null_arguments_return_einval);
	       RUN(concurrent_copies_do_not_interfere);
	       RUN(overlapping_ranges_are_copied_correctly);)
