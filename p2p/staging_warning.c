/* SPDX-License-Identifier: Apache-2.0 */
#include "p2p/staging_warning.h"

#include "p2p/copy_stats.h"
#include "p2p/peer_internal.h"
#include "runtime/base/log.h"

void peali_warn_staging(struct peali_peers *peers, int from, int to,
			const char *what, const char *why)
{
	if (from == to || from == PEALI_HOST || to == PEALI_HOST ||
	    !peali_copy_stats_warn_once(&peers->stats, from, to))
		return;
	peali_warn(
		"device %d -> device %d: %s are staged through the host, which "
		"is slower (%s); run peal topo, or hide this by PEAL_LOG=0",
		from, to, what, why);
}
