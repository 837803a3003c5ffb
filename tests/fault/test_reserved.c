/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that a launch changes nothing that needs an idle device. That is the
 * local memory of lanes, and the division of shared memory and cache. The double
 * of CUDA ends the process if a launch waits for such a change. Memory that
 * needs an idle device for its end is freed when the last kernel has ended.
 */
#include <dlfcn.h>

#include <peal/buffer.h>
#include "runtime/device/gpu/gpu.h"
#include "runtime/harness.h"
#include "runtime/runtime.h"

/* Leaves the case out on HIP, where launches change neither. */
static void need_cuda(void)
{
	if (strcmp(getenv("PEAL_BACKENDS"), "cuda") != 0)
		test_leave_out("launches of HIP change neither");
}

static struct peal_runtime *open_units(const char *units)
{
	setenv("PEAL_DOUBLE_UNITS", units, 1);
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	return harness_open(1, "");
}

PEAL_TEST(program_with_more_local_memory_launches_beside_a_kernel)
{
	const struct peal_program *stages;
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	need_cuda();
	setenv("PEAL_DOUBLE_LOCAL", "relay:64,peal_stages:4096", 1);
	rt = open_units("4");
	stages = peal_program_find(rt, "peal_stages");
	CHECK(stages);
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_OK(peal_kernel_launch(rt, 0, stages, NULL, &k));
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_LOCAL");
}

#define STACK_SIZE 0 /* CU_LIMIT_STACK_SIZE */

/*
 * Sets the stack limit of the context that the application shares, and launches
 * a program with local memory. Returns the limit after it.
 */
static size_t limit_after_launch(size_t limit)
{
	struct peal_runtime *rt = open_units("4");
	struct peali_gpu *gpu = peali_gpu_of(rt->devices.device[0].backend);
	struct peal_kernel *k = NULL;
	void *before = NULL;

	CHECK_OK(peali_gpu_enter(gpu, 0, "test", &before));
	CHECK_EQ(gpu->driver.context_limit(STACK_SIZE, limit), 0);
	peali_gpu_leave(gpu, before);
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peali_gpu_enter(gpu, 0, "test", &before));
	CHECK_EQ(gpu->driver.context_limit_get(&limit, STACK_SIZE), 0);
	peali_gpu_leave(gpu, before);
	CHECK_OK(peal_runtime_shutdown(rt));
	return limit;
}

PEAL_TEST(stack_limit_of_the_application_is_only_raised)
{
	need_cuda();
	setenv("PEAL_DOUBLE_LOCAL", "relay:64", 1);
	CHECK_EQ(limit_after_launch(65536), 65536);
	CHECK_EQ(limit_after_launch(512), 1024 + 64);
	unsetenv("PEAL_DOUBLE_LOCAL");
}

/* 8 workers of one lane need more shared memory than 2 of 1024 lanes. */
PEAL_TEST(kernels_of_other_sizes_share_a_multiprocessor)
{
	struct peal_kernel_options thin = { .size = sizeof(thin),
					    .workers = 1 };
	struct peal_kernel_options wide = { .size = sizeof(wide),
					    .workers = 1,
					    .lanes = 1024 };
	struct peal_kernel *k = NULL;
	struct peal_runtime *rt;

	need_cuda();
	rt = open_units("1");
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &thin, &k));
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &wide, &k));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Returns how often the driver has freed memory of devices. */
static int n_frees(void)
{
	int is_hip = !strcmp(getenv("PEAL_BACKENDS"), "hip");
	void *library =
		dlopen(is_hip ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "peal_driver_double_calls") :
				NULL;
	int (*calls)(const char *symbol);
	int n;

	CHECK(found);
	memcpy(&calls, &found, sizeof(found));
	n = calls(is_hip ? "hipFree" : "cuMemFree");
	dlclose(library);
	return n;
}

/* Neither another call for managed memory nor the end of the runtime follows. */
PEAL_TEST(managed_memory_freed_beside_a_kernel_goes_after_the_kernel)
{
	const struct peal_buffer_options o = { .size = sizeof(o),
					       .kind = PEAL_BUFFER_MANAGED,
					       .bytes = 4096 };
	struct peal_runtime *rt = open_units("4");
	struct peal_buffer *closed = NULL, *open = NULL;
	struct peal_buffer_info info;
	struct peal_kernel *k = NULL;
	int before;

	CHECK_OK(peal_buffer_create(rt, &o, &closed));
	CHECK_OK(peal_buffer_create(rt, &o, &open));
	CHECK_OK(peal_buffer_info(closed, &info));
	CHECK(info.managed);
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	before = n_frees();
	CHECK_OK(peal_buffer_destroy(closed));
	CHECK_EQ(n_frees(), before);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_EQ(n_frees(), before + 1);
	CHECK_OK(peal_buffer_destroy(open));
	CHECK_EQ(n_frees(), before + 2);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(program_with_more_local_memory_launches_beside_a_kernel);
	       RUN(stack_limit_of_the_application_is_only_raised);
	       RUN(managed_memory_freed_beside_a_kernel_goes_after_the_kernel);
	       RUN(kernels_of_other_sizes_share_a_multiprocessor);)
