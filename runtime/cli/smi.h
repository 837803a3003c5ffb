/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SMI_H
#define PEAL_RUNTIME_CLI_SMI_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the vendors' management libraries say of GPUs: NVML (nvml.c) for the
 * backend cuda, ROCm SMI (rocm_smi.c) for hip. They are loaded if they are
 * there; a symbol that is missing is a fact that is not known. They are asked
 * by `doctor` and `topo` alone, and nothing that the library decides depends on
 * them. Devices are named by their PCI address, as in "0000:81:00.0".
 */

#define PEALI_SMI_UNKNOWN (-1)

/** What is known of one device; flags are 1, 0 or PEALI_SMI_UNKNOWN. */
struct peali_smi_device {
	int persistence; /* the driver stays loaded without users */
	int mig; /* it is cut into instances */
	int mig_pending; /* it will be after a reset */
	int display; /* a display is driven by it */
	uint64_t bar1_bytes; /* window of its memory on the bus; 0 unknown */
	uint64_t bar1_used_bytes;
};

struct peali_smi;

/** A management library; calls after open return 0, or -1 not known. */
struct peali_smi_library {
	const char *backend; /* "cuda" */
	const char *files[6]; /* of dlopen, tried in turn; NULL ends */
	const char *const *symbols; /* of `calls`; NULL ends */
	/* 0, or the reason why not in smi->why. */
	int (*open)(struct peali_smi *smi);
	void (*close)(struct peali_smi *smi);
	int (*device)(const struct peali_smi *smi, const char *pci,
		      struct peali_smi_device *out);
	/* "NV4", "PIX", "XGMI", ...; "SAME" of one device. */
	int (*link)(const struct peali_smi *smi, const char *from,
		    const char *to, char *out, size_t bytes);
};

#define PEALI_SMI_CALLS_MAX 16

/** An opened library, or why there is none. */
struct peali_smi {
	const struct peali_smi_library *library; /* NULL: not open */
	const char *file; /* that was loaded, or the first that is tried */
	int emulated; /* a double of it, for tests */
	char driver[48]; /* the version that it says; "" if it does not */
	char why[160]; /* why it is not open */
	void (*calls[PEALI_SMI_CALLS_MAX])(void); /* NULL: not there */
};

/** Opens the library of a backend's vendor. Close it in any case. */
void peali_smi_open(struct peali_smi *smi, const char *backend);

void peali_smi_close(struct peali_smi *smi);

/** All that is known of a device; everything unknown if it is not open. */
void peali_smi_device(const struct peali_smi *smi, const char *pci,
		      struct peali_smi_device *out);

/**
 * The link between two devices as the library names it.
 *
 * @return 0, or -1: not known, out is "".
 */
int peali_smi_link(const struct peali_smi *smi, const char *from,
		   const char *to, char *out, size_t bytes);

/* ---- for nvml.c and rocm_smi.c ------------------------------------------- */

extern const struct peali_smi_library peali_nvml, peali_rocm_smi;

/** A PCI address in numbers. */
struct peali_pci {
	unsigned domain, bus, slot, function;
};

/** 0, or -1: the text is no address. */
int peali_pci_parse(const char *text, struct peali_pci *out);

/** 1 if both are the same device, their functions apart. */
int peali_pci_same(const struct peali_pci *a, const struct peali_pci *b);

#endif
