/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that kernels outlive the time limit of a driver, as GPUs with a display
 * have it. The double ends each run of a kernel at the limit.
 */
#include <dlfcn.h>

#include "runtime/harness.h"

#define RUNS 40 /* of 100 ms: longer than the limit */

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

/* Returns the number of launches so far. */
static int launches(void)
{
	void *library =
		dlopen(is_hip() ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "peal_driver_double_calls") :
				NULL;
	int (*calls)(const char *symbol);

	CHECK(found);
	memcpy(&calls, &found, sizeof(found));
	dlclose(library);
	return calls(is_hip() ? "hipModuleLaunchKernel" :
				"cuLaunchCooperativeKernel");
}

static enum peal_kernel_state state_of(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.state;
}

PEAL_TEST(kernel_outlives_the_time_limit)
{
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;
	int before;

	setenv("PEAL_DOUBLE_WATCHDOG", "3000", 1);
	rt = harness_open(1, "");
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	before = launches();
	EVENTUALLY(launches() - before > RUNS ||
		   state_of(k) != PEAL_KERNEL_RUNNING);
	CHECK_EQ(state_of(k), PEAL_KERNEL_RUNNING);
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_WATCHDOG");
}

/* The negative control: the caller wants longer epochs. */
PEAL_TEST(kernel_with_long_epochs_ends_at_the_time_limit)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .epoch_ns = 60000000000u };
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	setenv("PEAL_DOUBLE_WATCHDOG", "300", 1);
	rt = harness_open(1, "");
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k));
	EVENTUALLY(state_of(k) == PEAL_KERNEL_FAILED);
	CHECK_FAILS(peal_kernel_wait(k, MAX_WAIT), PEAL_EDRIVER,
		    "use epoch_ns");
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_WATCHDOG");
}

PEAL_TEST_MAIN(RUN(kernel_outlives_the_time_limit);
	       RUN(kernel_with_long_epochs_ends_at_the_time_limit);)
