/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the findings of the doctor in /proc, /sys and /dev. Each machine is a
 * folder.
 */
#include "cli/machine_folder.h"
#include "runtime/cli/doctor.h"

#include <peal/stall.h>

static void drop(const char *path)
{
	char name[512];

	snprintf(name, sizeof(name), "%s%s", root, path);
	CHECK_EQ(remove(name), 0);
}

/* Makes a PCI device. `folder`: its path in the tree of bridges. */
static void put_pci(const char *folder, const char *name, const char *class,
		    const char *vendor)
{
	char path[400], link[400], target[400];

	snprintf(path, sizeof(path), "/sys/devices/%s%s/class", folder, name);
	put(path, class);
	snprintf(path, sizeof(path), "/sys/devices/%s%s/vendor", folder, name);
	put(path, vendor);
	put("/sys/bus/pci/devices/.keep", "");
	snprintf(link, sizeof(link), "%s/sys/bus/pci/devices/%s", root, name);
	snprintf(target, sizeof(target), "../../../devices/%s%s", folder, name);
	CHECK_EQ(symlink(target, link), 0);
}

/* Makes a configuration space. Its second extended capability is ACS. */
static void put_acs(const char *bridge, unsigned char control, size_t bytes)
{
	unsigned char space[4096] = { 0 };
	char path[200];

	space[0x100] = 0x01; /* error reporting */
	space[0x102] = 0x01;
	space[0x103] = 0x14; /* next: 0x140 */
	space[0x140] = 0x0d;
	space[0x142] = 0x01;
	space[0x146] = control;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", bridge);
	put_bytes(path, space, bytes);
}

#define BRIDGE "0000:00:01.0"
#define GPU0 "0000:01:00.0"
#define GPU1 "0000:02:00.0"

/* Makes a sound machine: two NVIDIA GPUs, each below its own bridge. */
static void make_machine(void)
{
	clean();
	CHECK_EQ(mkdir(root, 0755), 0);
	put("/proc/version", "Linux version 6.1.0-18-amd64 (gcc 12)\n");
	put("/proc/cmdline", "root=/dev/sda1 quiet\n");
	put("/proc/1/cgroup", "0::/init.scope\n");
	put("/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06"
	    "\nGCC version:  gcc 12\n");
	put("/sys/module/nvidia/version", "580.65.06\n");
	put("/dev/nvidiactl", "");
	put("/dev/nvidia-uvm", "");
	put("/dev/nvidia0", "");
	put_pci("pci0000:00/", BRIDGE, "0x060400\n", "0x8086\n");
	put_pci("pci0000:00/", "0000:00:02.0", "0x060400\n", "0x8086\n");
	put_pci("pci0000:00/" BRIDGE "/", GPU0, "0x030200\n", "0x10de\n");
	put_pci("pci0000:00/0000:00:02.0/", GPU1, "0x030000\n", "0x10de\n");
	put_acs(BRIDGE, 0, 4096);
	put_acs("0000:00:02.0", 0, 4096);
}

static struct peali_doctor doctor;

/* Runs the checks on the machine. */
static void examine(int n_cuda, int n_hip)
{
	const int n[PEALI_GPU_MAKERS] = { n_cuda, n_hip };
	struct peali_machine machine;

	json_decref(doctor.rows);
	memset(&doctor, 0, sizeof(doctor));
	doctor.rows = json_array();
	peali_machine_look(&machine, root);
	peali_doctor_system(&doctor, &machine);
	peali_doctor_environment(&doctor, &machine, n);
}

static const char *field(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

/* Returns the first row of a check with this status. NULL: with any status. */
static const json_t *row_of(const char *check, const char *status)
{
	const json_t *row;
	size_t i;

	json_array_foreach(doctor.rows, i, row)
	{
		if (strcmp(field(row, "check"), check) == 0 &&
		    (!status || strcmp(field(row, "status"), status) == 0))
			return row;
	}
	return NULL;
}

static int has(const char *check)
{
	return row_of(check, NULL) != NULL;
}

/*
 * Returns the finding of a check with this status. Fails if there is none, or
 * if a bad finding has no fix.
 */
static const char *finding(const char *check, const char *status)
{
	const json_t *row = row_of(check, status);

	if (!row) {
		json_dumpf(doctor.rows, stderr, JSON_INDENT(1));
		fprintf(stderr, "\nno %s of '%s'\n", status, check);
		exit(1);
	}
	if (strcmp(status, "WARN") == 0 || strcmp(status, "FAIL") == 0)
		CHECK(*field(row, "fix"));
	return field(row, "finding");
}

static const char *fix_of(const char *check)
{
	return field(row_of(check, NULL), "fix");
}

PEAL_TEST(sound_machine_has_no_findings)
{
	make_machine();
	examine(2, 0);
	CHECK_EQ(doctor.n[PEALI_HEALTH_WARN] + doctor.n[PEALI_HEALTH_FAIL], 0);
	CHECK_CONTAINS(finding("GPUs", "PASS"), "2 on the PCI bus");
	CHECK_CONTAINS(finding("GPUs", "PASS"), "NVIDIA " GPU0);
	CHECK_CONTAINS(finding("kernel module", "PASS"),
		       "580.65.06, the open one");
	CHECK_CONTAINS(finding("device files", "PASS"), "NVIDIA");
	CHECK_CONTAINS(finding("IOMMU", "PASS"), "off or not there");
	CHECK_CONTAINS(finding("environment", "PASS"), "no variable");
	CHECK(!has("WSL"));
	CHECK(!has("container"));
}

PEAL_TEST(machine_without_gpus_has_no_failure)
{
	clean();
	CHECK_EQ(mkdir(root, 0755), 0);
	examine(0, 0);
	CHECK_EQ(doctor.n[PEALI_HEALTH_WARN] + doctor.n[PEALI_HEALTH_FAIL], 0);
	CHECK_CONTAINS(finding("GPUs", "WAIVED"), "none");
	CHECK(!has("IOMMU"));
	CHECK(!has("device files"));
	CHECK(!has("module loading"));
}

PEAL_TEST(missing_kernel_module_is_reported)
{
	make_machine();
	drop("/sys/module/nvidia/version");
	drop("/sys/module/nvidia");
	drop("/proc/driver/nvidia/version");
	examine(0, 0);
	CHECK_CONTAINS(finding("kernel module", "WARN"),
		       "nvidia is not loaded");
}

PEAL_TEST(wsl_is_reported)
{
	make_machine();
	put("/proc/version",
	    "Linux version 5.15.90.1-microsoft-standard-WSL2 (gcc 9)\n");
	put("/dev/dxg", "");
	examine(1, 0);
	CHECK_CONTAINS(finding("WSL", "WARN"), "Windows");
	CHECK(!strstr(finding("WSL", "WARN"), "/dev/dxg is not there"));
	drop("/dev/dxg");
	examine(1, 0);
	CHECK_CONTAINS(finding("WSL", "WARN"), "/dev/dxg is not there");
}

PEAL_TEST(container_without_uvm_is_reported)
{
	make_machine();
	drop("/dev/nvidia-uvm");
	examine(0, 0);
	CHECK_CONTAINS(finding("device files", "WARN"),
		       "/dev/nvidia-uvm is not there");
	CHECK_CONTAINS(fix_of("device files"), "nvidia-modprobe");
	put("/.dockerenv", "");
	examine(0, 0);
	CHECK_CONTAINS(finding("container", "PASS"), "/.dockerenv");
	CHECK_CONTAINS(finding("device files", "WARN"), "in this container");
	CHECK_CONTAINS(fix_of("device files"), "--gpus all");
	put("/dev/nvidia-uvm", "");
	drop("/dev/nvidia0");
	examine(0, 0);
	CHECK_CONTAINS(finding("device files", "WARN"), "no /dev/nvidia*");
}

PEAL_TEST(every_sign_of_a_container_counts)
{
	make_machine();
	put("/run/.containerenv", "");
	examine(2, 0);
	CHECK_CONTAINS(finding("container", "PASS"), "/run/.containerenv");
	drop("/run/.containerenv");
	put("/proc/1/cgroup", "0::/kubepods.slice/pod1\n");
	examine(2, 0);
	CHECK_CONTAINS(finding("container", "PASS"), "/proc/1/cgroup");
}

PEAL_TEST(unreadable_device_file_is_reported)
{
	char name[512];

	if (geteuid() == 0) {
		printf("    left out here: root may open everything\n");
		return;
	}
	make_machine();
	snprintf(name, sizeof(name), "%s/dev/nvidiactl", root);
	CHECK_EQ(chmod(name, 0), 0);
	examine(0, 0);
	CHECK_CONTAINS(finding("device files", "WARN"), "may not be read");
}

PEAL_TEST(amd_device_files_are_checked)
{
	make_machine();
	put_pci("pci0000:00/", "0000:00:05.0", "0x120000\n", "0x1002\n");
	put("/sys/module/amdgpu/initstate", "live\n");
	examine(2, 0);
	CHECK_CONTAINS(finding("GPUs", "PASS"), "AMD 0000:00:05.0");
	CHECK_CONTAINS(finding("device files", "WARN"), "/dev/kfd");
	put("/dev/kfd", "");
	put("/dev/dri/renderD128", "");
	examine(2, 0);
	CHECK_EQ(doctor.n[PEALI_HEALTH_WARN], 0);
}

PEAL_TEST(translating_iommu_is_reported)
{
	make_machine();
	put("/sys/class/iommu/dmar0", "");
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "WARN"), "translates for 2 of 2");
	put("/proc/cmdline", "intel_iommu=on iommu=pt\n");
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "PASS"), "does not translate");
	/* the type of the IOMMU group overrides the command line */
	put("/sys/bus/pci/devices/" GPU0 "/iommu_group/type", "DMA-FQ\n");
	put("/sys/bus/pci/devices/" GPU1 "/iommu_group/type", "identity\n");
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "WARN"), "translates for 1 of 2");
}

PEAL_TEST(redirecting_acs_is_reported)
{
	make_machine();
	put("/sys/class/iommu/dmar0", "");
	put_acs(BRIDGE, 0x1d, 4096);
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "WARN"), "translates for 2 of 2");
	CHECK_CONTAINS(finding("IOMMU", "WARN"), "ACS of 1 of 2 bridges");
	CHECK_CONTAINS(finding("IOMMU", "WARN"), "first " BRIDGE);
	CHECK_CONTAINS(fix_of("IOMMU"), "setpci");
	drop("/sys/class/iommu/dmar0");
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "WARN"), "does not translate");
	/* Source validation alone redirects nothing. */
	put_acs(BRIDGE, 0x01, 4096);
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "PASS"), "no ACS is in the way");
}

PEAL_TEST(unreadable_acs_is_reported)
{
	make_machine();
	put_acs(BRIDGE, 0x1d, 64);
	put_acs("0000:00:02.0", 0x1d, 64);
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "PASS"), "cannot be read");
}

PEAL_TEST(circular_pci_capabilities_terminate)
{
	unsigned char space[4096] = { 0 };

	make_machine();
	space[0x100] = 0x01;
	space[0x103] = 0x10; /* next: itself */
	put_bytes("/sys/bus/pci/devices/" BRIDGE "/config", space,
		  sizeof(space));
	examine(2, 0);
	CHECK_CONTAINS(finding("IOMMU", "PASS"), "no ACS is in the way");
}

/* ---- the environment ----------------------------------------------------- */

PEAL_TEST(blocking_launches_fail_if_devices_exist)
{
	make_machine();
	setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
	examine(2, 0);
	CHECK_CONTAINS(finding("CUDA_LAUNCH_BLOCKING", "FAIL"), "it is 1");
	CHECK(doctor.launches_block);
	examine(0, 2);
	finding("CUDA_LAUNCH_BLOCKING", "WARN");
	CHECK(!doctor.launches_block);
	setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
	examine(2, 0);
	CHECK(!has("CUDA_LAUNCH_BLOCKING"));
	unsetenv("CUDA_LAUNCH_BLOCKING");
}

PEAL_TEST(amd_variables_are_checked)
{
	make_machine();
	setenv("AMD_SERIALIZE_KERNEL", "3", 1);
	setenv("HSA_ENABLE_SDMA", "0", 1);
	setenv("GPU_MAX_HW_QUEUES", "2", 1);
	setenv("GPU_FORCE_BLIT_COPY_SIZE", "16", 1);
	setenv("ROC_P2P_SDMA_SIZE", "1024", 1);
	examine(0, 1);
	finding("AMD_SERIALIZE_KERNEL", "FAIL");
	CHECK_CONTAINS(finding("HSA_ENABLE_SDMA", "WARN"), "copies");
	CHECK_CONTAINS(finding("GPU_MAX_HW_QUEUES", "WARN"), "it is 2");
	CHECK_CONTAINS(finding("GPU_FORCE_BLIT_COPY_SIZE", "WARN"),
		       "it is 16: copies below this size");
	CHECK_CONTAINS(finding("ROC_P2P_SDMA_SIZE", "WARN"),
		       "it is 1024: copies between devices");
	setenv("HSA_ENABLE_SDMA", "1", 1);
	setenv("GPU_FORCE_BLIT_COPY_SIZE", "0", 1);
	setenv("ROC_P2P_SDMA_SIZE", "0", 1);
	setenv("GPU_MAX_HW_QUEUES", "8", 1);
	unsetenv("AMD_SERIALIZE_KERNEL");
	examine(0, 1);
	finding("environment", "PASS");
	unsetenv("HSA_ENABLE_SDMA");
	unsetenv("GPU_MAX_HW_QUEUES");
	unsetenv("GPU_FORCE_BLIT_COPY_SIZE");
	unsetenv("ROC_P2P_SDMA_SIZE");
}

PEAL_TEST(hidden_devices_are_reported)
{
	make_machine();
	setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
	setenv("ROCR_VISIBLE_DEVICES", "", 1);
	examine(2, 0);
	CHECK_CONTAINS(finding("CUDA_VISIBLE_DEVICES", "PASS"), "1,0");
	CHECK_CONTAINS(finding("ROCR_VISIBLE_DEVICES", "WARN"), "hidden");
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("ROCR_VISIBLE_DEVICES");
}

PEAL_TEST(lazy_loading_is_no_failure)
{
	make_machine();
	examine(2, 0);
	CHECK_CONTAINS(finding("module loading", "PASS"), "not set, so lazy");
	CHECK_CONTAINS(finding("module loading", "PASS"), "no fault");
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	examine(2, 0);
	CHECK_CONTAINS(finding("module loading", "PASS"), "is EAGER");
	unsetenv("CUDA_MODULE_LOADING");
}

PEAL_TEST(mps_is_detected_by_its_pipe)
{
	make_machine();
	put("/tmp/nvidia-mps/control", "");
	examine(2, 0);
	CHECK_CONTAINS(finding("MPS", "WARN"), "multi-process service");
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/run/mps", 1);
	examine(2, 0);
	CHECK_CONTAINS(finding("MPS", "PASS"), "not in use");
	put("/run/mps/control", "");
	setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1);
	examine(2, 0);
	CHECK_CONTAINS(finding("MPS", "WARN"), "PERCENTAGE=50");
	unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
}

/*
 * Makes a folder for the machines, and unsets all variables that doctor checks.
 */
static void prepare(void)
{
	static const char *const names[] = {
		"CUDA_LAUNCH_BLOCKING",	    "HIP_LAUNCH_BLOCKING",
		"AMD_SERIALIZE_KERNEL",	    "AMD_SERIALIZE_COPY",
		"HSA_ENABLE_SDMA",	    "GPU_MAX_HW_QUEUES",
		"GPU_FORCE_BLIT_COPY_SIZE", "ROC_P2P_SDMA_SIZE",
		"CUDA_VISIBLE_DEVICES",	    "HIP_VISIBLE_DEVICES",
		"ROCR_VISIBLE_DEVICES",	    "CUDA_MODULE_LOADING",
		"CUDA_MPS_PIPE_DIRECTORY",  "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	CHECK(mkdtemp(root) != NULL);
	atexit(clean);
}

/* ---- cores --------------------------------------------------------------- */

#define MOUNT_V1                                                               \
	"40 31 0:9 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"     \
	"41 31 0:8 %s /sys/fs/cgroup/cpu rw,nosuid shared:3 - cgroup c "       \
	"rw,cpu,cpuacct\n"

/* Replaces %s in a text. */
static void fill_in(char *text, const char *from, const char *word)
{
	const char *at = strstr(from, "%s");

	if (at)
		sprintf(text, "%.*s%s%s", (int)(at - from), from, word, at + 2);
	else
		strcpy(text, from);
}

/* Makes a machine with this process in a group, and looks at its cores. */
static void examine_cores(const char *mounts, const char *mounted,
			  const char *group)
{
	char text[512];

	CHECK(strlen(mounts) + strlen(mounted) < sizeof(text));
	fill_in(text, mounts, mounted);
	put("/proc/self/mountinfo", text);
	put("/proc/self/cgroup", group);
	json_decref(doctor.rows);
	memset(&doctor, 0, sizeof(doctor));
	doctor.rows = json_array();
	peali_doctor_cores(&doctor, root);
	CHECK_EQ(json_array_size(doctor.rows), 1);
}

PEAL_TEST(cpu_quota_of_version_2_is_reported)
{
	static const char mount[] =
		"30 20 0:26 %s /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

	clean();
	CHECK_EQ(mkdir(root, 0755), 0);
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
	examine_cores(mount, "/", "0::/a/b\n");
	CHECK(!strstr(field(row_of("cores", NULL), "finding"), "quota"));
	put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
	examine_cores(mount, "/", "0::/a/b\n");
	CHECK_CONTAINS(finding("cores", "WARN"),
		       "only for the time of 0.50 cores, by the CPU quota in "
		       "/sys/fs/cgroup/a/cpu.max");
	/* the smallest quota of all groups above counts */
	put("/sys/fs/cgroup/a/b/cpu.max", "25000 100000\n");
	examine_cores(mount, "/", "0::/a/b\n");
	CHECK_CONTAINS(finding("cores", "WARN"), "0.25 cores");
	CHECK_CONTAINS(finding("cores", "WARN"), "/a/b/cpu.max");
	/* a quota of all cores and more limits nothing */
	put("/sys/fs/cgroup/a/b/cpu.max", "409600000 1000\n");
	put("/sys/fs/cgroup/a/cpu.max", "409600000 1000\n");
	examine_cores(mount, "/", "0::/a/b\n");
	CHECK(!strstr(field(row_of("cores", NULL), "finding"), "quota"));
	/* a container with a namespace of its own sees its group as the root */
	put("/sys/fs/cgroup/cpu.max", "10000 100000\n");
	examine_cores(mount, "/", "0::/\n");
	CHECK_CONTAINS(finding("cores", "WARN"), "0.10 cores");
	/* a group outside of the namespace */
	examine_cores(mount, "/", "0::/../other\n");
	CHECK_CONTAINS(finding("cores", "WARN"), "0.10 cores");
}

PEAL_TEST(cpu_quota_of_version_1_is_reported)
{
	static const char group[] = "5:cpuset:/x\n4:cpuacct,cpu:/docker/1\n"
				    "0::/y\n";

	clean();
	CHECK_EQ(mkdir(root, 0755), 0);
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	examine_cores(MOUNT_V1, "/", group);
	CHECK(!strstr(field(row_of("cores", NULL), "finding"), "quota"));
	put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "75000\n");
	put("/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
	examine_cores(MOUNT_V1, "/", group);
	CHECK_CONTAINS(finding("cores", "WARN"),
		       "0.75 cores, by the CPU quota in "
		       "/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us");
	/* docker mounts the container's group at the top */
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
	examine_cores(MOUNT_V1, "/docker/1", group);
	CHECK_CONTAINS(finding("cores", "WARN"),
		       "0.50 cores, by the CPU quota in "
		       "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
	/* no control groups at all */
	clean();
	CHECK_EQ(mkdir(root, 0755), 0);
	examine_cores("", "", "");
	CHECK(!strstr(field(row_of("cores", NULL), "finding"), "quota"));
}

/* ---- stalls -------------------------------------------------------------- */

PEAL_TEST(each_cause_of_a_stall_has_a_remedy_and_no_false_zero)
{
	struct peal_stall cause = { .device = -1 };
	json_t *row;

	for (uint32_t i = 0; i < PEAL_STALL_COUNT; i++) {
		cause.cause = (enum peal_stall_cause)i;
		row = json_object();
		peali_doctor_cause(row, &cause);
		CHECK(strlen(field(row, "fix")) > 10);
		CHECK(!strcmp(field(row, "fix"), peal_stall_remedy(i)));
		CHECK(json_is_null(json_object_get(row, "address")));
		CHECK(*field(row, "address_why"));
		CHECK(json_is_null(json_object_get(row, "link")));
		CHECK(json_is_null(json_object_get(row, "device")));
		json_decref(row);
	}
	CHECK(!strcmp(peal_stall_remedy(PEAL_STALL_COUNT), "?"));
	cause.address = 0x1234;
	row = json_object();
	peali_doctor_cause(row, &cause);
	CHECK(!strcmp(field(row, "address"), "0x1234"));
	json_decref(row);
}

PEAL_TEST_MAIN(prepare();
	       RUN(each_cause_of_a_stall_has_a_remedy_and_no_false_zero);
	       RUN(cpu_quota_of_version_2_is_reported);
	       RUN(cpu_quota_of_version_1_is_reported);
	       RUN(sound_machine_has_no_findings);
	       RUN(machine_without_gpus_has_no_failure);
	       RUN(missing_kernel_module_is_reported); RUN(wsl_is_reported);
	       RUN(container_without_uvm_is_reported);
	       RUN(every_sign_of_a_container_counts);
	       RUN(unreadable_device_file_is_reported);
	       RUN(amd_device_files_are_checked);
	       RUN(translating_iommu_is_reported);
	       RUN(redirecting_acs_is_reported);
	       RUN(unreadable_acs_is_reported);
	       RUN(circular_pci_capabilities_terminate);
	       RUN(blocking_launches_fail_if_devices_exist);
	       RUN(amd_variables_are_checked); RUN(hidden_devices_are_reported);
	       RUN(lazy_loading_is_no_failure);
	       RUN(mps_is_detected_by_its_pipe); json_decref(doctor.rows);)
