/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/devices.h"

#include <peal/device/atomic.h>
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"

int peali_devices_check(const struct peali_devices *devices, int device,
			const char *call)
{
	if (device >= 0 && device < devices->n)
		return 0;
	return PEALI_REFUSE(PEAL_ENODEV, call,
			    .object = PEALI_PRINT("device %d", device),
			    .problem = "does not exist",
			    .value = PEALI_PRINT("%d", device),
			    .allowed = PEALI_PRINT("0..%d", devices->n - 1),
			    .remedy = "use device 0");
}

int peali_devices_check_ranks(const struct peali_devices *devices,
			      const int *device, uint32_t n, const char *list,
			      const char *call)
{
	uint32_t i, j;
	int result = 0;

	for (i = 0; i < n && !result; i++) {
		result = peali_devices_check(devices, device[i], call);
		for (j = 0; j < i && !result; j++)
			if (device[i] == device[j])
				result = PEALI_REFUSE(
					PEAL_EINVAL, call,
					.object = PEALI_PRINT("device %d",
							      device[i]),
					.problem = PEALI_PRINT("is in %s twice",
							       list),
					.value = PEALI_PRINT("ranks %u and %u",
							     j, i),
					.allowed = "one rank",
					.remedy = "list it once");
	}
	return result;
}

int peali_devices_check_place(const struct peali_devices *devices, int device,
			      const char *call)
{
	if (device == PEALI_HOST)
		return 0;
	return peali_devices_check(devices, device, call);
}

uint64_t peali_gate_of(const struct peali_devices *devices, int device)
{
	uint64_t made;

	if (device < 0)
		return 0;
	made = atomic_load(&devices->device[device].gates.made);
	return peali_gate_is_closed(devices, device, made) ? made : 0;
}

int peali_gate_is_closed(const struct peali_devices *devices, int device,
			 uint64_t number)
{
	return number > atomic_load(&devices->device[device].gates.open);
}

/* Returns a device. Host memory belongs to the backend of device 0. */
static const struct peali_device *device_of(const struct peali_devices *devices,
					    int device)
{
	return &devices->device[device == PEALI_HOST ? 0 : device];
}

static int local_of(const struct peali_devices *devices, int device)
{
	return device == PEALI_HOST ? PEALI_HOST :
				      devices->device[device].local;
}

int peali_devices_same_backend(const struct peali_devices *devices, int a,
			       int b)
{
	return device_of(devices, a)->backend == device_of(devices, b)->backend;
}

/* Appends to the out-of-memory error the device with the most free memory. */
static int say_where_space_is(const struct peali_devices *devices, int device,
			      uint64_t bytes)
{
	const struct peal_error_info failed = *peal_last_error();
	uint64_t most = 0, left;
	int i, best = -1;

	for (i = 0; i < devices->n; i++) {
		const struct peali_device *d = &devices->device[i];
		struct peal_device_info info;

		if (i == device ||
		    d->backend->ops->device_info(d->backend, d->local, &info))
			continue;
		left = info.memory_bytes - info.memory_used_bytes;
		if (left >= bytes && left > most) {
			most = left;
			best = i;
		}
	}
	if (device == PEALI_HOST || best < 0)
		return peali_fail(PEAL_ENOMEM, failed.call, "%s", failed.text);
	return peali_fail(PEAL_ENOMEM, failed.call,
			  "%s; device %d has %llu bytes free",
			  PEALI_CUT(170, failed.text), best,
			  (unsigned long long)most);
}

int peali_devices_alloc(const struct peali_devices *devices, int device,
			uint64_t bytes, struct peali_memory *out)
{
	struct peali_backend *backend = device_of(devices, device)->backend;
	int r = backend->ops->alloc(backend,
				    device == PEALI_HOST ? PEALI_MEMORY_HOST :
							   PEALI_MEMORY_DEVICE,
				    local_of(devices, device), bytes, out);

	return r == PEAL_ENOMEM && !peali_failed_in_system() ?
		       say_where_space_is(devices, device, bytes) :
		       r;
}

int peali_devices_alloc_managed(const struct peali_devices *devices,
				uint64_t bytes, struct peali_memory *out)
{
	struct peali_backend *backend = device_of(devices, PEALI_HOST)->backend;
	int i, r = PEAL_ENOTSUP;

	for (i = 0; i < devices->n; i++)
		if (devices->device[i].backend != backend)
			return peali_devices_alloc(devices, PEALI_HOST, bytes,
						   out);
	if (backend->ops->managed_alloc)
		r = backend->ops->managed_alloc(backend, bytes, out);
	return r == PEAL_ENOTSUP ?
		       peali_devices_alloc(devices, PEALI_HOST, bytes, out) :
		       r;
}

int peali_devices_usage(const struct peali_devices *devices, int device,
			struct peali_heap_usage *out)
{
	struct peali_backend *backend = device_of(devices, device)->backend;

	return backend->ops->usage(backend, local_of(devices, device), out);
}

void peali_devices_free(const struct peali_devices *devices, int device,
			const struct peali_memory *memory)
{
	struct peali_backend *backend = device_of(devices, device)->backend;

	backend->ops->free(backend, memory);
}

uint64_t peali_devices_view(const struct peali_devices *devices, int viewer,
			    int owner, const struct peali_memory *memory)
{
	struct peali_backend *backend = device_of(devices, owner)->backend;
	struct peali_backend *other = device_of(devices, viewer)->backend;

	if (owner != PEALI_HOST || backend == other)
		return backend->ops->view(backend, local_of(devices, viewer),
					  memory);
	return other->ops->host_view(
		other, backend->ops->view(backend, PEALI_HOST, memory));
}

uint32_t peali_devices_policies(const struct peali_devices *devices, int device)
{
	struct peali_backend *backend;

	if (device == PEALI_HOST) /* its endpoints are threads like workers */
		return peali_host_backend.policies(NULL);
	backend = devices->device[device].backend;
	return backend->ops->policies(backend);
}

int peali_devices_ring(const struct peali_devices *devices, int device)
{
	return device == PEALI_HOST ||
	       devices->device[device].backend->ops->rings;
}

int peali_devices_copy(const struct peali_devices *devices,
		       struct peali_place to, struct peali_place from,
		       uint64_t bytes)
{
	int device = to.device == PEALI_HOST ? from.device : to.device;
	struct peali_backend *backend = device_of(devices, device)->backend;

	to.device = local_of(devices, to.device);
	from.device = local_of(devices, from.device);
	return backend->ops->copy(backend, to, from, bytes);
}

void peali_launch_fail_workers(const struct peali_launch_desc *desc)
{
	uint32_t i;

	for (i = 0; desc->status && i < desc->n_workers; i++) {
		if (peal_load_acquire_sys(&desc->status[i].phase) >=
		    PEAL_WORKER_STOPPED)
			continue;
		peal_store_relaxed_sys(&desc->status[i].result,
				       (uint64_t)-PEAL_EDRIVER);
		peal_store_release_sys(&desc->status[i].phase,
				       PEAL_WORKER_FAILED);
	}
}
