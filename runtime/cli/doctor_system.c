/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `peal doctor` for GPUs that read files of the system. */
#include "runtime/cli/doctor.h"
#include "runtime/base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define PASS PEALI_HEALTH_PASS
#define WARN PEALI_HEALTH_WARN
#define WAIVED PEALI_HEALTH_WAIVED
#define PCI_DEVICES "/sys/bus/pci/devices"

/** Properties of a maker of GPUs. */
static const struct maker {
	const char *name;
	unsigned vendor; /* PCI vendor */
	const char *module; /* kernel module */
	const char *files[3]; /* device files that programs open; NULL ends */
	/* folder and name prefix of the files of single devices */
	const char *folder, *prefix;
	const char *load; /* how to load the module */
	const char *make; /* how to create the device files */
	const char *give; /* how to give a container the files */
	const char *permit; /* how to get permission for the files */
} makers[PEALI_GPU_MAKERS] = {
	{ "NVIDIA",
	  0x10de,
	  "nvidia",
	  { "/dev/nvidiactl", "/dev/nvidia-uvm" },
	  "/dev",
	  "nvidia",
	  "install NVIDIA's driver, then modprobe nvidia",
	  "nvidia-modprobe -c 0 -u",
	  "install the NVIDIA container toolkit and start the container with "
	  "--gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	  "chmod a+rw /dev/nvidia*, or the driver option "
	  "NVreg_DeviceFileMode=0666" },
	{ "AMD",
	  0x1002,
	  "amdgpu",
	  { "/dev/kfd" },
	  "/dev/dri",
	  "renderD",
	  "install the kernel module amdgpu, then modprobe amdgpu",
	  "modprobe amdgpu; the kernel needs CONFIG_HSA_AMD",
	  "start the container with --device /dev/kfd --device /dev/dri "
	  "--group-add render",
	  "usermod -aG render,video USER, then log in again" },
};

/* ---- looking ------------------------------------------------------------- */

static int exists(const struct peali_machine *machine, const char *path)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s%s", machine->root, path);
	return access(name, F_OK) == 0;
}

/* Reads a number of a PCI device, as in "0x10de"; 0: unknown. */
static unsigned pci_number(const struct peali_machine *machine,
			   const char *device, const char *file)
{
	char path[256], text[32];

	snprintf(path, sizeof(path), PCI_DEVICES "/%.64s/%s", device, file);
	return (unsigned)strtoul(peali_doctor_line(machine->root, path, text,
						   sizeof(text)),
				 NULL, 0);
}

static DIR *open_folder(const struct peali_machine *machine, const char *path)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s%s", machine->root, path);
	return opendir(name);
}

static void look_at_device(struct peali_machine *machine, const char *device)
{
	unsigned class = pci_number(machine, device, "class") >> 16;
	unsigned vendor = pci_number(machine, device, "vendor");

	/* display controllers and processing accelerators */
	if ((class != 0x03 && class != 0x12) ||
	    machine->n_gpus == PEALI_MACHINE_GPUS)
		return;
	for (int i = 0; i < PEALI_GPU_MAKERS; i++)
		if (makers[i].vendor == vendor) {
			snprintf(machine->gpu[machine->n_gpus].pci,
				 sizeof(machine->gpu[0].pci), "%.15s", device);
			machine->gpu[machine->n_gpus++].maker =
				(enum peali_gpu_maker)i;
			machine->n_of[i]++;
		}
}

/* Returns the file that shows a container; NULL: no container. */
static const char *container_of(const struct peali_machine *machine)
{
	static const char *const files[] = { "/.dockerenv",
					     "/run/.containerenv" };
	static const char *const words[] = { "docker", "kubepods", "containerd",
					     "libpod", "lxc" };
	static const char cgroup[] = "/proc/1/cgroup";
	char text[512];

	for (int i = 0; i < 2; i++)
		if (exists(machine, files[i]))
			return files[i];
	peali_doctor_line(machine->root, cgroup, text, sizeof(text));
	for (int i = 0; i < 5; i++)
		if (strstr(text, words[i]))
			return cgroup;
	return NULL;
}

void peali_machine_look(struct peali_machine *machine, const char *root)
{
	const struct dirent *entry;
	char text[512];
	DIR *folder;

	memset(machine, 0, sizeof(*machine));
	machine->root = root;
	folder = open_folder(machine, PCI_DEVICES);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			look_at_device(machine, entry->d_name);
	if (folder)
		closedir(folder);
	for (int i = 0; i < PEALI_GPU_MAKERS; i++) {
		snprintf(text, sizeof(text), "/sys/module/%s",
			 makers[i].module);
		machine->loaded[i] = exists(machine, text);
	}
	if (exists(machine, "/proc/driver/nvidia/version"))
		machine->loaded[PEALI_NVIDIA] = 1;
	machine->container = container_of(machine);
	peali_doctor_line(root, "/proc/version", text, sizeof(text));
	machine->wsl = strcasestr(text, "microsoft") != NULL;
}

/* ---- GPUs, modules, device files ----------------------------------------- */

static void check_gpus(struct peali_doctor *doctor,
		       const struct peali_machine *machine)
{
	char text[300] = "";
	size_t used = 0;

	if (!machine->n_gpus) {
		peali_doctor_add(
			doctor, "GPUs", WAIVED, NULL, "none on the PCI bus%s",
			machine->wsl ? " (WSL2 has them in /dev/dxg)" : "");
		return;
	}
	for (int i = 0; i < machine->n_gpus && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%s %s", i ? ", " : "",
					 makers[machine->gpu[i].maker].name,
					 machine->gpu[i].pci);
	peali_doctor_add(doctor, "GPUs", PASS, NULL, "%d on the PCI bus: %s",
			 machine->n_gpus, text);
}

static void check_module(struct peali_doctor *doctor,
			 const struct peali_machine *machine, int which)
{
	const struct maker *maker = &makers[which];
	char path[64], version[64], text[256];

	if (!machine->n_of[which] && !machine->loaded[which])
		return;
	if (!machine->loaded[which]) {
		peali_doctor_add(doctor, "kernel module", WARN, maker->load,
				 "%s is not loaded: the %s GPUs cannot be used",
				 maker->module, maker->name);
		return;
	}
	snprintf(path, sizeof(path), "/sys/module/%s/version", maker->module);
	peali_doctor_line(machine->root, path, version, sizeof(version));
	text[0] = 0;
	if (which == PEALI_NVIDIA)
		peali_doctor_line(machine->root, "/proc/driver/nvidia/version",
				  text, sizeof(text));
	peali_doctor_add(
		doctor, "kernel module", PASS, NULL, "%s %s%s", maker->module,
		version[0] ? version :
		text[0]	   ? text :
			     "of the kernel itself",
		strstr(text, "Open Kernel Module") ? ", the open one" : "");
}

/* Returns 1 if a file "nvidia0", "renderD128", ... may be read and written. */
static int has_numbered(const struct peali_machine *machine,
			const struct maker *maker)
{
	DIR *folder = open_folder(machine, maker->folder);
	size_t n = strlen(maker->prefix);
	const struct dirent *entry;
	int found = 0;

	while (folder && (entry = readdir(folder)))
		found |= strncmp(entry->d_name, maker->prefix, n) == 0 &&
			 isdigit((unsigned char)entry->d_name[n]) &&
			 faccessat(dirfd(folder), entry->d_name, R_OK | W_OK,
				   AT_EACCESS) == 0;
	if (folder)
		closedir(folder);
	return found;
}

/* Checks the device files of a loaded module. */
static void check_files(struct peali_doctor *doctor,
			const struct peali_machine *machine, int which)
{
	const struct maker *maker = &makers[which];
	const char *how = machine->container ? maker->give : maker->make;
	char path[PATH_MAX];

	if (!machine->loaded[which] || machine->wsl)
		return;
	for (int i = 0; maker->files[i]; i++) {
		snprintf(path, sizeof(path), "%s%s", machine->root,
			 maker->files[i]);
		if (access(path, F_OK)) {
			peali_doctor_add(
				doctor, "device files", WARN, how,
				"%s is not there%s: the %s driver "
				"cannot be used",
				maker->files[i],
				machine->container ? " in this container" : "",
				maker->name);
			return;
		}
		if (access(path, R_OK | W_OK)) {
			peali_doctor_add(doctor, "device files", WARN,
					 maker->permit,
					 "%s may not be read and written",
					 maker->files[i]);
			return;
		}
	}
	if (has_numbered(machine, maker))
		peali_doctor_add(doctor, "device files", PASS, NULL,
				 "those of %s may be read and written",
				 maker->name);
	else
		peali_doctor_add(doctor, "device files", WARN, how,
				 "no %s/%s* is there that may be read and "
				 "written",
				 maker->folder, maker->prefix);
}

/* ---- WSL and containers -------------------------------------------------- */

static void check_wsl(struct peali_doctor *doctor,
		      const struct peali_machine *machine)
{
	if (!machine->wsl)
		return;
	peali_doctor_add(
		doctor, "WSL", WARN,
		"use Linux itself for kernels that stay; here let them return "
		"in epochs (epoch_ns of struct peal_kernel_options)",
		"WSL2: Windows schedules the GPU and limits how long a kernel "
		"runs, and GPUs do not reach each other's memory%s",
		exists(machine, "/dev/dxg") ?
			"" :
			"; /dev/dxg is not there, so there is no GPU at all");
}

static void check_container(struct peali_doctor *doctor,
			    const struct peali_machine *machine)
{
	if (!machine->container)
		return;
	peali_doctor_add(doctor, "container", PASS, NULL,
			 "in a container, by %s: it has the GPUs that it was "
			 "started with",
			 machine->container);
}

/* ---- IOMMU and ACS ------------------------------------------------------- */

#define EXTENDED 0x100 /* offset of the extended capabilities */
#define ACS 0x000d
#define ACS_CONTROL 6
/* Requests and completions between peers are redirected to the root. */
#define ACS_REDIRECTS 0x000c
#define BRIDGES_MAX 64

/** Bridges above GPUs. */
struct bridges {
	int n, n_redirect, n_hidden;
	char name[BRIDGES_MAX][16];
	const char *first; /* name of the first bridge that redirects */
};

/*
 * Returns 1 if the IOMMU translates a GPU's memory accesses. The type of the
 * GPU's group tells it, or else the kernel's command line.
 */
static int translated(const struct peali_machine *machine, const char *pci)
{
	char path[256], text[512];

	snprintf(path, sizeof(path), PCI_DEVICES "/%.15s/iommu_group/type",
		 pci);
	peali_doctor_line(machine->root, path, text, sizeof(text));
	if (text[0])
		return strncmp(text, "DMA", 3) == 0;
	peali_doctor_line(machine->root, "/proc/cmdline", text, sizeof(text));
	return !strstr(text, "iommu=pt") && !strstr(text, "iommu=off") &&
	       !strstr(text, "iommu.passthrough=1");
}

static int iommu_is_there(const struct peali_machine *machine)
{
	DIR *folder = open_folder(machine, "/sys/class/iommu");
	const struct dirent *entry;
	int found = 0;

	while (folder && (entry = readdir(folder)))
		found |= entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return found;
}

/*
 * Returns the control word of a bridge's access control services. 0: the bridge
 * has none. -1: the configuration space cannot be read this far; only root can.
 * See PCI Express Base Specification, "ACS Extended Capability".
 */
static int acs_of(const struct peali_machine *machine, const char *bridge)
{
	unsigned char space[4096];
	char path[PATH_MAX];
	size_t n = 0, at = EXTENDED;
	FILE *file;

	snprintf(path, sizeof(path), "%s" PCI_DEVICES "/%s/config",
		 machine->root, bridge);
	file = fopen(path, "re");
	if (file) {
		n = fread(space, 1, sizeof(space), file);
		fclose(file);
	}
	if (n < EXTENDED + 4)
		return -1;
	for (int steps = 0; steps < 64 && at >= EXTENDED && at + 8 <= n;
	     steps++) {
		unsigned head = space[at] | (unsigned)space[at + 1] << 8;

		if (head == ACS)
			return space[at + ACS_CONTROL] |
			       space[at + ACS_CONTROL + 1] << 8;
		at = (space[at + 2] >> 4 | space[at + 3] << 4) & 0xffcu;
	}
	return 0;
}

static void look_at_bridge(const struct peali_machine *machine,
			   struct bridges *bridges, const char *name)
{
	int control;

	for (int i = 0; i < bridges->n; i++)
		if (strcmp(bridges->name[i], name) == 0)
			return;
	if (bridges->n == BRIDGES_MAX)
		return;
	snprintf(bridges->name[bridges->n], sizeof(bridges->name[0]), "%.15s",
		 name);
	control = acs_of(machine, name);
	if (control < 0)
		bridges->n_hidden++;
	else if (control & ACS_REDIRECTS && bridges->n_redirect++ == 0)
		bridges->first = bridges->name[bridges->n];
	bridges->n++;
}

/* Checks all bridges above a device: they are its parent folders in sysfs. */
static void look_above(const struct peali_machine *machine,
		       struct bridges *bridges, const char *pci)
{
	char link[PATH_MAX], path[PATH_MAX];
	char *part, *rest, *next;
	unsigned d, b, s, f;
	int end;

	snprintf(link, sizeof(link), "%s" PCI_DEVICES "/%s", machine->root,
		 pci);
	if (!realpath(link, path))
		return;
	for (part = strtok_r(path, "/", &rest); part; part = next) {
		next = strtok_r(NULL, "/", &rest);
		end = 0;
		if (next &&
		    sscanf(part, "%x:%x:%x.%x%n", &d, &b, &s, &f, &end) == 4 &&
		    !part[end])
			look_at_bridge(machine, bridges, part);
	}
}

static void acs_text(const struct bridges *bridges, char *text, size_t size)
{
	if (bridges->n_redirect)
		snprintf(text, size,
			 "ACS of %d of %d bridge%s above GPUs sends what peers "
			 "write up to the root (first %s)",
			 bridges->n_redirect, bridges->n,
			 peali_s((uint64_t)bridges->n), bridges->first);
	else if (bridges->n_hidden)
		snprintf(text, size, "ACS cannot be read (root can)");
	else
		snprintf(text, size, "no ACS is in the way of peers");
}

static void check_iommu(struct peali_doctor *doctor,
			const struct peali_machine *machine)
{
	struct bridges bridges = { 0 };
	int there = iommu_is_there(machine), n_translated = 0;
	char acs[160];

	if (!machine->n_gpus)
		return;
	if (machine->n_gpus == 1) {
		peali_doctor_add(doctor, "IOMMU", WAIVED, NULL,
				 "%s; with one GPU there are no peers",
				 there ? "on" : "off or not there");
		return;
	}
	for (int i = 0; i < machine->n_gpus; i++) {
		look_above(machine, &bridges, machine->gpu[i].pci);
		n_translated += there &&
				translated(machine, machine->gpu[i].pci);
	}
	acs_text(&bridges, acs, sizeof(acs));
	if (n_translated || bridges.n_redirect)
		peali_doctor_add(
			doctor, "IOMMU", WARN,
			"boot with iommu=pt, or the IOMMU off; ACS off in the "
			"firmware, or setpci -s BRIDGE ECAP_ACS+6.w=0 for each "
			"bridge above a GPU; the probe of pairs shows whether "
			"it helps",
			"%s for %d of %d GPUs, %s: access between peers may "
			"be slow, wrong or missing",
			n_translated ? "it translates" :
				       "it does not translate",
			n_translated ? n_translated : machine->n_gpus,
			machine->n_gpus, acs);
	else
		peali_doctor_add(doctor, "IOMMU", PASS, NULL, "%s, %s",
				 there ? "on, but it does not translate for "
					 "GPUs" :
					 "off or not there",
				 acs);
}

void peali_doctor_system(struct peali_doctor *doctor,
			 const struct peali_machine *machine)
{
	check_gpus(doctor, machine);
	check_wsl(doctor, machine);
	check_container(doctor, machine);
	for (int i = 0; i < PEALI_GPU_MAKERS; i++) {
		check_module(doctor, machine, i);
		check_files(doctor, machine, i);
	}
	check_iommu(doctor, machine);
}
