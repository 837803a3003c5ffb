/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/device/gpu/gpu.h"
#include "runtime/device/image.h"

/*
 * Programs on devices. A driver that loads code lazily may block for ever
 * behind a resident kernel. So the module and its function are loaded
 * completely while no kernel is resident on the device.
 */

/* Attribute numbers of function_attribute and function_set. */
#define MAX_THREADS 0 /* most threads of a block */
#define LOCAL_BYTES 3 /* local memory of a thread */
#define CARVEOUT 9 /* percent of the largest shared memory, a wish */
#define STACK_SIZE 0 /* of context_limit: local memory of a thread */
#define STACK_DEFAULT 1024 /* bytes, for calls by pointer */

/* Returns part 0 of a device: all parts share its code. */
static struct peali_gpu_device *holder(struct peali_gpu *gpu, int device)
{
	return &gpu->device[device - gpu->device[device].part];
}

static struct peali_gpu_program *find(struct peali_gpu *gpu, int device,
				      const struct peal_program *program)
{
	struct peali_gpu_program *p = holder(gpu, device)->programs;

	while (p && p->program != program)
		p = p->next;
	return p;
}

/* Makes the driver load the function's code onto the device now. */
static int touch(struct peali_gpu *gpu, struct peali_gpu_program *p,
		 const char **symbol)
{
	char entry[120];
	int error;

	snprintf(entry, sizeof(entry), "peal_entry_%s", p->program->name);
	*symbol = PEALI_GPU_SYMBOL(gpu, module_function);
	error = gpu->driver.module_function(&p->function, p->module, entry);
	if (!error && gpu->driver.function_load) {
		*symbol = PEALI_GPU_SYMBOL(gpu, function_load);
		error = gpu->driver.function_load(p->function);
	}
	if (!error) {
		*symbol = PEALI_GPU_SYMBOL(gpu, function_attribute);
		error = gpu->driver.function_attribute(
			&p->max_lanes, MAX_THREADS, p->function);
	}
	return error;
}

/* ---- what a launch must not change ---------------------------------------- */

/*
 * Reserves local memory for a function. A driver that reserves it at a launch
 * waits until no kernel is resident (CUDA Driver API, CU_LIMIT_STACK_SIZE).
 * Calls by pointer need the default size beside the function's own memory. The
 * application shares the context and its limit, so the limit is only raised.
 */
static int reserve_local(struct peali_gpu *gpu, void *function,
			 const char **symbol)
{
	size_t wanted, limit = 0;
	int own = 0, error;

	if (!gpu->driver.context_limit || !gpu->driver.context_limit_get)
		return 0;
	*symbol = PEALI_GPU_SYMBOL(gpu, function_attribute);
	error = gpu->driver.function_attribute(&own, LOCAL_BYTES, function);
	if (error || own <= 0)
		return error;
	wanted = STACK_DEFAULT + (size_t)own;
	*symbol = PEALI_GPU_SYMBOL(gpu, context_limit_get);
	error = gpu->driver.context_limit_get(&limit, STACK_SIZE);
	if (error || wanted <= limit)
		return error;
	*symbol = PEALI_GPU_SYMBOL(gpu, context_limit);
	return gpu->driver.context_limit(STACK_SIZE, wanted);
}

/*
 * Asks for one division of shared memory and cache for all programs. A
 * multiprocessor that has another division runs no block until it is empty. The
 * largest shared memory fits each launch.
 */
static int set_carveout(struct peali_gpu *gpu, void *function,
			const char **symbol)
{
	if (!gpu->driver.function_set)
		return 0;
	*symbol = PEALI_GPU_SYMBOL(gpu, function_set);
	return gpu->driver.function_set(function, CARVEOUT, 100);
}

/* ---- the clock ------------------------------------------------------------ */

#define CLOCK_SCALE "peali_clock_scale" /* in atomic_hip.h */
#define NOT_FOUND 500 /* of module_global: the code reads no clock */

/* Copies a scale to the module. Returns the driver's error. */
static int write_scale(struct peali_gpu *gpu, int device, uint64_t address,
		       const uint64_t scale[2], const char **symbol)
{
	const struct peali_gpu_device *d = &gpu->device[device];
	const size_t bytes = 2 * sizeof(scale[0]);
	void *stream = d->stream[0];
	struct peali_piece piece;
	int error;

	*symbol = d->lost ? d->lost_by : "a copy of the rate of its clock";
	if (d->lost)
		return d->lost;
	if (peali_suballoc_take(&gpu->host_space, bytes, &piece) < 0)
		return 2; /* out of memory */
	memcpy(gpu->host + piece.offset, scale, bytes);
	error = gpu->driver.transfer(&gpu->driver, address,
				     gpu->host_device + piece.offset, bytes,
				     stream);
	if (!error) {
		*symbol = PEALI_GPU_SYMBOL(gpu, stream_wait);
		error = gpu->driver.stream_wait(stream);
	}
	peali_suballoc_give(&gpu->host_space, piece.offset, &piece);
	return error;
}

/*
 * Tells a module the rate of the clock of its device. The code has a default
 * for drivers that do not know the rate.
 */
static int set_clock(struct peali_gpu *gpu, int device, void *module,
		     const char **symbol)
{
	int khz = peali_gpu_attribute(gpu, device, PEALI_GPU_CLOCK_KHZ);
	uint64_t address = 0, scale[2];
	size_t bytes = 0;
	int error;

	if (khz <= 0 || !gpu->driver.module_global)
		return 0;
	*symbol = PEALI_GPU_SYMBOL(gpu, module_global);
	error = gpu->driver.module_global(&address, &bytes, module,
					  CLOCK_SCALE);
	if (error == NOT_FOUND || (!error && bytes < sizeof(scale)))
		return 0;
	if (error)
		return error;
	scale[0] = 1000000 / (uint64_t)khz;
	scale[1] = (uint64_t)(((unsigned __int128)(1000000 % khz) << 64) /
			      (unsigned)khz);
	return write_scale(gpu, device, address, scale, symbol);
}

/* ---- loading -------------------------------------------------------------- */

static int load_entered(struct peali_gpu *gpu, int device,
			const struct peali_image *image,
			struct peali_gpu_program *p, const char *call)
{
	const char *symbol = PEALI_GPU_SYMBOL(gpu, module_load);
	/* PTX is text. peali_image_check has found the zero at its end. */
	int error = gpu->driver.module_load(&p->module, image->begin);

	if (error) {
		p->module = NULL;
	} else {
		error = touch(gpu, p, &symbol);
		if (!error)
			error = reserve_local(gpu, p->function, &symbol);
		if (!error)
			error = set_carveout(gpu, p->function, &symbol);
		if (!error)
			error = set_clock(gpu, device, p->module, &symbol);
		if (error)
			gpu->driver.module_unload(p->module);
		else
			peali_gpu_clusters_find(gpu, device, image, p);
	}
	return peali_gpu_fail(gpu, device, error, symbol, call,
			      "image %s of program '%s'", image->target,
			      p->program->name);
}

static int load(struct peali_gpu *gpu, int device,
		const struct peal_program *program, const char *call,
		struct peali_gpu_program **out)
{
	struct peali_gpu_device *d = holder(gpu, device);
	struct peali_gpu_program *p;
	struct peali_image image;
	void *before = NULL;
	int r = peali_image_choose(program, d->architecture, &image, call);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for program '%s'", program->name);
	p->program = program;
	r = peali_gpu_enter(gpu, device, call, &before);
	if (!r) {
		r = load_entered(gpu, device, &image, p, call);
		peali_gpu_leave(gpu, before);
	}
	if (r < 0) {
		free(p);
		return r;
	}
	p->next = d->programs;
	d->programs = p;
	*out = p;
	return 0;
}

/* The caller holds gpu->lock. */
int peali_gpu_program(struct peali_gpu *gpu, int device,
		      const struct peal_program *program, const char *call,
		      struct peali_gpu_program **out)
{
	*out = find(gpu, device, program);
	if (*out)
		return 0;
	if (peali_gpu_is_busy(gpu, device))
		return peali_fail(PEAL_EBUSY, call,
				  "program '%s' is not loaded on %s device "
				  "%d, and a kernel is resident there; add "
				  "it before the first launch "
				  "(peal_program_add)",
				  program->name, gpu->driver.vendor->name,
				  device);
	return load(gpu, device, program, call, out);
}

int peali_gpu_load(struct peali_backend *backend, int device,
		   const struct peal_program *program)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_gpu_program *ignored;
	int r = peali_gpu_check(gpu, device, "load");

	if (r < 0)
		return r;
	pthread_mutex_lock(&gpu->lock);
	r = peali_gpu_program(gpu, device, program, "load", &ignored);
	pthread_mutex_unlock(&gpu->lock);
	return r;
}

void peali_gpu_programs_close(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	void *before = NULL;
	int in = d->programs && !peali_gpu_enter(gpu, device, "close", &before);

	while (d->programs) {
		struct peali_gpu_program *p = d->programs;

		d->programs = p->next;
		if (in)
			gpu->driver.module_unload(p->module);
		free(p);
	}
	if (in)
		peali_gpu_leave(gpu, before);
}
