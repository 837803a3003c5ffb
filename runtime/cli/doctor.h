/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_DOCTOR_H
#define PEAL_RUNTIME_CLI_DOCTOR_H

#include "runtime/cli/output.h"

struct peal_runtime;

enum peali_health {
	PEALI_HEALTH_PASS,
	PEALI_HEALTH_WARN, /* works, but slower or with less */
	PEALI_HEALTH_FAIL, /* does not work until it is mended */
	PEALI_HEALTH_WAIVED /* does not matter here */
};

/** What the checks found so far. */
struct peali_doctor {
	json_t *rows;
	int n[4]; /* by enum peali_health */
	int launches_block; /* so that nothing may be launched */
};

/** Adds a finding; `fix` NULL: nothing to do. */
void peali_doctor_add(struct peali_doctor *doctor, const char *check,
		      enum peali_health health, const char *fix,
		      const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/** What the machine offers: cores, limits, system calls, clocks. */
void peali_doctor_machine(struct peali_doctor *doctor);

/**
 * What is stuck in another process, as a table or JSON.
 *
 * @return the exit status: PEALI_EXIT_FAILED if anything is.
 */
int peali_doctor_stuck(int pid, int json);

/**
 * The first line of a file of the system, without its newline.
 *
 * @param root stands before path: "" but in tests.
 * @return text; "" if the file cannot be read.
 */
const char *peali_doctor_line(const char *root, const char *path, char *text,
			      size_t size);

/* ---- GPUs ----------------------------------------------------------------- */

#define PEALI_MACHINE_GPUS 32

enum peali_gpu_maker { PEALI_NVIDIA, PEALI_AMD, PEALI_GPU_MAKERS };

/** What the files of the system show of GPUs, whatever drivers say. */
struct peali_machine {
	const char *root; /* before /proc, /sys, /dev and so on */
	int n_gpus; /* on the PCI bus */
	struct {
		char pci[16]; /* "0000:81:00.0" */
		enum peali_gpu_maker maker;
	} gpu[PEALI_MACHINE_GPUS];
	int n_of[PEALI_GPU_MAKERS];
	int loaded[PEALI_GPU_MAKERS]; /* the kernel module */
	const char *container; /* the file that shows it; NULL: in none */
	int wsl;
};

/** Looks; root has to live as long as the machine. */
void peali_machine_look(struct peali_machine *machine, const char *root);

/** Kernel modules, device files, WSL, containers, IOMMU and ACS. */
void peali_doctor_system(struct peali_doctor *doctor,
			 const struct peali_machine *machine);

/**
 * Environment variables that drivers read, and MPS.
 *
 * @param n_devices of the backends cuda and hip.
 */
void peali_doctor_environment(struct peali_doctor *doctor,
			      const struct peali_machine *machine,
			      const int n_devices[PEALI_GPU_MAKERS]);

/**
 * All of that; the backends, and what drivers and management libraries say of
 * each device.
 *
 * @param runtime NULL: it does not open.
 */
void peali_doctor_gpu(struct peali_doctor *doctor,
		      struct peal_runtime *runtime);

#endif
