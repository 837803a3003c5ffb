/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_H
#define PEAL_TESTS_SWEEP_H

/*
 * One scenario that makes nearly every driver call of a backend. A child
 * process runs it under a fault of the driver double. The child records its
 * results, the parent checks them. See double/double.h for the faults.
 */

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <peal/memory.h>
#include <peal/peer.h>
#include "fault/sweep_chain.h"
#include "ringkernels/baseline_program.h"

#define SWEEP_BYTES 3000 /* of a copy */
#define SWEEP_REPLAYS 3 /* of a recorded launch */
#define SWEEP_ALARM_S 60 /* a longer run counts as a hang */
#define SWEEP_CHILDREN 8 /* at a time: they wait more than they compute */

/* ---- the child ----------------------------------------------------------- */

/* Copies from the host by both devices to the host, and compares. */
static inline int sweep_copies(struct peal_runtime *rt)
{
	static uint8_t in[SWEEP_BYTES], out[SWEEP_BYTES];
	uint64_t address[2] = { 0, 0 };
	int i, good = 1;

	harness_fill(in, sizeof(in), 7, 8);
	for (i = 0; i < 2 && good; i++)
		good = STEP(peal_memory_alloc(rt, i, SWEEP_BYTES, &address[i]));
	good = good &&
	       STEP(peal_peer_copy(rt, 0, address[0], PEAL_HOST_MEMORY,
				   (uintptr_t)in, SWEEP_BYTES)) &&
	       STEP(peal_peer_copy(rt, 1, address[1], 0, address[0],
				   SWEEP_BYTES)) &&
	       STEP(peal_peer_copy(rt, PEAL_HOST_MEMORY, (uintptr_t)out, 1,
				   address[1], SWEEP_BYTES));
	sweep->wrong += good && memcmp(in, out, SWEEP_BYTES) != 0;
	for (i = 0; i < 2; i++)
		if (address[i])
			STEP(peal_memory_free(rt, i, address[i]));
	return good;
}

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
	    !sweep_copies(rt) || !sweep_windows(rt) || !sweep_replays(rt))
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
	sweep_results = mmap(NULL, SWEEP_CHILDREN * sizeof(*sweep),
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);
	CHECK(sweep_results != MAP_FAILED);
	sweep = sweep_results;
	harness_make_cache();
	setenv("PEAL_PROBE", "fresh", 1); /* each run probes the pair */
	setenv("PEAL_GPU_MEMORY", "8M", 1);
	setenv("PEAL_PINNED_MEMORY", "16M", 1);
}

/* Starts the scenario in a child, with the present environment. */
static inline void sweep_start(int slot)
{
	pid_t child;

	sweep = &sweep_results[slot];
	memset(sweep, 0, sizeof(*sweep));
	snprintf(sweep->fault, sizeof(sweep->fault), "%s",
		 getenv("PEAL_DOUBLE_FAIL") ? getenv("PEAL_DOUBLE_FAIL") : "");
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child) {
		sweep->child = child;
		return;
	}
	alarm(SWEEP_ALARM_S);
	sweep_scenario();
	harness_cache[0] = 0; /* the parent removes it */
	/* no leak check: the double still has the unreleased resources */
	if (sweep->left)
		_exit(0);
	exit(0);
}

/* Waits for the child. Returns 0 and prints why if it crashed, hung or
 * leaked. */
static inline int sweep_survived(int slot)
{
	int status = 0;

	sweep = &sweep_results[slot];
	CHECK_EQ(waitpid(sweep->child, &status, 0), sweep->child);
	if (WIFEXITED(status) && !WEXITSTATUS(status) && sweep->done)
		return 1;
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: %s (signal %d)\n", sweep->fault,
			WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashed",
			WTERMSIG(status));
	else
		fprintf(stderr, "%s: exit status %d\n", sweep->fault,
			WEXITSTATUS(status));
	if (sweep->failed)
		fprintf(stderr, "    after %s: %s\n", sweep->step, sweep->text);
	return 0;
}

#endif
