/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/host/host.h"

#include <string.h>

/*
 * Copies go through the owners' own views, so that they need no peer access,
 * like those of a copy engine.
 */

#define TOGETHER 64 /* looked up at a time */

/* A place's host pointer, once its bounds are known to be right. The lock is
 * held. */
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
		/* A device sees host memory too, at the same address. */
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

/* At most TOGETHER of them: all are looked up before any is done. */
static int copy_some(struct peali_host *host, const struct peali_move *moves,
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
	const struct peali_move move = { to, from, bytes };

	return copy_some(peali_host_of(backend), &move, 1);
}

int peali_host_copy_all(struct peali_backend *backend,
			const struct peali_move *moves, uint32_t n)
{
	uint32_t i, some;
	int r = 0;

	for (i = 0; !r && i < n; i += some) {
		some = n - i < TOGETHER ? n - i : TOGETHER;
		r = copy_some(peali_host_of(backend), moves + i, some);
	}
	return r;
}
