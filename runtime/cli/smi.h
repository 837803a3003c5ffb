/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SMI_H
#define PEAL_RUNTIME_CLI_SMI_H

#include <stddef.h>
#include <stdint.h>

/*
 * Facts about GPUs from the vendors' management libraries: NVML (nvml.c) for
 * the backend cuda, ROCm SMI (rocm_smi.c) for hip.
 *
 * The libraries are optional. A missing symbol makes a fact unknown. Only
 * `doctor` and `topo` use them, and no decision of the runtime depends on them.
 * Devices are identified by their PCI address, as in "0000:81:00.0".
 */

#define PEALI_SMI_UNKNOWN (-1)

/** Facts about one device. Flags are 1, 0 or PEALI_SMI_UNKNOWN. */
struct peali_smi_device {
	int persistence; /* the driver stays loaded without users */
	int mig; /* the device is partitioned into instances */
	int mig_pending; /* the device will be partitioned after a reset */
	int display; /* the device drives a display */
	int processes; /* that compute on it; PEALI_SMI_UNKNOWN */
	/* size of its memory window on the bus; 0: unknown */
	uint64_t bar1_bytes;
	uint64_t bar1_used_bytes;
};

struct peali_smi;

/** A management library. Calls after open return 0, or -1: unknown. */
struct peali_smi_library {
	const char *backend; /* "cuda" */
	const char *files[6]; /* for dlopen, tried in order; NULL ends */
	const char *const *symbols; /* symbols of `calls`; NULL ends */
	/* Returns 0, or -1 and fills smi->why. */
	int (*open)(struct peali_smi *smi);
	void (*close)(struct peali_smi *smi);
	int (*device)(const struct peali_smi *smi, const char *pci,
		      struct peali_smi_device *out);
	/* Writes "NV4", "PIX", "XGMI", ...; "SAME" for parts of one device. */
	int (*link)(const struct peali_smi *smi, const char *from,
		    const char *to, char *out, size_t bytes);
};

#define PEALI_SMI_CALLS_MAX 16

/** An opened library, or the reason why it is not open. */
struct peali_smi {
	const struct peali_smi_library *library; /* NULL: not open */
	const char *file; /* the loaded file, or the first file tried */
	int emulated; /* 1: a double of the library, for tests */
	char driver[48]; /* driver version; "": unknown */
	char why[160]; /* reason why it is not open */
	void (*calls[PEALI_SMI_CALLS_MAX])(void); /* NULL: missing */
};

/** Opens the library of a backend's vendor. The caller always closes it. */
void peali_smi_open(struct peali_smi *smi, const char *backend);

void peali_smi_close(struct peali_smi *smi);

/** Fills all known facts of a device. Without a library all are unknown. */
void peali_smi_device(const struct peali_smi *smi, const char *pci,
		      struct peali_smi_device *out);

/**
 * Writes the link between two devices as the library names it.
 *
 * @return 0, or -1: unknown, and `out` is "".
 */
int peali_smi_link(const struct peali_smi *smi, const char *from,
		   const char *to, char *out, size_t bytes);

/* ---- for nvml.c and rocm_smi.c ------------------------------------------- */

extern const struct peali_smi_library peali_nvml, peali_rocm_smi;

/** A PCI address as numbers. */
struct peali_pci {
	unsigned domain, bus, slot, function;
};

/** Parses a PCI address. Returns 0, or -1: the text is no address. */
int peali_pci_parse(const char *text, struct peali_pci *out);

/** Returns 1 if both addresses are of one device; functions are ignored. */
int peali_pci_same(const struct peali_pci *a, const struct peali_pci *b);

#endif
