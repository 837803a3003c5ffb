/* SPDX-License-Identifier: Apache-2.0 */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/device/gpu/gpu.h"

/*
 * Windows: device memory outside of the heap that other processes map.
 *
 * 1. window_open allocates the memory and exports a descriptor.
 * 2. Another process gets the descriptor and maps the memory by window_map. It
 *    can write only there.
 * 3. window_close marks the window. The memory is freed when no kernel is
 *    resident.
 *
 * Drivers may block in each of these calls until a resident kernel ends. So
 * windows are made only while no kernel is resident.
 */

#define FD_HANDLE 1 /* handle type of export_memory and import_memory */
/* allocation step if the driver reports no granularity */
#define STEP ((uint64_t)2 << 20)

struct peali_window {
	struct peali_window *next; /* the backend's list */
	int device; /* owner of the memory; -1: another process */
	uint64_t handle, address, bytes;
	int mapped;
	uint64_t seen; /* bit per device that can access it */
	int closed; /* 1: closed, but its memory is not freed yet */
};

int peali_gpu_any_busy(const struct peali_gpu *gpu)
{
	int i;

	for (i = 0; i < gpu->n_devices; i++)
		if (peali_gpu_is_busy(gpu, i))
			return 1;
	return 0;
}

/* Frees a window and its memory. The caller holds gpu->lock. */
static void discard(struct peali_gpu *gpu, struct peali_window *w)
{
	if (w->mapped)
		gpu->driver.unmap(w->address, w->bytes);
	if (w->address)
		gpu->driver.unreserve(w->address, w->bytes);
	if (w->handle)
		gpu->driver.release(w->handle);
	free(w);
}

/* Frees the closed windows, or all. The caller holds gpu->lock. */
static void sweep(struct peali_gpu *gpu, int all)
{
	struct peali_window **p = &gpu->windows, *w;

	while ((w = *p)) {
		if (!w->closed && !all) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		discard(gpu, w);
	}
}

static int check(struct peali_gpu *gpu, const char *call)
{
	if (!gpu->driver.create || !gpu->driver.export_memory ||
	    !gpu->driver.import_memory ||
	    !peali_gpu_all_have(gpu, PEALI_GPU_FD_SUPPORT))
		return peali_fail(PEAL_ENOTSUP, call,
				  "%s cannot share device memory by "
				  "descriptors",
				  gpu->driver.vendor->name);
	if (peali_gpu_any_busy(gpu))
		return peali_fail(PEAL_EBUSY, call,
				  "a kernel is resident on a device of %s",
				  gpu->driver.vendor->name);
	sweep(gpu, 0);
	return 0;
}

/*
 * Maps a window at one address for all devices that the driver lets access it.
 * It is an error if the owner, a device of this process, gets no access.
 */
static int map(struct peali_gpu *gpu, struct peali_window *w, const char *call)
{
	struct peali_gpu_driver *driver = &gpu->driver;
	struct peali_gpu_access access = { .location_type = 1, .flags = 3 };
	const char *symbol = PEALI_GPU_SYMBOL(gpu, reserve);
	int i, error = driver->reserve(&w->address, w->bytes, 0, 0, 0);

	if (!error) {
		symbol = PEALI_GPU_SYMBOL(gpu, map);
		error = driver->map(w->address, w->bytes, 0, w->handle, 0);
		w->mapped = !error;
	}
	for (i = 0; !error && i < gpu->n_devices && i < 64; i++) {
		int whole = i - gpu->device[i].part;

		if (whole < i) { /* a part has the access of part 0 */
			w->seen |= (w->seen >> whole & 1) << i;
			continue;
		}
		access.location_id = gpu->device[i].handle;
		symbol = PEALI_GPU_SYMBOL(gpu, set_access);
		error = driver->set_access(w->address, w->bytes, &access, 1);
		if (!error)
			w->seen |= 1ULL << i;
		else if (w->device < 0 || gpu->device[w->device].ordinal !=
						  gpu->device[i].ordinal)
			error = 0;
	}
	return peali_gpu_fail(gpu, w->device, error, symbol, call,
			      "a window of %llu KiB",
			      (unsigned long long)w->bytes >> 10);
}

static int make(struct peali_gpu *gpu, struct peali_window *w, int *fd_out,
		const char *call)
{
	struct peali_gpu_memory_kind kind =
		peali_gpu_memory_kind(gpu, w->device, FD_HANDLE);
	const char *symbol = PEALI_GPU_SYMBOL(gpu, create);
	int error = gpu->driver.create(&w->handle, w->bytes, &kind, 0);
	int result;

	if (!error) {
		symbol = PEALI_GPU_SYMBOL(gpu, export_memory);
		error = gpu->driver.export_memory(fd_out, w->handle, FD_HANDLE,
						  0);
	}
	if (error)
		return peali_gpu_fail(gpu, w->device, error, symbol, call,
				      "a window of %llu KiB",
				      (unsigned long long)w->bytes >> 10);
	fcntl(*fd_out, F_SETFD, FD_CLOEXEC);
	result = map(gpu, w, call);
	if (!result)
		result = peali_gpu_clear(gpu, w->device, w->address, w->bytes,
					 call);
	if (result) {
		close(*fd_out);
		*fd_out = -1;
	}
	return result;
}

static struct peali_window *new_window(int device, uint64_t bytes)
{
	struct peali_window *w = calloc(1, sizeof(*w));

	if (w) {
		w->device = device;
		w->bytes = bytes;
	}
	return w;
}

/*
 * Adds a window to the list if `result` is 0, else frees it. Returns `result`.
 * The caller holds gpu->lock.
 */
static int enlist(struct peali_gpu *gpu, struct peali_window *w, int result,
		  struct peali_window **out)
{
	if (result) {
		discard(gpu, w);
		return result;
	}
	w->next = gpu->windows;
	gpu->windows = w;
	*out = w;
	return 0;
}

int peali_gpu_window_open(struct peali_backend *backend, int device,
			  uint64_t *bytes, struct peali_window **out,
			  int *fd_out)
{
	const char *call = "window_open";
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_gpu_memory_kind kind;
	struct peali_window *w;
	size_t step = 0;
	int result = peali_gpu_check(gpu, device, call);

	*fd_out = -1;
	if (result)
		return result;
	pthread_mutex_lock(&gpu->lock);
	result = check(gpu, call);
	if (!result) {
		kind = peali_gpu_memory_kind(gpu, device, FD_HANDLE);
		if (gpu->driver.granularity(&step, &kind, 1) || !step)
			step = STEP;
		*bytes = peali_round_up(*bytes, step);
		w = new_window(device, *bytes);
		result = w ? enlist(gpu, w, make(gpu, w, fd_out, call), out) :
			     peali_fail(PEAL_ENOMEM, call,
					"no memory for a window");
	}
	pthread_mutex_unlock(&gpu->lock);
	return result;
}

int peali_gpu_window_map(struct peali_backend *backend, int fd, uint64_t bytes,
			 struct peali_window **out)
{
	const char *call = "window_map";
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_window *w;
	int error, result;

	pthread_mutex_lock(&gpu->lock);
	result = check(gpu, call);
	w = result ? NULL : new_window(-1, bytes);
	if (!result && !w)
		result =
			peali_fail(PEAL_ENOMEM, call, "no memory for a window");
	if (w) {
		error = gpu->driver.import_memory(
			&w->handle, (void *)(intptr_t)fd, FD_HANDLE);
		result = peali_gpu_fail(gpu, -1, error,
					PEALI_GPU_SYMBOL(gpu, import_memory),
					call, "a window of another process");
		if (!result)
			result = map(gpu, w, call);
		result = enlist(gpu, w, result, out);
	}
	pthread_mutex_unlock(&gpu->lock);
	return result;
}

uint64_t peali_gpu_window_view(struct peali_backend *backend, int viewer,
			       const struct peali_window *w)
{
	(void)backend;
	return viewer >= 0 && viewer < 64 && w->seen >> viewer & 1 ?
		       w->address :
		       0;
}

int peali_gpu_window_wipe(struct peali_backend *backend,
			  const struct peali_window *w, uint64_t offset,
			  uint64_t bytes)
{
	return peali_gpu_wipe(peali_gpu_of(backend), w->device,
			      w->address + offset, bytes);
}

int peali_gpu_window_read(struct peali_backend *backend,
			  const struct peali_window *w, uint64_t offset,
			  void *to, uint64_t bytes)
{
	return peali_gpu_read(peali_gpu_of(backend), w->device,
			      w->address + offset, to, bytes);
}

void peali_gpu_window_close(struct peali_backend *backend,
			    struct peali_window *w)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);

	pthread_mutex_lock(&gpu->lock);
	w->closed = 1;
	if (!peali_gpu_any_busy(gpu))
		sweep(gpu, 0);
	pthread_mutex_unlock(&gpu->lock);
}

void peali_gpu_windows_close(struct peali_gpu *gpu)
{
	sweep(gpu, 1);
}
