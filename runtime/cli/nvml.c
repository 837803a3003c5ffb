/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's management library. Prototypes and numbers are those of <nvml.h>.
 * Each call returns 0 or an error. Devices are opaque pointers.
 */
#include "runtime/cli/smi.h"

#include <stdio.h>
#include <string.h>

#define LINKS_MAX 18 /* NVML_NVLINK_MAX_LINKS */
#define REMOTE_IS_SWITCH 2 /* NVML_NVLINK_DEVICE_TYPE_SWITCH */

/** nvmlBAR1Memory_t. */
struct bar1 {
	unsigned long long all, left, used;
};

/** nvmlPciInfo_t. */
struct remote {
	char bus_id_legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char bus_id[32];
};

/** nvmlProcessInfo_v2_t. */
struct process {
	unsigned pid;
	unsigned long long used_memory;
	unsigned gpu_instance, compute_instance;
};
#define PROCESSES_MAX 64
#define TOO_MANY 7 /* NVML_ERROR_INSUFFICIENT_SIZE */

/* X(name, type of the result, arguments, symbol) */
#define CALLS(X)                                                               \
	X(init, int, (void), "nvmlInit_v2")                                    \
	X(shut_down, int, (void), "nvmlShutdown")                              \
	X(error_text, const char *, (int error), "nvmlErrorString")            \
	X(driver_version, int, (char *text, unsigned bytes),                   \
	  "nvmlSystemGetDriverVersion")                                        \
	X(by_pci, int, (const char *pci, void **device),                       \
	  "nvmlDeviceGetHandleByPciBusId_v2")                                  \
	X(persistence, int, (void *device, int *mode),                         \
	  "nvmlDeviceGetPersistenceMode")                                      \
	X(mig, int, (void *device, unsigned *current, unsigned *pending),      \
	  "nvmlDeviceGetMigMode")                                              \
	X(bar1, int, (void *device, struct bar1 *out),                         \
	  "nvmlDeviceGetBAR1MemoryInfo")                                       \
	X(display, int, (void *device, int *active),                           \
	  "nvmlDeviceGetDisplayActive")                                        \
	X(processes, int,                                                      \
	  (void *device, unsigned *count, struct process *out),                \
	  "nvmlDeviceGetComputeRunningProcesses_v3")                           \
	X(ancestor, int, (void *a, void *b, int *level),                       \
	  "nvmlDeviceGetTopologyCommonAncestor")                               \
	X(link_state, int, (void *device, unsigned link, int *active),         \
	  "nvmlDeviceGetNvLinkState")                                          \
	X(link_remote, int, (void *device, unsigned link, struct remote *out), \
	  "nvmlDeviceGetNvLinkRemotePciInfo_v2")                               \
	X(link_type, int, (void *device, unsigned link, int *type),            \
	  "nvmlDeviceGetNvLinkRemoteDeviceType")

#define CALL_NUMBER(name, result, arguments, symbol) call_##name,
enum { CALLS(CALL_NUMBER) N_CALLS };
#define CALL_SYMBOL(name, result, arguments, symbol) symbol,
static const char *const symbols[] = { CALLS(CALL_SYMBOL) NULL };
#define CALL_TYPE(name, result, arguments, symbol)                             \
	typedef result(name##_fn) arguments;
CALLS(CALL_TYPE)

_Static_assert(N_CALLS <= PEALI_SMI_CALLS_MAX, "space for all calls");

#define HAS(smi, name) ((smi)->calls[call_##name] != NULL)
/* Calls a function that exists. */
#define CALL(smi, name) ((name##_fn *)(smi)->calls[call_##name])

static int nvml_open(struct peali_smi *smi)
{
	int error;

	if (!HAS(smi, init) || !HAS(smi, by_pci)) {
		snprintf(smi->why, sizeof(smi->why),
			 "%s has no %s: it is too old", smi->file,
			 symbols[HAS(smi, init) ? call_by_pci : call_init]);
		return -1;
	}
	error = CALL(smi, init)();
	if (error) {
		snprintf(smi->why, sizeof(smi->why), "%s reports %s (%d)",
			 smi->file,
			 HAS(smi, error_text) ? CALL(smi, error_text)(error) :
						"an error",
			 error);
		return -1;
	}
	if (HAS(smi, driver_version) &&
	    CALL(smi, driver_version)(smi->driver, sizeof(smi->driver)))
		smi->driver[0] = 0;
	return 0;
}

static void nvml_close(struct peali_smi *smi)
{
	if (HAS(smi, shut_down))
		CALL(smi, shut_down)();
}

/* Finds a device by its PCI address; NULL: the library does not know it. */
static void *find(const struct peali_smi *smi, const char *pci)
{
	void *device = NULL;

	return CALL(smi, by_pci)(pci, &device) ? NULL : device;
}

/* Returns the number of processes that compute on a device, or -1. */
static int count_processes(const struct peali_smi *smi, void *device)
{
	struct process list[PROCESSES_MAX];
	unsigned count = PROCESSES_MAX;
	int error;

	if (!HAS(smi, processes))
		return PEALI_SMI_UNKNOWN;
	error = CALL(smi, processes)(device, &count, list);
	return error && error != TOO_MANY ? PEALI_SMI_UNKNOWN : (int)count;
}

static int nvml_device(const struct peali_smi *smi, const char *pci,
		       struct peali_smi_device *out)
{
	void *device = find(smi, pci);
	unsigned current, pending;
	struct bar1 bar1;
	int flag;

	if (!device)
		return -1;
	if (HAS(smi, persistence) && !CALL(smi, persistence)(device, &flag))
		out->persistence = flag;
	if (HAS(smi, display) && !CALL(smi, display)(device, &flag))
		out->display = flag;
	out->processes = count_processes(smi, device);
	if (HAS(smi, mig) && !CALL(smi, mig)(device, &current, &pending)) {
		out->mig = (int)current;
		out->mig_pending = (int)pending;
	}
	if (HAS(smi, bar1) && !CALL(smi, bar1)(device, &bar1)) {
		out->bar1_bytes = bar1.all;
		out->bar1_used_bytes = bar1.used;
	}
	return 0;
}

/* Counts active NVLinks that end at `to`; NULL: at a switch. */
static unsigned count_links(const struct peali_smi *smi, void *device,
			    const struct peali_pci *to)
{
	unsigned link, n = 0;

	for (link = 0; link < LINKS_MAX; link++) {
		struct remote remote;
		struct peali_pci at;
		int active = 0, type = 0;

		if (CALL(smi, link_state)(device, link, &active) || !active)
			continue;
		if (!to) {
			n += HAS(smi, link_type) &&
			     !CALL(smi, link_type)(device, link, &type) &&
			     type == REMOTE_IS_SWITCH;
			continue;
		}
		memset(&remote, 0, sizeof(remote));
		if (CALL(smi, link_remote)(device, link, &remote))
			continue;
		at = (struct peali_pci){ remote.domain, remote.bus,
					 remote.device, 0 };
		n += peali_pci_same(&at, to) != 0;
	}
	return n;
}

/*
 * Counts NVLinks as `nvidia-smi topo -m` does. Counts direct links, or else
 * links that both GPUs have to switches. Switches connect all GPUs of a
 * machine.
 */
static unsigned nvlinks(const struct peali_smi *smi, void *a, void *b,
			const struct peali_pci *to)
{
	unsigned n, other;

	if (!HAS(smi, link_state) || !HAS(smi, link_remote))
		return 0;
	n = count_links(smi, a, to);
	if (n)
		return n;
	n = count_links(smi, a, NULL);
	other = count_links(smi, b, NULL);
	return n < other ? n : other;
}

static int nvml_link(const struct peali_smi *smi, const char *from,
		     const char *to, char *out, size_t bytes)
{
	/* nvmlGpuTopologyLevel_t, level divided by ten. */
	static const char *const levels[] = { "SAME", "PIX",  "PXB",
					      "PHB",  "NODE", "SYS" };
	void *a = find(smi, from), *b = find(smi, to);
	struct peali_pci pci;
	unsigned n;
	int level;

	if (!a || !b || peali_pci_parse(to, &pci))
		return -1;
	n = a == b ? 0 : nvlinks(smi, a, b, &pci);
	if (n) {
		snprintf(out, bytes, "NV%u", n);
		return 0;
	}
	if (!HAS(smi, ancestor) || CALL(smi, ancestor)(a, b, &level) ||
	    level < 0 || level > 50)
		return -1;
	snprintf(out, bytes, "%s", levels[level / 10]);
	return 0;
}

const struct peali_smi_library peali_nvml = {
	.backend = "cuda",
	.files = { "libnvidia-ml.so.1" },
	.symbols = symbols,
	.open = nvml_open,
	.close = nvml_close,
	.device = nvml_device,
	.link = nvml_link,
};
