/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress */
/*
 * Shows that a launch fails if not all workers check in, and that the error
 * counts the workers that did.
 */
#include "runtime/harness.h"
#include "runtime/runtime.h"

/*
 * Entry of a program: only worker 0 checks in. All workers end once the host
 * sets `stop`.
 */
static int shy(const struct peal_kernel_params *params, uint32_t worker,
	       uint32_t lane)
{
	struct peal_worker_status *status =
		(struct peal_worker_status *)(uintptr_t)params->status;
	struct peal_kernel_control *control =
		(struct peal_kernel_control *)(uintptr_t)params->control;

	(void)lane;
	if (worker == 0)
		peal_store_release_sys(&status[0].phase, PEAL_WORKER_RUNNING);
	while (!peal_load_relaxed_sys(&control->stop))
		identity_sleep_us(1000);
	peal_store_release_sys(&status[worker].phase, PEAL_WORKER_STOPPED);
	return 0;
}

PEAL_TEST(launch_error_counts_workers_without_check_in)
{
	static const struct peal_handler_info handlers[] = { { .name = "h" } };
	static const struct peal_program program = {
		sizeof(program), 1, "shy", handlers, shy, shy, NULL, NULL, 0, 0
	};
	struct peal_kernel_options o = { .size = sizeof(o), .workers = 3 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_device_info before, after;
	struct peal_runtime_info info;
	struct peal_kernel *k = NULL;

	HOST_CASE("the program has host code alone");
	CHECK_OK(peal_device_info(rt, 0, &before));
	/* on a busy machine worker 0 may be late, too */
	rt->check_in_ns = 50 * MS;
	do {
		CHECK_FAILS(peal_kernel_launch(rt, 0, &program, &o, &k),
			    PEAL_EHUNG, " of 3 workers resident on device 0");
		CHECK(!k);
		rt->check_in_ns *= 2;
		CHECK(rt->check_in_ns < MAX_WAIT);
	} while (!strncmp(peal_last_error()->text, "0 of", 4));
	CHECK_CONTAINS(peal_last_error()->text, "1 of 3 workers");
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_kernels, 0);
	CHECK_OK(peal_device_info(rt, 0, &after));
	CHECK_EQ(after.memory_used_bytes, before.memory_used_bytes);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(launch_error_counts_workers_without_check_in);)
