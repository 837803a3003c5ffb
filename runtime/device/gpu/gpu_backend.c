/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

/* The operations tables of both vendors and the short operations. */

static int device_count(struct peali_backend *backend)
{
	return peali_gpu_of(backend)->n_devices;
}

/* Returns the NUMA node of a PCI device; -1: unknown. */
static int numa_node(const char *pci)
{
	char path[80], address[24];
	int node = -1;
	FILE *file;
	size_t i;

	snprintf(address, sizeof(address), "%s", pci);
	for (i = 0; address[i]; i++)
		if (address[i] >= 'A' && address[i] <= 'F')
			address[i] += 'a' - 'A';
	/* Linux uses a 4-digit domain, but a driver may write 8 digits. */
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node",
		 strlen(address) > 12 ? address + strlen(address) - 12 :
					address);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &node) != 1)
		node = -1;
	fclose(file);
	return node;
}

static int device_info(struct peali_backend *backend, int device,
		       struct peal_device_info *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	const struct peali_gpu_device *d;
	int r = peali_gpu_check(gpu, device, "device_info");

	if (r < 0)
		return r;
	d = &gpu->device[device];
	memset(out, 0, sizeof(*out));
	out->index = device;
	snprintf(out->backend, sizeof(out->backend), "%s",
		 gpu->driver.vendor->name);
	out->emulated = gpu->driver.emulates;
	snprintf(out->name, sizeof(out->name), "%s", d->name);
	snprintf(out->uuid, sizeof(out->uuid), "%s", d->uuid);
	pthread_mutex_lock(&gpu->lock);
	out->memory_bytes = d->space.bytes;
	out->memory_used_bytes = d->space.used;
	pthread_mutex_unlock(&gpu->lock);
	out->lost = d->lost != 0;
	out->compute_units = d->units;
	out->max_lanes = d->max_lanes;
	out->numa_node = numa_node(d->pci);
	out->policies = gpu->driver.vendor->policies;
	out->max_cluster_workers = d->max_cluster_workers;
	out->capabilities = (d->cooperative ? PEAL_CAN_COOPERATIVE : 0u) |
			    (d->manages ? PEAL_CAN_MANAGED : 0u) |
			    (d->maps_host ? PEAL_CAN_UNIFIED : 0u) |
			    (d->host_atomics ? PEAL_CAN_ATOMICS : 0u);
	snprintf(out->architecture, sizeof(out->architecture), "%s",
		 d->architecture);
	return 0;
}

static uint32_t policies(struct peali_backend *backend)
{
	return peali_gpu_of(backend)->driver.vendor->policies;
}

static enum peal_slot_policy default_policy(struct peali_backend *backend)
{
	return (enum peal_slot_policy)peali_gpu_of(backend)
		->driver.vendor->default_policy;
}

#define OPERATIONS(vendor, hot_bytes)                                          \
	static int vendor##_probe(char *reason, size_t reason_bytes)           \
	{                                                                      \
		return peali_gpu_probe(&peali_##vendor##_vendor, reason,       \
				       reason_bytes);                          \
	}                                                                      \
	static int vendor##_open(struct peali_backend **out)                   \
	{                                                                      \
		return peali_gpu_open(&peali_##vendor##_vendor,                \
				      &peali_##vendor##_backend, out);         \
	}                                                                      \
	const struct peali_backend_ops peali_##vendor##_backend = {            \
		.name = #vendor,                                               \
		.hot_bytes_max = hot_bytes,                                    \
		.probe = vendor##_probe,                                       \
		.open = vendor##_open,                                         \
		.close = peali_gpu_close,                                      \
		.device_count = device_count,                                  \
		.device_info = device_info,                                    \
		.facts = peali_gpu_facts,                                      \
		.policies = policies,                                          \
		.default_policy = default_policy,                              \
		.alloc = peali_gpu_alloc,                                      \
		.free = peali_gpu_free,                                        \
		.usage = peali_gpu_usage,                                      \
		.view = peali_gpu_view,                                        \
		.host_range = peali_gpu_host_range,                            \
		.adopt = peali_gpu_adopt,                                      \
		.host_view = peali_gpu_host_view,                              \
		.find = peali_gpu_find,                                        \
		.managed_alloc = peali_gpu_managed_alloc,                      \
		.managed_prefetch = peali_gpu_managed_prefetch,                \
		.managed_advise = peali_gpu_managed_advise,                    \
		.window_open = peali_gpu_window_open,                          \
		.window_map = peali_gpu_window_map,                            \
		.window_view = peali_gpu_window_view,                          \
		.window_wipe = peali_gpu_window_wipe,                          \
		.window_read = peali_gpu_window_read,                          \
		.window_close = peali_gpu_window_close,                        \
		.peer_info = peali_gpu_peer_info,                              \
		.peer_enable = peali_gpu_peer_enable,                          \
		.peer_disable = peali_gpu_peer_disable,                        \
		.copy = peali_gpu_copy,                                        \
		.copy_all = peali_gpu_copy_all,                                \
		.load = peali_gpu_load,                                        \
		.max_workers = peali_gpu_max_workers,                          \
		.test_streams = peali_gpu_test_streams,                        \
		.launch = peali_gpu_launch,                                    \
		.launch_again = peali_gpu_launch_again,                        \
		.launch_query = peali_gpu_launch_query,                        \
		.launch_wait = peali_gpu_launch_wait,                          \
		.launch_free = peali_gpu_launch_free,                          \
	};

OPERATIONS(cuda, 16384)
OPERATIONS(hip, 0)
