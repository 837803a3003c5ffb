/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>

#include "p2p/copy_exec.h"
#include "p2p/copy_request.h"
#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"

/*
 * Resolves ranges of copies and keeps them until their end (copy_request.h).
 * Also executes synchronous copies.
 */

/* ---- places -------------------------------------------------------------- */

static int refuse(struct peali_place place, uint64_t bytes, const char *call)
{
	if (place.device == PEALI_HOST)
		return PEALI_REFUSE(
			PEAL_EFAULT, call, .object = "host range",
			.problem = "is NULL, or beyond its allocation or "
				   "the address space",
			.value = PEALI_PRINT("%llu bytes at 0x%llx",
					     (unsigned long long)bytes,
					     (unsigned long long)place.address),
			.allowed = "memory of this process",
			.remedy = "pass a range of one allocation");
	return PEALI_REFUSE(
		PEAL_EFAULT, call,
		.object = PEALI_PRINT("range of device %d", place.device),
		.problem = "is in no allocation that the device sees",
		.value = PEALI_PRINT("%llu bytes at 0x%llx",
				     (unsigned long long)bytes,
				     (unsigned long long)place.address),
		.allowed = "one allocation",
		.remedy = "pass an address of peal_memory_alloc, or of "
			  "peal_peer_map for this device");
}

static int in_record(struct peali_allocation *record, struct peali_place place,
		     uint64_t bytes, struct peali_range *out)
{
	if (!record || !peali_range_inside(place.address, bytes,
					   record->address, record->bytes))
		return 0;
	out->place.device = record->device;
	out->place.address = place.address;
	out->record = record;
	return 1;
}

/* Resolves an address that the device got from peal_peer_map. */
static int in_mapping(struct peali_peers *peers, struct peali_place place,
		      uint64_t bytes, struct peali_range *out)
{
	const struct peali_mapping *m =
		peali_mapping_find(peers, place.device, place.address, bytes);

	if (!m)
		return 0;
	out->place.device = m->owner;
	out->place.address = m->owner_address + (place.address - m->address);
	out->record = m->record;
	return 1;
}

/*
 * Resolves a range to its owner's device and address. The caller holds
 * peers->lock.
 */
static int resolve(struct peali_peers *peers, struct peali_place place,
		   uint64_t bytes, const char *call, struct peali_range *out)
{
	struct peali_allocation *own =
		peali_allocation_find(peers, place.device, place.address);
	struct peali_allocation *host =
		peali_allocation_find(peers, PEALI_HOST, place.address);
	const struct peali_device *d;
	struct peali_memory memory;

	out->place = place;
	out->bytes = bytes;
	out->record = NULL;
	if (!bytes)
		return 0;
	if (place.address + bytes - 1 < place.address)
		return refuse(place, bytes, call);
	if (own || host) {
		if (in_record(own ? own : host, place, bytes, out))
			return 0;
		return refuse(place, bytes, call);
	}
	if (place.device == PEALI_HOST)
		return place.address ? 0 : refuse(place, bytes, call);
	if (in_mapping(peers, place, bytes, out))
		return 0;
	d = &peers->devices->device[place.device];
	if (d->backend->ops->find(d->backend, d->local, place.address, bytes,
				  &memory) < 0)
		return refuse(place, bytes, call);
	return 0;
}

/* Resolves a range and keeps its allocation. The caller holds peers->lock. */
static int keep_one(struct peali_peers *peers, struct peali_range *range,
		    uint64_t bytes, const char *call)
{
	int r = resolve(peers, range->place, bytes, call, range);

	if (!r && range->record)
		range->record->n_copies++;
	return r;
}

/* The caller holds peers->lock. */
static void let_go_of(struct peali_range *range)
{
	if (range->record)
		range->record->n_copies--;
	range->record = NULL;
	range->bytes = 0;
}

int peali_range_keep(struct peali_peers *peers, struct peali_place place,
		     uint64_t bytes, const char *call, struct peali_range *out)
{
	int r;

	memset(out, 0, sizeof(*out));
	out->place = place;
	pthread_mutex_lock(&peers->lock);
	r = keep_one(peers, out, bytes, call);
	pthread_mutex_unlock(&peers->lock);
	return r;
}

void peali_range_let_go(struct peali_peers *peers, struct peali_range *range)
{
	pthread_mutex_lock(&peers->lock);
	let_go_of(range);
	pthread_mutex_unlock(&peers->lock);
}

static int check_devices(struct peali_peers *peers, struct peali_place to,
			 struct peali_place from, const char *call)
{
	int r = peali_devices_check_place(peers->devices, to.device, call);

	return r < 0 ? r :
		       peali_devices_check_place(peers->devices, from.device,
						 call);
}

/* ---- copy requests ------------------------------------------------------- */

static int keep_all(struct peali_peers *peers,
		    const struct peali_copy_op *moves,
		    struct peali_copy_request *request, const char *call)
{
	uint32_t i;
	int r = 0;

	for (i = 0; !r && i < request->n_kept / 2; i++) {
		struct peali_range *to = &request->kept[2 * i];
		struct peali_range *from = to + 1;

		to->place = moves[i].to;
		from->place = moves[i].from;
		r = keep_one(peers, to, moves[i].bytes, call);
		if (!r)
			r = keep_one(peers, from, moves[i].bytes, call);
	}
	if (r < 0)
		peali_copy_request_release(request);
	return r;
}

/* Returns 1 if `a` starts at the end of `b`, in target and source. */
static int goes_on(const struct peali_copy_op *b, const struct peali_copy_op *a)
{
	return b->to.device == a->to.device &&
	       b->from.device == a->from.device &&
	       b->to.address + b->bytes == a->to.address &&
	       b->from.address + b->bytes == a->from.address;
}

/*
 * Returns 1 if both ranges are in one allocation. No backend copies across
 * allocations.
 */
static int is_one(const struct peali_range *a, const struct peali_range *b)
{
	return a->record == b->record &&
	       (a->record || a->place.device == PEALI_HOST);
}

/* Builds the moves with the owners' addresses, and merges adjacent moves. */
static void join(struct peali_copy_request *request)
{
	struct peali_copy_op *last = NULL, next;
	const struct peali_range *kept, *before = NULL;
	uint32_t i;

	for (i = 0; i < request->n_kept / 2; i++) {
		kept = &request->kept[2 * i];
		next.to = request->kept[2 * i].place;
		next.from = request->kept[2 * i + 1].place;
		next.bytes = request->kept[2 * i].bytes;
		request->bytes += next.bytes;
		if (!next.bytes)
			continue;
		if (last && goes_on(last, &next) &&
		    is_one(&before[0], &kept[0]) &&
		    is_one(&before[1], &kept[1])) {
			last->bytes += next.bytes;
			continue;
		}
		last = &request->moves[request->n_moves++];
		*last = next;
		before = kept;
	}
}

int peali_copy_request_hold(struct peali_peers *peers,
			    const struct peali_copy_op *moves, uint32_t n,
			    const char *call,
			    struct peali_copy_request *request)
{
	uint32_t i;
	int r = 0;

	memset(request, 0, sizeof(*request));
	for (i = 0; !r && i < n; i++)
		r = check_devices(peers, moves[i].to, moves[i].from, call);
	if (r < 0)
		return r;
	request->kept = request->one_kept;
	request->moves = &request->one_op;
	if (n > 1) {
		request->kept = calloc(n, 2 * sizeof(*request->kept));
		request->moves = calloc(n, sizeof(*request->moves));
	}
	if (!request->kept || !request->moves) {
		peali_copy_request_free(request);
		return peali_fail(PEAL_ENOMEM, call,
				  "no host memory for %u copies", n);
	}
	request->n_kept = 2 * n;
	r = keep_all(peers, moves, request, call);
	if (r < 0)
		peali_copy_request_free(request);
	else
		join(request);
	return r;
}

void peali_copy_request_release(struct peali_copy_request *request)
{
	uint32_t i;

	for (i = 0; i < request->n_kept; i++)
		let_go_of(&request->kept[i]);
}

void peali_copy_request_free(struct peali_copy_request *request)
{
	if (request->kept != request->one_kept)
		free(request->kept);
	if (request->moves != &request->one_op)
		free(request->moves);
}

/* ---- synchronous copies -------------------------------------------------- */

int peali_copy_sync(struct peali_peers *peers,
		    const struct peali_copy_op *moves, uint32_t n,
		    const struct peali_copy_params *order,
		    struct peal_copy_result *result_out)
{
	struct peali_copy_job job = { .call = order->call,
				      .routes = order->routes,
				      .chunk_bytes = order->chunk_bytes };
	struct peali_copy_request request;
	int r;

	pthread_mutex_lock(&peers->lock);
	r = peali_copy_request_hold(peers, moves, n, order->call, &request);
	if (!r)
		peers->n_running++;
	pthread_mutex_unlock(&peers->lock);
	if (r < 0)
		return r;
	r = peali_copy_execute(peers, request.moves, request.n_moves, &job);
	pthread_mutex_lock(&peers->lock);
	peali_copy_request_release(&request);
	peers->n_running--;
	pthread_mutex_unlock(&peers->lock);
	peali_copy_request_free(&request);
	if (!r && result_out)
		*result_out = job.result;
	return r;
}

int peali_copy_sync_one(struct peali_peers *peers, struct peali_place to,
			struct peali_place from, uint64_t bytes)
{
	const struct peali_copy_params order = { .call = "peal_peer_copy" };
	const struct peali_copy_op move = { to, from, bytes };

	return peali_copy_sync(peers, &move, 1, &order, NULL);
}
