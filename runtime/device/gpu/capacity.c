/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/gpu/gpu.h"

#include <stdlib.h>

/*
 * Which workers fit beside the resident kernels. A GPU places blocks breadth
 * first: it does not fill one multiprocessor before the next one. So free space
 * is counted per multiprocessor. A block that finds no multiprocessor with
 * enough space waits for the end of a resident kernel.
 *
 * A block takes 1/n of a multiprocessor, if n such blocks fill an empty one.
 * The driver computes n. The sum of such parts never exceeds the threads,
 * registers and shared memory of the multiprocessor.
 *
 * No driver says where it places a block. Two policies are known: the
 * multiprocessor with the fewest blocks, or with most space. A grid has to fit
 * by both. Source of the second one: Gilman et al., "Demystifying the Placement
 * Policies of the NVIDIA GPU Thread Block Scheduler".
 */

enum policy { FEWEST_BLOCKS, MOST_SPACE };

#define EPSILON 1e-6 /* of the sums of parts */

/* ---- the multiprocessors ------------------------------------------------- */

int peali_gpu_units_open(struct peali_gpu_device *d)
{
	d->grid.n = d->units;
	d->grid.unit = calloc((size_t)PEALI_GPU_POLICIES * d->units,
			      sizeof(*d->grid.unit));
	return d->grid.unit ?
		       0 :
		       peali_fail(PEAL_ENOMEM, "open",
				  "no memory for %u multiprocessors", d->units);
}

void peali_gpu_units_close(struct peali_gpu_device *d)
{
	free(d->grid.unit);
	d->grid.unit = NULL;
}

/*
 * Returns the multiprocessors that a device uses, and their number. Parts
 * without isolation share those of part 0.
 */
static struct peali_gpu_grid_units *units_of(struct peali_gpu *gpu, int device,
					     uint32_t *n_out)
{
	struct peali_gpu_device *d = &gpu->device[device];
	struct peali_gpu_device *first = d - d->part;
	int i;

	*n_out = d->units;
	if (d->green || d->parts == 1)
		return &d->grid;
	for (i = 0, *n_out = 0; i < d->parts; i++)
		*n_out += first[i].units;
	if (*n_out > first->grid.n)
		*n_out = first->grid.n;
	return &first->grid;
}

static struct peali_gpu_unit *row_of(const struct peali_gpu_grid_units *grid,
				     int policy)
{
	return grid->unit + (size_t)policy * grid->n;
}

static int has_space(const struct peali_gpu_unit *unit, double part)
{
	return unit->used + part <= 1 + EPSILON;
}

/* Returns the blocks that fit on the multiprocessors of one policy. */
static uint32_t space_of(const struct peali_gpu_unit *row, uint32_t n,
			 uint32_t per_unit)
{
	uint32_t i, blocks = 0;

	for (i = 0; i < n; i++)
		blocks += (uint32_t)((1 - row[i].used) * per_unit +
				     EPSILON * per_unit);
	return blocks;
}

/* Returns the blocks that fit beside the resident ones by each policy. */
static uint32_t space_for(struct peali_gpu *gpu, int device,
			  const struct peali_gpu_fit *fit)
{
	struct peali_gpu_grid_units *grid;
	uint32_t n, blocks, least = UINT32_MAX;
	int policy;

	grid = units_of(gpu, device, &n);
	for (policy = 0; policy < PEALI_GPU_POLICIES; policy++) {
		blocks = space_of(row_of(grid, policy), n, fit->per_unit);
		if (blocks < least)
			least = blocks;
	}
	return least;
}

/* Returns the largest free part of a multiprocessor by each policy. */
static double widest(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_grid_units *grid;
	double most, least = 1;
	uint32_t n, i;
	int policy;

	grid = units_of(gpu, device, &n);
	for (policy = 0; policy < PEALI_GPU_POLICIES; policy++) {
		for (i = 0, most = 0; i < n; i++)
			if (1 - row_of(grid, policy)[i].used > most)
				most = 1 - row_of(grid, policy)[i].used;
		if (most < least)
			least = most;
	}
	return least;
}

/* Returns the multiprocessor for the next block of a grid that fits. */
static uint32_t next_unit(const struct peali_gpu_unit *row, uint32_t n,
			  double part, int policy)
{
	uint32_t i, best = n;

	for (i = 0; i < n; i++) {
		if (!has_space(&row[i], part))
			continue;
		if (best == n || (policy == FEWEST_BLOCKS ?
					  row[i].blocks < row[best].blocks :
					  row[i].used < row[best].used))
			best = i;
	}
	return best;
}

int peali_gpu_placement_open(struct peali_gpu_placement *p, uint32_t n_blocks)
{
	p->n_blocks = n_blocks;
	p->unit =
		calloc((size_t)PEALI_GPU_POLICIES * n_blocks, sizeof(*p->unit));
	return p->unit ? 0 :
			 peali_fail(PEAL_ENOMEM, "launch",
				    "no memory for the places of %u workers",
				    n_blocks);
}

void peali_gpu_placement_close(struct peali_gpu_placement *p)
{
	free(p->unit);
	p->unit = NULL;
}

void peali_gpu_place(struct peali_gpu *gpu, int device,
		     struct peali_gpu_placement *p)
{
	double part = 1.0 / p->fit.per_unit;
	struct peali_gpu_unit *row;
	uint32_t n, i, at;
	int policy;

	p->grid = units_of(gpu, device, &n);
	for (policy = 0; policy < PEALI_GPU_POLICIES; policy++) {
		row = row_of(p->grid, policy);
		for (i = 0; i < p->n_blocks; i++) {
			at = next_unit(row, n, part, policy);
			at = at < n ? at : i % n;
			row[at].used += part;
			row[at].blocks++;
			p->unit[(uint32_t)policy * p->n_blocks + i] = at;
		}
	}
}

void peali_gpu_displace(struct peali_gpu_placement *p)
{
	double part = 1.0 / p->fit.per_unit;
	struct peali_gpu_unit *unit;
	uint32_t i;
	int policy;

	for (policy = 0; p->grid && policy < PEALI_GPU_POLICIES; policy++)
		for (i = 0; i < p->n_blocks; i++) {
			unit = row_of(p->grid, policy) +
			       p->unit[(uint32_t)policy * p->n_blocks + i];
			unit->used -= part;
			if (--unit->blocks == 0)
				unit->used = 0; /* no sum of rounding errors */
		}
	p->grid = NULL;
}

/* ---- how many fit -------------------------------------------------------- */

uint32_t peali_gpu_shared_bytes(const struct peali_launch_desc *shape)
{
	return shape->hot_bytes +
	       (shape->cluster_workers ? shape->cluster_bytes : 0);
}

/* Reduces *blocks to those that fit in clusters. PEAL_ENOTSUP: none fits. */
static int clusters_that_fit(struct peali_gpu *gpu, int device,
			     const struct peali_gpu_program *p,
			     const struct peali_launch_desc *shape,
			     uint32_t *blocks)
{
	uint32_t clustered = 0;
	int error = peali_gpu_clusters_fit(gpu, device, p, shape->lanes,
					   shape->cluster_workers,
					   peali_gpu_shared_bytes(shape),
					   &clustered);

	*blocks -= *blocks % shape->cluster_workers;
	if (!error && clustered < *blocks)
		*blocks = clustered;
	if (!error && *blocks)
		return 0;
	peali_fail(PEAL_ENOTSUP, "max_workers",
		   "%s device %d: no cluster of %u worker%s of %u lanes with "
		   "%u bytes each: %s reports %s",
		   gpu->driver.vendor->name, device, shape->cluster_workers,
		   peali_s(shape->cluster_workers), shape->lanes,
		   shape->cluster_bytes, PEALI_GPU_SYMBOL(gpu, clusters_fit),
		   error ? peali_gpu_error_name(&gpu->driver, error) :
			   "that none fits");
	peali_log(1, "%s", peal_last_error()->text);
	return PEAL_ENOTSUP;
}

/* Finds the program. Checks lanes and clusters of a launch. */
static int check_shape(struct peali_gpu *gpu, int device,
		       const struct peal_program *program,
		       const struct peali_launch_desc *shape,
		       struct peali_gpu_program **p)
{
	const struct peali_gpu_device *d = &gpu->device[device];
	int r;

	if (d->lost)
		return peali_gpu_fail(gpu, device, d->lost, d->lost_by,
				      "launch", "lost by an earlier kernel");
	r = peali_gpu_program(gpu, device, program, "max_workers", p);
	if (!r && (*p)->max_lanes > 0 &&
	    shape->lanes > (uint32_t)(*p)->max_lanes)
		r = PEALI_REFUSE(PEAL_ENOSPC, "max_workers", .object = "option",
				 .name = "lanes",
				 .problem = PEALI_PRINT(
					 "is too large for the registers of "
					 "program '%s' on %s device %d",
					 program->name,
					 gpu->driver.vendor->name, device),
				 .number = shape->lanes, .least = 1,
				 .most = (uint32_t)(*p)->max_lanes);
	if (!r && shape->cluster_workers)
		r = peali_gpu_clusters_check(gpu, device, *p,
					     peali_gpu_shared_bytes(shape));
	return r;
}

int peali_gpu_fit(struct peali_gpu *gpu, int device,
		  const struct peal_program *program,
		  const struct peali_launch_desc *shape,
		  struct peali_gpu_fit *out)
{
	const char *symbol = PEALI_GPU_SYMBOL(gpu, occupancy);
	struct peali_gpu_program *p;
	void *before = NULL;
	int blocks = 0, error;
	int r = check_shape(gpu, device, program, shape, &p);

	if (!r)
		r = peali_gpu_enter(gpu, device, "max_workers", &before);
	if (r < 0)
		return r;
	error = gpu->driver.occupancy(&blocks, p->function, (int)shape->lanes,
				      peali_gpu_shared_bytes(shape));
	out->per_unit = (uint32_t)blocks;
	out->blocks = (uint32_t)blocks * gpu->device[device].units;
	if (!error && shape->cluster_workers)
		r = clusters_that_fit(gpu, device, p, shape, &out->blocks);
	peali_gpu_leave(gpu, before);
	if (r < 0)
		return r;
	return peali_gpu_fail(gpu, device, error, symbol, "max_workers",
			      "query how many workers of %u lanes of program "
			      "'%s' fit",
			      shape->lanes, program->name);
}

/* Returns the blocks that fit in the share and in the multiprocessors. */
static uint32_t space(struct peali_gpu *gpu, int device,
		      const struct peali_gpu_fit *fit, double keep)
{
	double left = (1 - keep - gpu->device[device].share) * fit->blocks;
	uint32_t in_all = left < 0 ? 0 : (uint32_t)(left + EPSILON);
	uint32_t in_units = space_for(gpu, device, fit);

	return in_all < in_units ? in_all : in_units;
}

static uint32_t percent(double part)
{
	return (uint32_t)(part * 100 + EPSILON);
}

void peali_gpu_capacity(struct peali_gpu *gpu, int device,
			const struct peali_gpu_fit *fit, double keep,
			struct peali_capacity *out)
{
	out->workers = space(gpu, device, fit, keep);
	out->percent_free = percent(widest(gpu, device));
	out->percent_worker = 100;
	if (fit->per_unit)
		out->percent_worker =
			percent(1.0 / fit->per_unit + 0.01 - 2 * EPSILON);
}

/*
 * The part of a device that kernels of a program leave free. The probe's
 * kernels and kernels of the driver itself use it.
 */
static double kept(const struct peali_gpu_device *d)
{
	return d->units > 1 ? 1.0 / d->units : 0;
}

int peali_gpu_max_workers(struct peali_backend *backend, int device,
			  const struct peal_program *program,
			  const struct peali_launch_desc *shape,
			  struct peali_capacity *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_gpu_fit fit = { 0, 0 };
	int r = peali_gpu_check(gpu, device, "max_workers");

	if (r < 0)
		return r;
	*out = (struct peali_capacity){ 0, 0, 0 };
	if (!shape->lanes || shape->lanes > gpu->device[device].max_lanes)
		return 0;
	pthread_mutex_lock(&gpu->lock);
	r = peali_gpu_fit(gpu, device, program, shape, &fit);
	if (!r)
		peali_gpu_capacity(gpu, device, &fit,
				   kept(&gpu->device[device]), out);
	pthread_mutex_unlock(&gpu->lock);
	if (shape->cluster_workers)
		out->workers -= out->workers % shape->cluster_workers;
	return r;
}
