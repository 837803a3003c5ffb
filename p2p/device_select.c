/* SPDX-License-Identifier: Apache-2.0 */
/* Selects devices that match a filter. */
#include <stdio.h>
#include <string.h>

#include <peal/peer.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/device.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

/* Returns the name of the first missing capability; NULL: none is missing. */
static const char *missing_of(uint32_t needs, uint32_t has)
{
	static const char *const names[] = { "needs peer", "needs unified",
					     "needs atomics",
					     "needs cooperative",
					     "needs managed" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (needs & ~has & 1u << i)
			return names[i];
	return NULL;
}

/* Returns the first field of a filter that a device fails; NULL: none. */
static const char *unmet(struct peal_runtime *rt, int device,
			 const struct peal_device_filter *wish)
{
	struct peal_device_info info;

	if (peali_device_describe(rt, device, &info))
		return "not readable";
	if (info.lost)
		return "lost";
	if (wish->backend && strcmp(wish->backend, info.backend) != 0)
		return "backend";
	if (wish->min_memory_bytes > info.memory_bytes - info.memory_used_bytes)
		return "min_memory_bytes";
	if (wish->min_compute_units > info.compute_units)
		return "min_compute_units";
	if (wish->peer_of &&
	    peal_peer_can_access(rt, device, wish->peer_of - 1) != 1)
		return "peer_of";
	return missing_of(wish->capabilities, info.capabilities);
}

/* Copies a filter to *out and checks it. */
static int take_filter(struct peal_runtime *rt, const char *call,
		       const struct peal_device_filter *wish,
		       struct peal_device_filter *out)
{
	const uint32_t known = PEAL_CAN_PEER | PEAL_CAN_UNIFIED |
			       PEAL_CAN_ATOMICS | PEAL_CAN_COOPERATIVE |
			       PEAL_CAN_MANAGED;
	int r;

	if (!rt)
		return peali_refuse_null(call, "runtime");
	if (peali_foreign(&rt->owner, call))
		return PEAL_EFORKED;
	r = peali_options_copy(out, sizeof(*out), wish, call);
	if (!r && out->capabilities & ~known)
		r = PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "capabilities", .problem = "has unknown bits",
			.value = PEALI_PRINT("0x%x", out->capabilities),
			.allowed = PEALI_PRINT("bits of 0x%x", known),
			.remedy = "use enum peal_device_capability");
	if (!r && out->backend &&
	    !peali_backend_is_known(out->backend, strlen(out->backend)))
		r = PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				 .name = "backend",
				 .problem = "is an unknown backend",
				 .value = out->backend,
				 .allowed = PEALI_BACKEND_NAMES,
				 .remedy = "use NULL for any backend");
	if (!r && out->peer_of)
		r = peali_devices_check(&rt->devices, out->peer_of - 1, call);
	return r;
}

/*
 * Writes the first `most` devices that match a filter to `out`. Returns the
 * number of all devices that meet it, or PEAL_ENODEV if none does.
 */
static int select_all(struct peal_runtime *rt, const char *call,
		      const struct peal_device_filter *wish, int most, int *out)
{
	char text[160] = "";
	const char *missing;
	size_t used = 0;
	int i, n = 0;

	for (i = 0; i < rt->devices.n; i++) {
		missing = unmet(rt, i, wish);
		if (!missing && n++ < most)
			out[n - 1] = i;
		if (missing && used < sizeof(text))
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used,
						 "%s%d: %s", used ? ", " : "",
						 i, missing);
	}
	if (n)
		return n;
	return peali_fail(PEAL_ENODEV, call,
			  "device filter: no device matches it; unmet on "
			  "device %s",
			  text);
}

int peal_device_select(struct peal_runtime *rt,
		       const struct peal_device_filter *wish)
{
	const char *call = "peal_device_select";
	struct peal_device_filter w;
	int first = 0, r = take_filter(rt, call, wish, &w);

	if (!r)
		r = select_all(rt, call, &w, 1, &first);
	return r < 0 ? r : first;
}

int peal_device_select_all(struct peal_runtime *rt,
			   const struct peal_device_filter *wish, int most,
			   int *devices_out)
{
	const char *call = "peal_device_select_all";
	struct peal_device_filter w;
	int r = take_filter(rt, call, wish, &w);

	if (r < 0)
		return r;
	if (most < 1 || !devices_out)
		return most < 1 ? PEALI_REFUSE(PEAL_EINVAL, call,
					       .object = "argument",
					       .name = "most",
					       .problem = "is too small for an "
							  "index",
					       .value = PEALI_PRINT("%d", most),
					       .allowed = "1..2147483647",
					       .remedy = "use 1") :
				  peali_refuse_null(call, "devices_out");
	return select_all(rt, call, &w, most, devices_out);
}
