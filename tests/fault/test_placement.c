/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that a kernel is refused if its blocks would wait for resident kernels.
 * GPUs place blocks breadth first, so free space counts per multiprocessor. The
 * double ends the process when a block waits.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/device/impl/worker/worker.h>

#include "p2p/probe.h"
#include "p2p/probe_verify.h"
#include "runtime/device/gpu/gpu.h"
#include "runtime/harness.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

#define LANES 1024 /* a worker takes half of a multiprocessor, or all of it */

/* Opens devices with few multiprocessors. */
static struct peal_runtime *open_units(int devices, const char *units,
				       const char *registers)
{
	setenv("PEAL_DOUBLE_UNITS", units, 1);
	setenv("PEAL_DOUBLE_REGISTERS", registers, 1);
	setenv("PEAL_GPU_MEMORY", "32M", 1);
	setenv("PEAL_PINNED_MEMORY", "32M", 1);
	return harness_open(devices, "");
}

/* Opens a device of 4 multiprocessors. One with 64 registers per lane holds one
 * worker of 1024 lanes, one with 32 registers holds two. */
static struct peal_runtime *open_small(const char *registers)
{
	return open_units(1, "4", registers);
}

static void close_small(struct peal_runtime *rt)
{
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_UNITS");
	unsetenv("PEAL_DOUBLE_REGISTERS");
}

static int launch(struct peal_runtime *rt, uint32_t workers, uint32_t lanes,
		  struct peal_kernel **k)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = workers,
					 .lanes = lanes };

	return peal_kernel_launch(rt, 0, &peal_program_relay, &o, k);
}

/* A worker on each multiprocessor leaves none of them free, but 7/8 in all. */
PEAL_TEST(kernel_that_fits_only_in_total_is_refused)
{
	struct peal_runtime *rt = open_small("64");
	struct peal_kernel *thin = NULL, *wide = NULL;

	CHECK_OK(launch(rt, 4, 1, &thin));
	CHECK_FAILS(launch(rt, 1, LANES, &wide), PEAL_ENOSPC,
		    "a worker takes 100 % of a multiprocessor, at most 87 % of "
		    "one are free (1, allowed none); use fewer lanes, or stop "
		    "a kernel");
	CHECK_OK(launch(rt, 1, 512, &wide));
	CHECK_OK(peal_kernel_stop(wide, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(wide));
	CHECK_OK(peal_kernel_stop(thin, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(thin));
	CHECK_OK(launch(rt, 1, LANES, &wide));
	close_small(rt);
}

/* By their sums 5 workers would fit: 1 - 1/8 - 1/4 of 8. */
PEAL_TEST(workers_beside_a_kernel_are_counted_per_multiprocessor)
{
	struct peal_runtime *rt = open_small("32");
	struct peal_kernel *thin = NULL, *wide = NULL;

	CHECK_OK(launch(rt, 4, 1, &thin));
	CHECK_FAILS(launch(rt, 5, LANES, &wide), PEAL_ENOSPC,
		    "a worker takes 50 % of a multiprocessor, at most 87 % of "
		    "one are free (5, allowed 1..4); use 4");
	CHECK_OK(launch(rt, 4, LANES, &wide));
	close_small(rt);
}

/* Launches a kernel and ends it. Returns its bytes of hot tables. */
static uint32_t hot_bytes(struct peal_runtime *rt, uint32_t workers,
			  uint32_t inputs)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = workers,
					 .lanes = 32,
					 .max_inputs = inputs };
	struct peal_kernel *k;
	uint32_t bytes;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k));
	bytes = k->params.hot_bytes;
	CHECK(!bytes || bytes == peal_worker_tables(&k->params).hot_bytes);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(k));
	return bytes;
}

/* On CUDA the tables of a small kernel lie in shared memory. A kernel that takes
 * much of the device leaves this memory to others. */
PEAL_TEST(small_kernels_have_hot_tables)
{
	struct peal_runtime *rt = open_units(1, "16", "32");
	struct peal_device_info info;

	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_EQ(hot_bytes(rt, 1, 0) != 0, !strcmp(info.backend, "cuda"));
	CHECK_EQ(hot_bytes(rt, 64, 0), 0);
	CHECK_EQ(hot_bytes(rt, 1, 256), 0); /* more than 16 KB */
	close_small(rt);
}

/* The backend's own check is for callers that do not ask first. */
PEAL_TEST(backend_refuses_a_launch_that_would_wait)
{
	struct peal_runtime *rt = open_small("64");
	struct peali_backend *backend = rt->devices.device[0].backend;
	struct peali_launch_desc desc = { .program = &peal_program_relay,
					  .n_workers = 1,
					  .lanes = LANES };
	struct peali_launch *launched = NULL;
	struct peal_kernel *thin = NULL;

	CHECK_OK(launch(rt, 4, 1, &thin));
	CHECK_FAILS(backend->ops->launch(backend, &desc, &launched),
		    PEAL_ENOSPC,
		    "with lanes 1024: a worker takes 100 % of a "
		    "multiprocessor, at most 87 % of one are free (1, allowed "
		    "none); use fewer lanes, or stop a kernel");
	close_small(rt);
}

/*
 * With 256 registers per lane a multiprocessor holds 8 workers. Beside 7, the
 * probe has space for one: for a direction, but not for both at a time.
 */
PEAL_TEST(directions_are_verified_alone_if_both_do_not_fit)
{
	struct peal_runtime *rt = open_units(2, "1", "256");
	struct peal_pair_info there = { .from = 0, .to = 1 };
	struct peal_pair_info back = { .from = 1, .to = 0 };
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 7 };
	struct peali_backend *backend = rt->devices.device[0].backend;
	const struct peali_launch_desc both = {
		.program = peali_probe_program(), .n_workers = 2, .lanes = 1
	};
	struct peali_launch *launched = NULL;
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k));
	CHECK_OK(peal_kernel_launch(rt, 1, &peal_program_relay, &o, &k));
	CHECK_OK(peali_verify_both(rt->peers, &there, &back));
	CHECK_EQ(there.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(back.verdict, PEAL_VERDICT_OK);
	/* the negative control: both do not fit at the same time */
	CHECK_FAILS(backend->ops->launch(backend, &both, &launched),
		    PEAL_ENOSPC, "'workers'");
	close_small(rt);
}

/* Starts a block on a multiprocessor that is not free, without Peal's check. */
static void start_waiting_block(void)
{
	struct peal_runtime *rt = open_small("64");
	struct peali_gpu *gpu = peali_gpu_of(rt->devices.device[0].backend);
	struct peal_kernel *thin = NULL;
	uint64_t params = 0;
	void *arguments[] = { &params }, *before = NULL;

	CHECK_OK(launch(rt, 4, 1, &thin));
	CHECK_OK(peali_gpu_enter(gpu, 0, "test", &before));
	gpu->driver.launch(gpu->device[0].programs->function, 1, 1, 1, LANES, 1,
			   1, 0, gpu->device[0].stream[1], arguments, NULL);
}

PEAL_TEST(double_reports_a_block_that_would_wait)
{
	char text[1024];
	size_t n = 0;
	ssize_t got;
	int ends[2], status = 0;
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		start_waiting_block();
		_exit(0);
	}
	close(ends[1]);
	while (n < sizeof(text) - 1 &&
	       (got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK_CONTAINS(text, "some of 1 blocks on device 0 wait for resident "
			     "kernels: no multiprocessor has 1024 threads, "
			     "65536 registers");
}

PEAL_TEST_MAIN(RUN(double_reports_a_block_that_would_wait);
	       RUN(kernel_that_fits_only_in_total_is_refused);
	       RUN(workers_beside_a_kernel_are_counted_per_multiprocessor);
	       RUN(small_kernels_have_hot_tables);
	       RUN(backend_refuses_a_launch_that_would_wait);
	       RUN(directions_are_verified_alone_if_both_do_not_fit);)
