/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/gpu/gpu.h"

#include <string.h>

/*
 * Copies by the copy engines, on one stream of each device that is made before
 * any launch. Only pinned memory is given to a driver, which could otherwise
 * wait for more than the copy: what is pageable goes through a pinned stage.
 */

/** One end of a copy, looked up. */
struct end {
	int device; /* PEALI_HOST: `host` */
	uint64_t address; /* for the driver */
	uint8_t *host; /* host memory, by pointer */
	int pinned;
};

static int look_up_host(struct peali_gpu *gpu, uint64_t address, uint64_t bytes,
			struct end *out)
{
	uint64_t view = peali_gpu_host_view(&gpu->base, address);

	out->device = PEALI_HOST;
	out->host = (uint8_t *)(uintptr_t)address;
	out->pinned = view != 0 &&
		      peali_gpu_host_view(&gpu->base, address + bytes - 1);
	out->address = view;
	return 0;
}

/* A place within bounds, for a copy of at least one byte. */
static int look_up(struct peali_gpu *gpu, struct peali_place place,
		   uint64_t bytes, const char *call, struct end *out)
{
	struct peali_memory memory;
	int r = 0;

	memset(out, 0, sizeof(*out));
	if (place.device == PEALI_HOST) {
		if (!place.address)
			return peali_fail(PEAL_EFAULT, call,
					  "a copy of %llu bytes has a NULL "
					  "host pointer",
					  (unsigned long long)bytes);
		return look_up_host(gpu, place.address, bytes, out);
	}
	r = peali_gpu_check(gpu, place.device, call);
	if (r < 0)
		return r;
	/* A device sees host memory too. */
	if (place.address - gpu->host_device < gpu->host_bytes) {
		place.address += (uintptr_t)gpu->host - gpu->host_device;
		r = peali_gpu_find(&gpu->base, PEALI_HOST, place.address, bytes,
				   &memory);
		return r < 0 ? r : look_up_host(gpu, place.address, bytes, out);
	}
	r = peali_gpu_find(&gpu->base, place.device, place.address, bytes,
			   &memory);
	out->device = place.device;
	out->address = place.address;
	return r;
}

/* One transfer to its end. The device's copy_lock is held. */
static int transfer(struct peali_gpu *gpu, int device, uint64_t to,
		    uint64_t from, uint64_t bytes)
{
	struct peali_gpu_device *d = &gpu->device[device];
	const char *symbol = PEALI_GPU_SYMBOL(gpu, copy);
	void *before = NULL;
	int error, r = peali_gpu_enter(gpu, device, "copy", &before);

	if (r < 0)
		return r;
	if (!*symbol)
		symbol = PEALI_GPU_SYMBOL(gpu, copy_kind);
	error = gpu->driver.transfer(&gpu->driver, to, from, bytes,
				     d->copy_stream);
	if (!error) {
		symbol = PEALI_GPU_SYMBOL(gpu, stream_wait);
		error = gpu->driver.stream_wait(d->copy_stream);
	}
	peali_gpu_leave(gpu, before);
	return peali_gpu_fail(gpu, device, error, symbol, "copy",
			      "a copy of %llu bytes",
			      (unsigned long long)bytes);
}

static uint64_t stage_address(const struct peali_gpu *gpu,
			      const struct peali_gpu_device *d)
{
	return gpu->host_device + (uint64_t)(d->stage - gpu->host);
}

/* Between a device and pageable memory. */
static int through_stage(struct peali_gpu *gpu, const struct end *to,
			 const struct end *from, uint64_t bytes)
{
	int device = to->device == PEALI_HOST ? from->device : to->device;
	struct peali_gpu_device *d = &gpu->device[device];
	uint64_t stage = stage_address(gpu, d), done = 0, n;
	int r = 0;

	pthread_mutex_lock(&d->copy_lock);
	while (!r && done < bytes) {
		n = bytes - done < PEALI_GPU_STAGE_BYTES ?
			    bytes - done :
			    PEALI_GPU_STAGE_BYTES;
		if (to->device == PEALI_HOST) {
			r = transfer(gpu, device, stage, from->address + done,
				     n);
			if (!r)
				memcpy(to->host + done, d->stage, n);
		} else {
			memcpy(d->stage, from->host + done, n);
			r = transfer(gpu, device, to->address + done, stage, n);
		}
		done += n;
	}
	pthread_mutex_unlock(&d->copy_lock);
	return r;
}

static int overlap(const struct end *a, const struct end *b, uint64_t bytes)
{
	return a->address - b->address < bytes ||
	       b->address - a->address < bytes;
}

/*
 * Between two devices that do not see each other each copies on its own; also
 * between ranges of one device that overlap, from the end where it would else
 * overwrite its source.
 */
static int between(struct peali_gpu *gpu, const struct end *to,
		   const struct end *from, uint64_t bytes)
{
	struct peali_gpu_device *d = &gpu->device[to->device];
	int backwards = to->address - from->address < bytes;
	uint64_t stage = stage_address(gpu, d), done = 0, n, at;
	int r = 0;

	while (!r && done < bytes) {
		n = bytes - done < PEALI_GPU_STAGE_BYTES ?
			    bytes - done :
			    PEALI_GPU_STAGE_BYTES;
		at = backwards ? bytes - done - n : done;
		/* The stage belongs to who has the target's lock. */
		pthread_mutex_lock(&d->copy_lock);
		r = transfer(gpu, from->device, stage, from->address + at, n);
		if (!r)
			r = transfer(gpu, to->device, to->address + at, stage,
				     n);
		pthread_mutex_unlock(&d->copy_lock);
		done += n;
	}
	return r;
}

static int is_direct(struct peali_gpu *gpu, const struct end *to,
		     const struct end *from, uint64_t bytes)
{
	if (to->device == PEALI_HOST || from->device == PEALI_HOST)
		return to->device == PEALI_HOST ? to->pinned : from->pinned;
	return (to->device == from->device && !overlap(to, from, bytes)) ||
	       (to->device != from->device &&
		peali_gpu_pair(gpu, to->device, from->device)->can_access);
}

int peali_gpu_copy(struct peali_backend *backend, struct peali_place to,
		   struct peali_place from, uint64_t bytes)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct end target, source;
	int device, r;

	if (!bytes)
		return 0;
	r = look_up(gpu, to, bytes, "copy", &target);
	if (!r)
		r = look_up(gpu, from, bytes, "copy", &source);
	if (r < 0)
		return r;
	if (target.device == PEALI_HOST && source.device == PEALI_HOST) {
		memmove(target.host, source.host, bytes);
		return 0;
	}
	if (!is_direct(gpu, &target, &source, bytes))
		return target.device == PEALI_HOST ||
				       source.device == PEALI_HOST ?
			       through_stage(gpu, &target, &source, bytes) :
			       between(gpu, &target, &source, bytes);
	device = target.device == PEALI_HOST ? source.device : target.device;
	pthread_mutex_lock(&gpu->device[device].copy_lock);
	r = transfer(gpu, device, target.address, source.address, bytes);
	pthread_mutex_unlock(&gpu->device[device].copy_lock);
	return r;
}

int peali_gpu_copy_start(struct peali_backend *backend, struct peali_place to,
			 struct peali_place from, uint64_t bytes,
			 uint64_t done_bell, struct peali_copy **out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct end ignored;
	int r = 0;

	if (bytes)
		r = look_up(gpu, to, bytes, "copy_start", &ignored);
	if (!r && bytes)
		r = look_up(gpu, from, bytes, "copy_start", &ignored);
	if (r < 0)
		return r;
	return peali_copies_start(gpu->copies, to, from, bytes, done_bell, out);
}

int peali_gpu_wipe(struct peali_gpu *gpu, int device, uint64_t address,
		   uint64_t bytes)
{
	uint64_t zero = gpu->host_device + (uint64_t)(gpu->zero - gpu->host);
	uint64_t done = 0, n;
	int r = 0;

	pthread_mutex_lock(&gpu->device[device].copy_lock);
	while (!r && done < bytes) {
		n = bytes - done < PEALI_GPU_STAGE_BYTES ?
			    bytes - done :
			    PEALI_GPU_STAGE_BYTES;
		r = transfer(gpu, device, address + done, zero, n);
		done += n;
	}
	pthread_mutex_unlock(&gpu->device[device].copy_lock);
	return r;
}
