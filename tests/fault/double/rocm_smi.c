/* SPDX-License-Identifier: Apache-2.0 */
#include "management.h"

#include <stdint.h>

/* A double of librocm_smi64.so. Key of PEAL_DOUBLE_SMI: init. */

#define API MANAGEMENT_API int

API rsmi_init(uint64_t flags)
{
	(void)flags;
	return (int)management_number("init", 0);
}

API rsmi_shut_down(void)
{
	return 0;
}

API rsmi_num_monitor_devices(uint32_t *out)
{
	*out = 64;
	return 0;
}

API rsmi_dev_pci_id_get(uint32_t device, uint64_t *out)
{
	*out = UINT64_C(0xfffe) << 32 | device << 8;
	return 0;
}

API rsmi_version_str_get(int component, char *text, uint32_t bytes)
{
	snprintf(text, bytes, "9.9 (double)");
	return component != 0;
}

API rsmi_topo_get_link_type(uint32_t from, uint32_t to, uint64_t *hops,
			    int *type)
{
	const char *at = management_environment("PEAL_DOUBLE_TOPOLOGY");
	struct management_entry entry;
	int a = (int)from, b = (int)to;

	if (management_fails("rsmi_topo_get_link_type"))
		return 2; /* not supported */
	*hops = 1;
	*type = 1; /* PCIe */
	while (management_entry(&at, &entry))
		if (!strcmp(entry.link, "XGMI") &&
		    ((entry.a == a && entry.b == b) ||
		     (entry.a == b && entry.b == a)))
			*type = 2;
	return 0;
}
