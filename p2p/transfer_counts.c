/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of copies between two places. */
#include <peal/transfer.h>

#include "p2p/copy_stats.h"
#include "p2p/peer.h"
#include "p2p/peer_internal.h"
#include "runtime/base/refusal.h"
#include "runtime/device/devices.h"

int peal_transfer_counts(struct peal_runtime *runtime, int from, int to,
			 struct peal_transfer_counts *counts_out)
{
	const char *call = "peal_transfer_counts";
	struct peali_peers *peers = peali_peers_of(runtime, call);
	int r;

	if (!peers)
		return peal_last_error()->code;
	if (!counts_out)
		return peali_refuse_null(call, "counts_out");
	r = peali_devices_check_place(peers->devices, from, call);
	if (!r)
		r = peali_devices_check_place(peers->devices, to, call);
	if (r < 0)
		return r;
	peali_copy_stats_read_pair(&peers->stats, from, to, counts_out);
	return 0;
}
