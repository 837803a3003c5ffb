/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

/*
 * Clusters of blocks that share memory. CUDA has them from compute capability
 * 9.0 on (CUDA C++ Programming Guide, "Thread Block Clusters" and "Distributed
 * Shared Memory").
 *
 * Missing support is no error. The device, the driver or the program's code may
 * lack it. Links then lie in the device's memory.
 */

#define CLUSTER_ARCHITECTURE                                                   \
	90 /* the first architecture with cluster instructions */
/* Attribute numbers of function_attribute and function_set. */
#define STATIC_BYTES 1 /* shared memory in the code itself */
#define DYNAMIC_BYTES_MAX 8 /* most shared memory that a launch may add */

uint32_t peali_gpu_clusters_max(struct peali_gpu *gpu, int device)
{
	if (!gpu->driver.launch_grid ||
	    !peali_gpu_attribute(gpu, device, PEALI_GPU_CLUSTER_LAUNCH))
		return 0;
	return PEAL_CLUSTER_WORKERS_MAX;
}

/*
 * Returns the architecture number of an image: 90 for "sm_90a", "compute_90".
 */
static int architecture_of(const struct peali_image *image)
{
	return atoi(image->target + strcspn(image->target, "0123456789"));
}

void peali_gpu_clusters_find(struct peali_gpu *gpu, int device,
			     const struct peali_image *image,
			     struct peali_gpu_program *p)
{
	struct peali_gpu_driver *driver = &gpu->driver;
	int most = peali_gpu_attribute(gpu, device, PEALI_GPU_SHARED_BYTES);
	int own = 0, error;

	if (!gpu->device[device].max_cluster_workers ||
	    architecture_of(image) < CLUSTER_ARCHITECTURE)
		return;
	error = driver->function_attribute(&own, STATIC_BYTES, p->function);
	most = (most - own) / PEAL_SHARED_LINE * PEAL_SHARED_LINE;
	if (most <= 0)
		return;
	if (!error)
		error = driver->function_set(p->function, DYNAMIC_BYTES_MAX,
					     most);
	if (!error)
		p->cluster_bytes = (uint32_t)most;
	else
		peali_log(1,
			  "%s device %d: program '%s' runs without clusters: "
			  "%s or %s reports %s",
			  driver->vendor->name, device, p->program->name,
			  PEALI_GPU_SYMBOL(gpu, function_attribute),
			  PEALI_GPU_SYMBOL(gpu, function_set),
			  peali_gpu_error_name(driver, error));
}

int peali_gpu_clusters_check(struct peali_gpu *gpu, int device,
			     const struct peali_gpu_program *p, uint32_t bytes)
{
	if (!p->cluster_bytes)
		return peali_fail(PEAL_ENOTSUP, "max_workers",
				  "%s device %d has no clusters, or program "
				  "'%s' has no code for them",
				  gpu->driver.vendor->name, device,
				  p->program->name);
	if (bytes > p->cluster_bytes)
		return PEALI_REFUSE(
			PEAL_ENOSPC, "max_workers", .object = "option",
			.name = "cluster.bytes",
			.problem = PEALI_PRINT(
				"is too large for program '%s' on %s "
				"device %d",
				p->program->name, gpu->driver.vendor->name,
				device),
			.number = bytes, .most = p->cluster_bytes);
	return 0;
}

/* Returns the grid of a cluster launch with its attributes in two[0..1]. */
static struct peali_gpu_grid grid_of(struct peali_gpu_launch_attribute *two,
				     uint32_t blocks, uint32_t lanes,
				     uint32_t workers, uint32_t bytes,
				     void *stream)
{
	struct peali_gpu_grid grid;

	memset(two, 0, 2 * sizeof(*two));
	two[0].id = PEALI_GPU_LAUNCH_CLUSTER;
	two[0].value[0] = workers;
	two[0].value[1] = two[0].value[2] = 1;
	two[1].id = PEALI_GPU_LAUNCH_COOPERATIVE;
	two[1].value[0] = 1;
	memset(&grid, 0, sizeof(grid));
	grid.gx = blocks;
	grid.bx = lanes;
	grid.gy = grid.gz = grid.by = grid.bz = 1;
	grid.shared_bytes = bytes;
	grid.stream = stream;
	grid.attributes = two;
	grid.n_attributes = 1;
	return grid;
}

int peali_gpu_clusters_fit(struct peali_gpu *gpu, int device,
			   const struct peali_gpu_program *p, uint32_t lanes,
			   uint32_t workers, uint32_t bytes,
			   uint32_t *blocks_out)
{
	struct peali_gpu_launch_attribute two[2];
	struct peali_gpu_grid grid = grid_of(two, workers, lanes, workers,
					     bytes,
					     gpu->device[device].stream[0]);
	int clusters = 0, error;

	error = gpu->driver.clusters_fit(&clusters, p->function, &grid);
	*blocks_out = (uint32_t)clusters * workers;
	return error;
}

int peali_gpu_clusters_launch(struct peali_gpu *gpu,
			      const struct peali_launch_desc *desc,
			      const struct peali_gpu_program *p, void *stream,
			      void **arguments)
{
	struct peali_gpu_launch_attribute two[2];
	struct peali_gpu_grid grid = grid_of(two, desc->n_workers, desc->lanes,
					     desc->cluster_workers,
					     peali_gpu_shared_bytes(desc),
					     stream);

	if (gpu->device[desc->device].cooperative)
		grid.n_attributes = 2;
	return gpu->driver.launch_grid(&grid, p->function, arguments, NULL);
}
