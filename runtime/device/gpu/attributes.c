/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/gpu/gpu.h"

#include <stdarg.h>
#include <stdio.h>

/* Facts that a driver reports about a device, for `peal doctor`. */

struct list {
	struct peali_fact *out;
	int n, most;
};

static void add(struct list *list, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(struct list *list, const char *name, const char *format, ...)
{
	va_list arguments;

	if (list->n == list->most)
		return;
	list->out[list->n].name = name;
	va_start(arguments, format);
	vsnprintf(list->out[list->n].value, sizeof(list->out[list->n].value),
		  format, arguments);
	va_end(arguments);
	list->n++;
}

/*
 * Adds the driver's version. CUDA reports the newest supported CUDA version as
 * 1000 * major + 10 * minor (cuDriverGetVersion). HIP reports its own version
 * as 10,000,000 * major + 100,000 * minor + patch (hipDriverGetVersion).
 */
static void add_version(struct list *list, struct peali_gpu *gpu)
{
	int version = 0;

	if (gpu->driver.driver_version(&version))
		return;
	if (version < 1000000)
		add(list, "version", "%d.%d", version / 1000,
		    version % 1000 / 10);
	else
		add(list, "version", "%d.%d.%d", version / 10000000,
		    version / 100000 % 100, version % 100000);
}

/* Adds the PCI address as Linux writes it: 4-digit domain, lower case. */
static void add_pci(struct list *list, const struct peali_gpu_device *d)
{
	unsigned domain, bus, slot, function = 0;

	if (sscanf(d->pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3)
		add(list, "pci", "%04x:%02x:%02x.%x", domain, bus, slot,
		    function);
}

int peali_gpu_facts(struct peali_backend *backend, int device,
		    struct peali_fact *out, int most)
{
	static const struct {
		const char *name;
		enum peali_gpu_attribute attribute;
	} numbers[] = {
		{ "watchdog", PEALI_GPU_WATCHDOG },
		{ "compute-mode", PEALI_GPU_COMPUTE_MODE },
		{ "integrated", PEALI_GPU_INTEGRATED },
		{ "cooperative", PEALI_GPU_COOPERATIVE },
		{ "vmm", PEALI_GPU_VMM_SUPPORT },
		{ "fd-export", PEALI_GPU_FD_SUPPORT },
		{ "host-atomics", PEALI_GPU_HOST_ATOMICS },
		{ "concurrent-managed", PEALI_GPU_CONCURRENT_MANAGED },
	};
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct list list = { out, 0, most };
	const struct peali_gpu_device *d;
	int r = peali_gpu_check(gpu, device, "facts");
	size_t i;

	if (r < 0)
		return r;
	d = &gpu->device[device];
	add_version(&list, gpu);
	add_pci(&list, d);
	add(&list, "architecture", "%.40s", d->architecture);
	if (d->parts > 1)
		add(&list, "part", "%d of %d", d->part, d->parts);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int id = gpu->driver.vendor->attribute[numbers[i].attribute];
		int value;

		if (id >= 0 &&
		    !gpu->driver.device_attribute(&value, id, d->handle))
			add(&list, numbers[i].name, "%d", value);
	}
	return list.n;
}
