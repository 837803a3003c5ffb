/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: count, info, selection. */
#include <stdio.h>
#include <string.h>

#include "runtime/facts.h"
#include "runtime/runtime.h"

int peal_device_count(struct peal_runtime *rt)
{
	if (!rt)
		return peali_fail(PEAL_EINVAL, "peal_device_count",
				  "runtime is NULL");
	return rt->devices.n;
}

/* Asks the backend; the index is checked. */
static int describe(struct peal_runtime *rt, int device,
		    struct peal_device_info *out)
{
	struct peali_device *d = &rt->devices.device[device];
	int result;

	memset(out, 0, sizeof(*out));
	result = d->backend->ops->device_info(d->backend, d->local, out);
	out->index = device;
	snprintf(out->backend, sizeof(out->backend), "%s",
		 d->backend->ops->name);
	return result;
}

int peal_device_info(struct peal_runtime *rt, int device,
		     struct peal_device_info *info_out)
{
	int result;

	if (!rt || !info_out)
		return peali_fail(PEAL_EINVAL, "peal_device_info",
				  "an argument is NULL");
	result = peali_devices_check(&rt->devices, device, "peal_device_info");
	return result ? result : describe(rt, device, info_out);
}

int peali_device_facts(struct peal_runtime *rt, int device,
		       struct peali_fact *out, int most)
{
	struct peali_device *d;
	int result =
		peali_devices_check(&rt->devices, device, "peali_device_facts");

	if (result)
		return result;
	d = &rt->devices.device[device];
	return d->backend->ops->facts(d->backend, d->local, out, most);
}

/* Which wish a device does not meet; NULL it meets all. */
static const char *unmet(struct peal_runtime *rt, int device,
			 const struct peal_device_wish *wish)
{
	struct peal_device_info info;

	if (describe(rt, device, &info))
		return "not readable";
	if (wish->backend && strcmp(wish->backend, info.backend) != 0)
		return "backend";
	if (wish->min_memory_bytes > info.memory_bytes - info.memory_used_bytes)
		return "min_memory_bytes";
	if (wish->min_compute_units > info.compute_units)
		return "min_compute_units";
	if (wish->peer_of &&
	    peal_peer_can_access(rt, device, wish->peer_of - 1) != 1)
		return "peer_of";
	return NULL;
}

int peal_device_select(struct peal_runtime *rt,
		       const struct peal_device_wish *wish)
{
	struct peal_device_wish w;
	const char *missing;
	char text[160];
	size_t used = 0;
	int i, result;

	if (!rt)
		return peali_fail(PEAL_EINVAL, "peal_device_select",
				  "runtime is NULL");
	result = peali_options_copy(&w, sizeof(w), wish, "peal_device_select");
	if (result)
		return result;
	text[0] = 0;
	for (i = 0; i < rt->devices.n; i++) {
		missing = unmet(rt, i, &w);
		if (!missing)
			return i;
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used,
						 "%s%d: %s", i ? ", " : "", i,
						 missing);
	}
	return peali_fail(PEAL_ENODEV, "peal_device_select",
			  "no device meets the wish; unmet on device %s", text);
}
