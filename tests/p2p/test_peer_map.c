/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the mapping and the allocation of memory: results, counts and refusals.
 */
#include "machine.h"

static struct peal_runtime *rt;

PEAL_TEST(mapping_shows_the_owners_memory)
{
	uint64_t address, mapped, *p;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 8192);
	CHECK_OK(peal_peer_map(rt, 1, address + 4096, 0, 4096, -1, &mapped));
	/* emulated: this thread sees the memory of device 0, too */
	p = (uint64_t *)(uintptr_t)mapped;
	p[0] = 0x1122334455667788;
	p[511] = 42;
	p = (uint64_t *)(uintptr_t)(address + 4096);
	CHECK_EQ(p[0], 0x1122334455667788);
	CHECK_EQ(p[511], 42);
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, -1));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(maps_are_counted_and_extra_unmap_returns_efault)
{
	uint64_t address, first, second;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 16, -1, &first));
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, -1, &second));
	CHECK_EQ(first, second);
	CHECK_OK(peal_peer_unmap(rt, 0, first, -1));
	CHECK_EQ(peal_memory_free(rt, 1, address), PEAL_EBUSY);
	check_error("peal_memory_free", "1 mapping");
	CHECK_OK(peal_peer_unmap(rt, 0, second, -1));
	CHECK_EQ(peal_peer_unmap(rt, 0, second, -1), PEAL_EFAULT);
	check_error("peal_peer_unmap", "device 0");
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(unmap_of_unmapped_address_returns_efault)
{
	uint64_t address, mapped;
	int local;

	rt = machine_open("3", "");
	CHECK_EQ(peal_peer_unmap(rt, 0, 0, -1), PEAL_EFAULT);
	CHECK_EQ(peal_peer_unmap(rt, 0, (uintptr_t)&local, -1), PEAL_EFAULT);
	address = machine_alloc(rt, 1, 4096);
	CHECK_OK(peal_peer_map(rt, 1, address, 0, 4096, -1, &mapped));
	CHECK_EQ(peal_peer_unmap(rt, 2, mapped, -1), PEAL_EFAULT);
	CHECK_EQ(peal_peer_unmap(rt, 0, mapped + 16, -1), PEAL_EFAULT);
	CHECK_EQ(peal_peer_unmap(rt, 7, mapped, -1), PEAL_ENODEV);
	CHECK_EQ(peal_peer_unmap(NULL, 0, mapped, -1), PEAL_EINVAL);
	CHECK_OK(peal_peer_unmap(rt, 0, mapped, -1));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(ranges_outside_an_allocation_return_efault)
{
	static uint8_t foreign[64] __attribute__((aligned(64)));
	uint64_t address, other, host, mapped = 7;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	other = machine_alloc(rt, 0, 4096);
	host = machine_alloc(rt, HOST, 4096);
	CHECK_EQ(peal_peer_map(rt, 1, address, 0, 4097, -1, &mapped),
		 PEAL_EFAULT);
	check_error("peal_peer_map", "4097 bytes");
	CHECK_EQ(peal_peer_map(rt, 1, address + 4080, 0, 17, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, address + 4096, 0, 16, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, address - 16, 0, 16, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, other, 0, 16, -1, &mapped), PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, host, 0, 16, -1, &mapped), PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, (uintptr_t)foreign, 0, 16, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, 0, 0, 16, -1, &mapped), PEAL_EFAULT);
	CHECK_EQ(mapped, 7);
	CHECK_OK(peal_memory_free(rt, HOST, host));
	CHECK_OK(peal_memory_free(rt, 0, other));
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(wrapping_sizes_return_efault)
{
	uint64_t address, mapped;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	CHECK_EQ(peal_peer_map(rt, 1, address, 0, UINT64_MAX, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, address, 0, -address, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, address + 16, 0, UINT64_MAX - 15, -1,
			       &mapped),
		 PEAL_EFAULT);
	CHECK_EQ(peal_peer_map(rt, 1, UINT64_MAX - 15, 0, 32, -1, &mapped),
		 PEAL_EFAULT);
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(map_refuses_invalid_arguments)
{
	uint64_t address, mapped;

	rt = machine_open("3", "0-1:none");
	address = machine_alloc(rt, 1, 4096);
	CHECK_EQ(peal_peer_map(rt, 1, address, 2, 0, -1, &mapped), PEAL_EINVAL);
	check_error("peal_peer_map", "'bytes': is too small for a mapping");
	CHECK_EQ(peal_peer_map(rt, 1, address + 8, 2, 16, -1, &mapped),
		 PEAL_EINVAL);
	check_error("peal_peer_map", "multiple of 16");
	CHECK_EQ(peal_peer_map(rt, 1, address, 1, 16, -1, &mapped),
		 PEAL_EINVAL);
	check_error("peal_peer_map", "device 1 -> device 1");
	CHECK_EQ(peal_peer_map(rt, 1, address, 0, 16, -1, &mapped),
		 PEAL_ENOPEER);
	check_error("peal_peer_map", "device 0 -> device 1");
	CHECK_EQ(peal_peer_map(rt, 3, address, 0, 16, -1, &mapped),
		 PEAL_ENODEV);
	CHECK_EQ(peal_peer_map(rt, 1, address, 3, 16, -1, &mapped),
		 PEAL_ENODEV);
	CHECK_EQ(peal_peer_map(rt, HOST, address, 0, 16, -1, &mapped),
		 PEAL_ENODEV);
	CHECK_EQ(peal_peer_map(rt, 1, address, 2, 16, -1, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_peer_map(NULL, 1, address, 2, 16, -1, &mapped),
		 PEAL_EINVAL);
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- memory -------------------------------------------------------------- */

PEAL_TEST(memory_is_zero_aligned_and_counted)
{
	uint64_t address[64], i, bytes;
	struct peal_runtime_info info;
	uint8_t *p;

	rt = machine_open("2", "");
	for (i = 0; i < 64; i++) {
		bytes = 1 + i * 97;
		address[i] = machine_alloc(rt, (int)(i % 3) - 1, bytes);
		CHECK_EQ(address[i] % 128, 0);
		p = (uint8_t *)(uintptr_t)address[i];
		CHECK(!p[0] && !p[bytes - 1]);
		memset(p, 0xa5, bytes);
	}
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_memories, 64);
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	for (i = 0; i < 64; i++)
		CHECK_OK(peal_memory_free(rt, (int)(i % 3) - 1, address[i]));
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_memories, 0);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(alloc_refuses_invalid_arguments)
{
	uint64_t address;

	rt = machine_open("2", "");
	CHECK_EQ(peal_memory_alloc(rt, 0, 0, &address), PEAL_EINVAL);
	check_error("peal_memory_alloc", "'bytes': is too small for an");
	CHECK_EQ(peal_memory_alloc(rt, 2, 16, &address), PEAL_ENODEV);
	CHECK_EQ(peal_memory_alloc(rt, -2, 16, &address), PEAL_ENODEV);
	CHECK_EQ(peal_memory_alloc(rt, 0, 16, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_memory_alloc(NULL, 0, 16, &address), PEAL_EINVAL);
	CHECK_EQ(peal_memory_alloc(rt, 0, (uint64_t)1 << 50, &address),
		 PEAL_ENOMEM);
	CHECK_CONTAINS(peal_last_error()->text, "free");
	CHECK_EQ(peal_memory_alloc(rt, 0, UINT64_MAX, &address), PEAL_ENOMEM);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(free_accepts_only_live_allocations)
{
	uint64_t address;
	int local;

	rt = machine_open("2", "");
	address = machine_alloc(rt, 1, 4096);
	CHECK_EQ(peal_memory_free(rt, 1, address + 128), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 0, address), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, HOST, address), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 1, (uintptr_t)&local), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 1, 0), PEAL_EFAULT);
	CHECK_EQ(peal_memory_free(rt, 2, address), PEAL_ENODEV);
	CHECK_EQ(peal_memory_free(NULL, 1, address), PEAL_EINVAL);
	CHECK_OK(peal_memory_free(rt, 1, address));
	CHECK_EQ(peal_memory_free(rt, 1, address), PEAL_EFAULT);
	check_error("peal_memory_free", "device 1");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(machine_begin(); RUN(mapping_shows_the_owners_memory);
	       RUN(maps_are_counted_and_extra_unmap_returns_efault);
	       RUN(unmap_of_unmapped_address_returns_efault);
	       RUN(ranges_outside_an_allocation_return_efault);
	       RUN(wrapping_sizes_return_efault);
	       RUN(map_refuses_invalid_arguments);
	       RUN(memory_is_zero_aligned_and_counted);
	       RUN(alloc_refuses_invalid_arguments);
	       RUN(free_accepts_only_live_allocations);)
