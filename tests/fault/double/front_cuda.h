/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_FRONT_CUDA_H
#define DOUBLE_FRONT_CUDA_H

#include "double.h"
#include "runtime/device/gpu/driver.h"

/* Shared by the files of the double of libcuda.so.1. */

#define NEED_CONTEXT()                                                         \
	do {                                                                   \
		if (double_current() < 0)                                      \
			return DOUBLE_NO_CONTEXT;                              \
	} while (0)

/* ---- cuda_managed.c: managed memory -------------------------------------- */

int double_cuda_managed_alloc(uint64_t *address, size_t bytes, unsigned flags);
int double_cuda_prefetch(uint64_t address, size_t bytes, int device,
			 struct double_stream *stream);
int double_cuda_advise(uint64_t address, size_t bytes, int advice, int device);

/* ---- cuda_graph.c: recorded launches ------------------------------------- */

int double_cuda_capture_begin(struct double_stream *stream, int mode);
int double_cuda_capture_end(struct double_stream *stream,
			    struct double_graph **out);
int double_cuda_graph_instantiate(struct double_graph **out,
				  struct double_graph *graph,
				  unsigned long long flags);
int double_cuda_graph_destroy(struct double_graph *graph);
int double_cuda_graph_upload(struct double_graph *executable,
			     struct double_stream *stream);
int double_cuda_graph_launch(struct double_graph *executable,
			     struct double_stream *stream);
int double_cuda_executable_destroy(struct double_graph *executable);

/* ---- cuda_launch.c: functions and launches ------------------------------- */

int double_cuda_function_attribute(int *value, int attribute, void *function);
int double_cuda_function_set(struct double_function *function, int attribute,
			     int value);
int double_cuda_context_limit(int limit, size_t value);
int double_cuda_context_limit_get(size_t *value, int limit);
int double_cuda_occupancy(int *blocks, void *function, int threads,
			  size_t shared_bytes);
int double_cuda_clusters_fit(int *clusters, struct double_function *function,
			     const struct peali_gpu_grid *grid);
int double_cuda_launch_cooperative(void *function, unsigned gx, unsigned gy,
				   unsigned gz, unsigned bx, unsigned by,
				   unsigned bz, unsigned shared_bytes,
				   void *stream, void **arguments);
int double_cuda_launch(void *function, unsigned gx, unsigned gy, unsigned gz,
		       unsigned bx, unsigned by, unsigned bz,
		       unsigned shared_bytes, void *stream, void **arguments,
		       void **extra);
int double_cuda_launch_grid(const struct peali_gpu_grid *grid, void *function,
			    void **arguments, void **extra);

#endif
