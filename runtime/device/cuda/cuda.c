/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/abi/ring.h>
#include <peal/errors.h>
#include "runtime/device/gpu/driver.h"

/*
 * Loads CUDA's driver API from libcuda.so.1. Numbers and layouts are those of
 * <cuda.h>. tests/checks/check_drivers compares them if that file is installed.
 */

/* The oldest CUDA version with cuGetProcAddress. */
#define OLDEST 11030

/* Both prototypes of the call that finds all other calls. */
typedef int get_proc_fn(const char *symbol, void **out, int version,
			uint64_t flags);
typedef int get_proc_v2_fn(const char *symbol, void **out, int version,
			   uint64_t flags, int *status);

static void *find(struct peali_gpu_driver *driver, const char *symbol,
		  int version)
{
	void *first = dlsym(driver->library, "cuGetProcAddress_v2");
	void *second = dlsym(driver->library, "cuGetProcAddress");
	get_proc_v2_fn *get_proc_v2;
	get_proc_fn *get_proc;
	void *found = NULL;
	int status = 0, error = 1;

	memcpy(&get_proc_v2, &first, sizeof(first));
	memcpy(&get_proc, &second, sizeof(second));
	if (get_proc_v2)
		error = get_proc_v2(symbol, &found, version, 0, &status);
	else if (get_proc)
		error = get_proc(symbol, &found, version, 0);
	return error ? NULL : found;
}

/* ---- contexts ------------------------------------------------------------ */

static int device_open(struct peali_gpu_driver *driver, int device,
		       void **state_out, const char **symbol_out)
{
	*symbol_out = PEALI_GPU_SYMBOL_OF(driver, context_retain);
	return driver->context_retain(state_out, device);
}

static void device_close(struct peali_gpu_driver *driver, int device,
			 void *state)
{
	(void)state;
	driver->context_release(device);
}

static int enter(struct peali_gpu_driver *driver, int device, void *state,
		 void **before, const char **symbol_out)
{
	int error = driver->context_push(state);

	(void)device;
	*before = NULL;
	if (error)
		*symbol_out = PEALI_GPU_SYMBOL_OF(driver, context_push);
	return error;
}

static void leave(struct peali_gpu_driver *driver, void *before)
{
	driver->context_pop(&before);
}

static int peer_enable(struct peali_gpu_driver *driver, int peer,
		       void *peer_state)
{
	(void)peer;
	return driver->context_peer(peer_state, 0);
}

/* ---- devices ------------------------------------------------------------- */

static int architecture(struct peali_gpu_driver *driver, int device, char *out,
			size_t out_bytes, const char **symbol_out)
{
	const int *number = driver->vendor->attribute;
	int major = 0, minor = 0, error;

	*symbol_out = PEALI_GPU_SYMBOL_OF(driver, device_attribute);
	error = driver->device_attribute(&major, number[PEALI_GPU_MAJOR],
					 device);
	if (!error)
		error = driver->device_attribute(
			&minor, number[PEALI_GPU_MINOR], device);
	snprintf(out, out_bytes, "sm_%d%d", major, minor);
	return error;
}

static int transfer(struct peali_gpu_driver *driver, uint64_t to, uint64_t from,
		    size_t bytes, void *stream)
{
	return driver->copy(to, from, bytes, stream);
}

/* ---- parts of a device --------------------------------------------------- */

/** CUdevResource, version 1. */
struct resource {
	int type; /* 1: multiprocessors */
	uint8_t padding[92];
	union {
		struct {
			unsigned count, least, alignment;
		} sm;
		uint8_t bytes[48];
	} of;
};

/* Divides the multiprocessors among the parts. */
static int split(struct peali_gpu_driver *driver, int device, int parts,
		 struct resource *part)
{
	struct resource whole, rest;
	unsigned n = (unsigned)parts;
	int error;

	memset(&whole, 0, sizeof(whole));
	error = driver->resource_get(device, &whole, 1);
	if (error)
		return error;
	/*
	 * The driver rounds each part up to the size that a cluster needs. So
	 * it may make one part less. The remaining multiprocessors then become
	 * the last part.
	 */
	error = driver->resource_split(part, &n, &whole, &rest, 0,
				       whole.of.sm.count / (unsigned)parts);
	if (!error && n < (unsigned)parts)
		part[parts - 1] = rest;
	return error;
}

static int open_part(struct peali_gpu_driver *driver, int device,
		     struct resource *part, int streams, void **stream_out,
		     void **context_out)
{
	void *description = NULL;
	int i, error;

	error = driver->resource_describe(&description, part, 1);
	if (!error)
		error = driver->part_create(context_out, description, device,
					    1);
	for (i = 0; !error && i < streams; i++)
		error = driver->part_stream(&stream_out[i], *context_out, 1, 0);
	return error;
}

static int partition(struct peali_gpu_driver *driver, int device, int parts,
		     int streams, void **stream_out, void **context_out,
		     uint32_t *units_out)
{
	struct resource *part = calloc((size_t)parts, sizeof(*part));
	int i, error;

	if (!part)
		return 2; /* out of memory */
	error = split(driver, device, parts, part);
	for (i = 0; !error && i < parts; i++) {
		units_out[i] = part[i].of.sm.count;
		error = open_part(driver, device, &part[i], streams,
				  stream_out + i * streams, &context_out[i]);
	}
	free(part);
	return error;
}

/* ---- loading ------------------------------------------------------------- */

static int load(struct peali_gpu_driver *driver, char *reason,
		size_t reason_bytes)
{
	int version = 0, r;

	if (!dlsym(driver->library, "cuGetProcAddress_v2") &&
	    !dlsym(driver->library, "cuGetProcAddress")) {
		snprintf(reason, reason_bytes,
			 "the driver is older than CUDA 11.3 "
			 "(no cuGetProcAddress): install a newer one");
		return PEAL_ENOTSUP;
	}
	r = peali_gpu_fill(driver, find, reason, reason_bytes);
	if (r < 0)
		return r;
	driver->device_open = device_open;
	driver->device_close = device_close;
	driver->enter = enter;
	driver->leave = leave;
	driver->peer_enable = peer_enable;
	driver->architecture = architecture;
	driver->transfer = transfer;
	if (driver->part_create)
		driver->partition = partition;
	if (!driver->driver_version(&version) && version < OLDEST) {
		snprintf(reason, reason_bytes,
			 "the driver is for CUDA %d.%d: at least %d.%d is "
			 "needed",
			 version / 1000, version % 1000 / 10, OLDEST / 1000,
			 OLDEST % 1000 / 10);
		return PEAL_ENOTSUP;
	}
	return 0;
}

const struct peali_gpu_vendor peali_cuda_vendor = {
	.name = "cuda",
	.library = "libcuda.so.1",
	.peer_kinds = { "pcie", "nvlink" },
	.attribute = {
		[PEALI_GPU_MAX_THREADS] = 1,
		[PEALI_GPU_MULTIPROCESSORS] = 16,
		[PEALI_GPU_WATCHDOG] = 17,
		[PEALI_GPU_INTEGRATED] = 18,
		[PEALI_GPU_MAPS_HOST] = 19,
		[PEALI_GPU_COMPUTE_MODE] = 20,
		[PEALI_GPU_MAJOR] = 75,
		[PEALI_GPU_MINOR] = 76,
		[PEALI_GPU_HOST_ATOMICS] = 86,
		[PEALI_GPU_CONCURRENT_MANAGED] = 89,
		[PEALI_GPU_COOPERATIVE] = 95,
		[PEALI_GPU_SHARED_BYTES] = 97,
		[PEALI_GPU_VMM_SUPPORT] = 102,
		[PEALI_GPU_FD_SUPPORT] = 103,
		[PEALI_GPU_CLUSTER_LAUNCH] = 120,
		[PEALI_GPU_CLOCK_KHZ] = -1,
	},
	.pair_atomics = 3,
	.policies = 1u << PEAL_POLICY_ATOM16,
	.default_policy = PEAL_POLICY_ATOM16,
	.queues = 8,
	.queues_variable = "CUDA_DEVICE_MAX_CONNECTIONS",
	.settings = { { "CUDA_DEVICE_MAX_CONNECTIONS", "32" } }, /* the most */
	.count_symbol = "cuDeviceGetCount",
	.load = load,
};
