/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"
#include "runtime/device/backend.h"
#include "runtime/device/host/host.h"

#include <string.h>

/*
 * Copies of the host backend. They use the owners' views, so they need no peer
 * access, like copies by a copy engine.
 */

#define TOGETHER 64 /* moves resolved per lock acquisition */

/*
 * Returns a place's host pointer after a check of its bounds. The caller holds
 * host->lock.
 */
static int resolve(struct peali_host *host, struct peali_place place,
		   uint64_t bytes, const char *call, uint8_t **out)
{
	const struct peali_heap *heap;
	struct peali_piece piece;
	int r = 0;

	if (place.device != PEALI_HOST)
		r = peali_host_check(host, place.device, call);
	if (r < 0)
		return r;
	if (place.device != PEALI_HOST && bytes) {
		heap = peali_host_heap(host, place.device);
		/* Devices see host memory, too, at the host's address. */
		if (!peali_heap_holds(heap, place.address) &&
		    peali_heap_holds(peali_host_heap(host, PEALI_HOST),
				     place.address))
			heap = peali_host_heap(host, PEALI_HOST);
		r = peali_heap_find(heap, place.address - (uintptr_t)heap->base,
				    bytes, &piece);
	} else if (!place.address && bytes) {
		r = peali_fail(PEAL_EFAULT, call,
			       "a copy of %llu bytes has a NULL host pointer",
			       (unsigned long long)bytes);
	}
	if (!r)
		*out = (uint8_t *)(uintptr_t)place.address;
	return r;
}

/* Does at most TOGETHER moves. Resolves all of them before the first copy. */
static int copy_some(struct peali_host *host, const struct peali_copy_op *moves,
		     uint32_t n)
{
	uint8_t *to[TOGETHER], *from[TOGETHER];
	uint32_t i;
	int r = 0;

	pthread_mutex_lock(&host->lock);
	for (i = 0; !r && i < n; i++) {
		r = resolve(host, moves[i].to, moves[i].bytes, "host: copy",
			    &to[i]);
		if (!r)
			r = resolve(host, moves[i].from, moves[i].bytes,
				    "host: copy", &from[i]);
	}
	pthread_mutex_unlock(&host->lock);
	for (i = 0; !r && i < n; i++)
		if (moves[i].bytes)
			memmove(to[i], from[i], moves[i].bytes);
	return r;
}

int peali_host_copy(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes)
{
	const struct peali_copy_op move = { to, from, bytes };

	return copy_some(peali_host_of(backend), &move, 1);
}

int peali_host_copy_all(struct peali_backend *backend,
			const struct peali_copy_op *moves, uint32_t n)
{
	uint32_t i, some;
	int r = 0;

	for (i = 0; !r && i < n; i += some) {
		some = n - i < TOGETHER ? n - i : TOGETHER;
		r = copy_some(peali_host_of(backend), moves + i, some);
	}
	return r;
}
