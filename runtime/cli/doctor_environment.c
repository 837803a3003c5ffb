/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks of `peal doctor` for variables that drivers read. They are no
 * settings of Peal, and only these checks read them.
 */
#include "runtime/cli/doctor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/text.h"

#define PASS PEALI_HEALTH_PASS
#define WARN PEALI_HEALTH_WARN
#define FAIL PEALI_HEALTH_FAIL

/* Queues that the library's kernels and copies need per device (HIP). */
#define HARDWARE_QUEUES 4

/** A variable that affects ring kernels. */
struct variable {
	const char *name;
	enum peali_gpu_maker maker;
	int (*is_bad)(const char *value);
	enum peali_health health;
	const char *cause;
};

static int is_on(const char *value)
{
	return strcmp(value, "0") != 0;
}

static int is_off(const char *value)
{
	return strcmp(value, "0") == 0;
}

static int is_few(const char *value)
{
	return atoi(value) < HARDWARE_QUEUES;
}

static const struct variable variables[] = {
	{ "CUDA_LAUNCH_BLOCKING", PEALI_NVIDIA, is_on, FAIL,
	  "a launch returns when its kernel ends, which a ring kernel does not "
	  "do" },
	{ "HIP_LAUNCH_BLOCKING", PEALI_AMD, is_on, FAIL,
	  "a launch returns when its kernel ends, which a ring kernel does not "
	  "do" },
	{ "AMD_SERIALIZE_KERNEL", PEALI_AMD, is_on, FAIL,
	  "launches wait for kernels before or behind them, and a ring kernel "
	  "does not end" },
	{ "AMD_SERIALIZE_COPY", PEALI_AMD, is_on, WARN,
	  "copies wait for one another and for earlier work" },
	{ "HSA_ENABLE_SDMA", PEALI_AMD, is_off, WARN,
	  "copies are then kernels, which wait for space beside ring kernels" },
	{ "GPU_FORCE_BLIT_COPY_SIZE", PEALI_AMD, is_on, WARN,
	  "copies below this size in KiB are kernels, which wait for space "
	  "beside ring kernels" },
	{ "ROC_P2P_SDMA_SIZE", PEALI_AMD, is_on, WARN,
	  "copies between devices below this size in KiB are kernels, which "
	  "wait for space beside ring kernels" },
	{ "GPU_MAX_HW_QUEUES", PEALI_AMD, is_few, WARN,
	  "kernels and copies that share a hardware queue wait for each "
	  "other; 4 is the default of HIP" },
};

static int check_variable(struct peali_doctor *doctor,
			  const struct variable *variable, int n_devices)
{
	const char *value = getenv(variable->name);
	enum peali_health health = variable->health;
	char fix[64];

	if (!value || !*value || !variable->is_bad(value))
		return 0;
	if (!n_devices) /* no device of the maker, so nothing fails */
		health = WARN;
	if (health == FAIL)
		doctor->launches_block = 1;
	snprintf(fix, sizeof(fix), "unset %s", variable->name);
	peali_doctor_add(doctor, variable->name, health, fix, "it is %s: %s",
			 PEALI_CUT(32, value), variable->cause);
	return 1;
}

/*
 * Checks a filter of visible devices. "" and invalid numbers hide all devices.
 */
static int check_visible(struct peali_doctor *doctor, const char *name)
{
	const char *value = getenv(name);
	char fix[64];

	if (!value)
		return 0;
	snprintf(fix, sizeof(fix), "unset %s", name);
	if (!*value || *value == '-' || strcmp(value, "NoDevFiles") == 0)
		peali_doctor_add(doctor, name, WARN, fix,
				 "it is '%s': all devices are hidden",
				 PEALI_CUT(64, value));
	else
		peali_doctor_add(doctor, name, PASS, NULL,
				 "it is %s: only these devices are visible, in "
				 "this order",
				 PEALI_CUT(64, value));
	return 1;
}

static void check_loading(struct peali_doctor *doctor)
{
	const char *value = getenv("CUDA_MODULE_LOADING");
	int eager = value && strcmp(value, "EAGER") == 0;

	peali_doctor_add(doctor, "module loading", PASS, NULL,
			 "CUDA_MODULE_LOADING is %s: %s",
			 value ? PEALI_CUT(32, value) :
				 "not set, so lazy since CUDA 12",
			 eager ? "nothing is loaded behind a ring kernel" :
				 "no fault, as all functions of a program are "
				 "loaded before its first launch");
}

int peali_doctor_has_mps(const struct peali_machine *machine)
{
	const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/control", machine->root,
		 pipes && *pipes ? pipes : "/tmp/nvidia-mps");
	return access(path, F_OK) == 0;
}

static int check_mps(struct peali_doctor *doctor,
		     const struct peali_machine *machine)
{
	const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
	const char *share = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");

	if (!peali_doctor_has_mps(machine)) {
		if (pipes)
			peali_doctor_add(doctor, "MPS", PASS, NULL,
					 "CUDA_MPS_PIPE_DIRECTORY is %s, where "
					 "no server is: not in use",
					 PEALI_CUT(100, pipes));
		return pipes != NULL;
	}
	peali_doctor_add(
		doctor, "MPS", WARN,
		"echo quit | nvidia-cuda-mps-control, unless other processes "
		"need it",
		"the multi-process service runs%s%s: other processes' "
		"kernels share the multiprocessors, and a fault of one of them "
		"ends all",
		share ? ", with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" : "",
		share ? PEALI_CUT(16, share) : "");
	return 1;
}

void peali_doctor_environment(struct peali_doctor *doctor,
			      const struct peali_machine *machine,
			      const int n_devices[PEALI_GPU_MAKERS])
{
	static const char *const visible[] = { "CUDA_VISIBLE_DEVICES",
					       "HIP_VISIBLE_DEVICES",
					       "ROCR_VISIBLE_DEVICES" };
	int n = 0;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		n += check_variable(doctor, &variables[i],
				    n_devices[variables[i].maker]);
	for (size_t i = 0; i < sizeof(visible) / sizeof(visible[0]); i++)
		n += check_visible(doctor, visible[i]);
	n += check_mps(doctor, machine);
	if (n_devices[PEALI_NVIDIA])
		check_loading(doctor);
	if (!n)
		peali_doctor_add(doctor, "environment", PASS, NULL,
				 "no variable changes which GPUs there are or "
				 "how they launch");
}
