/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define MAX_SHARED (256u << 10)

int ptx_options_check(const struct ptx_options *options,
		      struct ptx_error *error_out)
{
	if (options->trace_from <= options->trace_to || !options->trace_to)
		return 0;
	error_out->line = 0;
	snprintf(
		error_out->text, sizeof(error_out->text),
		"option 'trace_from': is above trace_to (%u, allowed 0 to %u); "
		"lower it",
		options->trace_from, options->trace_to);
	return -1;
}

static int is_valid(const struct ptx_launch *launch)
{
	const struct ptx_function *f = launch->function;
	uint32_t cluster = launch->cluster ? launch->cluster : 1;
	struct ptx_error error;

	return f && launch->blocks && launch->threads &&
	       launch->threads <= PTX_MAX_THREADS &&
	       launch->blocks % cluster == 0 &&
	       launch->dynamic_shared_bytes <= MAX_SHARED &&
	       (launch->params || !f->params_end) &&
	       !ptx_options_check(&launch->options, &error);
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Bytes of the shared memory of all blocks. */
static size_t shared_bytes(const struct ptx_grid *grid)
{
	return (size_t)grid->launch.blocks * grid->shared_stride;
}

static int create_shared(struct ptx_grid *grid)
{
	const struct ptx_module *m = grid->function->module;

	grid->shared_bytes =
		m->shared_bytes + grid->launch.dynamic_shared_bytes;
	grid->shared_stride = (grid->shared_bytes + PAGE) / PAGE * PAGE;
	grid->shared = map(shared_bytes(grid));
	if (grid->launch.options.undefined)
		grid->shared_undefined = map(shared_bytes(grid));
	return grid->shared &&
	       (!grid->launch.options.undefined || grid->shared_undefined);
}

/* Reads of shared memory that nothing wrote shall not find zeros. */
static void fill_shared(struct ptx_block *block)
{
	struct ptx_grid *grid = block->grid;
	size_t at = (size_t)block->number * grid->shared_stride;

	block->shared = grid->shared + at;
	memset(block->shared, 0xa5, grid->shared_bytes);
	if (grid->shared_undefined)
		memset(grid->shared_undefined + at, 0xff, grid->shared_bytes);
}

static void init_block(struct ptx_grid *grid, uint32_t i)
{
	struct ptx_block *block = &grid->blocks[i];
	uint64_t seed = grid->launch.options.seed;

	block->grid = grid;
	block->number = i;
	block->cluster = &grid->clusters[i / grid->cluster_blocks];
	block->live = grid->launch.threads;
	fill_shared(block);
	block->random = ((i + 1) * 0x9e3779b97f4a7c15ULL ^
			 seed * 0xd1342543de82ef95ULL) |
			1;
}

static int create_parts(struct ptx_grid *grid)
{
	const struct ptx_launch *launch = &grid->launch;
	uint32_t n_clusters = launch->blocks / grid->cluster_blocks, i;
	uint32_t bytes = grid->function->params_end;

	grid->blocks = calloc(launch->blocks, sizeof(*grid->blocks));
	grid->clusters = calloc(n_clusters, sizeof(*grid->clusters));
	grid->params = malloc(bytes + 1);
	if (launch->options.count)
		grid->counts = calloc((size_t)launch->blocks * launch->threads,
				      sizeof(*grid->counts));
	if (!grid->blocks || !grid->clusters || !grid->params ||
	    (launch->options.count && !grid->counts) || !create_shared(grid))
		return 0;
	if (bytes)
		memcpy(grid->params, launch->params, bytes);
	grid->launch.params = grid->params;
	for (i = 0; i < n_clusters; i++) {
		pthread_mutex_init(&grid->clusters[i].lock, NULL);
		grid->clusters[i].live = launch->threads * grid->cluster_blocks;
	}
	for (i = 0; i < launch->blocks; i++)
		init_block(grid, i);
	return 1;
}

struct ptx_grid *ptx_grid_create(const struct ptx_launch *launch)
{
	struct ptx_grid *grid;

	if (!is_valid(launch))
		return NULL;
	grid = calloc(1, sizeof(*grid));
	if (!grid)
		return NULL;
	grid->launch = *launch;
	grid->function = launch->function;
	grid->cluster_blocks = launch->cluster ? launch->cluster : 1;
	grid->is_checked = ptx_check_needed(&launch->options);
	if (!create_parts(grid)) {
		ptx_grid_destroy(grid);
		return NULL;
	}
	return grid;
}

int ptx_grid_faulted(const struct ptx_grid *grid)
{
	return grid->faulted;
}

void ptx_grid_stop(struct ptx_grid *grid)
{
	atomic_store(&grid->stopped, 1);
}

void ptx_grid_describe(struct ptx_grid *grid)
{
	atomic_fetch_add(&grid->describe, 1);
}

uint64_t ptx_grid_instructions(const struct ptx_grid *grid)
{
	return grid->instructions;
}

void ptx_grid_destroy(struct ptx_grid *grid)
{
	uint32_t n, i;

	if (!grid)
		return;
	n = grid->launch.blocks / grid->cluster_blocks;
	for (i = 0; grid->shared && grid->clusters && i < n; i++)
		pthread_mutex_destroy(&grid->clusters[i].lock);
	if (grid->shared)
		munmap(grid->shared, shared_bytes(grid));
	if (grid->shared_undefined)
		munmap(grid->shared_undefined, shared_bytes(grid));
	free(grid->blocks);
	free(grid->clusters);
	free(grid->params);
	free(grid->counts);
	free(grid);
}
