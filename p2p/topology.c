/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the properties of ordered pairs of devices. */
#include "p2p/probe.h"
#include "runtime/base/refusal.h"
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

int peal_topology_pair(struct peal_runtime *rt, int from, int to,
		       struct peal_pair_info *info_out)
{
	int result;

	if (!rt || !info_out)
		return peali_refuse_null("peal_topology_pair",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_topology_pair"))
		return PEAL_EFORKED;
	result = peali_devices_check(&rt->devices, from, "peal_topology_pair");
	if (!result)
		result = peali_devices_check(&rt->devices, to,
					     "peal_topology_pair");
	if (!result)
		result = peali_probe_pair(rt->peers, from, to, info_out);
	return result;
}
