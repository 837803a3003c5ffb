/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and describes devices. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/refusal.h"
#include "runtime/device/device.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

int peal_device_count(struct peal_runtime *rt)
{
	if (!rt)
		return peali_refuse_null("peal_device_count", "runtime");
	if (peali_foreign(&rt->owner, "peal_device_count"))
		return PEAL_EFORKED;
	return rt->devices.n;
}

const char *peal_device_capability_name(enum peal_device_capability capability)
{
	switch (capability) {
	case PEAL_CAN_PEER:
		return "peer";
	case PEAL_CAN_UNIFIED:
		return "unified";
	case PEAL_CAN_ATOMICS:
		return "atomics";
	case PEAL_CAN_COOPERATIVE:
		return "cooperative";
	case PEAL_CAN_MANAGED:
		return "managed";
	default:
		return "?";
	}
}

/* Returns the capabilities that a device has with at least one other device. */
static uint32_t across(struct peal_runtime *rt, int device)
{
	const struct peali_device *d = &rt->devices.device[device], *other;
	struct peali_peer_info pair;
	uint32_t can = 0;
	int i;

	for (i = 0; i < rt->devices.n; i++) {
		other = &rt->devices.device[i];
		if (i == device || other->backend != d->backend ||
		    d->backend->ops->peer_info(d->backend, d->local,
					       other->local, &pair))
			continue;
		can |= (pair.can_access ? PEAL_CAN_PEER : 0u) |
		       (pair.atomics ? PEAL_CAN_ATOMICS : 0u);
	}
	return can;
}

int peali_device_describe(struct peal_runtime *rt, int device,
			  struct peal_device_info *out)
{
	struct peali_device *d = &rt->devices.device[device];
	int result;

	memset(out, 0, sizeof(*out));
	result = d->backend->ops->device_info(d->backend, d->local, out);
	out->index = device;
	snprintf(out->backend, sizeof(out->backend), "%s",
		 d->backend->ops->name);
	out->capabilities |= across(rt, device);
	return result;
}

int peal_device_info(struct peal_runtime *rt, int device,
		     struct peal_device_info *info_out)
{
	int result;

	if (!rt || !info_out)
		return peali_refuse_null("peal_device_info",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_device_info"))
		return PEAL_EFORKED;
	result = peali_devices_check(&rt->devices, device, "peal_device_info");
	return result ? result : peali_device_describe(rt, device, info_out);
}

int peali_driver_facts(struct peal_runtime *rt, int device,
		       struct peali_fact *out, int most)
{
	struct peali_device *d;
	int result =
		peali_devices_check(&rt->devices, device, "peal_device_info");

	if (result)
		return result;
	d = &rt->devices.device[device];
	return d->backend->ops->facts(d->backend, d->local, out, most);
}
