/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <peal/abi/ring.h>
#include <peal/errors.h>
#include "runtime/device/gpu/driver.h"

/*
 * Loads HIP's module API from libamdhip64.so. Numbers are those of
 * <hip/hip_runtime_api.h> of HIP 5.2 and 6. tests/checks/check_drivers compares
 * the calls if that file is installed.
 */

/* hipMemcpyDefault: the addresses determine the direction */
#define COPY_DEFAULT 4

/* hipDeviceProp_tR0600: the layout that the symbol's name promises. */
#define PROPERTIES_BYTES 4096
#define PROPERTIES_ARCH 1160 /* gcnArchName */

static void *find(struct peali_gpu_driver *driver, const char *symbol,
		  int version)
{
	(void)version;
	return dlsym(driver->library, symbol);
}

/* ---- devices ------------------------------------------------------------- */

static int device_open(struct peali_gpu_driver *driver, int device,
		       void **state_out, const char **symbol_out)
{
	(void)driver;
	(void)device;
	(void)symbol_out;
	*state_out = NULL;
	return 0;
}

static void device_close(struct peali_gpu_driver *driver, int device,
			 void *state)
{
	(void)driver;
	(void)device;
	(void)state;
}

static int enter(struct peali_gpu_driver *driver, int device, void *state,
		 void **before, const char **symbol_out)
{
	int current = 0, error;

	(void)state;
	error = driver->device_current(&current);
	*before = (void *)(intptr_t)current;
	if (error) {
		*symbol_out = PEALI_GPU_SYMBOL_OF(driver, device_current);
	} else if (current != device) {
		error = driver->device_set(device);
		*symbol_out = PEALI_GPU_SYMBOL_OF(driver, device_set);
	}
	return error;
}

static void leave(struct peali_gpu_driver *driver, void *before)
{
	int current = 0, wanted = (int)(intptr_t)before;

	if (driver->device_current(&current) || current != wanted)
		driver->device_set(wanted);
}

static int peer_enable(struct peali_gpu_driver *driver, int peer,
		       void *peer_state)
{
	(void)peer_state;
	return driver->device_peer(peer, 0);
}

/*
 * Reads the architecture from the kernel driver: a decimal number, 90010 for
 * gfx90a.
 */
static int architecture_of_kfd(struct peali_gpu_driver *driver, int device,
			       char *out, size_t out_bytes)
{
	char path[96], line[96], pci[32] = "";
	unsigned domain = 0, bus = 0, slot = 0, function = 0, node;

	if (!driver->device_pci ||
	    driver->device_pci(pci, sizeof(pci), device) ||
	    sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3)
		return 801; /* not supported */
	for (node = 0; node < 256; node++) {
		unsigned long long version = 0, location = 0, in = 0, value;
		char name[48];
		FILE *file;

		snprintf(path, sizeof(path),
			 "/sys/class/kfd/kfd/topology/nodes/%u/properties",
			 node);
		file = fopen(path, "r");
		if (!file)
			break;
		while (fgets(line, sizeof(line), file)) {
			if (sscanf(line, "%47s %llu", name, &value) != 2)
				continue;
			if (!strcmp(name, "gfx_target_version"))
				version = value;
			else if (!strcmp(name, "location_id"))
				location = value;
			else if (!strcmp(name, "domain"))
				in = value;
		}
		fclose(file);
		if (version && in == domain &&
		    location == (bus << 8 | slot << 3 | function)) {
			snprintf(out, out_bytes, "gfx%llu%llx%llx",
				 version / 10000, version / 100 % 100,
				 version % 100);
			return 0;
		}
	}
	return 801;
}

static int architecture(struct peali_gpu_driver *driver, int device, char *out,
			size_t out_bytes, const char **symbol_out)
{
	char properties[PROPERTIES_BYTES];
	int error;

	*symbol_out = PEALI_GPU_SYMBOL_OF(driver, device_properties);
	if (!driver->device_properties)
		return architecture_of_kfd(driver, device, out, out_bytes);
	memset(properties, 0, sizeof(properties));
	error = driver->device_properties(properties, device);
	snprintf(out, out_bytes, "%.60s", properties + PROPERTIES_ARCH);
	return error;
}

static int transfer(struct peali_gpu_driver *driver, uint64_t to, uint64_t from,
		    size_t bytes, void *stream)
{
	return driver->copy_kind(to, from, bytes, COPY_DEFAULT, stream);
}

static int load(struct peali_gpu_driver *driver, char *reason,
		size_t reason_bytes)
{
	int r = peali_gpu_fill(driver, find, reason, reason_bytes);

	if (r < 0)
		return r;
	driver->device_open = device_open;
	driver->device_close = device_close;
	driver->enter = enter;
	driver->leave = leave;
	driver->peer_enable = peer_enable;
	driver->architecture = architecture;
	driver->transfer = transfer;
	return 0;
}

const struct peali_gpu_vendor peali_hip_vendor = {
	.name = "hip",
	.library = "libamdhip64.so",
	.peer_kinds = { "pcie", "xgmi" },
	.attribute = {
		[PEALI_GPU_MAX_THREADS] = 56,
		[PEALI_GPU_MULTIPROCESSORS] = 63,
		[PEALI_GPU_WATCHDOG] = 18,
		[PEALI_GPU_INTEGRATED] = 16,
		[PEALI_GPU_COMPUTE_MODE] = 6,
		[PEALI_GPU_MAJOR] = -1,
		[PEALI_GPU_MINOR] = -1,
		[PEALI_GPU_HOST_ATOMICS] = 15,
		[PEALI_GPU_MAPS_HOST] = 3,
		[PEALI_GPU_CONCURRENT_MANAGED] = 9,
		[PEALI_GPU_COOPERATIVE] = 10,
		[PEALI_GPU_CLUSTER_LAUNCH] = -1,
		[PEALI_GPU_SHARED_BYTES] = -1,
		[PEALI_GPU_VMM_SUPPORT] = -1,
		[PEALI_GPU_FD_SUPPORT] = -1,
		[PEALI_GPU_CLOCK_KHZ] = 10017,
	},
	.pair_atomics = 2,
	.policies = 1u << PEAL_POLICY_ATOM8,
	.default_policy = PEAL_POLICY_ATOM8,
	/*
	 * first uncached, then fine-grained: kernels see writes of peers at
	 * once
	 */
	.polled_flags = { 3, 1 },
	.queues = 4,
	.queues_variable = "GPU_MAX_HW_QUEUES",
	/* Small copies would be kernels, which wait for resident kernels. */
	.settings = { { "GPU_MAX_HW_QUEUES", "8" },
		      { "GPU_FORCE_BLIT_COPY_SIZE", "0" },
		      { "ROC_P2P_SDMA_SIZE", "0" } },
	.load = load,
};
