/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetches and advice of managed buffers. */
#include <peal/buffer.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/compute/buffer.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

/* Resolves a range of managed memory. Checks the device, or the host. */
static int resolve(struct peal_range range, int device, const char *call,
		   struct peal_runtime **rt_out, uint64_t *address_out)
{
	int r = peali_range_managed(range, call, rt_out, address_out);

	return r < 0 ? r :
		       peali_devices_check_place(&(*rt_out)->devices, device,
						 call);
}

/* Returns the number of a device or of the host in the backend of the memory,
 * which serves all devices. */
static int local_of(const struct peal_runtime *rt, int device)
{
	return device == PEALI_HOST ? PEALI_HOST :
				      rt->devices.device[device].local;
}

int peal_buffer_prefetch(struct peal_range range, int device)
{
	const char *call = "peal_buffer_prefetch";
	struct peali_backend *backend;
	struct peal_runtime *rt = NULL;
	uint64_t address = 0;
	int r = resolve(range, device, call, &rt, &address);

	if (r < 0)
		return r;
	backend = rt->devices.device[0].backend;
	r = backend->ops->managed_prefetch(backend, local_of(rt, device),
					   address, range.bytes);
	return peali_fail_in(r, call);
}

const char *peal_buffer_advice_name(uint32_t advice)
{
	static const char *const names[] = { "?",
					     "read mostly",
					     "not read mostly",
					     "preferred",
					     "not preferred",
					     "accessed by",
					     "not accessed by" };

	return advice < sizeof(names) / sizeof(names[0]) ? names[advice] : "?";
}

static int check_advice(enum peal_buffer_advice advice, int device,
			const char *call)
{
	if (advice < PEAL_ADVICE_READ_MOSTLY ||
	    advice > PEAL_ADVICE_NOT_ACCESSED_BY)
		return peali_refuse_range(call, "argument", "advice",
					  (uint64_t)advice,
					  PEAL_ADVICE_READ_MOSTLY,
					  PEAL_ADVICE_NOT_ACCESSED_BY);
	if (!device || advice == PEAL_ADVICE_PREFERRED ||
	    advice >= PEAL_ADVICE_ACCESSED_BY)
		return 0;
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
			    .name = "device",
			    .problem = PEALI_PRINT(
				    "is not for the advice '%s'",
				    peal_buffer_advice_name((uint32_t)advice)),
			    .value = PEALI_PRINT("%d", device), .allowed = "0",
			    .remedy = "use 0");
}

int peal_buffer_advise(struct peal_range range, enum peal_buffer_advice advice,
		       int device)
{
	const char *call = "peal_buffer_advise";
	struct peali_backend *backend;
	struct peal_runtime *rt = NULL;
	uint64_t address = 0;
	int r = resolve(range, device, call, &rt, &address);

	if (!r)
		r = check_advice(advice, device, call);
	if (r < 0)
		return r;
	backend = rt->devices.device[0].backend;
	r = backend->ops->managed_advise(backend, local_of(rt, device), address,
					 range.bytes, (int)advice);
	return peali_fail_in(r, call);
}
