/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TASK_H
#define PEAL_DEVICE_TASK_H

/* Tasks arrive by a pool. */
#ifndef PEAL_USES
#define PEAL_USES PEAL_USE_ALL
#endif

#include <peal/abi/task.h>
#include <peal/device/kernel.h>

#if !PEALI_USES(POOLS)
#error "include peal/device/task.h before peal/device/kernel.h, or define PEAL_USES with PEAL_USE_POOLS"
#endif

/*
 * Handlers for the tasks of an executor's job (peal/executor.h) or of a graph.
 * A task is a part of the elements. All lanes of the worker share it.
 *
 *	PEAL_TASK(add)
 *	{
 *		const struct peal_task *t = peal_task(w);
 *		const float *a = (const float *)peal_task_argument(w, 0);
 *		const float *b = (const float *)peal_task_argument(w, 1);
 *		float *sum = (float *)peal_task_argument(w, 2);
 *		uint64_t i;
 *
 *		for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
 *			sum[i] = a[i] + b[i];
 *		return 0;
 *	}
 *	#define HANDLERS(X) X(add, 0, PEAL_TASKS)
 *	PEAL_PROGRAM(vectors, HANDLERS);
 *
 * If the handler returns an error, the job ends with that error. With several
 * lanes it is lane 0's error, or PEAL_EHANDLER if only other lanes failed.
 * PEAL_EABORTED (from peal_budget_check) does not end a job with repeatable
 * tasks. Other devices then run the task, and the job leaves this device out.
 * In a graph PEAL_EABORTED ends the run.
 *
 * The handler has no state and sends no messages. PEAL_TASK reports the end of
 * the task.
 */

/** Limits of a handler of tasks, in the list of handlers. */
#define PEAL_TASKS PEAL_LIMITS(1, 1, 0, 0, sizeof(struct peal_task_done))

PEALI_NAMESAKES_BEGIN
/**
 * Returns the task being handled. Any lane.
 *
 * @param w the worker.
 * @return the task, valid until the handler returns. `count` is 1 or more.
 */
static PEAL_DEV PEAL_INLINE const struct peal_task *
peal_task(const struct peal_worker *w)
{
	return (const struct peal_task *)peal_data(w);
}
PEALI_NAMESAKES_END

/**
 * Returns an argument of the job. Any lane.
 *
 * @param w the worker.
 * @param i index of the argument, 0..n_arguments - 1.
 * @return the address of the task's first element. For an argument that all
 *         tasks share: the address of its begin.
 */
static PEAL_DEV PEAL_INLINE void *
peal_task_argument(const struct peal_worker *w, uint32_t i)
{
	return (void *)(uintptr_t)peal_task(w)->argument[i];
}

/**
 * Returns the parameters of the job. Any lane.
 *
 * @param w the worker.
 * @return the address of parameter_bytes bytes, aligned to 8.
 */
static PEAL_DEV PEAL_INLINE const void *
peal_task_parameters(const struct peal_worker *w)
{
	return peal_task(w)->parameter;
}

/* Returns 0 if the sizes of a task's grid are right, else PEAL_EPROTO. */
static PEAL_DEV PEAL_UNUSED inline int
peali_task_check_grid(const struct peal_task *t)
{
	const struct peal_task_grid *g = &t->grid;
	uint32_t d;

	if (t->parameter_bytes > PEAL_TASK_PARAMETERS || g->dimensions < 1 ||
	    g->dimensions > 3)
		return PEAL_EPROTO;
	for (d = 0; d < 3; d++)
		if (!g->threads[d] || !g->block[d])
			return PEAL_EPROTO;
	return 0;
}

/* Returns 0 if the message being handled is a task, else PEAL_EPROTO. */
static PEAL_DEV PEAL_UNUSED inline int
peali_task_check(const struct peal_worker *w)
{
	const struct peal_task *t = peal_task(w);

	if (peal_length(w) < offsetof(struct peal_task, parameter) ||
	    t->n_arguments > PEAL_TASK_ARGUMENTS)
		return PEAL_EPROTO;
	if (peal_length(w) == sizeof(*t))
		return peali_task_check_grid(t);
	return peal_length(w) != offsetof(struct peal_task, parameter) +
					 t->parameter_bytes ?
		       PEAL_EPROTO :
		       0;
}

/* Collective: reports the end of the task. Its receiver can read all that the
 * lanes have written. */
static PEAL_DEV PEAL_UNUSED inline int
peali_task_end(struct peal_worker *w, uint64_t began_ns, int result)
{
	const struct peal_task *t = peal_task(w);
	struct peal_task_done done;
	int failed;

	peal_fence_release_sys(); /* each lane, before the report */
	failed = peal_vote_any(w, result != 0);

	if (failed && !result && peal_is_leader(w))
		result = PEAL_EHANDLER;
	done.job = t->job;
	done.slot = t->slot;
	done.rank = t->rank;
	done.result =
		(int32_t)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	done.worker = w->index;
	done.busy_ns = peal_broadcast(w, peal_clock_ns() - began_ns);
	result = peal_emit(w, 0, 0, &done, sizeof(done), 0);
	return result ? result : done.result;
}

/** Defines a handler of tasks; its body follows. */
#define PEAL_TASK(name)                                                        \
	static PEAL_DEV int peali_task_##name(struct peal_worker *w);          \
	static PEAL_DEV int name(struct peal_worker *w)                        \
	{                                                                      \
		uint64_t began_ns = peal_clock_ns();                           \
		int result = peali_task_check(w);                              \
                                                                               \
		if (PEAL_UNLIKELY(result))                                     \
			return result;                                         \
		peal_fence_acquire_sys(); /* data of earlier tasks */          \
		if (PEAL_LIKELY(peal_task(w)->count))                          \
			result = peali_task_##name(w);                         \
		return peali_task_end(w, began_ns, result);                    \
	}                                                                      \
	static PEAL_DEV int peali_task_##name(struct peal_worker *w)

#endif
