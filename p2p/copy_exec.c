/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the route of each copy, executes copies in batches: see copy_exec.h.
 */
#include "p2p/copy_exec.h"

#include <stdio.h>
#include <string.h>

#include <peal/device/impl/base/host_support.h>
#include "p2p/copy_stats.h"
#include "p2p/peer_internal.h"
#include "p2p/staging_warning.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/backend.h"
#include "runtime/device/devices.h"

#define TOGETHER 64 /* most copies of one call to a backend */
/* Bytes of a background copy between two checks for a cancellation. */
#define AT_ONCE ((uint64_t)8 << 20)

void peali_copy_job_add(struct peali_copy_job *job, uint64_t bytes)
{
	job->result.bytes += bytes;
	if (job->done)
		atomic_fetch_add_explicit(job->done, bytes,
					  memory_order_relaxed);
}

int peali_copy_job_cancelled(const struct peali_copy_job *job)
{
	return job->cancel &&
	       atomic_load_explicit(job->cancel, memory_order_relaxed);
}

/* ---- routes -------------------------------------------------------------- */

/*
 * Returns 1 if device a has access to b, and 0 if it has not. Returns -1 if the
 * probe found the pair broken.
 */
static int is_direct(struct peali_peers *peers, int a, int b)
{
	const struct peali_pair *pair = peali_pair_of(peers, a, b);
	const struct peali_device *d = &peers->devices->device[a];
	struct peali_peer_info info;
	int broken;

	pthread_mutex_lock(&peers->lock);
	broken = pair->probed != PEALI_PROBED_NONE &&
		 (pair->info.verdict == PEAL_VERDICT_WRONG_DATA ||
		  pair->info.verdict == PEAL_VERDICT_NEVER_VISIBLE ||
		  pair->info.verdict == PEAL_VERDICT_FAULTED);
	pthread_mutex_unlock(&peers->lock);
	if (broken || !peali_devices_same_backend(peers->devices, a, b) ||
	    d->backend->ops->peer_info(d->backend, d->local,
				       peers->devices->device[b].local, &info))
		return broken ? -1 : 0;
	return info.can_access != 0;
}

/* Returns 1 if a device's driver can access the range of host memory. */
static int is_mapped(struct peali_peers *peers, int device, uint64_t address,
		     uint64_t bytes)
{
	struct peali_backend *backend = peers->devices->device[device].backend;

	return backend->ops->host_view(backend, address) &&
	       backend->ops->host_view(backend, address + bytes - 1);
}

static enum peal_route way_of(struct peali_peers *peers,
			      const struct peali_copy_op *move)
{
	int to = move->to.device, from = move->from.device, there, back;

	if (to == from)
		return PEAL_ROUTE_LOCAL;
	if (to == PEALI_HOST || from == PEALI_HOST)
		return is_mapped(peers, to == PEALI_HOST ? from : to,
				 to == PEALI_HOST ? move->to.address :
						    move->from.address,
				 move->bytes) ?
			       PEAL_ROUTE_MAPPED_HOST :
			       PEAL_ROUTE_STAGED;
	there = is_direct(peers, from, to);
	back = is_direct(peers, to, from);
	return there >= 0 && back >= 0 && there + back > 0 ? PEAL_ROUTE_PEER :
							     PEAL_ROUTE_STAGED;
}

/* Returns the route of a move among the allowed routes, or PEAL_ENOPEER. */
static int choose(struct peali_peers *peers, const struct peali_copy_op *move,
		  const struct peali_copy_job *job)
{
	enum peal_route way = way_of(peers, move);

	if (!job->routes || job->routes & way)
		return (int)way;
	if (job->routes & PEAL_ROUTE_STAGED)
		return PEAL_ROUTE_STAGED;
	return PEALI_REFUSE(
		PEAL_ENOPEER, job->call, .object = "option", .name = "routes",
		.problem = PEALI_PRINT(
			"excludes route %s of device %d -> device %d",
			peal_route_name(way), move->from.device,
			move->to.device),
		.value = PEALI_PRINT("0x%x", job->routes),
		.allowed = PEALI_PRINT("masks with 0x%x",
				       (unsigned)(way | PEAL_ROUTE_STAGED)),
		.remedy = "add PEAL_ROUTE_STAGED");
}

/* ---- direct copies ------------------------------------------------------- */

/** Moves between two places, collected for one call to their backend. */
struct batch {
	struct peali_backend *backend;
	struct peali_copy_op moves[TOGETHER];
	uint32_t n;
	uint64_t bytes;
};

static int flush(struct batch *batch, struct peali_copy_job *job)
{
	int r = 0;

	if (batch->n == 1)
		r = batch->backend->ops->copy(batch->backend,
					      batch->moves[0].to,
					      batch->moves[0].from,
					      batch->moves[0].bytes);
	else if (batch->n)
		r = batch->backend->ops->copy_all(batch->backend, batch->moves,
						  batch->n);
	if (!r)
		peali_copy_job_add(job, batch->bytes);
	batch->n = 0;
	batch->bytes = 0;
	return r;
}

static int local_of(const struct peali_peers *peers, int device)
{
	return device == PEALI_HOST ? PEALI_HOST :
				      peers->devices->device[device].local;
}

/* Adds a move to the batch. Flushes the batch first if it is full. */
static int put(struct peali_peers *peers, struct batch *batch,
	       const struct peali_copy_op *move, struct peali_copy_job *job)
{
	struct peali_copy_op *at;
	int r = 0;

	if (batch->n == TOGETHER ||
	    (job->cancel && batch->bytes + move->bytes > AT_ONCE))
		r = flush(batch, job);
	if (r < 0)
		return r;
	if (peali_copy_job_cancelled(job))
		return PEAL_ECANCELED;
	at = &batch->moves[batch->n++];
	*at = *move;
	at->to.device = local_of(peers, move->to.device);
	at->from.device = local_of(peers, move->from.device);
	batch->bytes += move->bytes;
	return 0;
}

/*
 * Adds a move in pieces, if the job can be cancelled. An overlapping move to a
 * higher address starts at the end, to read each byte before it is overwritten.
 */
static int put_pieces(struct peali_peers *peers, struct batch *batch,
		      const struct peali_copy_op *move,
		      struct peali_copy_job *job)
{
	int backwards = move->to.device == move->from.device &&
			move->to.address - move->from.address < move->bytes;
	struct peali_copy_op piece = *move;
	uint64_t done = 0, at;
	int r = 0;

	if (!job->cancel || move->bytes <= AT_ONCE)
		return put(peers, batch, move, job);
	while (!r && done < move->bytes) {
		piece.bytes = move->bytes - done < AT_ONCE ?
				      move->bytes - done :
				      AT_ONCE;
		at = backwards ? move->bytes - done - piece.bytes : done;
		piece.to.address = move->to.address + at;
		piece.from.address = move->from.address + at;
		r = put(peers, batch, &piece, job);
		if (!r) /* flush keeps the order of overlapping pieces */
			r = flush(batch, job);
		done += piece.bytes;
	}
	return r;
}

/* ---- groups of moves ----------------------------------------------------- */

static int same_pair(const struct peali_copy_op *a,
		     const struct peali_copy_op *b)
{
	return a->to.device == b->to.device && a->from.device == b->from.device;
}

/* Returns the number of leading moves with the same pair and the same route. */
static uint32_t alike(struct peali_peers *peers,
		      const struct peali_copy_op *moves, uint32_t n,
		      enum peal_route way, const struct peali_copy_job *job)
{
	int host = moves->to.device == PEALI_HOST ||
		   moves->from.device == PEALI_HOST;
	uint32_t i;

	for (i = 1; i < n && same_pair(&moves[i], moves); i++)
		if (host && choose(peers, &moves[i], job) != (int)way)
			break; /* the route also depends on the host memory */
	return i;
}

/* Writes the reason of a failed probe. Returns 0 if no probe has failed. */
static int probe_cause(struct peali_peers *peers, int a, int b, char why[240])
{
	struct peal_pair_info info;

	if (is_direct(peers, a, b) >= 0)
		return 0;
	pthread_mutex_lock(&peers->lock);
	info = peali_pair_of(peers, a, b)->info;
	pthread_mutex_unlock(&peers->lock);
	snprintf(why, 240, "the probe of device %d -> device %d says %s: %s", a,
		 b, peal_verdict_name(info.verdict), info.reason);
	return 1;
}

/* Writes the cause why a copy between two devices is staged. */
static void cause_of(struct peali_peers *peers,
		     const struct peali_copy_op *move, char why[240])
{
	int from = move->from.device, to = move->to.device;
	const struct peali_device *device = peers->devices->device;

	if (way_of(peers, move) != PEAL_ROUTE_STAGED)
		snprintf(why, 240, "option 'routes' excludes direct copies");
	else if (device[from].backend != device[to].backend)
		snprintf(why, 240, "the devices are of two backends, %s and %s",
			 device[from].backend->ops->name,
			 device[to].backend->ops->name);
	else if (!probe_cause(peers, from, to, why) &&
		 !probe_cause(peers, to, from, why))
		snprintf(why, 240,
			 "neither device has access to the memory of the "
			 "other");
}

static void warn(struct peali_peers *peers, const struct peali_copy_op *move)
{
	int from = move->from.device, to = move->to.device;
	char why[240] = "";

	if (!peali_staging_is_new(peers, from, to))
		return;
	cause_of(peers, move, why);
	peali_warn_staging(from, to, "copies are staged through the host", why);
}

static int execute_direct(struct peali_peers *peers,
			  const struct peali_copy_op *moves, uint32_t n,
			  struct peali_copy_job *job)
{
	int device = moves->to.device == PEALI_HOST ? moves->from.device :
						      moves->to.device;
	struct batch batch;
	uint32_t i;
	int r = 0;

	batch.backend =
		peers->devices->device[device == PEALI_HOST ? 0 : device]
			.backend;
	batch.n = 0;
	batch.bytes = 0;
	for (i = 0; !r && i < n; i++)
		r = put_pieces(peers, &batch, &moves[i], job);
	return r < 0 ? r : flush(&batch, job);
}

/*
 * Copies moves through the host. Without pinned memory for two buffers, the
 * backend itself can stage a copy from or to host memory.
 */
static int execute_staged(struct peali_peers *peers,
			  const struct peali_copy_op *moves, uint32_t n,
			  struct peali_copy_job *job)
{
	uint64_t before = job->result.bytes;
	int r;

	warn(peers, moves);
	r = peali_copy_staged(peers, moves, n, job);
	if (r != PEAL_ENOMEM || job->result.bytes != before ||
	    (moves->to.device != PEALI_HOST &&
	     moves->from.device != PEALI_HOST))
		return r;
	r = execute_direct(peers, moves, n, job);
	job->result.staged_bytes += job->result.bytes - before;
	return r;
}

static int execute_group(struct peali_peers *peers,
			 const struct peali_copy_op *moves, uint32_t n,
			 enum peal_route way, struct peali_copy_job *job)
{
	struct peali_copy_stats_entry entry = { .to = moves->to.device,
						.from = moves->from.device,
						.staged = way ==
							  PEAL_ROUTE_STAGED };
	uint64_t before = job->result.bytes, began = peal_clock_ns();
	int r;

	if (way > job->result.route)
		job->result.route = way;
	r = way == PEAL_ROUTE_STAGED ? execute_staged(peers, moves, n, job) :
				       execute_direct(peers, moves, n, job);
	*(r ? &entry.failed : &entry.copies) = n;
	entry.bytes = job->result.bytes - before;
	entry.ns = peal_clock_ns() - began;
	peali_copy_stats_add(&peers->stats, &entry);
	return r;
}

/*
 * Counts the leading moves of one pair as failed. None of them has started.
 * Returns the number of these moves.
 */
static uint32_t forgo(struct peali_peers *peers,
		      const struct peali_copy_op *moves, uint32_t n)
{
	struct peali_copy_stats_entry entry = { .to = moves->to.device,
						.from = moves->from.device };

	entry.staged = way_of(peers, moves) == PEAL_ROUTE_STAGED;
	while (entry.failed < n && same_pair(&moves[entry.failed], moves))
		entry.failed++;
	peali_copy_stats_add(&peers->stats, &entry);
	return entry.failed;
}

int peali_copy_execute(struct peali_peers *peers,
		       const struct peali_copy_op *moves, uint32_t n,
		       struct peali_copy_job *job)
{
	uint64_t began = peal_clock_ns();
	uint32_t i, group;
	int way, r = 0;

	job->result.n_copies = n;
	for (i = 0; i < n; i += group) {
		way = r ? r :
		      peali_copy_job_cancelled(job) ?
			  PEAL_ECANCELED :
			  choose(peers, &moves[i], job);
		if (way < 0) {
			group = forgo(peers, &moves[i], n - i);
			r = way;
			continue;
		}
		group = alike(peers, &moves[i], n - i, (enum peal_route)way,
			      job);
		r = execute_group(peers, &moves[i], group, (enum peal_route)way,
				  job);
	}
	job->result.nanoseconds = peal_clock_ns() - began;
	return r;
}
