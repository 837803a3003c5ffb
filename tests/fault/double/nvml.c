/* SPDX-License-Identifier: Apache-2.0 */
#include "management.h"

#include <stdint.h>

/*
 * A double of libnvidia-ml.so.1. Keys of PEAL_DOUBLE_SMI: init (result of
 * nvmlInit_v2), persistence, mig, pending, display, processes, bar1 and
 * bar1_used (MiB).
 */

#define API MANAGEMENT_API int
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define FAILS(symbol)                                                          \
	do {                                                                   \
		if (management_fails(symbol))                                  \
			return NOT_SUPPORTED;                                  \
	} while (0)

/* Returns the device of a handle, which is its number + 1. */
static int number_of(void *device)
{
	return (int)(intptr_t)device - 1;
}

API nvmlInit_v2(void)
{
	return (int)management_number("init", 0);
}

API nvmlShutdown(void)
{
	return 0;
}

MANAGEMENT_API const char *nvmlErrorString(int error)
{
	return error == 18 ? "Driver/library version mismatch" :
			     "an error of the double";
}

API nvmlSystemGetDriverVersion(char *text, unsigned bytes)
{
	FAILS("nvmlSystemGetDriverVersion");
	snprintf(text, bytes, "999.1 (double)");
	return 0;
}

API nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **device)
{
	unsigned domain, bus, slot;

	if (sscanf(pci, "%x:%x:%x", &domain, &bus, &slot) != 3 ||
	    domain != 0xffff || bus >= 64 || slot)
		return NOT_FOUND;
	*device = (void *)(intptr_t)(bus + 1);
	return 0;
}

API nvmlDeviceGetPersistenceMode(void *device, int *mode)
{
	(void)device;
	FAILS("nvmlDeviceGetPersistenceMode");
	*mode = (int)management_number("persistence", 1);
	return 0;
}

API nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
	(void)device;
	FAILS("nvmlDeviceGetMigMode");
	*current = (unsigned)management_number("mig", 0);
	*pending = (unsigned)management_number("pending", *current);
	return 0;
}

API nvmlDeviceGetDisplayActive(void *device, int *active)
{
	(void)device;
	FAILS("nvmlDeviceGetDisplayActive");
	*active = (int)management_number("display", 0);
	return 0;
}

API nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
					    void *out)
{
	unsigned most = *count;

	(void)device;
	(void)out; /* no caller reads it */
	FAILS("nvmlDeviceGetComputeRunningProcesses_v3");
	*count = (unsigned)management_number("processes", 1);
	return *count > most ? 7 : 0;
}

API nvmlDeviceGetBAR1MemoryInfo(void *device, unsigned long long out[3])
{
	(void)device;
	FAILS("nvmlDeviceGetBAR1MemoryInfo");
	out[0] = (unsigned long long)management_number("bar1", 131072) << 20;
	out[2] = (unsigned long long)management_number("bar1_used", 1) << 20;
	out[1] = out[0] - out[2];
	return 0;
}

API nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *level)
{
	static const char *const names[] = { "PIX", "PXB", "PHB", "NODE",
					     "SYS" };
	const char *at = management_environment("PEAL_DOUBLE_TOPOLOGY");
	struct management_entry entry;
	int x = number_of(a), y = number_of(b), i;

	FAILS("nvmlDeviceGetTopologyCommonAncestor");
	*level = x == y ? 0 : 50;
	while (management_entry(&at, &entry))
		for (i = 0; i < 5; i++)
			if (!strcmp(entry.link, names[i]) &&
			    ((entry.a == x && entry.b == y) ||
			     (entry.a == y && entry.b == x)))
				*level = (i + 1) * 10;
	return 0;
}

/* Returns the device at the other end of an NVLink; -1: a switch; -2: none. */
static int other_end(int device, unsigned link)
{
	const char *at = management_environment("PEAL_DOUBLE_TOPOLOGY");
	struct management_entry entry;
	unsigned first = 0, n;

	while (management_entry(&at, &entry)) {
		if (sscanf(entry.link, "NV%u", &n) != 1 ||
		    (entry.a != device && entry.b != device))
			continue;
		if (link >= first && link < first + n)
			return entry.a == device ? entry.b : entry.a;
		first += n;
	}
	return -2;
}

API nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
	FAILS("nvmlDeviceGetNvLinkState");
	*active = other_end(number_of(device), link) != -2;
	return 0;
}

API nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type)
{
	FAILS("nvmlDeviceGetNvLinkRemoteDeviceType");
	*type = other_end(number_of(device), link) == -1 ? 2 : 0;
	return 0;
}

/** nvmlPciInfo_t. */
struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char text[32];
};

API nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link,
					struct pci *out)
{
	int other = other_end(number_of(device), link);

	FAILS("nvmlDeviceGetNvLinkRemotePciInfo_v2");
	if (other == -2)
		return NOT_SUPPORTED;
	memset(out, 0, sizeof(*out));
	out->domain = other < 0 ? 0xfff0 : 0xffff;
	out->bus = other < 0 ? 0 : (unsigned)other;
	return 0;
}
