/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD's management library. Prototypes and numbers are those of
 * <rocm_smi/rocm_smi.h>. Each call returns 0 or an error. Devices have numbers
 * from 0. The library has no data about persistence, MIG or BAR1.
 */
#include "runtime/cli/smi.h"

#include <stdio.h>
#include <string.h>

/* X(name, arguments, symbol) */
#define CALLS(X)                                                               \
	X(init, (uint64_t flags), "rsmi_init")                                 \
	X(shut_down, (void), "rsmi_shut_down")                                 \
	X(count, (uint32_t * out), "rsmi_num_monitor_devices")                 \
	X(pci, (uint32_t device, uint64_t * out), "rsmi_dev_pci_id_get")       \
	X(version, (int component, char *text, uint32_t bytes),                \
	  "rsmi_version_str_get")                                              \
	X(link_type, (uint32_t from, uint32_t to, uint64_t * hops, int *type), \
	  "rsmi_topo_get_link_type")

#define CALL_NUMBER(name, arguments, symbol) call_##name,
enum { CALLS(CALL_NUMBER) N_CALLS };
#define CALL_SYMBOL(name, arguments, symbol) symbol,
static const char *const symbols[] = { CALLS(CALL_SYMBOL) NULL };
#define CALL_TYPE(name, arguments, symbol) typedef int(name##_fn) arguments;
CALLS(CALL_TYPE)

_Static_assert(N_CALLS <= PEALI_SMI_CALLS_MAX, "space for all calls");

#define HAS(smi, name) ((smi)->calls[call_##name] != NULL)
/* Calls a function that exists. */
#define CALL(smi, name) ((name##_fn *)(smi)->calls[call_##name])

static int rocm_open(struct peali_smi *smi)
{
	int error;

	if (!HAS(smi, init) || !HAS(smi, count) || !HAS(smi, pci)) {
		snprintf(smi->why, sizeof(smi->why),
			 "%s lacks rsmi_init, rsmi_num_monitor_devices or "
			 "rsmi_dev_pci_id_get",
			 smi->file);
		return -1;
	}
	error = CALL(smi, init)(0);
	if (error) {
		snprintf(smi->why, sizeof(smi->why), "%s reports error %d",
			 smi->file, error);
		return -1;
	}
	/* component 0: the kernel driver */
	if (HAS(smi, version) &&
	    CALL(smi, version)(0, smi->driver, sizeof(smi->driver)))
		smi->driver[0] = 0;
	return 0;
}

static void rocm_close(struct peali_smi *smi)
{
	if (HAS(smi, shut_down))
		CALL(smi, shut_down)();
}

/* Returns the number of a device; -1: unknown. */
static int64_t find(const struct peali_smi *smi, const char *pci)
{
	struct peali_pci wanted;
	uint32_t i, n = 0;

	if (peali_pci_parse(pci, &wanted) || CALL(smi, count)(&n))
		return -1;
	for (i = 0; i < n; i++) {
		struct peali_pci at;
		uint64_t id;

		if (CALL(smi, pci)(i, &id))
			continue;
		at.domain = (unsigned)(id >> 32);
		at.bus = (unsigned)(id >> 8 & 0xff);
		at.slot = (unsigned)(id >> 3 & 0x1f);
		at.function = (unsigned)(id & 7);
		if (peali_pci_same(&at, &wanted))
			return i;
	}
	return -1;
}

static int rocm_link(const struct peali_smi *smi, const char *from,
		     const char *to, char *out, size_t bytes)
{
	/* RSMI_IO_LINK_TYPE */
	static const char *const types[] = { NULL, "PCIE", "XGMI" };
	int64_t a = find(smi, from), b = find(smi, to);
	uint64_t hops;
	int type;

	if (a < 0 || b < 0)
		return -1;
	if (a == b) {
		snprintf(out, bytes, "SAME");
		return 0;
	}
	if (!HAS(smi, link_type) ||
	    CALL(smi, link_type)((uint32_t)a, (uint32_t)b, &hops, &type) ||
	    type < 1 || type > 2)
		return -1;
	snprintf(out, bytes, "%s", types[type]);
	return 0;
}

const struct peali_smi_library peali_rocm_smi = {
	.backend = "hip",
	/* Name of the development package, then names of runtime packages. */
	.files = { "librocm_smi64.so", "librocm_smi64.so.1",
		   "librocm_smi64.so.7", "librocm_smi64.so.6",
		   "librocm_smi64.so.5" },
	.symbols = symbols,
	.open = rocm_open,
	.close = rocm_close,
	.link = rocm_link,
};
