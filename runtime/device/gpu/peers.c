/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/device/gpu/gpu.h"

/*
 * Peer access between GPUs. The backend enables it for all possible pairs when
 * it opens. A later mapping may wait for a resident kernel. So
 * peali_gpu_peer_enable only records that the runtime may use a pair.
 */

#define ALREADY_ENABLED 704

static int ask(struct peali_gpu *gpu, int from, int to)
{
	const struct peali_gpu_device *a = &gpu->device[from];
	const struct peali_gpu_device *b = &gpu->device[to];
	struct peali_gpu_pair *pair = peali_gpu_pair(gpu, from, to);
	int can = 0, atomics = 0, error;

	/* two parts of one GPU, or one device */
	if (a->ordinal == b->ordinal) {
		pair->can_access = pair->atomics = 1;
		return 0;
	}
	error = gpu->driver.can_access(&can, a->handle, b->handle);
	if (error)
		return peali_gpu_fail(gpu, from, error,
				      PEALI_GPU_SYMBOL(gpu, can_access), "open",
				      "access to device %d", to);
	if (can && gpu->driver.pair_attribute &&
	    gpu->driver.pair_attribute(&atomics,
				       gpu->driver.vendor->pair_atomics,
				       a->handle, b->handle))
		atomics = 0;
	pair->can_access = can != 0;
	pair->atomics = can && atomics;
	return 0;
}

int peali_gpu_peers_open(struct peali_gpu *gpu)
{
	int from, to, r = 0;

	for (from = 0; from < gpu->n_devices; from++)
		for (to = 0; !r && to < gpu->n_devices; to++)
			r = ask(gpu, from, to);
	return r;
}

/*
 * Enables access of a pair. If the driver refuses, the pair has no access, and
 * the function still returns 0.
 */
static int enable_one(struct peali_gpu *gpu, int from, int to)
{
	struct peali_gpu_pair *pair = peali_gpu_pair(gpu, from, to);
	void *before = NULL;
	int error, r;

	if (!pair->can_access ||
	    gpu->device[from].ordinal == gpu->device[to].ordinal)
		return 0;
	r = peali_gpu_enter(gpu, from, "open", &before);
	if (r < 0)
		return r;
	error = gpu->driver.peer_enable(&gpu->driver, gpu->device[to].handle,
					gpu->device[to].state);
	peali_gpu_leave(gpu, before);
	if (!error || error == ALREADY_ENABLED)
		return 0;
	pair->can_access = pair->atomics = 0;
	pair->limit = error;
	peali_log(1, "%s device %d -> device %d: no peer access: %s",
		  gpu->driver.vendor->name, from, to,
		  peali_gpu_error_name(&gpu->driver, error));
	return 0;
}

int peali_gpu_peers_enable_all(struct peali_gpu *gpu)
{
	int from, to, r = 0;

	for (from = 0; from < gpu->n_devices; from++)
		for (to = 0; !r && to < gpu->n_devices; to++)
			if (gpu->device[from].part == 0 &&
			    gpu->device[to].part == 0)
				r = enable_one(gpu, from, to);
	/* All parts of a device have the access of part 0. */
	for (from = 0; from < gpu->n_devices; from++)
		for (to = 0; to < gpu->n_devices; to++)
			*peali_gpu_pair(gpu, from, to) = *peali_gpu_pair(
				gpu, from - gpu->device[from].part,
				to - gpu->device[to].part);
	return r;
}

static int check_pair(const struct peali_gpu *gpu, int from, int to,
		      const char *call)
{
	int r = peali_gpu_check(gpu, from, call);

	return r < 0 ? r : peali_gpu_check(gpu, to, call);
}

int peali_gpu_peer_info(struct peali_backend *backend, int from, int to,
			struct peali_peer_info *out)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	const struct peali_gpu_pair *pair;
	int r = check_pair(gpu, from, to, "peer_info");

	if (r < 0)
		return r;
	pair = peali_gpu_pair(gpu, from, to);
	out->can_access = pair->can_access;
	out->atomics = pair->atomics;
	out->kind = "none";
	if (from != to && gpu->device[from].ordinal == gpu->device[to].ordinal)
		out->kind = "same-gpu";
	else if (pair->can_access)
		out->kind = gpu->driver.vendor->peer_kinds[pair->atomics];
	return 0;
}

/* Returns the reason for missing access, as the end of an error text. */
static const char *why_not(struct peali_gpu *gpu,
			   const struct peali_gpu_pair *pair)
{
	return pair->limit ? peali_gpu_error_name(&gpu->driver, pair->limit) :
			     "the driver reports none";
}

int peali_gpu_peer_enable(struct peali_backend *backend, int from, int to)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_gpu_pair *pair;
	int r = check_pair(gpu, from, to, "peer_enable");

	if (r < 0)
		return r;
	pair = peali_gpu_pair(gpu, from, to);
	if (!pair->can_access)
		return peali_fail(PEAL_ENOPEER, "peer_enable",
				  "%s device %d -> device %d: no peer access: "
				  "%s",
				  gpu->driver.vendor->name, from, to,
				  why_not(gpu, pair));
	pthread_mutex_lock(&gpu->lock);
	if (pair->enabled)
		r = peali_fail(PEAL_EALREADY, "peer_enable",
			       "%s device %d -> device %d: enabled already",
			       gpu->driver.vendor->name, from, to);
	pair->enabled = 1;
	pthread_mutex_unlock(&gpu->lock);
	return r;
}

int peali_gpu_peer_disable(struct peali_backend *backend, int from, int to)
{
	struct peali_gpu *gpu = peali_gpu_of(backend);
	struct peali_gpu_pair *pair;
	int r = check_pair(gpu, from, to, "peer_disable");

	if (r < 0)
		return r;
	pair = peali_gpu_pair(gpu, from, to);
	pthread_mutex_lock(&gpu->lock);
	if (!pair->enabled)
		r = peali_fail(PEAL_EINVAL, "peer_disable",
			       "%s device %d -> device %d: not enabled",
			       gpu->driver.vendor->name, from, to);
	pair->enabled = 0;
	pthread_mutex_unlock(&gpu->lock);
	return r;
}
