/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices: accounts of the buffers there, their limit. */
#include <peal/memory.h>

#include <string.h>

#include "runtime/base/refusal.h"
#include "runtime/compute/buffer.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

struct peali_memory_account *peali_memory_account_of(struct peal_runtime *rt,
						     int device)
{
	return &rt->buffers->account[device == PEALI_HOST ? rt->devices.n :
							    device];
}

uint64_t peali_memory_space(struct peal_runtime *rt, int device,
			    struct peali_heap_usage *usage)
{
	const struct peali_memory_account *a =
		peali_memory_account_of(rt, device);
	uint64_t left = UINT64_MAX;

	if (peali_devices_usage(&rt->devices, device, usage) < 0)
		memset(usage, 0, sizeof(*usage));
	if (a->limit)
		left = a->limit > a->bytes ? a->limit - a->bytes : 0;
	return usage->fits < left ? usage->fits : left;
}

int peal_memory_info(struct peal_runtime *runtime, int device,
		     struct peal_memory_info *info_out)
{
	const char *call = "peal_memory_info";
	struct peal_memory_info info = { 0 };
	const struct peali_memory_account *a;
	struct peali_heap_usage usage;
	int r;

	if (!runtime || !info_out)
		return peali_refuse_null(call, "runtime or info_out");
	if (peali_foreign(&runtime->owner, call))
		return PEAL_EFORKED;
	r = peali_devices_check_place(&runtime->devices, device, call);
	if (r < 0)
		return r;
	pthread_mutex_lock(&runtime->buffers->lock);
	info.largest_buffer_bytes = peali_memory_space(runtime, device, &usage);
	a = peali_memory_account_of(runtime, device);
	info.limit_bytes = a->limit;
	info.buffer_bytes = a->bytes;
	info.n_buffers = a->n_buffers;
	pthread_mutex_unlock(&runtime->buffers->lock);
	info.total_bytes = usage.total;
	info.free_bytes = usage.free;
	info.largest_bytes = usage.largest;
	*info_out = info;
	return 0;
}

int peal_memory_limit(struct peal_runtime *runtime, int device, uint64_t bytes)
{
	const char *call = "peal_memory_limit";
	int r;

	if (!runtime)
		return peali_refuse_null(call, "runtime");
	if (peali_foreign(&runtime->owner, call))
		return PEAL_EFORKED;
	r = peali_devices_check_place(&runtime->devices, device, call);
	if (r < 0)
		return r;
	pthread_mutex_lock(&runtime->buffers->lock);
	peali_memory_account_of(runtime, device)->limit = bytes;
	pthread_mutex_unlock(&runtime->buffers->lock);
	return 0;
}
