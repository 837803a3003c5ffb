/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <string.h>

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/device/backend.h"
#include "runtime/device/gpu/gpu.h"
#include "runtime/device/range_alloc.h"

/*
 * Heaps of GPU backends: one per device and one of pinned host memory. They are
 * allocated when the backend opens. Later allocations are pieces of them.
 *
 * With virtual memory management the heaps of all devices lie in one address
 * range. The heap of a device starts at base + device * heap size. It is mapped
 * for all devices with access. Without virtual memory management the heaps are
 * plain allocations. The unified address space then gives each heap one address
 * for all devices.
 */

#define CALL "open"
/* flags of host_alloc and host_register for both vendors */
#define PORTABLE_MAPPED 3

/* ---- heaps by virtual memory management ---------------------------------- */

int peali_gpu_all_have(struct peali_gpu *gpu, int which)
{
	int i;

	for (i = 0; i < gpu->n_devices; i++)
		if (!peali_gpu_attribute(gpu, i, which))
			return 0;
	return 1;
}

struct peali_gpu_memory_kind peali_gpu_memory_kind(struct peali_gpu *gpu,
						   int device, int exportable)
{
	struct peali_gpu_memory_kind kind;

	memset(&kind, 0, sizeof(kind));
	kind.type = 1;
	kind.handle_types = exportable;
	kind.location_type = 1;
	kind.location_id = gpu->device[device].handle;
	return kind;
}

/* Returns the free MiB of a device; 0: none, or unknown. */
static size_t free_mib(struct peali_gpu *gpu, int device)
{
	size_t left = 0, all = 0;
	void *before = NULL;

	if (peali_gpu_enter(gpu, device, CALL, &before) < 0)
		return 0;
	if (gpu->driver.memory_info(&left, &all))
		left = 0;
	peali_gpu_leave(gpu, before);
	return left >> 20;
}

/* Writes "it has N MiB free, device 2 has M" for an out-of-memory error. */
static void say_free(struct peali_gpu *gpu, int device, char *text, size_t size)
{
	size_t mib, most = 0;
	int i, best = -1, used;

	used = snprintf(text, size, "it has %zu MiB free",
			free_mib(gpu, device));
	for (i = 0; i < gpu->n_devices; i++) {
		mib = gpu->device[i].ordinal == gpu->device[device].ordinal ?
			      0 :
			      free_mib(gpu, i);
		if (mib > most) {
			most = mib;
			best = i;
		}
	}
	if (best >= 0)
		snprintf(text + used, size - (size_t)used,
			 ", device %d has %zu", best, most);
}

static int out_of_memory(struct peali_gpu *gpu, int device, int error,
			 const char *symbol)
{
	char text[80];

	say_free(gpu, device, text, sizeof(text));
	return peali_gpu_fail(gpu, device, error, symbol, CALL,
			      "a heap of %llu MiB (%s)",
			      (unsigned long long)gpu->heap_bytes >> 20, text);
}

/* Allocates a heap and maps it at the device's place in the range. */
static int map_heap(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	struct peali_gpu_driver *driver = &gpu->driver;
	struct peali_gpu_memory_kind kind =
		peali_gpu_memory_kind(gpu, device, 0);
	const char *symbol = PEALI_GPU_SYMBOL(gpu, create);
	int error =
		driver->create(&d->handle_of_memory, gpu->heap_bytes, &kind, 0);

	if (error)
		return out_of_memory(gpu, device, error, symbol);
	d->base = gpu->range + (uint64_t)device * gpu->heap_bytes;
	error = driver->map(d->base, gpu->heap_bytes, 0, d->handle_of_memory,
			    0);
	if (error) {
		driver->release(d->handle_of_memory);
		d->base = 0;
		return peali_gpu_fail(gpu, device, error,
				      PEALI_GPU_SYMBOL(gpu, map), CALL,
				      "map the heap");
	}
	d->mapped = 1;
	return 0;
}

/*
 * Records that the driver refuses `viewer` access to a heap. This holds for all
 * parts of the viewer.
 */
static void refuse_access(struct peali_gpu *gpu, int viewer, int owner,
			  int error)
{
	int i;

	for (i = 0; i < gpu->device[viewer].parts; i++) {
		struct peali_gpu_pair *pair =
			peali_gpu_pair(gpu, viewer + i, owner);

		pair->can_access = pair->atomics = 0;
		pair->limit = error;
	}
	peali_log(1, "%s device %d -> device %d: no peer access: %s",
		  gpu->driver.vendor->name, viewer, owner,
		  peali_gpu_error_name(&gpu->driver, error));
}

/* Lets the owner and its peers access the owner's heap. */
static int give_access(struct peali_gpu *gpu, int owner)
{
	struct peali_gpu_device *d = &gpu->device[owner];
	struct peali_gpu_access access;
	int i, error;

	for (i = 0; i < gpu->n_devices; i++) {
		struct peali_gpu_pair *pair = peali_gpu_pair(gpu, i, owner);

		if (gpu->device[i].part || !pair->can_access)
			continue;
		access.location_type = 1;
		access.location_id = gpu->device[i].handle;
		access.flags = 3;
		error = gpu->driver.set_access(d->base, gpu->heap_bytes,
					       &access, 1);
		if (!error)
			continue;
		if (gpu->device[i].ordinal == d->ordinal)
			return peali_gpu_fail(gpu, owner, error,
					      PEALI_GPU_SYMBOL(gpu, set_access),
					      CALL, "access to the own heap");
		refuse_access(gpu, i, owner, error);
	}
	return 0;
}

static int map_heaps(struct peali_gpu *gpu)
{
	struct peali_gpu_memory_kind kind = peali_gpu_memory_kind(gpu, 0, 0);
	size_t step = 0;
	int i, error, r = 0;

	error = gpu->driver.granularity(&step, &kind, 1);
	if (error || !step)
		step = (size_t)2 << 20;
	gpu->heap_bytes = peali_round_up(gpu->heap_bytes, step);
	gpu->range_bytes = gpu->heap_bytes * (uint64_t)gpu->n_devices;
	error = gpu->driver.reserve(&gpu->range, gpu->range_bytes, 0, 0, 0);
	if (error) {
		gpu->range_bytes = 0;
		return peali_gpu_fail(gpu, -1, error,
				      PEALI_GPU_SYMBOL(gpu, reserve), CALL,
				      "addresses for the heaps of %d devices",
				      gpu->n_devices);
	}
	for (i = 0; !r && i < gpu->n_devices; i++)
		r = map_heap(gpu, i);
	for (i = 0; !r && i < gpu->n_devices; i++)
		r = give_access(gpu, i);
	return r;
}

static void unmap_heaps(struct peali_gpu *gpu)
{
	int i;

	for (i = 0; i < gpu->n_devices; i++) {
		struct peali_gpu_device *d = &gpu->device[i];

		if (!d->mapped)
			continue;
		gpu->driver.unmap(d->base, gpu->heap_bytes);
		gpu->driver.release(d->handle_of_memory);
		d->mapped = 0;
		d->base = 0;
	}
	if (gpu->range_bytes)
		gpu->driver.unreserve(gpu->range, gpu->range_bytes);
	gpu->range_bytes = 0;
}

/* ---- plain heaps --------------------------------------------------------- */

static int plain_heap(struct peali_gpu *gpu, int device)
{
	const unsigned *flags = gpu->driver.vendor->polled_flags;
	struct peali_gpu_device *d = &gpu->device[device];
	const char *symbol = PEALI_GPU_SYMBOL(gpu, memory_alloc_flags);
	void *before = NULL;
	int error = 801, i;
	int r = peali_gpu_enter(gpu, device, CALL, &before);

	if (r < 0)
		return r;
	/* An older HIP rejects unknown flags as an invalid value (1). */
	for (i = 0; i < 2 && (error == 801 || error == 1); i++)
		if (gpu->driver.memory_alloc_flags && flags[i])
			error = gpu->driver.memory_alloc_flags(
				&d->base, gpu->heap_bytes, flags[i]);
	if (error == 801 || error == 1) {
		symbol = PEALI_GPU_SYMBOL(gpu, memory_alloc);
		error = gpu->driver.memory_alloc(&d->base, gpu->heap_bytes);
	}
	peali_gpu_leave(gpu, before);
	return error ? out_of_memory(gpu, device, error, symbol) : 0;
}

static void free_plain_heap(struct peali_gpu *gpu, int device)
{
	void *before = NULL;

	if (!gpu->device[device].base ||
	    peali_gpu_enter(gpu, device, "close", &before) < 0)
		return;
	gpu->driver.memory_free(gpu->device[device].base);
	gpu->device[device].base = 0;
	peali_gpu_leave(gpu, before);
}

/* ---- host memory --------------------------------------------------------- */

/*
 * Gets the device address of host memory. All devices must see it at one
 * address, else PEAL_ENOTSUP.
 */
static int host_address(struct peali_gpu *gpu, void *host, uint64_t *out)
{
	uint64_t address = 0;
	void *before = NULL;
	int i, error, r;

	for (i = 0; i < gpu->n_devices; i++) {
		r = peali_gpu_enter(gpu, i, CALL, &before);
		if (r < 0)
			return r;
		error = gpu->driver.host_address(&address, host, 0);
		peali_gpu_leave(gpu, before);
		if (error)
			return peali_gpu_fail(
				gpu, i, error,
				PEALI_GPU_SYMBOL(gpu, host_address), CALL,
				"the address of pinned host memory");
		if (i && address != *out)
			return peali_fail(PEAL_ENOTSUP, CALL,
					  "%s: devices %d and %d see host "
					  "memory at two addresses; exclude "
					  "one of them",
					  gpu->driver.vendor->name, i - 1, i);
		*out = address;
	}
	return 0;
}

static int open_host(struct peali_gpu *gpu)
{
	struct peali_piece piece;
	void *before = NULL, *host = NULL;
	uint64_t bytes;
	int error, r;

	r = peali_env_number(PEALI_ENV_PINNED_MEMORY, &bytes);
	if (!r)
		r = peali_gpu_enter(gpu, 0, CALL, &before);
	if (r < 0)
		return r;
	gpu->host_bytes = peali_round_up(bytes, PEALI_SUBALLOC_PAGE);
	error = gpu->driver.host_alloc(&host, gpu->host_bytes, PORTABLE_MAPPED);
	peali_gpu_leave(gpu, before);
	if (error)
		return peali_gpu_fail(gpu, 0, error,
				      PEALI_GPU_SYMBOL(gpu, host_alloc), CALL,
				      "%llu MiB of pinned host memory",
				      (unsigned long long)bytes >> 20);
	gpu->host = host;
	r = host_address(gpu, host, &gpu->host_device);
	if (!r)
		r = peali_suballoc_open(&gpu->host_space, "host memory",
					(uintptr_t)host, gpu->host_bytes);
	if (!r)
		r = peali_suballoc_take(&gpu->host_space, PEALI_GPU_STAGE_BYTES,
					&piece);
	if (r < 0)
		return r;
	memset(gpu->host + piece.offset, 0, piece.bytes);
	gpu->zero = gpu->host + piece.offset;
	return 0;
}

static void close_host(struct peali_gpu *gpu)
{
	void *before = NULL;

	if (gpu->host && !peali_gpu_enter(gpu, 0, "close", &before)) {
		gpu->driver.host_free(gpu->host);
		peali_gpu_leave(gpu, before);
	}
	gpu->host = NULL;
	if (gpu->adopted && !peali_gpu_enter(gpu, 0, "close", &before)) {
		gpu->driver.host_unregister(gpu->adopted);
		peali_gpu_leave(gpu, before);
	}
	gpu->adopted = NULL;
	peali_suballoc_close(&gpu->host_space);
}

int peali_gpu_host_range(struct peali_backend *backend, void **host_out,
			 uint64_t *bytes_out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);

	*host_out = gpu->host;
	*bytes_out = gpu->host_bytes;
	return 0;
}

int peali_gpu_adopt(struct peali_backend *backend, void *host, uint64_t bytes)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	void *before = NULL;
	int error, r;

	if (!gpu->driver.host_register || !gpu->driver.host_unregister)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "%s cannot use host memory of another "
				  "backend; use the devices of one backend "
				  "(PEAL_BACKENDS)",
				  gpu->driver.vendor->name);
	r = peali_gpu_enter(gpu, 0, CALL, &before);
	if (r < 0)
		return r;
	error = gpu->driver.host_register(host, bytes, PORTABLE_MAPPED);
	peali_gpu_leave(gpu, before);
	if (error)
		return peali_gpu_fail(gpu, 0, error,
				      PEALI_GPU_SYMBOL(gpu, host_register),
				      CALL,
				      "host memory of another backend (use "
				      "one backend, PEAL_BACKENDS)");
	gpu->adopted = host;
	gpu->adopted_bytes = bytes;
	return host_address(gpu, host, &gpu->adopted_device);
}

/* ---- open and close ------------------------------------------------------ */

int peali_gpu_clear(struct peali_gpu *gpu, int device, uint64_t address,
		    uint64_t bytes, const char *call)
{
	struct peali_gpu_device *d = &gpu->device[device];
	const char *symbol = PEALI_GPU_SYMBOL(gpu, fill);
	void *before = NULL;
	int error, r = peali_gpu_enter(gpu, device, call, &before);

	if (r < 0)
		return r;
	error = gpu->driver.fill(address, 0, bytes, d->copy_stream);
	if (!error) {
		symbol = PEALI_GPU_SYMBOL(gpu, stream_wait);
		error = gpu->driver.stream_wait(d->copy_stream);
	}
	peali_gpu_leave(gpu, before);
	return peali_gpu_fail(gpu, device, error, symbol, call,
			      "clear %llu MiB of the heap",
			      (unsigned long long)bytes >> 20);
}

/* Allocates the pinned stage buffer for copies of pageable memory. */
static int open_stage(struct peali_gpu *gpu, int device)
{
	struct peali_piece piece;
	int r = peali_suballoc_take(&gpu->host_space, PEALI_GPU_STAGE_BYTES,
				    &piece);

	if (!r)
		gpu->device[device].stage = gpu->host + piece.offset;
	return r;
}

static int open_books(struct peali_gpu *gpu, int device)
{
	struct peali_gpu_device *d = &gpu->device[device];
	char name[24];

	snprintf(name, sizeof(name), "%s device %d", gpu->driver.vendor->name,
		 device);
	return peali_suballoc_open(&d->space, name, d->base, gpu->heap_bytes);
}

int peali_gpu_heaps_open(struct peali_gpu *gpu)
{
	int i, r = peali_env_number(PEALI_ENV_GPU_MEMORY, &gpu->heap_bytes);

	if (r < 0)
		return r;
	gpu->heap_bytes = peali_round_up(gpu->heap_bytes, (uint64_t)2 << 20);
	if (gpu->driver.create &&
	    peali_gpu_all_have(gpu, PEALI_GPU_VMM_SUPPORT)) {
		r = map_heaps(gpu);
	} else {
		for (i = 0; !r && i < gpu->n_devices; i++)
			r = plain_heap(gpu, i);
		if (!r)
			r = peali_gpu_peers_enable_all(gpu);
	}
	if (!r)
		r = open_host(gpu);
	for (i = 0; !r && i < gpu->n_devices; i++) {
		r = open_books(gpu, i);
		if (!r)
			r = open_stage(gpu, i);
		if (!r)
			r = peali_gpu_clear(gpu, i, gpu->device[i].base,
					    gpu->heap_bytes, CALL);
	}
	return r;
}

void peali_gpu_heaps_close(struct peali_gpu *gpu)
{
	int i;

	peali_gpu_windows_close(gpu);
	peali_gpu_managed_close(gpu);
	for (i = 0; i < gpu->n_devices; i++) {
		peali_suballoc_close(&gpu->device[i].space);
		if (!gpu->range_bytes)
			free_plain_heap(gpu, i);
	}
	unmap_heaps(gpu);
	close_host(gpu);
}

/* ---- the operations ------------------------------------------------------ */

int peali_gpu_alloc(struct peali_backend *backend, enum peali_memory_kind kind,
		    int device, uint64_t bytes, struct peali_memory *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_suballoc *space = &gpu->host_space;
	struct peali_piece piece;
	int r = 0;

	if (kind == PEALI_MEMORY_DEVICE) {
		r = peali_gpu_check(gpu, device, "alloc");
		if (r < 0)
			return r;
		space = &gpu->device[device].space;
	}
	pthread_mutex_lock(&gpu->lock);
	r = peali_suballoc_take(space, bytes, &piece);
	pthread_mutex_unlock(&gpu->lock);
	if (r < 0)
		return r;
	out->kind = kind;
	out->device = kind == PEALI_MEMORY_HOST ? PEALI_HOST : device;
	out->offset = piece.offset;
	out->bytes = bytes;
	if (kind == PEALI_MEMORY_HOST)
		memset(gpu->host + piece.offset, 0, piece.bytes);
	else if (piece.fresh > piece.offset)
		r = peali_gpu_wipe(gpu, device,
				   gpu->device[device].base + piece.offset,
				   piece.fresh - piece.offset);
	if (r < 0)
		peali_gpu_free(backend, out);
	return r;
}

void peali_gpu_free(struct peali_backend *backend,
		    const struct peali_memory *memory)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_suballoc *space =
		memory->device == PEALI_HOST ?
			&gpu->host_space :
			&gpu->device[memory->device].space;
	struct peali_piece piece;
	int r;

	if (memory->kind == PEALI_MEMORY_MANAGED) {
		peali_gpu_managed_free(gpu, memory->offset);
		return;
	}
	pthread_mutex_lock(&gpu->lock);
	r = peali_suballoc_give(space, memory->offset, &piece);
	pthread_mutex_unlock(&gpu->lock);
	if (r < 0)
		peali_log(1, "%s", peal_last_error()->text);
}

int peali_gpu_usage(struct peali_backend *backend, int device,
		    struct peali_heap_usage *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	int r = 0;

	if (device != PEALI_HOST)
		r = peali_gpu_check(gpu, device, "room");
	if (r < 0)
		return r;
	pthread_mutex_lock(&gpu->lock);
	peali_suballoc_usage(device == PEALI_HOST ? &gpu->host_space :
						    &gpu->device[device].space,
			     out);
	pthread_mutex_unlock(&gpu->lock);
	return 0;
}

uint64_t peali_gpu_view(struct peali_backend *backend, int viewer,
			const struct peali_memory *memory)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	uint64_t address = 0;

	if (memory->kind == PEALI_MEMORY_MANAGED)
		return memory->offset;
	if (memory->device == PEALI_HOST)
		return viewer == PEALI_HOST ?
			       (uintptr_t)gpu->host + memory->offset :
			       gpu->host_device + memory->offset;
	if (viewer < 0 || viewer >= gpu->n_devices)
		return 0;
	pthread_mutex_lock(&gpu->lock);
	if (viewer == memory->device ||
	    peali_gpu_pair(gpu, viewer, memory->device)->enabled)
		address = gpu->device[memory->device].base + memory->offset;
	pthread_mutex_unlock(&gpu->lock);
	return address;
}

uint64_t peali_gpu_host_view(struct peali_backend *backend, uint64_t address)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	uint64_t view = peali_gpu_pinned_view(gpu, address);

	return !view && peali_gpu_is_managed(gpu, address) ? address : view;
}

uint64_t peali_gpu_pinned_view(const struct peali_gpu *gpu, uint64_t address)
{
	if (address - (uintptr_t)gpu->host < gpu->host_bytes)
		return gpu->host_device + (address - (uintptr_t)gpu->host);
	if (gpu->adopted &&
	    address - (uintptr_t)gpu->adopted < gpu->adopted_bytes)
		return gpu->adopted_device +
		       (address - (uintptr_t)gpu->adopted);
	return 0;
}

int peali_gpu_find(struct peali_backend *backend, int device, uint64_t address,
		   uint64_t bytes, struct peali_memory *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_suballoc *space = &gpu->host_space;
	uint64_t base = (uintptr_t)gpu->host;
	struct peali_piece piece;
	int r = 0;

	if (device != PEALI_HOST) {
		r = peali_gpu_check(gpu, device, "find");
		if (r < 0)
			return r;
		space = &gpu->device[device].space;
		base = gpu->device[device].base;
	}
	pthread_mutex_lock(&gpu->lock);
	r = peali_suballoc_find(space, address - base, bytes, &piece);
	pthread_mutex_unlock(&gpu->lock);
	if (r < 0)
		return r;
	out->kind = device == PEALI_HOST ? PEALI_MEMORY_HOST :
					   PEALI_MEMORY_DEVICE;
	out->device = device;
	out->offset = piece.offset;
	out->bytes = piece.bytes;
	return 0;
}
