/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that the runtime raises the number of hardware queues. It does not if the
 * user has set the number, or if the process uses the driver already. The double
 * reads the number as the driver does, and ends the process if streams share a
 * queue.
 */
#include <dlfcn.h>

#include "fault/own_process.h"
#include "runtime/device/gpu/gpu.h"
#include "runtime/harness.h"
#include "runtime/runtime.h"

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

static const char *variable(void)
{
	return is_hip() ? "GPU_MAX_HW_QUEUES" : "CUDA_DEVICE_MAX_CONNECTIONS";
}

/* Returns the kernels that so many hardware queues permit. */
static int kernels_of(int queues)
{
	int n = queues - (is_hip() ? 1 : 2);

	return n < PEALI_GPU_STREAMS ? n : PEALI_GPU_STREAMS;
}

static int default_kernels(void)
{
	return kernels_of(is_hip() ? 8 : 32);
}

/* Loads the driver as an application does, and initialises it if `init` is 1. */
static void use_driver(int init)
{
	void *library =
		dlopen(is_hip() ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	int (*find)(const char *, void **, int, uint64_t, int *);
	void *found = NULL;
	int (*start)(unsigned flags);
	int status = 0;

	CHECK(library);
	if (is_hip()) {
		found = dlsym(library, "hipInit");
	} else {
		*(void **)(void *)&find = dlsym(library, "cuGetProcAddress_v2");
		CHECK(find);
		CHECK_EQ(find("cuInit", &found, 12000, 0, &status), 0);
	}
	CHECK(found);
	memcpy(&start, &found, sizeof(found));
	if (init)
		CHECK_EQ(start(0), 0);
}

/* Opens a runtime and checks how many kernels run at a time. */
static void check_kernels(int expected)
{
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;
	int n = 0;

	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	rt = harness_open(1, "");
	while (!peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k))
		n++;
	CHECK_EQ(peal_last_error()->code, PEAL_ENOSPC);
	CHECK_EQ(n, expected);
	CHECK_OK(peal_runtime_shutdown(rt));
}

OWN_PROCESS_TEST(number_of_hardware_queues_is_raised)
{
	unsetenv(variable());
	check_kernels(default_kernels());
	CHECK(!strcmp(getenv(variable()), is_hip() ? "8" : "32"));
}

OWN_PROCESS_TEST(number_of_the_user_is_kept)
{
	setenv(variable(), "5", 1);
	check_kernels(kernels_of(5));
	CHECK(!strcmp(getenv(variable()), "5"));
}

OWN_PROCESS_TEST(empty_variable_of_the_user_is_kept)
{
	setenv(variable(), "", 1);
	check_kernels(kernels_of(is_hip() ? 4 : 8));
	CHECK(!strcmp(getenv(variable()), ""));
}

/* The driver does not read the variable again, so no more streams exist. */
OWN_PROCESS_TEST(later_change_of_the_variable_is_ignored)
{
	unsetenv(variable());
	check_kernels(default_kernels());
	setenv(variable(), "24", 1);
	check_kernels(default_kernels());
}

static void open_late(void)
{
	unsetenv(variable());
	setenv("PEAL_LOG", "1", 1);
	use_driver(1);
	check_kernels(kernels_of(is_hip() ? 4 : 8));
	CHECK(!getenv(variable()));
}

PEAL_TEST(driver_in_use_keeps_its_queues)
{
	char text[4096], setting[64];

	CHECK_EQ(own_process(open_late, text, sizeof(text)), 0);
	snprintf(setting, sizeof(setting), " %s=%s", variable(),
		 is_hip() ? "8" : "32");
	CHECK_CONTAINS(text, "before the runtime opened");
	CHECK_CONTAINS(text, setting);
}

/* The user has set all variables before, so the log has no line about them. */
static void open_late_with_variables(void)
{
	setenv("GPU_FORCE_BLIT_COPY_SIZE", "0", 1);
	setenv("ROC_P2P_SDMA_SIZE", "0", 1);
	setenv(variable(), "6", 1);
	setenv("PEAL_LOG", "1", 1);
	use_driver(1);
	check_kernels(kernels_of(6));
}

PEAL_TEST(driver_in_use_has_the_number_of_the_user)
{
	char text[4096];

	CHECK_EQ(own_process(open_late_with_variables, text, sizeof(text)), 0);
	CHECK(!strstr(text, "before the runtime opened"));
}

/* CUDA reads its variables in cuInit, and HIP when it is loaded. */
OWN_PROCESS_TEST(driver_that_is_only_loaded_can_be_late)
{
	unsetenv(variable());
	use_driver(0);
	check_kernels(is_hip() ? kernels_of(4) : default_kernels());
}

PEAL_TEST_MAIN(RUN(number_of_hardware_queues_is_raised);
	       RUN(number_of_the_user_is_kept);
	       RUN(empty_variable_of_the_user_is_kept);
	       RUN(later_change_of_the_variable_is_ignored);
	       RUN(driver_in_use_keeps_its_queues);
	       RUN(driver_in_use_has_the_number_of_the_user);
	       RUN(driver_that_is_only_loaded_can_be_late);)
