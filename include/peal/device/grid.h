/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_GRID_H
#define PEAL_DEVICE_GRID_H

#include <peal/device/task.h>

/*
 * Threads of a task in up to three dimensions.
 *
 * The job has a grid of threads and the size of a block (struct peal_job). A
 * task has some steps of the last dimension. With two dimensions they are rows.
 * With three they are planes. Each lane takes threads of the task,
 * and the lanes together take each thread once:
 *
 *	PEAL_TASK(invert)
 *	{
 *		const uint8_t *in = (const uint8_t *)peal_task_argument(w, 0);
 *		uint8_t *out = (uint8_t *)peal_task_argument(w, 1);
 *		struct peal_grid g;
 *		int result = peal_grid_begin(w, &g);
 *
 *		while (peal_grid_next(&g))
 *			out[g.at] = 255 - in[g.at];
 *		return result;
 *	}
 *
 * The task numbers its threads block by block, x first. Lane i takes threads i,
 * i + lanes, i + 2 * lanes and so on. So a block with more threads than the
 * worker has lanes runs in several passes. With fewer threads, the lanes run
 * several blocks at a time.
 *
 * The edge of the grid cuts blocks, and so does the edge of a task. Each lane
 * then gets only threads of the task. The numbers of a thread do not depend on
 * the task. Lanes may have different numbers of threads, so the body of the
 * loop calls no collective function.
 */

/** Three numbers, of x, y and z. */
struct peal_index3 {
	uint32_t x, y, z;
};

/** The threads of a lane in a task. */
struct peal_grid {
	struct peal_index3 id; /* position of the thread in the grid */
	struct peal_index3 thread; /* position of the thread in its block */
	struct peal_index3 block; /* position of its block among the blocks */
	/*
	 * Index of the thread in the task, row by row, x first. It is the index
	 * in an argument with one value for each thread (peal_task_argument).
	 */
	uint64_t at;
	struct peal_index3 threads; /* of the grid */
	struct peal_index3 threads_per_block;
	struct peal_index3 blocks; /* of the grid, with cut ones */
	/*
	 * Private. The next thread is a number of six digits. The first three
	 * are x, y and z in the block. The others are those of the block,
	 * counted from the task's first block.
	 */
	uint32_t digit[6], step[6], radix[6];
	uint32_t first_block[3], last; /* last: index of the last dimension */
	uint64_t first, count; /* steps of the task in the last dimension */
	uint64_t base; /* index in the grid of the task's first thread */
};

PEALI_NAMESAKES_BEGIN
/* Writes a number as digits. The last digit takes all that is left. */
static PEAL_DEV PEAL_UNUSED inline void
peali_grid_digits(const struct peal_grid *g, uint32_t number, uint32_t *digit)
{
	uint32_t i;

	for (i = 0; i < 5; i++) {
		digit[i] = number % g->radix[i];
		number /= g->radix[i];
	}
	digit[5] = number;
}

/* Adds the step to the digits. The last digit stops at its radix. */
static PEAL_DEV PEAL_INLINE void peali_grid_step(struct peal_grid *g)
{
	uint32_t i, carry = 0;
	uint64_t sum;

	for (i = 0; i < 6; i++) {
		sum = (uint64_t)g->digit[i] + g->step[i] + carry;
		carry = sum >= g->radix[i];
		if (carry)
			sum = i < 5 ? sum - g->radix[i] : g->radix[i];
		g->digit[i] = (uint32_t)sum;
	}
}

/* Sets the numbers of the thread. Returns 1 if the task has it, else 0. */
static PEAL_DEV PEAL_INLINE int peali_grid_place(struct peal_grid *g)
{
	const uint32_t *digit = g->digit;
	uint64_t x, y, z, step;

	g->thread.x = digit[0];
	g->thread.y = digit[1];
	g->thread.z = digit[2];
	g->block.x = g->first_block[0] + digit[3];
	g->block.y = g->first_block[1] + digit[4];
	g->block.z = g->first_block[2] + digit[5];
	x = (uint64_t)g->block.x * g->threads_per_block.x + digit[0];
	y = (uint64_t)g->block.y * g->threads_per_block.y + digit[1];
	z = (uint64_t)g->block.z * g->threads_per_block.z + digit[2];
	step = g->last == 0 ? x : g->last == 1 ? y : z;
	g->id.x = (uint32_t)x;
	g->id.y = (uint32_t)y;
	g->id.z = (uint32_t)z;
	g->at = (z * g->threads.y + y) * g->threads.x + x - g->base;
	return x < g->threads.x && y < g->threads.y && z < g->threads.z &&
	       step >= g->first && step - g->first < g->count;
}

/* Sets the sizes of one dimension. Returns its number of blocks in the grid. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_grid_dimension(struct peal_grid *g, const struct peal_task *t, uint32_t d)
{
	uint32_t block = t->grid.block[d];
	uint32_t blocks = (t->grid.threads[d] - 1) / block + 1;

	g->radix[d] = block;
	g->radix[3 + d] = blocks;
	g->first_block[d] = 0;
	if (d != g->last)
		return blocks;
	g->first_block[d] = (uint32_t)(t->first / block);
	g->radix[3 + d] = (uint32_t)((t->first + t->count - 1) / block) -
			  g->first_block[d] + 1;
	return blocks;
}

/* Makes a grid without threads. Sets all fields, so that compilers do not warn of
 * a loop behind an error. */
static PEAL_DEV PEAL_UNUSED inline void peali_grid_empty(struct peal_grid *g)
{
	const struct peal_index3 none = { 0, 0, 0 };
	uint32_t i;

	g->id = g->thread = g->block = none;
	g->threads = g->threads_per_block = g->blocks = none;
	for (i = 0; i < 6; i++)
		g->digit[i] = g->step[i] = g->radix[i] = 0;
	for (i = 0; i < 3; i++)
		g->first_block[i] = 0;
	g->at = g->first = g->count = g->base = 0;
	g->last = 0;
}
PEALI_NAMESAKES_END

/**
 * Prepares the loop over the threads of the calling lane. Any lane.
 *
 * @param w the worker.
 * @param g the caller's. On success it has the sizes of the grid, but no thread
 *          yet. After an error it has no threads.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL the job has no grid.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_grid_begin(const struct peal_worker *w, struct peal_grid *g)
{
	const struct peal_task *t = peal_task(w);

	if (peal_length(w) != sizeof(*t)) {
		peali_grid_empty(g);
		return PEAL_EINVAL;
	}
	g->last = t->grid.dimensions - 1;
	g->first = t->first;
	g->count = t->count;
	g->threads.x = t->grid.threads[0];
	g->threads.y = t->grid.threads[1];
	g->threads.z = t->grid.threads[2];
	g->threads_per_block.x = t->grid.block[0];
	g->threads_per_block.y = t->grid.block[1];
	g->threads_per_block.z = t->grid.block[2];
	g->blocks.x = peali_grid_dimension(g, t, 0);
	g->blocks.y = peali_grid_dimension(g, t, 1);
	g->blocks.z = peali_grid_dimension(g, t, 2);
	g->base = g->first;
	if (g->last > 0)
		g->base *= g->threads.x;
	if (g->last > 1)
		g->base *= g->threads.y;
	peali_grid_digits(g, peal_lane(w), g->digit);
	peali_grid_digits(g, peal_lanes(w), g->step);
	return 0;
}

/**
 * Goes to the next thread of the calling lane. Any lane.
 *
 * @param g the loop.
 * @return 1 if there is a thread: `id`, `thread`, `block` and `at` are its
 *         numbers. 0 if the lane has no more threads.
 */
static PEAL_DEV PEAL_INLINE int peal_grid_next(struct peal_grid *g)
{
	while (g->digit[5] < g->radix[5]) {
		int found = peali_grid_place(g);

		peali_grid_step(g);
		if (found)
			return 1;
	}
	return 0;
}

#endif
