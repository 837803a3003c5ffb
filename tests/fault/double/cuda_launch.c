/* SPDX-License-Identifier: Apache-2.0 */
#include "front_cuda.h"

#include <string.h>

/* Launches of the double of libcuda.so.1, see cuda.c. */

int double_cuda_function_attribute(int *value, int attribute, void *function)
{
	CALL("cuFuncGetAttribute");
	if (!function)
		return DOUBLE_INVALID;
	*value = 0;
	if (attribute == 0) /* MAX_THREADS_PER_BLOCK */
		*value = double_function_lanes(function);
	else if (attribute == 1) /* SHARED_SIZE_BYTES */
		*value = double_function_static(function);
	else if (attribute == 3) /* LOCAL_SIZE_BYTES */
		*value = double_function_local(function);
	return 0;
}

int double_cuda_function_set(struct double_function *function, int attribute,
			     int value)
{
	CALL("cuFuncSetAttribute");
	NEED_CONTEXT();
	if (function && attribute == 9) /* PREFERRED_SHARED_MEMORY_CARVEOUT */
		return double_function_carveout(function, value);
	if (!function || attribute != 8) /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
		return DOUBLE_INVALID;
	return double_function_shared(function, value);
}

int double_cuda_context_limit(int limit, size_t value)
{
	CALL("cuCtxSetLimit");
	NEED_CONTEXT();
	if (limit) /* CU_LIMIT_STACK_SIZE */
		return DOUBLE_INVALID;
	return double_limit_local(double_current(), value);
}

int double_cuda_context_limit_get(size_t *value, int limit)
{
	CALL("cuCtxGetLimit");
	NEED_CONTEXT();
	if (limit || !value) /* CU_LIMIT_STACK_SIZE */
		return DOUBLE_INVALID;
	*value = double_local(double_current());
	return 0;
}

/* ---- occupancy ----------------------------------------------------------- */

int double_cuda_occupancy(int *blocks, void *function, int threads,
			  size_t shared_bytes)
{
	CALL("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	NEED_CONTEXT();
	return function ? double_occupancy(blocks, function, threads,
					   shared_bytes) :
			  DOUBLE_INVALID;
}

/* Fills the shape of a grid with its attributes. Returns 0, or an error for an
 * unknown attribute or a wrong size. */
static int shape_of(const struct peali_gpu_grid *grid,
		    struct double_shape *shape)
{
	const struct peali_gpu_launch_attribute *a = grid->attributes;
	unsigned i;

	memset(shape, 0, sizeof(*shape));
	shape->blocks = grid->gx;
	shape->threads = grid->bx;
	shape->shared_bytes = grid->shared_bytes;
	shape->cluster = 1;
	for (i = 0; i < grid->n_attributes; i++) {
		if (a[i].id == PEALI_GPU_LAUNCH_CLUSTER &&
		    a[i].value[1] * a[i].value[2] == 1)
			shape->cluster = a[i].value[0];
		else if (a[i].id != PEALI_GPU_LAUNCH_COOPERATIVE ||
			 a[i].value[0] != 1)
			return DOUBLE_INVALID;
	}
	/* clusters of more than 8 blocks need a non-portable attribute */
	if (grid->gy * grid->gz * grid->by * grid->bz != 1 || !shape->blocks ||
	    !shape->cluster || shape->cluster > 8 ||
	    shape->blocks % shape->cluster)
		return DOUBLE_INVALID;
	return 0;
}

/* A cluster lies within one group of multiprocessors. */
static int clusters_of(int blocks_per_unit, int cluster)
{
	int units = (int)double_units(), n = 0;

	for (; units > 0; units -= DOUBLE_UNITS_OF_GROUP)
		n += (units < DOUBLE_UNITS_OF_GROUP ? units :
						      DOUBLE_UNITS_OF_GROUP) *
		     blocks_per_unit / cluster;
	return n;
}

int double_cuda_clusters_fit(int *clusters, struct double_function *function,
			     const struct peali_gpu_grid *grid)
{
	struct double_shape shape;
	int blocks = 0, error;

	CALL("cuOccupancyMaxActiveClusters");
	NEED_CONTEXT();
	error = function ? shape_of(grid, &shape) : DOUBLE_INVALID;
	if (!error)
		error = double_occupancy(&blocks, function, (int)shape.threads,
					 shape.shared_bytes);
	if (!error)
		*clusters = clusters_of(blocks, (int)shape.cluster);
	return error;
}

/* ---- launches ------------------------------------------------------------ */

int double_cuda_launch_cooperative(void *function, unsigned gx, unsigned gy,
				   unsigned gz, unsigned bx, unsigned by,
				   unsigned bz, unsigned shared_bytes,
				   void *stream, void **arguments)
{
	const struct double_shape shape = { gx, bx, 1, shared_bytes };

	CALL("cuLaunchCooperativeKernel");
	NEED_CONTEXT();
	if (gy * gz * by * bz != 1)
		return DOUBLE_INVALID;
	return double_launch(function, &shape, stream, arguments);
}

int double_cuda_launch(void *function, unsigned gx, unsigned gy, unsigned gz,
		       unsigned bx, unsigned by, unsigned bz,
		       unsigned shared_bytes, void *stream, void **arguments,
		       void **extra)
{
	const struct double_shape shape = { gx, bx, 1, shared_bytes };

	CALL("cuLaunchKernel");
	NEED_CONTEXT();
	if (gy * gz * by * bz != 1 || extra)
		return DOUBLE_INVALID;
	return double_launch(function, &shape, stream, arguments);
}

int double_cuda_launch_grid(const struct peali_gpu_grid *grid, void *function,
			    void **arguments, void **extra)
{
	struct double_shape shape;
	int error;

	CALL("cuLaunchKernelEx");
	NEED_CONTEXT();
	error = extra ? DOUBLE_INVALID : shape_of(grid, &shape);
	if (error)
		return error;
	return double_launch(function, &shape, grid->stream, arguments);
}
