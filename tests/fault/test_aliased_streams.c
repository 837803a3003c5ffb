/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that streams which share a hardware queue are not used for two kernels.
 * The double makes streams share a queue, and ends the process if a kernel waits
 * for a ring kernel. The device and its streams have numbers from 0. A driver
 * reads its number of queues once, so each case has a process of its own.
 */
#include <dlfcn.h>

#include <peal/memory.h>
#include <peal/peer.h>
#include "fault/own_process.h"
#include "fault/sweep.h"
#include "runtime/device/gpu/gpu.h"
#include "runtime/harness.h"
#include "runtime/runtime.h"

static int is_hip(void)
{
	return !strcmp(getenv("PEAL_BACKENDS"), "hip");
}

/* Opens a device with queues for `kernels` kernels and for copies. */
static struct peal_runtime *open_queues(int kernels, const char *alias)
{
	char queues[16];

	snprintf(queues, sizeof(queues), "%d", kernels + (is_hip() ? 1 : 2));
	setenv(is_hip() ? "GPU_MAX_HW_QUEUES" : "CUDA_DEVICE_MAX_CONNECTIONS",
	       queues, 1);
	setenv("PEAL_DOUBLE_ALIAS", alias, 1);
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	return harness_open(1, "");
}

/* Launches kernels until one is refused. Returns their number. */
static int launch_all(struct peal_runtime *rt)
{
	struct peal_kernel *k = NULL;
	int n = 0;

	while (!peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k))
		n++;
	return n;
}

static int n_streams(struct peal_runtime *rt)
{
	return peali_gpu_of(rt->devices.device[0].backend)->device[0].n_streams;
}

OWN_PROCESS_TEST(streams_with_queues_of_their_own_are_all_used)
{
	struct peal_runtime *rt = open_queues(4, "");

	CHECK_EQ(launch_all(rt), 4);
	CHECK_CONTAINS(peal_last_error()->text, "4 kernels at a time");
	CHECK_OK(peal_runtime_shutdown(rt));
}

OWN_PROCESS_TEST(stream_with_the_queue_of_another_is_not_used)
{
	struct peal_runtime *rt = open_queues(4, "2:0");

	CHECK_EQ(launch_all(rt), 3);
	CHECK_CONTAINS(peal_last_error()->text, "3 kernels at a time");
	CHECK_EQ(n_streams(rt), 3);
	CHECK_OK(peal_runtime_shutdown(rt));
}

OWN_PROCESS_TEST(several_aliased_streams_are_not_used)
{
	struct peal_runtime *rt = open_queues(5, "1:0,3:2,4:0");

	CHECK_EQ(launch_all(rt), 2);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The stream for copies is the last one of the device. */
OWN_PROCESS_TEST(stream_with_the_queue_of_copies_is_not_used)
{
	struct peal_runtime *rt = open_queues(4, "4:1");
	uint64_t address = 0, word = 1;

	CHECK_EQ(launch_all(rt), 3);
	CHECK_OK(peal_memory_alloc(rt, 0, sizeof(word), &address));
	CHECK_OK(peal_peer_copy(rt, 0, address, PEAL_HOST_MEMORY,
				(uintptr_t)&word, sizeof(word)));
	CHECK_OK(peal_memory_free(rt, 0, address));
	CHECK_OK(peal_runtime_shutdown(rt));
}

OWN_PROCESS_TEST(device_without_a_stream_of_its_own_is_refused)
{
	struct peal_runtime *rt = open_queues(1, "1:0");
	struct peal_kernel *k = NULL;
	int i;

	for (i = 0; i < 2; i++)
		CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, NULL,
					       &k),
			    PEAL_ENOSPC,
			    is_hip() ? "set GPU_MAX_HW_QUEUES higher" :
				       "set CUDA_DEVICE_MAX_CONNECTIONS "
				       "higher");
	CHECK_OK(peal_runtime_close(rt));
}

/* Runs a launch to its end on the next stream, and keeps the stream. */
static struct peali_launch *keep_stream(struct peal_runtime *rt,
					struct sweep_sum *sum)
{
	struct peali_backend *backend = rt->devices.device[0].backend;
	struct peali_launch_desc desc = sweep_make_sum(sum);
	struct peali_launch *launch = NULL;

	desc.recorded = 0;
	CHECK_OK(backend->ops->launch(backend, &desc, &launch));
	CHECK_OK(backend->ops->launch_wait(launch, MAX_WAIT));
	return launch;
}

/* Stream 1 has the queue of stream 0. The launch on stream 2 has not been freed. */
OWN_PROCESS_TEST(streams_are_not_dropped_while_a_launch_has_one)
{
	struct peal_runtime *rt = open_queues(4, "1:0");
	const struct peali_backend_ops *ops =
		rt->devices.device[0].backend->ops;
	struct peali_launch *launch[3];
	struct peal_kernel *k = NULL;
	uint64_t at = 0;
	int i;

	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY,
				   sizeof(struct sweep_sum), &at));
	CHECK_OK(ops->load(rt->devices.device[0].backend, 0,
			   &peal_program_peal_baseline));
	for (i = 0; i < 3; i++)
		launch[i] = keep_stream(rt, (struct sweep_sum *)(uintptr_t)at);
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_EQ(n_streams(rt), 4);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(k));
	for (i = 0; i < 3; i++)
		CHECK_OK(ops->launch_free(launch[i]));
	CHECK_EQ(launch_all(rt), 3);
	CHECK_EQ(n_streams(rt), 3);
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, at));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Returns the number of test kernels that were launched so far. */
static int n_tests(void)
{
	void *library =
		dlopen(is_hip() ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
	void *found = library ? dlsym(library, "peal_driver_double_calls") :
				NULL;
	int (*calls)(const char *symbol);
	int n;

	CHECK(found);
	memcpy(&calls, &found, sizeof(found));
	n = calls(is_hip() ? "hipModuleLaunchKernel" : "cuLaunchKernel");
	dlclose(library);
	return n;
}

/* The double says that no stream ever becomes ready. */
OWN_PROCESS_TEST(device_is_lost_if_the_test_of_its_streams_hangs)
{
	struct peal_runtime *rt = open_queues(2, "");
	struct peal_kernel *k = NULL;
	int tests;

	setenv("PEAL_DOUBLE_FAIL",
	       is_hip() ? "hipStreamQuery:600:0" : "cuStreamQuery:600:0", 1);
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k),
		    PEAL_EHUNG, "the test of the streams does not end");
	tests = n_tests();
	CHECK(tests > 0);
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k),
		    PEAL_EDRIVER, "lost by an earlier kernel");
	CHECK_EQ(n_tests(), tests);
	unsetenv("PEAL_DOUBLE_FAIL");
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(streams_with_queues_of_their_own_are_all_used);
	       RUN(stream_with_the_queue_of_another_is_not_used);
	       RUN(several_aliased_streams_are_not_used);
	       RUN(stream_with_the_queue_of_copies_is_not_used);
	       RUN(device_without_a_stream_of_its_own_is_refused);
	       RUN(streams_are_not_dropped_while_a_launch_has_one);
	       RUN(device_is_lost_if_the_test_of_its_streams_hangs);)
