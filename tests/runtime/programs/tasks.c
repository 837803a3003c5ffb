/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of tasks, and a handler that is not for tasks. */
#include <peal/device/grid.h>

#include "../gate.h"
#include "../tasks.h"

/* sum[i] = a[i] * factor + table[i % 3], of 32 bits */
PEAL_TASK(combine)
{
	const struct peal_task *t = peal_task(w);
	const uint32_t *a = (const uint32_t *)peal_task_argument(w, 0);
	const uint32_t *table = (const uint32_t *)peal_task_argument(w, 1);
	uint32_t *sum = (uint32_t *)peal_task_argument(w, 2);
	uint32_t factor = *(const uint32_t *)peal_task_parameters(w);
	uint64_t i;

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
		sum[i] = a[i] * factor + table[(t->first + i) % 3];
	return 0;
}

/* Counts a visit of each element, and writes the element's number. */
PEAL_TASK(visit)
{
	const struct peal_task *t = peal_task(w);
	const struct visit *v = (const struct visit *)peal_task_parameters(w);
	const uint64_t *gate = (const uint64_t *)(uintptr_t)v->gate;
	uint32_t *visits = (uint32_t *)peal_task_argument(w, 0);
	uint64_t *number = (uint64_t *)peal_task_argument(w, 1);
	uint64_t began = peal_clock_ns(), i;
	uint64_t slow_ns = v->slow_ns + v->slower_ns * t->rank;
	int mine = 0;

	if (!t->count) /* empty tasks do not come here */
		return PEAL_EPROTO;
	if (v->began)
		peal_store_release_sys(
			(uint64_t *)(uintptr_t)v->began + t->rank, 1);
	if (v->gate_at != ~(uint64_t)0 && v->gate_at - t->first >= t->count)
		gate = 0;
	while (gate && !peal_load_acquire_sys(gate) && !peal_aborting(w))
		gate_pause();
	if (gate && peal_aborting(w))
		return PEAL_EABORTED;
	while (peal_clock_ns() - began < slow_ns * t->count)
		peal_pause();
	for (i = peal_lane(w); i < t->count; i += peal_lanes(w)) {
		visits[i]++;
		number[i] = t->first + i;
		mine |= t->first + i == v->fails_at;
	}
	if (v->leader && v->fails_at - t->first < t->count)
		mine = 1;
	return mine ? (int)v->error : 0;
}

static PEAL_DEV void copy_numbers(uint32_t *to, struct peal_index3 from)
{
	to[0] = from.x;
	to[1] = from.y;
	to[2] = from.z;
}

/* Counts a visit of each thread of a grid, and writes the thread's numbers. */
PEAL_TASK(cover)
{
	uint32_t *visits = (uint32_t *)peal_task_argument(w, 0);
	struct cover *out = (struct cover *)peal_task_argument(w, 1);
	struct peal_grid g;
	int result = peal_grid_begin(w, &g);

	while (peal_grid_next(&g)) {
		visits[g.at]++;
		copy_numbers(out[g.at].id, g.id);
		copy_numbers(out[g.at].thread, g.thread);
		copy_numbers(out[g.at].block, g.block);
		copy_numbers(out[g.at].threads, g.threads);
		copy_numbers(out[g.at].per_block, g.threads_per_block);
		copy_numbers(out[g.at].blocks, g.blocks);
	}
	return result;
}

/* A handler that is not for tasks. */
static PEAL_DEV int other(struct peal_worker *w)
{
	return peal_emit(w, 0, 0, peal_data(w), peal_length(w), 0);
}

#define HANDLERS(X)                                                            \
	X(combine, 0, PEAL_TASKS)                                              \
	X(visit, 0, PEAL_TASKS)                                                \
	X(other, 0, PEAL_EMITS(1, 1))                                          \
	X(cover, 0, PEAL_TASKS)
PEAL_PROGRAM(tasks, HANDLERS);
