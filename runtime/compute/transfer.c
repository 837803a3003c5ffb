/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between ranges of buffers. Checks all copies before data moves. */
#include <peal/transfer.h>

#include <stdlib.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/buffer.h"
#include "runtime/runtime.h"

#define FEW 4 /* with up to so many copies, their sides are on the stack */

/** One side of a copy, for sorting by address. */
struct side {
	struct peali_place place;
	uint64_t end; /* address behind its last byte */
	uint32_t copy; /* index of the copy */
	int written; /* 1: the destination; 0: the source */
};

static int by_place(const void *first, const void *second)
{
	const struct side *a = first, *b = second;

	if (a->place.device != b->place.device)
		return a->place.device < b->place.device ? -1 : 1;
	if (a->place.address != b->place.address)
		return a->place.address < b->place.address ? -1 : 1;
	return 0;
}

static int overlap(const struct side *a, const struct side *b, const char *call)
{
	return PEALI_REFUSE(
		PEAL_EINVAL, call, .object = PEALI_PRINT("copy %u", a->copy),
		.problem = PEALI_PRINT(
			"%s a range of device %d that copy %u %s",
			a->written ? "writes" : "reads", a->place.device,
			b->copy, b->written ? "writes" : "reads"),
		.value = "overlapping ranges", .allowed = "ranges apart",
		.remedy = "copy one after the other");
}

/*
 * Sorts the sides and sweeps over them, to find overlaps with a written side.
 * `any` is the earlier side with the highest end. `written` is the earlier
 * written side with the highest end.
 */
static int check_overlaps(struct side *side, uint32_t n, const char *call)
{
	const struct side *any = NULL, *written = NULL;
	uint32_t i;

	qsort(side, n, sizeof(*side), by_place);
	for (i = 0; i < n; i++) {
		const struct side *s = &side[i];

		if (any && any->place.device != s->place.device)
			any = written = NULL;
		if (written && s->place.address < written->end)
			return overlap(written, s, call);
		if (s->written && any && s->place.address < any->end)
			return overlap(any, s, call);
		if (!any || s->end > any->end)
			any = s;
		if (s->written && (!written || s->end > written->end))
			written = s;
	}
	return 0;
}

/* Resolves the two ranges of a copy. */
static int place(struct peal_runtime *rt, const struct peal_transfer *transfer,
		 uint32_t i, const char *call, struct peali_copy_op *out)
{
	struct peal_runtime *to_rt, *from_rt;
	int r = peali_range_place(transfer->to, call, &to_rt, &out->to);

	if (!r)
		r = peali_range_place(transfer->from, call, &from_rt,
				      &out->from);
	if (r < 0)
		return r;
	if (to_rt != rt || from_rt != rt)
		return peali_fail(PEAL_EINVAL, call,
				  "copy %u is of a buffer of another runtime",
				  i);
	out->bytes = transfer->to.bytes;
	if (out->bytes == transfer->from.bytes)
		return 0;
	return PEALI_REFUSE(
		PEAL_EINVAL, call, .object = PEALI_PRINT("copy %u", i),
		.problem = "has ranges of two lengths",
		.value = PEALI_PRINT("%llu to %llu, in bytes",
				     (unsigned long long)transfer->from.bytes,
				     (unsigned long long)transfer->to.bytes),
		.allowed = "equal lengths",
		.remedy = "use a part of the longer range");
}

static int place_all(struct peal_runtime *rt,
		     const struct peal_transfer *transfers, uint32_t n,
		     const char *call, struct peali_copy_op *moves)
{
	struct side few[2 * FEW] = { 0 };
	struct side *side = n > FEW ? calloc(n, 2 * sizeof(*side)) : few;
	uint32_t i;
	int r = 0;

	if (!side)
		return peali_fail(PEAL_ENOMEM, call,
				  "no host memory for %u copies", n);
	for (i = 0; !r && i < n; i++) {
		r = place(rt, &transfers[i], i, call, &moves[i]);
		side[2 * i].place = moves[i].to;
		side[2 * i].end = moves[i].to.address + moves[i].bytes;
		side[2 * i].copy = i;
		side[2 * i].written = 1;
		side[2 * i + 1].place = moves[i].from;
		side[2 * i + 1].end = moves[i].from.address + moves[i].bytes;
		side[2 * i + 1].copy = i;
	}
	if (!r)
		r = check_overlaps(side, 2 * n, call);
	if (side != few)
		free(side);
	return r;
}

static int check_options(const struct peal_transfer_options *o,
			 const char *call)
{
	const uint32_t routes = PEAL_ROUTE_LOCAL | PEAL_ROUTE_PEER |
				PEAL_ROUTE_MAPPED_HOST | PEAL_ROUTE_STAGED;

	if (o->routes & ~routes)
		return peali_refuse_bits(call, "option", "routes", o->routes,
					 routes);
	if (o->chunk_bytes && (o->chunk_bytes < PEAL_TRANSFER_CHUNK_MIN ||
			       o->chunk_bytes > PEAL_TRANSFER_CHUNK_MAX))
		return peali_refuse_option(call, "chunk_bytes", o->chunk_bytes,
					   PEAL_TRANSFER_CHUNK_MIN,
					   PEAL_TRANSFER_CHUNK_MAX);
	return 0;
}

/* Checks all arguments and resolves the ranges. The caller frees *moves_out. */
static int prepare(struct peal_runtime *rt,
		   const struct peal_transfer *transfers, uint32_t n,
		   const struct peal_transfer_options *options,
		   struct peali_copy_params *order,
		   struct peali_copy_op **moves_out)
{
	struct peal_transfer_options o;
	struct peali_copy_op *moves;
	int r;

	if (!rt || !transfers || !n)
		return !rt ? peali_refuse_null(order->call, "runtime") :
		       !transfers ?
			     peali_refuse_null(order->call, "transfers") :
			     peali_refuse_range(order->call, "argument", "n", 0,
						1, PEAL_TRANSFERS_MAX);
	if (peali_forked(&rt->owner, order->call))
		return PEAL_EFORKED;
	if (n > PEAL_TRANSFERS_MAX)
		return peali_refuse_range(order->call, "argument", "n", n, 1,
					  PEAL_TRANSFERS_MAX);
	r = peali_options_copy(&o, sizeof(o), options, order->call);
	if (!r)
		r = check_options(&o, order->call);
	if (r < 0)
		return r;
	order->routes = o.routes;
	order->chunk_bytes = o.chunk_bytes;
	moves = calloc(n, sizeof(*moves));
	if (!moves)
		return peali_fail(PEAL_ENOMEM, order->call,
				  "no host memory for %u copies", n);
	r = place_all(rt, transfers, n, order->call, moves);
	if (r < 0)
		free(moves);
	else
		*moves_out = moves;
	return r;
}

int peal_transfer_run(struct peal_runtime *runtime,
		      const struct peal_transfer *transfers, uint32_t n,
		      const struct peal_transfer_options *options,
		      struct peal_copy_result *result_out)
{
	struct peali_copy_params order = { .call = "peal_transfer_run" };
	struct peali_copy_op *moves = NULL;
	int r = prepare(runtime, transfers, n, options, &order, &moves);

	if (!r)
		r = peali_copy_sync(runtime->peers, moves, n, &order,
				    result_out);
	free(moves);
	return r;
}

int peal_transfer_start(struct peal_runtime *runtime,
			const struct peal_transfer *transfers, uint32_t n,
			const struct peal_transfer_options *options,
			struct peal_copy **copy_out)
{
	struct peali_copy_params order = { .call = "peal_transfer_start" };
	struct peali_copy_op *moves = NULL;
	int r;

	if (!copy_out)
		return peali_refuse_null(order.call, "copy_out");
	r = prepare(runtime, transfers, n, options, &order, &moves);
	if (!r)
		r = peali_copy_submit(runtime->peers, moves, n, &order,
				      copy_out);
	free(moves);
	return r;
}
