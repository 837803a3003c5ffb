/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between devices: the calls of peal/peer.h. */
#include <peal/peer.h>

#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/refusal.h"

int peal_peer_copy(struct peal_runtime *runtime, int to, uint64_t to_address,
		   int from, uint64_t from_address, uint64_t bytes)
{
	struct peali_peers *peers = peali_peers_of(runtime, "peal_peer_copy");
	struct peali_place target = { to, to_address };
	struct peali_place source = { from, from_address };

	return peers ? peali_copy_sync_one(peers, target, source, bytes) :
		       peal_last_error()->code;
}

int peal_peer_copy_async(struct peal_runtime *runtime, int to,
			 uint64_t to_address, int from, uint64_t from_address,
			 uint64_t bytes, struct peal_copy **copy_out)
{
	const char *call = "peal_peer_copy_async";
	struct peali_peers *peers = peali_peers_of(runtime, call);
	struct peali_place target = { to, to_address };
	struct peali_place source = { from, from_address };

	if (!peers)
		return peal_last_error()->code;
	if (!copy_out)
		return peali_refuse_null(call, "copy_out");
	return peali_copy_submit_one(peers, target, source, bytes, copy_out);
}
