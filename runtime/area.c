/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations by the runtime's device numbers, and other small things. */
#include <limits.h>
#include <sched.h>
#include <time.h>

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

/* The place of an area's byte for a copy. */
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

int peali_options_check(uint32_t size, size_t largest, const char *call)
{
	if (size > 0 && size <= largest)
		return 0;
	return peali_fail(
		PEAL_EINVAL, call,
		"options.size is %u: set it to sizeof the struct (%zu)", size,
		largest);
}

uint64_t peali_now_ns(void)
{
	return peal_host_clock_ns();
}

uint64_t peali_deadline(int64_t timeout_ns)
{
	uint64_t now = peali_now_ns();

	if (timeout_ns < 0 || (uint64_t)timeout_ns > UINT64_MAX - now)
		return UINT64_MAX;
	return now + (uint64_t)timeout_ns;
}

int peali_late(uint64_t deadline)
{
	return deadline != UINT64_MAX && peali_now_ns() >= deadline;
}

void peali_poll_pause(uint32_t *turns)
{
	uint32_t n = (*turns)++;
	struct timespec nap = { 0, 0 };

	if (n < 16) {
		peal_pause();
	} else if (n < 64) {
		sched_yield();
	} else {
		nap.tv_nsec = n < 256 ? 50000 : 1000000;
		nanosleep(&nap, NULL);
	}
}
