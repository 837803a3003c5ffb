/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/host/host.h"

#include <string.h>

/*
 * Copies go through the owners' own views, so that they need no peer access,
 * like those of a copy engine.
 */

/* A place's host pointer, once its bounds are known to be right. */
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
		pthread_mutex_lock(&host->lock);
		r = peali_heap_find(heap, place.address - (uintptr_t)heap->base,
				    bytes, &piece);
		pthread_mutex_unlock(&host->lock);
	} else if (!place.address && bytes) {
		r = peali_fail(PEAL_EFAULT, call,
			       "a copy of %llu bytes has a NULL host pointer",
			       (unsigned long long)bytes);
	}
	if (!r)
		*out = (uint8_t *)(uintptr_t)place.address;
	return r;
}

int peali_host_copy(struct peali_backend *backend, struct peali_place to,
		    struct peali_place from, uint64_t bytes)
{
	struct peali_host *host = peali_host_of(backend);
	uint8_t *target, *source;
	int r = resolve(host, to, bytes, "host: copy", &target);

	if (!r)
		r = resolve(host, from, bytes, "host: copy", &source);
	if (!r && bytes)
		memmove(target, source, bytes);
	return r;
}

int peali_host_copy_all(struct peali_backend *backend,
			const struct peali_move *moves, uint32_t n)
{
	uint32_t i;
	int r = 0;

	for (i = 0; !r && i < n; i++)
		r = peali_host_copy(backend, moves[i].to, moves[i].from,
				    moves[i].bytes);
	return r;
}
