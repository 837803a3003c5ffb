/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_H
#define PEAL_TESTS_SWEEP_H

/*
 * One scenario that makes nearly every driver call of a backend. A child
 * process runs it under a fault of the driver double. The child records its
 * results, the parent checks them. See double/double.h for the faults.
 */

#include <peal/memory.h>
#include "fault/sweep_chain.h"
#include "fault/sweep_child.h"
#include "fault/sweep_copy.h"
#include "fault/sweep_managed.h"
#include "ringkernels/baseline_program.h"

#define SWEEP_REPLAYS 3 /* of a recorded launch */

/* ---- the child ----------------------------------------------------------- */

extern const struct peal_program peal_program_peal_baseline;

/* Memory of a recorded launch, on the host and mapped by the device. */
struct sweep_sum {
	struct peali_baseline_params params;
	struct peali_baseline_side side;
	uint8_t in[PEALI_BASELINE_AREA_BYTES], work[PEALI_BASELINE_WORK_BYTES];
};

static inline struct peali_launch_desc sweep_make_sum(struct sweep_sum *s)
{
	struct peali_launch_desc desc = {
		.program = &peal_program_peal_baseline,
		.params = (uintptr_t)s,
		.n_workers = 1,
		.lanes = 1,
		.recorded = 1,
	};
	uint64_t *word = (uint64_t *)(void *)(s->in + PEALI_BASELINE_SLOTS_AT);

	s->params.magic = PEALI_BASELINE_MAGIC;
	s->side.job = PEALI_BASELINE_SUM;
	s->side.bytes = 8;
	s->side.lanes = 1;
	s->side.in = (uintptr_t)s->in;
	s->side.work = (uintptr_t)s->work;
	*word = 7;
	return desc;
}

/* Records a launch and runs it several times. */
static inline int sweep_replays(struct peal_runtime *rt)
{
	const struct peali_device *d = &rt->devices.device[0];
	const struct peali_backend_ops *ops = d->backend->ops;
	struct peali_launch *launch = NULL;
	struct peali_launch_desc desc;
	struct sweep_sum *s;
	const uint64_t *sum;
	uint64_t at = 0;
	int i, good;

	if (!STEP(peal_memory_alloc(rt, PEAL_HOST_MEMORY, sizeof(*s), &at)))
		return 0;
	s = (struct sweep_sum *)(uintptr_t)at;
	sum = &((struct peali_baseline_report
			 *)(void *)(s->work + PEALI_BASELINE_REPORT_AT))
		       ->head.elapsed_ns;
	desc = sweep_make_sum(s);
	good = STEP(ops->load(d->backend, d->local, desc.program));
	i = good ? ops->launch(d->backend, &desc, &launch) : 0;
	if (i != PEAL_ENOTSUP) /* the driver has no graphs */
		good = good && sweep_ok(i, "record a launch");
	for (i = 1; i <= SWEEP_REPLAYS && good && launch; i++) {
		good = STEP(ops->launch_again(launch)) &&
		       STEP(ops->launch_wait(launch, SWEEP_WAIT));
		sweep->wrong += good && *sum != 7u * (unsigned)i;
	}
	if (launch)
		STEP(ops->launch_free(launch));
	STEP(peal_memory_free(rt, PEAL_HOST_MEMORY, at));
	return good;
}

/* Opens a window, and maps it as another process does. */
static inline int sweep_windows(struct peal_runtime *rt)
{
	const struct peali_device *d = &rt->devices.device[0];
	const struct peali_backend_ops *ops = d->backend->ops;
	struct peali_window *own = NULL, *other = NULL;
	uint64_t bytes = SWEEP_BYTES;
	int fd, good,
		result = ops->window_open(d->backend, d->local, &bytes, &own,
					  &fd);

	if (result == PEAL_ENOTSUP) /* HIP, and plain memory */
		return 1;
	good = sweep_ok(result, "open a window");
	result = good ? ops->window_map(d->backend, fd, bytes, &other) : 0;
	if (result != PEAL_ENOTSUP) /* the driver cannot import memory */
		good = good && sweep_ok(result, "map a window");
	if (good)
		good = STEP(ops->window_wipe(d->backend, own, 0, bytes));
	if (good && !ops->window_view(d->backend, d->local, own))
		sweep->wrong++;
	if (other)
		ops->window_close(d->backend, other);
	if (own) {
		close(fd);
		ops->window_close(d->backend, own);
	}
	return good;
}

static inline void sweep_use(struct peal_runtime *rt)
{
	struct sweep_chain chain = { NULL, { NULL }, { NULL } };
	struct peal_device_info info;
	struct peal_pair_info pair;
	int i;

	for (i = 0; i < peal_device_count(rt); i++)
		if (!STEP(peal_device_info(rt, i, &info)))
			return;
	sweep->open = i;
	if (i < 2 || !STEP(peal_topology_pair(rt, 0, 1, &pair)) ||
	    !sweep_copies(rt) || !sweep_managed(rt) || !sweep_windows(rt) ||
	    !sweep_replays(rt))
		return;
	if (!sweep_build(rt, &chain) || !sweep_messages(&chain))
		sweep_ask_kernels(&chain);
	sweep_take_down(&chain);
}

static inline void sweep_reason(struct peal_runtime *rt)
{
	struct peal_backend_info info;
	int i;

	for (i = 0; !peal_backend_info(rt, i, &info); i++)
		if (!strcmp(info.name, sweep_is_hip ? "hip" : "cuda"))
			memcpy(sweep->reason, info.reason,
			       sizeof(sweep->reason));
}

static inline void sweep_scenario(void)
{
	struct peal_runtime *rt = NULL;

	if (STEP(peal_runtime_open(NULL, &rt))) {
		sweep_reason(rt);
		sweep_use(rt);
		sweep_ask_double(sweep->calls_before_close, NULL, NULL, 0);
		if (!STEP(peal_runtime_close(rt)))
			STEP(peal_runtime_shutdown(rt));
	}
	sweep_ask_double(sweep->calls, &sweep->left, sweep->left_text,
			 sizeof(sweep->left_text));
	sweep->done = 1;
}

/* ---- the parent ---------------------------------------------------------- */

static inline void sweep_begin(const char *vendor)
{
	sweep_is_hip = !strcmp(vendor, "hip");
	sweep_prepare(SWEEP_CHILDREN);
	setenv("PEAL_PROBE", "fresh", 1); /* each run probes the pair */
	setenv("PEAL_GPU_MEMORY", "8M", 1);
	setenv("PEAL_PINNED_MEMORY", "16M", 1);
	/* the program raises the stack limit of its context */
	setenv("PEAL_DOUBLE_LOCAL", "peal_baseline:64", 1);
}

/* Starts the scenario in a child, with the present environment. */
static inline void sweep_start(int slot)
{
	const char *fault = getenv("PEAL_DOUBLE_FAIL");

	sweep_fork(slot, fault ? fault : "", sweep_scenario);
}

#endif
