/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/gpu/driver.h"

#include <stdio.h>
#include <string.h>

#include <peal/errors.h>

#include "runtime/base/text.h"

struct call {
	size_t member;
	const char *cuda, *hip;
	int version; /* since this CUDA version */
	enum peali_gpu_need need;
};

#define CALL(member, arguments, cuda, version, hip, need, when)                \
	{ offsetof(struct peali_gpu_driver, member), cuda, hip, version,       \
	  PEALI_GPU_##need },
static const struct call calls[] = { PEALI_GPU_CALLS(CALL) };
#undef CALL
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

static const char *symbol_of(const struct peali_gpu_driver *driver,
			     const struct call *call)
{
	return driver->vendor == &peali_cuda_vendor ? call->cuda : call->hip;
}

const char *peali_gpu_symbol(const struct peali_gpu_driver *driver,
			     size_t member)
{
	size_t i;

	for (i = 0; i < N_CALLS; i++)
		if (calls[i].member == member)
			return symbol_of(driver, &calls[i]);
	return "?";
}

/* Stores a function's address. POSIX allows it as a pointer to an object. */
static void put(struct peali_gpu_driver *driver, size_t member, void *symbol)
{
	memcpy((char *)driver + member, &symbol, sizeof(symbol));
}

int peali_gpu_fill(struct peali_gpu_driver *driver,
		   void *(*find)(struct peali_gpu_driver *driver,
				 const char *symbol, int version),
		   char *reason, size_t reason_bytes)
{
	/* indexed by enum peali_gpu_need */
	int missing[PEALI_GPU_OPTION + 1] = { 0 };
	size_t i;

	for (i = 0; i < N_CALLS; i++) {
		const char *symbol = symbol_of(driver, &calls[i]);
		void *found = NULL;

		if (*symbol)
			found = find(driver, symbol, calls[i].version);
		put(driver, calls[i].member, found);
		if (found)
			continue;
		missing[calls[i].need] = 1;
		if (*symbol && calls[i].need == PEALI_GPU_NEEDED) {
			peali_text_format(
				reason, reason_bytes,
				"%s has no %s: a newer driver is needed",
				driver->vendor->library, symbol);
			return PEAL_ENOTSUP;
		}
	}
	for (i = 0; i < N_CALLS; i++)
		if (calls[i].need != PEALI_GPU_NEEDED &&
		    calls[i].need != PEALI_GPU_OPTION && missing[calls[i].need])
			put(driver, calls[i].member, NULL);
	return 0;
}

const char *peali_gpu_error_name(struct peali_gpu_driver *driver, int error)
{
	const char *name = NULL;

	if (!driver->error_string || driver->error_string(error, &name) ||
	    !name)
		return "an error without a name";
	return name;
}
