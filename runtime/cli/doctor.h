/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_DOCTOR_H
#define PEAL_RUNTIME_CLI_DOCTOR_H

/* The checks of `peal doctor`. Each check adds rows to struct peali_doctor. */

#include "runtime/cli/output.h"

struct peal_runtime;
struct peal_stall;

enum peali_health {
	PEALI_HEALTH_PASS,
	PEALI_HEALTH_WARN, /* works, but slower or with fewer features */
	PEALI_HEALTH_FAIL, /* does not work until it is repaired */
	PEALI_HEALTH_WAIVED /* irrelevant on this machine */
};

/** Results of the checks so far. */
struct peali_doctor {
	json_t *rows;
	int n[4]; /* by enum peali_health */
	/* 1: launches would block, so no check may launch a kernel */
	int launches_block;
};

/** Adds a finding. `fix` NULL: no action is needed. */
void peali_doctor_add(struct peali_doctor *doctor, const char *check,
		      enum peali_health health, const char *fix,
		      const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/** Checks cores, limits, system calls and clocks of the machine. */
void peali_doctor_machine(struct peali_doctor *doctor);

/**
 * Checks the affinity mask of this process, and the CPU quotas of its control
 * groups.
 *
 * @param root prefix of /proc and of the groups' mounts; "" except in tests.
 */
void peali_doctor_cores(struct peali_doctor *doctor, const char *root);

/**
 * Prints the stalled parts of another process as a table or JSON.
 *
 * @return PEALI_EXIT_FAILED if anything is stalled, else PEALI_EXIT_OK.
 */
int peali_doctor_stall(int pid, int json);

/** Fills the row of a cause of a stall. */
void peali_doctor_cause(json_t *row, const struct peal_stall *cause);

/**
 * Reads the first line of a system file, without its newline.
 *
 * @param root prefix of `path`; "" except in tests.
 * @return text; "" if the file cannot be read.
 */
const char *peali_doctor_line(const char *root, const char *path, char *text,
			      size_t size);

/* ---- GPUs ---------------------------------------------------------------- */

#define PEALI_MACHINE_GPUS 32

enum peali_gpu_maker { PEALI_NVIDIA, PEALI_AMD, PEALI_GPU_MAKERS };

/** GPUs as the system's files show them, independent of drivers. */
struct peali_machine {
	const char *root; /* prefix of /proc, /sys and /dev */
	int n_gpus; /* GPUs on the PCI bus */
	struct {
		char pci[16]; /* "0000:81:00.0" */
		enum peali_gpu_maker maker;
	} gpu[PEALI_MACHINE_GPUS];
	int n_of[PEALI_GPU_MAKERS];
	int loaded[PEALI_GPU_MAKERS]; /* 1: the kernel module is loaded */
	/* file that shows the container; NULL: no container */
	const char *container;
	int wsl;
};

/** Fills *machine. `root` has to stay valid as long as the machine. */
void peali_machine_look(struct peali_machine *machine, const char *root);

/** Checks kernel modules, device files, WSL, containers, IOMMU and ACS. */
void peali_doctor_system(struct peali_doctor *doctor,
			 const struct peali_machine *machine);

/**
 * Checks environment variables that drivers read, and MPS.
 *
 * @param n_devices devices of the backends cuda and hip.
 */
void peali_doctor_environment(struct peali_doctor *doctor,
			      const struct peali_machine *machine,
			      const int n_devices[PEALI_GPU_MAKERS]);

/** Returns 1 if CUDA's multi-process service runs. */
int peali_doctor_has_mps(const struct peali_machine *machine);

/**
 * Runs all checks for GPUs: system, environment, backends, and each device by
 * its driver and its management library.
 *
 * @param runtime NULL: the runtime cannot be opened.
 */
void peali_doctor_gpu(struct peali_doctor *doctor,
		      struct peal_runtime *runtime);

#endif
