/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/device/gpu/gpu.h"

/*
 * Managed memory: the host and all devices see it at one address, and the
 * driver moves its pages. The backend offers it only if all devices can access
 * it while the host does. Without that, the host must not touch the memory
 * while a kernel is resident (CUDA C++ Programming Guide, "Unified Memory").
 *
 * The driver may block in an allocation until a resident kernel ends. So memory
 * is allocated, advised and freed only while no kernel is resident.
 */

#define ATTACH_GLOBAL 1 /* flag of managed_alloc, of both vendors */
#define CPU (-1) /* the host as a device of prefetch and advise */

struct peali_gpu_managed {
	struct peali_gpu_managed *next;
	uint64_t address, bytes;
	int closed; /* 1: to be freed when no kernel is resident */
};

int peali_gpu_has_managed(const struct peali_gpu *gpu)
{
	return gpu->driver.managed_alloc && gpu->driver.prefetch &&
	       gpu->driver.advise;
}

/* Returns 1 if a sweep has memory to free. */
static int has_closed(const struct peali_gpu *gpu, int all)
{
	const struct peali_gpu_managed *m = gpu->managed;

	while (m && !m->closed && !all)
		m = m->next;
	return m != NULL;
}

/* Frees the closed memory, or all. The caller holds gpu->lock. */
static void sweep(struct peali_gpu *gpu, int all)
{
	struct peali_gpu_managed **p = &gpu->managed, *m;
	void *before = NULL;

	if (!has_closed(gpu, all) ||
	    peali_gpu_enter(gpu, 0, "free", &before) < 0)
		return;
	while ((m = *p)) {
		if (!m->closed && !all) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		gpu->driver.memory_free(m->address);
		free(m);
	}
	peali_gpu_leave(gpu, before);
}

/*
 * A kernel on a lost device may not have ended. Then a driver call could block,
 * so the memory stays until the backend closes.
 */
void peali_gpu_managed_sweep(struct peali_gpu *gpu)
{
	int i;

	for (i = 0; i < gpu->n_devices; i++)
		if (gpu->device[i].lost || peali_gpu_is_busy(gpu, i))
			return;
	sweep(gpu, 0);
}

/* Returns 0, PEAL_ENOTSUP or PEAL_EBUSY. The caller holds gpu->lock. */
static int check(struct peali_gpu *gpu, const char *call)
{
	const char *vendor = gpu->driver.vendor->name;
	int i;

	for (i = 0; i < gpu->n_devices; i++)
		if (!gpu->device[i].manages)
			return peali_fail(PEAL_ENOTSUP, call,
					  "%s device %d cannot access managed "
					  "memory while the host does",
					  vendor, i);
	if (!peali_gpu_any_busy(gpu))
		return 0;
	return peali_fail(PEAL_EBUSY, call,
			  "managed memory is allocated and advised while no "
			  "kernel is resident on a device of %s; create the "
			  "buffer before the launch",
			  vendor);
}

/* Allocates memory and enters it in the list. The caller holds gpu->lock. */
static int make(struct peali_gpu *gpu, uint64_t bytes, const char *call,
		uint64_t *address_out)
{
	struct peali_gpu_managed *m = calloc(1, sizeof(*m));
	void *before = NULL;
	int error, r;

	if (!m)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for the record of managed memory");
	r = peali_gpu_enter(gpu, 0, call, &before);
	if (!r) {
		error = gpu->driver.managed_alloc(&m->address, bytes,
						  ATTACH_GLOBAL);
		peali_gpu_leave(gpu, before);
		r = peali_gpu_fail(gpu, 0, error,
				   PEALI_GPU_SYMBOL(gpu, managed_alloc), call,
				   "%llu bytes of managed memory",
				   (unsigned long long)bytes);
	}
	if (r < 0) {
		free(m);
		return r;
	}
	m->bytes = bytes;
	m->next = gpu->managed;
	gpu->managed = m;
	*address_out = m->address;
	return 0;
}

int peali_gpu_managed_alloc(struct peali_backend *backend, uint64_t bytes,
			    struct peali_memory *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	const char *call = "managed_alloc";
	uint64_t address = 0;
	int r;

	pthread_mutex_lock(&gpu->lock);
	r = check(gpu, call);
	if (!r) {
		sweep(gpu, 0);
		r = make(gpu, bytes, call, &address);
	}
	pthread_mutex_unlock(&gpu->lock);
	if (r < 0)
		return r;
	memset((void *)(uintptr_t)address, 0, bytes);
	out->kind = PEALI_MEMORY_MANAGED;
	out->device = PEALI_HOST;
	out->offset = address;
	out->bytes = bytes;
	return 0;
}

/* Returns the memory with an address, or NULL. The caller holds gpu->lock. */
static struct peali_gpu_managed *find(struct peali_gpu *gpu, uint64_t address)
{
	struct peali_gpu_managed *m = gpu->managed;

	while (m && (m->closed || address - m->address >= m->bytes))
		m = m->next;
	return m;
}

void peali_gpu_managed_free(struct peali_gpu *gpu, uint64_t address)
{
	struct peali_gpu_managed *m;

	pthread_mutex_lock(&gpu->lock);
	m = find(gpu, address);
	if (m)
		m->closed = 1;
	peali_gpu_managed_sweep(gpu);
	pthread_mutex_unlock(&gpu->lock);
}

int peali_gpu_is_managed(struct peali_gpu *gpu, uint64_t address)
{
	int is;

	pthread_mutex_lock(&gpu->lock);
	is = find(gpu, address) != NULL;
	pthread_mutex_unlock(&gpu->lock);
	return is;
}

void peali_gpu_managed_close(struct peali_gpu *gpu)
{
	sweep(gpu, 1);
}

/* Returns the driver's number of a device or of the host. */
static int handle_of(const struct peali_gpu *gpu, int device)
{
	return device == PEALI_HOST ? CPU : gpu->device[device].handle;
}

int peali_gpu_managed_prefetch(struct peali_backend *backend, int device,
			       uint64_t address, uint64_t bytes)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	const char *symbol = PEALI_GPU_SYMBOL(gpu, prefetch);
	/* the device with the stream */
	int by = device == PEALI_HOST ? 0 : device, error = 0, r;
	struct peali_gpu_device *d = &gpu->device[by];
	void *before = NULL;

	pthread_mutex_lock(&d->copy_lock);
	r = peali_gpu_enter(gpu, by, "prefetch", &before);
	if (!r) {
		error = gpu->driver.prefetch(
			address, bytes, handle_of(gpu, device), d->copy_stream);
		if (!error) {
			symbol = PEALI_GPU_SYMBOL(gpu, stream_wait);
			error = gpu->driver.stream_wait(d->copy_stream);
		}
		peali_gpu_leave(gpu, before);
	}
	pthread_mutex_unlock(&d->copy_lock);
	return r < 0 ? r :
		       peali_gpu_fail(gpu, by, error, symbol, "prefetch",
				      "%llu bytes of managed memory",
				      (unsigned long long)bytes);
}

int peali_gpu_managed_advise(struct peali_backend *backend, int device,
			     uint64_t address, uint64_t bytes, int advice)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	void *before = NULL;
	int error, r;

	pthread_mutex_lock(&gpu->lock);
	r = check(gpu, "advise");
	if (!r)
		r = peali_gpu_enter(gpu, 0, "advise", &before);
	if (!r) {
		/* the numbers of enum peal_buffer_advice are those of both vendors */
		error = gpu->driver.advise(address, bytes, advice,
					   handle_of(gpu, device));
		peali_gpu_leave(gpu, before);
		r = peali_gpu_fail(gpu, 0, error, PEALI_GPU_SYMBOL(gpu, advise),
				   "advise", "%llu bytes of managed memory",
				   (unsigned long long)bytes);
	}
	pthread_mutex_unlock(&gpu->lock);
	return r;
}
