/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/device/backend.h"
#include "runtime/device/gpu/gpu.h"

#include <string.h>

/*
 * Copies by the devices' copy engines. Each device has one stream for copies,
 * made before any launch. Drivers get only pinned memory. Pageable memory could
 * make the driver wait for more than the copy. So it is copied through a pinned
 * stage buffer.
 */

/** One end of a copy, resolved. */
struct end {
	int device; /* PEALI_HOST: `host` is valid */
	uint64_t address; /* the driver's address; of unpinned host memory 0 */
	uint8_t *host; /* host memory as a pointer */
	int pinned;
};

static int look_up_host(struct peali_gpu *gpu, uint64_t address, uint64_t bytes,
			struct end *out)
{
	uint64_t view = peali_gpu_pinned_view(gpu, address);

	out->device = PEALI_HOST;
	out->host = (uint8_t *)(uintptr_t)address;
	out->pinned = view != 0 &&
		      peali_gpu_pinned_view(gpu, address + bytes - 1);
	out->address = view;
	return 0;
}

/* Resolves a place and checks its bounds, for a copy of at least one byte. */
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
	/* Devices see host memory, too. */
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

/* Starts one transfer. The thread has entered the device. */
static int begin(struct peali_gpu *gpu, int device, uint64_t to, uint64_t from,
		 uint64_t bytes)
{
	const char *symbol = PEALI_GPU_SYMBOL(gpu, copy);
	int error;

	if (!*symbol)
		symbol = PEALI_GPU_SYMBOL(gpu, copy_kind);
	error = gpu->driver.transfer(&gpu->driver, to, from, bytes,
				     gpu->device[device].copy_stream);
	return peali_gpu_fail(gpu, device, error, symbol, "copy",
			      "a copy of %llu bytes",
			      (unsigned long long)bytes);
}

/* Waits for all started transfers of the device. */
static int finish(struct peali_gpu *gpu, int device)
{
	int error = gpu->driver.stream_wait(gpu->device[device].copy_stream);

	return peali_gpu_fail(gpu, device, error,
			      PEALI_GPU_SYMBOL(gpu, stream_wait), "copy",
			      "the end of a copy");
}

/* Does one complete transfer. The caller holds the device's copy_lock. */
static int transfer(struct peali_gpu *gpu, int device, uint64_t to,
		    uint64_t from, uint64_t bytes)
{
	void *before = NULL;
	int r = peali_gpu_enter(gpu, device, "copy", &before);

	if (r < 0)
		return r;
	r = begin(gpu, device, to, from, bytes);
	if (!r)
		r = finish(gpu, device);
	peali_gpu_leave(gpu, before);
	return r;
}

static uint64_t stage_address(const struct peali_gpu *gpu,
			      const struct peali_gpu_device *d)
{
	return gpu->host_device + (uint64_t)(d->stage - gpu->host);
}

/* Copies between a device and pageable host memory by the stage buffer. */
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
 * Copies between two devices without peer access by the target's stage buffer.
 * It also copies between overlapping ranges of one device. The direction then
 * avoids that the copy overwrites its source too early.
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
		/* The target's copy_lock protects its stage buffer. */
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

/* Returns the device that can do the copy in one transfer; -1: none. */
static int engine_of(struct peali_gpu *gpu, const struct end *to,
		     const struct end *from, uint64_t bytes)
{
	if (to->device == PEALI_HOST)
		return to->pinned ? from->device : -1;
	if (from->device == PEALI_HOST)
		return from->pinned ? to->device : -1;
	if (to->device == from->device)
		return overlap(to, from, bytes) ? -1 : to->device;
	if (peali_gpu_pair(gpu, to->device, from->device)->can_access)
		return to->device;
	if (peali_gpu_pair(gpu, from->device, to->device)->can_access)
		return from->device;
	return -1;
}

/* Resolves both ends. For *engine_out see engine_of. */
static int look_up_both(struct peali_gpu *gpu, const struct peali_copy_op *move,
			struct end *to, struct end *from, int *engine_out)
{
	int r = look_up(gpu, move->to, move->bytes, "copy", to);

	if (!r)
		r = look_up(gpu, move->from, move->bytes, "copy", from);
	if (r < 0)
		return r;
	*engine_out = -1;
	if (to->device != PEALI_HOST || from->device != PEALI_HOST)
		*engine_out = engine_of(gpu, to, from, move->bytes);
	return 0;
}

int peali_gpu_copy(struct peali_backend *backend, struct peali_place to,
		   struct peali_place from, uint64_t bytes)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	const struct peali_copy_op move = { to, from, bytes };
	struct end target, source;
	int engine, r;

	if (!bytes)
		return 0;
	r = look_up_both(gpu, &move, &target, &source, &engine);
	if (r < 0)
		return r;
	if (target.device == PEALI_HOST && source.device == PEALI_HOST) {
		memmove(target.host, source.host, bytes);
		return 0;
	}
	if (engine < 0)
		return target.device == PEALI_HOST ||
				       source.device == PEALI_HOST ?
			       through_stage(gpu, &target, &source, bytes) :
			       between(gpu, &target, &source, bytes);
	pthread_mutex_lock(&gpu->device[engine].copy_lock);
	r = transfer(gpu, engine, target.address, source.address, bytes);
	pthread_mutex_unlock(&gpu->device[engine].copy_lock);
	return r;
}

/*
 * Starts the first moves, all on a single engine, and waits for them once.
 * *done is their number. 0: no engine can do the first move.
 */
static int by_one_engine(struct peali_gpu *gpu,
			 const struct peali_copy_op *moves, uint32_t n,
			 uint32_t *done)
{
	int first = -1, engine, entered = 0, r = 0, waited;
	struct end to, from;
	void *before = NULL;

	for (*done = 0; !r && *done < n; (*done)++) {
		r = look_up_both(gpu, &moves[*done], &to, &from, &engine);
		if (r < 0 || engine < 0 || (entered && engine != first))
			break;
		if (!entered) {
			pthread_mutex_lock(&gpu->device[engine].copy_lock);
			r = peali_gpu_enter(gpu, engine, "copy", &before);
			if (r < 0) {
				pthread_mutex_unlock(
					&gpu->device[engine].copy_lock);
				return r;
			}
			first = engine;
			entered = 1;
		}
		r = begin(gpu, engine, to.address, from.address,
			  moves[*done].bytes);
	}
	if (!entered)
		return r;
	/* also for transfers started before a failure */
	waited = finish(gpu, first);
	peali_gpu_leave(gpu, before);
	pthread_mutex_unlock(&gpu->device[first].copy_lock);
	return r < 0 ? r : waited;
}

int peali_gpu_copy_all(struct peali_backend *backend,
		       const struct peali_copy_op *moves, uint32_t n)
{
	uint32_t i, done;
	int r = 0;

	for (i = 0; !r && i < n; i += done) {
		r = by_one_engine(peali_gpu_of(backend), moves + i, n - i,
				  &done);
		if (r < 0 || done)
			continue;
		r = peali_gpu_copy(backend, moves[i].to, moves[i].from,
				   moves[i].bytes);
		done = 1;
	}
	return r;
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

int peali_gpu_read(struct peali_gpu *gpu, int device, uint64_t address,
		   void *to, uint64_t bytes)
{
	struct peali_gpu_device *d = &gpu->device[device];
	int r;

	pthread_mutex_lock(&d->copy_lock);
	r = transfer(gpu, device, stage_address(gpu, d), address, bytes);
	if (!r)
		memcpy(to, d->stage, bytes);
	pthread_mutex_unlock(&d->copy_lock);
	return r;
}
