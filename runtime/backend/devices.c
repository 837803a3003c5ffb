/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/devices.h"

int peali_devices_check(const struct peali_devices *devices, int device,
			const char *call)
{
	if (device >= 0 && device < devices->n)
		return 0;
	return peali_fail(PEAL_ENODEV, call,
			  "no device %d: there are %d, numbered 0 to %d",
			  device, devices->n, devices->n - 1);
}

int peali_devices_check_place(const struct peali_devices *devices, int device,
			      const char *call)
{
	if (device == PEALI_HOST)
		return 0;
	return peali_devices_check(devices, device, call);
}

/* The backend of a device; host memory is that of device 0's. */
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

int peali_devices_alloc(const struct peali_devices *devices, int device,
			uint64_t bytes, struct peali_memory *out)
{
	struct peali_backend *backend = device_of(devices, device)->backend;

	return backend->ops->alloc(backend,
				   device == PEALI_HOST ? PEALI_MEMORY_HOST :
							  PEALI_MEMORY_DEVICE,
				   local_of(devices, device), bytes, out);
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

	return backend->ops->view(backend, local_of(devices, viewer), memory);
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
