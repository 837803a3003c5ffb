/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: checks the grid of a job. */
#include <string.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/compute/executor.h"

static const char *const grid_names[] = { "grid[0]", "grid[1]", "grid[2]" };
static const char *const block_names[] = { "threads_per_block[0]",
					   "threads_per_block[1]",
					   "threads_per_block[2]" };

/* A number beyond the dimensions can also mean that `dimensions` is too low. */
static int refuse(const char *name, uint32_t value, int is_used, uint32_t most,
		  const char *call)
{
	if (is_used)
		return peali_refuse_option(call, name, value, 1, most);
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option", .name = name,
			    .problem = "is beyond the dimensions of the grid",
			    .number = value, .least = 0, .most = most,
			    .remedy = "raise dimensions, or use 1");
}

/* Checks the numbers of one dimension. */
static int check_dimension(const struct peal_job *j, uint32_t d,
			   const char *call)
{
	int is_used = d < j->dimensions;
	uint32_t most = is_used ? UINT32_MAX : 1;

	if (j->grid[d] > most || (is_used && !j->grid[d]))
		return refuse(grid_names[d], j->grid[d], is_used, most, call);
	most = is_used ? PEAL_BLOCK_THREADS : 1;
	if (j->threads_per_block[d] > most ||
	    (is_used && !j->threads_per_block[d]))
		return refuse(block_names[d], j->threads_per_block[d], is_used,
			      most, call);
	return 0;
}

/* Checks the threads of a block, and those of all blocks. */
static int check_products(const struct peal_task_grid *g, const char *call)
{
	uint64_t block = 1, all = 1, whole;
	uint32_t d;

	for (d = 0; d < 3; d++)
		block *= g->block[d]; /* below 2^33 */
	if (block > PEAL_BLOCK_THREADS)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				    .name = "threads_per_block",
				    .problem = "has too many threads",
				    .number = block, .least = 1,
				    .most = PEAL_BLOCK_THREADS,
				    .remedy = "use smaller blocks");
	for (d = 0; d < 3; d++) {
		whole = ((uint64_t)g->threads[d] + g->block[d] - 1) /
			g->block[d] * g->block[d];
		if (all > UINT64_MAX / whole)
			return PEALI_REFUSE(
				PEAL_EINVAL, call, .object = "option",
				.name = "grid",
				.problem = "has too many threads",
				.value = PEALI_PRINT(
					"%u x %u x %u", g->threads[0],
					g->threads[1], g->threads[2]),
				.allowed =
					"a product below 2^64, in whole blocks",
				.remedy = "use several jobs");
		all *= whole;
	}
	return 0;
}

static int refuse_count(const struct peal_job *j, uint64_t steps,
			const char *call)
{
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
			    .name = "count",
			    .problem = "differs from the last dimension of the "
				       "grid",
			    .number = j->count, .least = steps, .most = steps,
			    .remedy = "use 0");
}

int peali_executor_grid(struct peal_job *j, struct peal_task_grid *grid_out,
			const char *call)
{
	struct peal_task_grid g = { .dimensions = j->dimensions };
	uint32_t d;
	int result = 0;

	if (j->dimensions > 3)
		return peali_refuse_option(call, "dimensions", j->dimensions, 0,
					   3);
	for (d = 0; d < 3 && !result; d++) {
		result = check_dimension(j, d, call);
		g.threads[d] = j->grid[d] ? j->grid[d] : 1;
		g.block[d] = j->threads_per_block[d] ? j->threads_per_block[d] :
						       1;
	}
	if (!result && j->dimensions)
		result = check_products(&g, call);
	if (result)
		return result;
	memset(grid_out, 0, sizeof(*grid_out));
	if (!j->dimensions)
		return 0;
	if (j->count && j->count != g.threads[j->dimensions - 1])
		return refuse_count(j, g.threads[j->dimensions - 1], call);
	j->count = g.threads[j->dimensions - 1];
	*grid_out = g;
	return 0;
}
