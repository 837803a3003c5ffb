/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates, frees and copies memory of a device or the host. The runtime's
 * number of the device, or PEALI_HOST, names the owner.
 */
#include "runtime/device/memory_block.h"

#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

int peali_block_alloc(struct peal_runtime *rt, int owner, uint64_t bytes,
		      struct peali_block *out)
{
	int result;

	out->owner = owner;
	out->bytes = 0;
	result = peali_devices_alloc(&rt->devices, owner, bytes, &out->memory);
	if (!result)
		out->bytes = bytes;
	return result;
}

void peali_block_free(struct peal_runtime *rt, struct peali_block *block)
{
	if (block->bytes)
		peali_devices_free(&rt->devices, block->owner, &block->memory);
	block->bytes = 0;
}

uint64_t peali_block_view(const struct peal_runtime *rt, int viewer,
			  const struct peali_block *block)
{
	if (!block->bytes)
		return 0;
	return peali_devices_view(&rt->devices, viewer, block->owner,
				  &block->memory);
}

/* Returns the device and the address of a block's byte, for a copy. */
static struct peali_place block_place(const struct peal_runtime *rt,
				      const struct peali_block *block,
				      uint64_t offset)
{
	struct peali_place place;

	place.device = block->owner;
	place.address = peali_block_view(rt, block->owner, block) + offset;
	return place;
}

int peali_block_write(struct peal_runtime *rt, const struct peali_block *block,
		      uint64_t offset, const void *from, uint64_t bytes)
{
	struct peali_place host = { PEALI_HOST, (uint64_t)(uintptr_t)from };

	return peali_devices_copy(&rt->devices, block_place(rt, block, offset),
				  host, bytes);
}

int peali_block_read(struct peal_runtime *rt, const struct peali_block *block,
		     uint64_t offset, void *to, uint64_t bytes)
{
	struct peali_place host = { PEALI_HOST, (uint64_t)(uintptr_t)to };

	return peali_devices_copy(&rt->devices, host,
				  block_place(rt, block, offset), bytes);
}
