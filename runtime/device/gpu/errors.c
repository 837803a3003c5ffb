/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/device/gpu/gpu.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * Converts drivers' errors into PEAL_E... codes. HIP uses CUDA's numbers, so
 * one table serves both (CUresult of <cuda.h>, hipError_t of
 * <hip/hip_runtime_api.h>).
 */

struct meaning {
	int error;
	int code;
	const char *hint; /* remedy for the user; "": unknown */
};

static const struct meaning meanings[] = {
	{ 1, PEAL_EINVAL, "" },
	{ 2, PEAL_ENOMEM, "set PEAL_GPU_MEMORY or PEAL_PINNED_MEMORY lower" },
	{ 34, PEAL_ENOTSUP,
	  "the library is the toolkit's stub: install the driver" },
	{ 35, PEAL_ENOTSUP, "the driver is too old: install a newer one" },
	{ 46, PEAL_EBUSY,
	  "another process has the device: see its compute mode" },
	{ 100, PEAL_ENODEV, "" },
	{ 101, PEAL_ENODEV, "" },
	{ 200, PEAL_EPROGRAM, "the image is damaged: build it again" },
	{ 209, PEAL_EPROGRAM, "build the program for this architecture" },
	{ 214, PEAL_EDRIVER, "memory error: the device needs a reset" },
	{ 217, PEAL_ENOPEER, "" },
	{ 218, PEAL_EPROGRAM, "the driver cannot compile the image" },
	{ 222, PEAL_EPROGRAM,
	  "the image is for a newer driver: install one, or build with an "
	  "older toolkit" },
	{ 500, PEAL_EPROGRAM, "" },
	{ 700, PEAL_EDRIVER, "a kernel used a wrong address" },
	{ 701, PEAL_ENOSPC, "launch fewer workers or lanes" },
	{ 702, PEAL_EDRIVER,
	  "the display's watchdog ended the kernel: use epoch_ns" },
	{ 704, PEAL_EALREADY, "" },
	{ 705, PEAL_ENOPEER, "" },
	{ 711, PEAL_ENOPEER, "the device has as many peers as it can have" },
	{ 719, PEAL_EDRIVER, "a kernel failed" },
	{ 720, PEAL_ENOSPC, "launch fewer workers or lanes" },
	{ 801, PEAL_ENOTSUP, "" },
	{ 802, PEAL_EBUSY, "the machine's fabric is not ready: try later" },
	{ 803, PEAL_ENOTSUP, "driver and library are of two versions" },
};

static const struct meaning *meaning_of(int error)
{
	static const struct meaning other = { 0, PEAL_EDRIVER, "" };
	size_t i;

	for (i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].error == error)
			return &meanings[i];
	return &other;
}

int peali_gpu_code(int error)
{
	return error ? meaning_of(error)->code : 0;
}

int peali_gpu_fail(struct peali_gpu *gpu, int device, int error,
		   const char *symbol, const char *call, const char *format,
		   ...)
{
	const struct meaning *meaning = meaning_of(error);
	char what[120], where[48] = "";
	va_list arguments;

	if (!error)
		return 0;
	va_start(arguments, format);
	peali_text_vformat(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (device >= 0)
		snprintf(where, sizeof(where),
			 "%s device %d: ", gpu->driver.vendor->name, device);
	return peali_fail_driver(meaning->code, error, call,
				 "%s%s: %s reports %s%s%s", where, what, symbol,
				 peali_gpu_error_name(&gpu->driver, error),
				 *meaning->hint ? "; " : "", meaning->hint);
}
