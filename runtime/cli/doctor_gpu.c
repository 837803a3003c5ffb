/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `peal doctor` for GPU backends and their devices. */
#include "runtime/cli/doctor.h"

#include <stdlib.h>
#include <string.h>

#include <peal/peal.h>

#include "runtime/base/text.h"
#include "runtime/cli/smi.h"
#include "runtime/device/device.h"

#define PASS PEALI_HEALTH_PASS
#define WARN PEALI_HEALTH_WARN
#define FAIL PEALI_HEALTH_FAIL
#define WAIVED PEALI_HEALTH_WAIVED

static const char *const backends[PEALI_GPU_MAKERS] = { "cuda", "hip" };

/** A device of a GPU backend with all known facts. */
struct gpu {
	int number; /* the runtime's number */
	struct peal_device_info info;
	struct peali_fact facts[PEALI_FACTS_MAX];
	int n_facts;
	struct peali_smi_device smi;
};

/** The devices of one backend. */
struct fleet {
	struct peali_smi smi;
	int shares; /* 1: processes can compute on a device at a time (MPS) */
	int n;
	struct gpu *gpu;
};

/* Returns a fact as text; NULL: unknown. */
static const char *fact(const struct gpu *gpu, const char *name)
{
	for (int i = 0; i < gpu->n_facts; i++)
		if (strcmp(gpu->facts[i].name, name) == 0)
			return gpu->facts[i].value;
	return NULL;
}

/* Returns a fact as a number; -1: unknown. */
static int number(const struct gpu *gpu, const char *name)
{
	const char *text = fact(gpu, name);

	return text ? atoi(text) : -1;
}

/* ---- backends ------------------------------------------------------------ */

/* Fills the runtime's result for a backend. Without a runtime, probes it. */
static void look_at_backend(struct peal_runtime *runtime, const char *name,
			    struct peal_backend_info *info)
{
	memset(info, 0, sizeof(*info));
	for (int i = 0; runtime && peal_backend_info(runtime, i, info) == 0;
	     i++)
		if (strcmp(info->name, name) == 0)
			return;
	memset(info, 0, sizeof(*info));
	for (int i = 0; !runtime && peali_backends[i]; i++)
		if (strcmp(peali_backends[i]->name, name) == 0)
			info->available = peali_backends[i]->probe(
						  info->reason,
						  sizeof(info->reason)) == 0;
}

static void check_backend(struct peali_doctor *doctor,
			  const struct peali_machine *machine,
			  struct peal_runtime *runtime, int maker,
			  const struct fleet *fleet)
{
	static const char *const fixes[PEALI_GPU_MAKERS] = {
		"NVIDIA's driver 465 or newer with libcuda.so.1, for which "
		"nvidia-smi works; in a container --gpus all",
		"ROCm 5.2 or newer with libamdhip64.so, for which rocminfo "
		"works; in a container --device /dev/kfd --device /dev/dri",
	};
	struct peal_backend_info info;
	char check[24];
	int wanted;

	look_at_backend(runtime, backends[maker], &info);
	snprintf(check, sizeof(check), "backend %s", backends[maker]);
	if (info.available) {
		peali_doctor_add(doctor, check, PASS, NULL, "%d device%s%s",
				 fleet->n, peali_s((uint64_t)fleet->n),
				 !runtime ?
					 ", which the runtime cannot use" :
				 fleet->n && fleet->gpu[0].info.emulated ?
					 ", emulated: a double of the driver" :
					 "");
		return;
	}
	wanted = machine->loaded[maker] ||
		 (maker == PEALI_NVIDIA && machine->wsl);
	if (strncmp(info.reason, "left out", 8) == 0)
		wanted = 0;
	peali_doctor_add(doctor, check, wanted ? WARN : WAIVED,
			 wanted ? fixes[maker] : NULL, "%s%s", info.reason,
			 wanted ? "; its kernel module is there" : "");
}

/* ---- report of a device -------------------------------------------------- */

static const char *yes_no(int value)
{
	return value < 0 ? "not known" : value ? "yes" : "no";
}

static void describe(struct peali_doctor *doctor, const struct gpu *gpu)
{
	const char *pci = fact(gpu, "pci"), *version = fact(gpu, "version");
	const char *what = fact(gpu, "architecture");
	char check[24], node[16] = "not known";

	if (gpu->info.numa_node >= 0)
		snprintf(node, sizeof(node), "%d", gpu->info.numa_node);
	snprintf(check, sizeof(check), "device %d", gpu->number);
	peali_doctor_add(
		doctor, check, PASS, NULL,
		"%s%s, %s, PCI %s, NUMA node %s, %s %s; integrated "
		"%s, cooperative launch %s, virtual memory management %s, "
		"atomics to the host %s",
		gpu->info.name, gpu->info.emulated ? " (emulated)" : "",
		what ? what : "?", pci ? pci : "not known", node,
		gpu->info.backend, version ? version : "not known",
		yes_no(number(gpu, "integrated")),
		yes_no(number(gpu, "cooperative")), yes_no(number(gpu, "vmm")),
		yes_no(number(gpu, "host-atomics")));
}

/*
 * A check of one device. Returns 1 after it has added a finding, 0: no problem,
 * -1: unknown.
 */
typedef int (*check_fn)(struct peali_doctor *doctor, const struct fleet *fleet,
			const struct gpu *gpu);

static int check_watchdog(struct peali_doctor *doctor,
			  const struct fleet *fleet, const struct gpu *gpu)
{
	int watchdog = number(gpu, "watchdog");

	(void)fleet;
	if (watchdog > 0)
		peali_doctor_add(
			doctor, "watchdog", WARN,
			"drive the display by another GPU, or none (NVIDIA: "
			"Option \"Interactive\" \"0\" in xorg.conf); else "
			"kernels return in epochs (epoch_ns of struct "
			"peal_kernel_options)",
			"device %d ends kernels that run for some seconds%s",
			gpu->number,
			gpu->smi.display > 0 ?
				": a display is driven by it" :
				"; no display is known to be driven by it");
	return watchdog;
}

static int check_mode(struct peali_doctor *doctor, const struct fleet *fleet,
		      const struct gpu *gpu)
{
	int mode = number(gpu, "compute-mode");

	(void)fleet;
	if (mode == 2)
		peali_doctor_add(doctor, "compute mode", FAIL,
				 "nvidia-smi -c DEFAULT, or leave the device "
				 "out by CUDA_VISIBLE_DEVICES",
				 "device %d is set to reject all processes",
				 gpu->number);
	else if (mode > 0)
		peali_doctor_add(doctor, "compute mode", WARN,
				 "nvidia-smi -c DEFAULT",
				 "device %d is for one process alone: the "
				 "probe of pairs, which is a child process, "
				 "may not get it",
				 gpu->number);
	return mode < 0 ? -1 : mode > 0;
}

static int check_cooperative(struct peali_doctor *doctor,
			     const struct fleet *fleet, const struct gpu *gpu)
{
	int cooperative = number(gpu, "cooperative");

	(void)fleet;
	if (cooperative == 0)
		peali_doctor_add(doctor, "cooperative launch", WARN,
				 "none, while no other program uses the GPU",
				 "device %d has none: the residency of all "
				 "workers is computed, not guaranteed",
				 gpu->number);
	return cooperative < 0 ? -1 : !cooperative;
}

static int check_persistence(struct peali_doctor *doctor,
			     const struct fleet *fleet, const struct gpu *gpu)
{
	(void)fleet;
	if (gpu->smi.persistence == 0)
		peali_doctor_add(doctor, "persistence", WARN,
				 "nvidia-persistenced, or nvidia-smi -pm 1",
				 "off for device %d: the driver initialises "
				 "it again, for seconds, after each idle "
				 "period",
				 gpu->number);
	return gpu->smi.persistence < 0 ? -1 : !gpu->smi.persistence;
}

static int check_mig(struct peali_doctor *doctor, const struct fleet *fleet,
		     const struct gpu *gpu)
{
	const char *pci = fact(gpu, "pci");
	char fix[96];

	(void)fleet;
	snprintf(fix, sizeof(fix),
		 "nvidia-smi -i %s -mig 0, unless one instance is enough",
		 pci ? pci : "GPU");
	if (gpu->smi.mig > 0)
		peali_doctor_add(doctor, "MIG", WARN, fix,
				 "device %d is cut into instances: a process "
				 "sees one of them, and instances do not reach "
				 "each other's memory",
				 gpu->number);
	else if (gpu->smi.mig_pending > 0)
		peali_doctor_add(doctor, "MIG", WARN, fix,
				 "device %d will be cut into instances when it "
				 "is next reset",
				 gpu->number);
	return gpu->smi.mig < 0 ? -1 :
				  gpu->smi.mig > 0 || gpu->smi.mig_pending > 0;
}

/*
 * Without MPS, processes compute on a device in turns. A ring kernel does not
 * end, so other kernels wait, or its time slices make it slow. The command is
 * one of the processes.
 */
static int check_processes(struct peali_doctor *doctor,
			   const struct fleet *fleet, const struct gpu *gpu)
{
	int n = gpu->smi.processes, others = n - 1;

	if (n > 1 && !fleet->shares)
		peali_doctor_add(
			doctor, "processes", WARN,
			"use one process per GPU (CUDA_VISIBLE_DEVICES), or "
			"start MPS: nvidia-cuda-mps-control -d",
			"%d other process%s on device %d without MPS: ring "
			"kernels of two processes take turns and do not run at "
			"once",
			others, others == 1 ? " computes" : "es compute",
			gpu->number);
	return n < 0 ? -1 : n > 1 && !fleet->shares;
}

/* Peers without NVLink access a device's memory through the BAR1 window. */
static int check_bar1(struct peali_doctor *doctor, const struct fleet *fleet,
		      const struct gpu *gpu)
{
	uint64_t left = gpu->smi.bar1_bytes - gpu->smi.bar1_used_bytes;
	char have[32], all[32], heap[32];

	if (!gpu->smi.bar1_bytes)
		return -1;
	if (fleet->n < 2 || left >= gpu->info.memory_bytes)
		return 0;
	peali_doctor_add(
		doctor, "BAR1", WARN,
		"switch on Resizable BAR and Above 4G Decoding in the "
		"firmware, or make PEAL_GPU_MEMORY smaller",
		"%s of the %s window of device %d are free, its heap has %s: "
		"PCIe peers may not see all of it",
		peali_bytes_text(left, have, sizeof(have)),
		peali_bytes_text(gpu->smi.bar1_bytes, all, sizeof(all)),
		gpu->number,
		peali_bytes_text(gpu->info.memory_bytes, heap, sizeof(heap)));
	return 1;
}

/* Adds one row for all devices without a problem. */
static void check_each(struct peali_doctor *doctor, const struct fleet *fleet,
		       const char *name, const char *good, check_fn check)
{
	int n_good = 0;

	for (int i = 0; i < fleet->n; i++)
		n_good += check(doctor, fleet, &fleet->gpu[i]) == 0;
	if (n_good)
		peali_doctor_add(doctor, name, PASS, NULL,
				 "%d of %d %s device%s: %s", n_good, fleet->n,
				 fleet->gpu[0].info.backend,
				 peali_s((uint64_t)fleet->n), good);
}

/* ---- a backend's devices ------------------------------------------------- */

static void check_management(struct peali_doctor *doctor,
			     const struct peali_smi *smi)
{
	if (smi->library)
		peali_doctor_add(doctor, "management library", PASS, NULL,
				 "%s%s, driver %s", smi->file,
				 smi->emulated ? " (emulated: a double of it)" :
						 "",
				 smi->driver[0] ? smi->driver : "not known");
	else if (strstr(smi->why, "mismatch"))
		peali_doctor_add(
			doctor, "management library", FAIL,
			"reboot, or unload and load the kernel module: the "
			"driver was updated while it was loaded",
			"%s", smi->why);
	else
		peali_doctor_add(doctor, "management library", WAIVED, NULL,
				 "%s: links and other data of the library "
				 "stay unknown",
				 smi->why);
}

static void check_fleet(struct peali_doctor *doctor, const struct fleet *fleet)
{
	for (int i = 0; i < fleet->n; i++)
		describe(doctor, &fleet->gpu[i]);
	check_management(doctor, &fleet->smi);
	check_each(doctor, fleet, "watchdog", "no time limit for kernels",
		   check_watchdog);
	check_each(doctor, fleet, "compute mode", "free for all processes",
		   check_mode);
	check_each(doctor, fleet, "cooperative launch", "there",
		   check_cooperative);
	check_each(doctor, fleet, "processes",
		   fleet->shares ? "MPS runs" : "no other one computes",
		   check_processes);
	check_each(doctor, fleet, "persistence", "on", check_persistence);
	check_each(doctor, fleet, "MIG", "not cut into instances", check_mig);
	check_each(doctor, fleet, "BAR1", "the window is large enough",
		   check_bar1);
}

static void fleet_open(struct fleet *fleet, struct peal_runtime *runtime,
		       const char *backend)
{
	int n = runtime ? peal_device_count(runtime) : 0;

	memset(fleet, 0, sizeof(*fleet));
	if (n < 1)
		return;
	fleet->gpu = calloc((size_t)n, sizeof(*fleet->gpu));
	for (int i = 0; fleet->gpu && i < n; i++) {
		struct gpu *gpu = &fleet->gpu[fleet->n];

		if (peal_device_info(runtime, i, &gpu->info) < 0 ||
		    strcmp(gpu->info.backend, backend) != 0)
			continue;
		gpu->number = i;
		gpu->n_facts = peali_driver_facts(runtime, i, gpu->facts,
						  PEALI_FACTS_MAX);
		fleet->n++;
	}
	if (!fleet->n)
		return;
	peali_smi_open(&fleet->smi, backend);
	for (int i = 0; i < fleet->n; i++) {
		const char *pci = fact(&fleet->gpu[i], "pci");

		peali_smi_device(&fleet->smi, pci ? pci : "",
				 &fleet->gpu[i].smi);
	}
}

void peali_doctor_gpu(struct peali_doctor *doctor, struct peal_runtime *runtime)
{
	struct peali_machine machine;
	struct fleet fleet[PEALI_GPU_MAKERS];
	int n_devices[PEALI_GPU_MAKERS];

	peali_machine_look(&machine, "");
	for (int i = 0; i < PEALI_GPU_MAKERS; i++) {
		fleet_open(&fleet[i], runtime, backends[i]);
		fleet[i].shares = peali_doctor_has_mps(&machine);
		n_devices[i] = fleet[i].n;
		check_backend(doctor, &machine, runtime, i, &fleet[i]);
	}
	peali_doctor_system(doctor, &machine);
	peali_doctor_environment(doctor, &machine, n_devices);
	for (int i = 0; i < PEALI_GPU_MAKERS; i++) {
		if (fleet[i].n)
			check_fleet(doctor, &fleet[i]);
		peali_smi_close(&fleet[i].smi);
		free(fleet[i].gpu);
	}
}
