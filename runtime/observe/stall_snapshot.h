/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_STALL_SNAPSHOT_H
#define PEALI_STALL_SNAPSHOT_H

#include <peal/link.h>
#include "runtime/link/inflight.h"

/* Snapshots of all workers and links, for the search of stalls. The caller of
 * these functions holds rt->lock, except for peali_looks_free. */

/** A worker in a snapshot. */
struct peali_worker_look {
	struct peal_kernel *kernel;
	uint32_t id; /* of the kernel: its pointer may be reused */
	uint32_t worker;
	uint64_t phase, heartbeat, handled, blocked;
	struct peali_inflight inflight;
	uint64_t silent_ns; /* since its last heartbeat; 0: it has moved */
	int still; /* 1: unchanged since the first snapshot */
	uint32_t way; /* number of the latest chain through this worker */
	struct peali_worker_look *next; /* for which it waits in that chain */
};

/** A link in a snapshot. */
struct peali_link_look {
	const struct peal_link *link;
	struct peal_link_info info;
	int still;
};

struct peali_looks {
	struct peali_worker_look *workers;
	struct peali_link_look *links;
	uint32_t n_workers, n_links;
};

/* Takes a snapshot. Returns 0 or PEAL_ENOMEM. */
int peali_looks_take(struct peal_runtime *rt, struct peali_looks *looks);
/* Marks the workers and links that have not changed. */
void peali_looks_compare(const struct peali_looks *before,
			 struct peali_looks *now);
void peali_looks_free(struct peali_looks *looks);

#endif
