/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of peer access in the background: the asynchronous calls of
 * peal/peer.h. A change waits in the line of the device that gets or loses
 * access, see copy_async.c.
 */
#include <peal/peer.h>

#include <time.h>

#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/devices.h"

int peali_peer_change_do(struct peali_peers *peers,
			 struct peali_peer_change *change)
{
	switch (change->kind) {
	case PEALI_CHANGE_ENABLE:
		return peali_peer_enable(peers, change->from, change->to);
	case PEALI_CHANGE_DISABLE:
		return peali_peer_disable(peers, change->from, change->to);
	case PEALI_CHANGE_MAP:
		return peali_peer_map(peers, change->to, change->address,
				      change->from, change->bytes,
				      &change->mapped);
	case PEALI_CHANGE_UNMAP:
		return peali_peer_unmap(peers, change->from, change->address);
	default:
		return 0;
	}
}

/* Waits for the end of a copy or change. The caller holds peers->lock. */
static void await_end(struct peali_peers *peers, uint64_t deadline)
{
	struct timespec until = { (time_t)(deadline / 1000000000),
				  (long)(deadline % 1000000000) };

	if (deadline == UINT64_MAX)
		pthread_cond_wait(&peers->copy_ended, &peers->lock);
	else
		pthread_cond_timedwait(&peers->copy_ended, &peers->lock,
				       &until);
}

int peali_changes_await(struct peali_peers *peers, int from, int64_t timeout_ns,
			const char *call)
{
	uint64_t deadline = peali_deadline(timeout_ns), last, began = 0;
	uint32_t n;

	pthread_mutex_lock(&peers->lock);
	last = peers->n_started;
	while ((n = peali_changes_before(peers, from, last)) &&
	       !peali_late(deadline)) {
		if (!began)
			began = peal_clock_ns();
		await_end(peers, deadline);
	}
	pthread_mutex_unlock(&peers->lock);
	if (began)
		peali_copy_stats_add_wait(&peers->stats,
					  peal_clock_ns() - began);
	if (!n)
		return 0;
	return peali_fail(PEAL_ETIMEDOUT, call,
			  "device %d: %u change%s of its access, started "
			  "earlier, %s incomplete after %lld ns; wait longer, "
			  "or call peal_copy_cancel for %s",
			  from, n, peali_s(n), n == 1 ? "is" : "are",
			  (long long)timeout_ns, n == 1 ? "it" : "them");
}

/* ---- public -------------------------------------------------------------- */

/* Returns the peers of a runtime, or NULL as peali_peers_of. */
static struct peali_peers *open_call(struct peal_runtime *runtime,
				     struct peal_copy **change_out,
				     const char *call)
{
	struct peali_peers *peers = peali_peers_of(runtime, call);

	if (peers && !change_out) {
		peali_refuse_null(call, "change_out");
		return NULL;
	}
	return peers;
}

/* Starts a change of a pair that has no further arguments. */
static int start_pair(struct peal_runtime *runtime, enum peali_change_kind kind,
		      int from, int to, struct peal_copy **change_out,
		      const char *call)
{
	const struct peali_peer_change change = { .kind = kind,
						  .from = from,
						  .to = to };
	struct peali_peers *peers = open_call(runtime, change_out, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	r = peali_pair_check(peers, from, to, call);
	return r < 0 ? r :
		       peali_change_submit(peers, &change, call, change_out);
}

int peal_peer_enable_async(struct peal_runtime *runtime, int from, int to,
			   struct peal_copy **change_out)
{
	return start_pair(runtime, PEALI_CHANGE_ENABLE, from, to, change_out,
			  "peal_peer_enable_async");
}

int peal_peer_disable_async(struct peal_runtime *runtime, int from, int to,
			    struct peal_copy **change_out)
{
	return start_pair(runtime, PEALI_CHANGE_DISABLE, from, to, change_out,
			  "peal_peer_disable_async");
}

int peal_peer_map_async(struct peal_runtime *runtime, int device,
			uint64_t address, int remote, uint64_t bytes,
			struct peal_copy **change_out)
{
	const char *call = "peal_peer_map_async";
	const struct peali_peer_change change = { .kind = PEALI_CHANGE_MAP,
						  .from = remote,
						  .to = device,
						  .address = address,
						  .bytes = bytes };
	struct peali_peers *peers = open_call(runtime, change_out, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	r = peali_map_check(peers, device, address, remote, bytes, call);
	return r < 0 ? r :
		       peali_change_submit(peers, &change, call, change_out);
}

int peal_peer_unmap_async(struct peal_runtime *runtime, int remote,
			  uint64_t address, struct peal_copy **change_out)
{
	const char *call = "peal_peer_unmap_async";
	const struct peali_peer_change change = { .kind = PEALI_CHANGE_UNMAP,
						  .from = remote,
						  .address = address };
	struct peali_peers *peers = open_call(runtime, change_out, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	r = peali_devices_check(peers->devices, remote, call);
	return r < 0 ? r :
		       peali_change_submit(peers, &change, call, change_out);
}

int peal_peer_mapped(const struct peal_copy *map, uint64_t *address_out)
{
	const char *call = "peal_peer_mapped";
	const struct peali_peer_change *change;
	int r;

	if (!map || !address_out)
		return peali_refuse_null(call, "map or address_out");
	r = peali_change_result(map, call, &change);
	if (r == PEAL_EFORKED)
		return r;
	if (change->kind != PEALI_CHANGE_MAP)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
				    .name = "map", .problem = "is no mapping",
				    .value = "another operation",
				    .allowed = "one of peal_peer_map_async",
				    .remedy = "pass the result of "
					      "peal_peer_map_async");
	if (r < 0)
		return peali_fail(
			r, call,
			"device %d: the mapping of 0x%llx of device "
			"%d %s; call peal_copy_wait for the result",
			change->from, (unsigned long long)change->address,
			change->to,
			r == PEAL_EAGAIN ? "is incomplete" : "was not made");
	*address_out = change->mapped;
	return 0;
}
