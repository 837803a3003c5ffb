/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates, frees and copies memory of a device or the host. The runtime's
 * number of the device, or PEALI_HOST, names the owner.
 */
#include "runtime/device/memory_block.h"

#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

int peali_area_alloc(struct peal_runtime *rt, int owner, uint64_t bytes,
		     struct peali_area *out)
{
	int result;

	out->owner = owner;
	out->bytes = 0;
	result = peali_devices_alloc(&rt->devices, owner, bytes, &out->memory);
	if (!result)
		out->bytes = bytes;
	return result;
}

void peali_area_free(struct peal_runtime *rt, struct peali_area *area)
{
	if (area->bytes)
		peali_devices_free(&rt->devices, area->owner, &area->memory);
	area->bytes = 0;
}

uint64_t peali_area_view(const struct peal_runtime *rt, int viewer,
			 const struct peali_area *area)
{
	if (!area->bytes)
		return 0;
	return peali_devices_view(&rt->devices, viewer, area->owner,
				  &area->memory);
}

/* Returns the device and the address of an area's byte, for a copy. */
static struct peali_place area_place(const struct peal_runtime *rt,
				     const struct peali_area *area,
				     uint64_t offset)
{
	struct peali_place place;

	place.device = area->owner;
	place.address = peali_area_view(rt, area->owner, area) + offset;
	return place;
}

int peali_area_write(struct peal_runtime *rt, const struct peali_area *area,
		     uint64_t offset, const void *from, uint64_t bytes)
{
	struct peali_place host = { PEALI_HOST, (uint64_t)(uintptr_t)from };

	return peali_devices_copy(&rt->devices, area_place(rt, area, offset),
				  host, bytes);
}

int peali_area_read(struct peal_runtime *rt, const struct peali_area *area,
		    uint64_t offset, void *to, uint64_t bytes)
{
	struct peali_place host = { PEALI_HOST, (uint64_t)(uintptr_t)to };

	return peali_devices_copy(&rt->devices, host,
				  area_place(rt, area, offset), bytes);
}
