/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc and /sys: control groups, quotas, PCI devices. Each file is a
 * byte that selects its path, two bytes with its length, and its bytes.
 */
#include "fuzz/fuzz.h"

#include "runtime/base/core_set.h"
#include "runtime/cli/doctor.h"

#define PCI "/sys/bus/pci/devices/"

static const char *const paths[] = {
	"/proc/self/cgroup",
	"/proc/self/mountinfo",
	"/sys/fs/cgroup/cpu.max",
	"/sys/fs/cgroup/a/cpu.max",
	"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
	"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us",
	"/proc/1/cgroup",
	"/proc/version",
	"/proc/cmdline",
	"/proc/driver/nvidia/version",
	PCI "0000:01:00.0/class",
	PCI "0000:01:00.0/vendor",
	PCI "0000:01:00.0/config",
	PCI "0000:01:00.0/0000:02:00.0/config",
	PCI "0000:02:00.0/class",
	PCI "0000:02:00.0/vendor",
	PCI "0000:02:00.0/iommu_group/type",
};
#define N_PATHS (sizeof(paths) / sizeof(paths[0]))

static int written[N_PATHS];

/* Removes the bytes of the files of the last input. */
static void clear(void)
{
	size_t i;

	for (i = 0; i < N_PATHS; i++)
		if (written[i])
			fuzz_write(paths[i], "", 0);
	memset(written, 0, sizeof(written));
}

static void write_files(struct fuzz_input *in)
{
	uint8_t *bytes = malloc(65536);
	size_t path, n;
	uint16_t length;

	FUZZ_CHECK(bytes);
	while (in->left) {
		path = fuzz_u8(in) % N_PATHS;
		fuzz_take(in, &length, sizeof(length));
		n = length < in->left ? length : in->left;
		fuzz_take(in, bytes, n);
		fuzz_write(paths[path], bytes, n);
		written[path] = 1;
	}
	free(bytes);
}

/* Each finding has a text, and one that is no pass has a remedy. */
static void check_rows(const struct peali_doctor *doctor)
{
	json_t *row;
	size_t i;

	json_array_foreach(doctor->rows, i, row)
	{
		FUZZ_CHECK(json_string_length(json_object_get(row, "check")));
		FUZZ_CHECK(json_string_length(json_object_get(row, "finding")));
	}
}

FUZZ_TARGET(machine)
{
	struct fuzz_input in = { data, size };
	struct peali_doctor doctor = { .rows = json_array() };
	struct peali_machine machine;

	clear();
	write_files(&in);
	peali_core_quota(fuzz_folder());
	peali_doctor_cores(&doctor, fuzz_folder());
	peali_machine_look(&machine, fuzz_folder());
	FUZZ_CHECK(machine.n_gpus <= PEALI_MACHINE_GPUS);
	peali_doctor_system(&doctor, &machine);
	check_rows(&doctor);
	json_decref(doctor.rows);
	return 0;
}
