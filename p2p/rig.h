/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RIG_H
#define PEALI_RIG_H

#include <peal/abi/probe.h>
#include "p2p/books.h"

/*
 * What the two kernels of the probe need: memory on both devices and in the
 * host, access, parameters; and running them.
 */

#define PEALI_RIG_PATTERN_BYTES ((uint64_t)1 << 20)
#define PEALI_RIG_BATCH 128u /* round trips; there are 16 batches */

/** Where a job's data goes, and where its answers come. */
struct peali_rig_ways {
	int area_in_host; /* the reference: not across, through the host */
	int pong_in_peer; /* into the writer's memory; else into the host's */
};

struct peali_rig {
	struct peali_peers *peers;
	int from, to; /* the runtime's numbers */
	struct peali_backend *backend;
	int local[2]; /* by enum peal_probe_role */
	int held, held_back; /* access there, and the way back */
	int emulated;
	uint32_t lanes;
	/* parameters, then two scratch words, then the pong word */
	struct peali_memory block[2];
	struct peali_memory area; /* in the memory of `to` */
	struct peali_memory host; /* words, two bells, area */
	int n_memories; /* of the four that are taken */
	int stuck; /* a kernel did not return: nothing of it can be freed */
	uint64_t seed;
	struct peal_probe_words *words; /* the host's view */
};

/*
 * Takes what is needed; `way_back` 1 enables access of `to` to `from` too.
 * PEAL_ENOPEER, PEAL_ENOMEM, PEAL_EDRIVER; then there is nothing to close.
 */
int peali_rig_open(struct peali_peers *peers, int from, int to, int way_back,
		   struct peali_rig *rig);
void peali_rig_close(struct peali_rig *rig);

/*
 * Runs both kernels to their ends; rig->words has what they say. PEAL_EHUNG one
 * of them has not come back, the rig is then stuck; else what a launch says.
 */
int peali_rig_run(struct peali_rig *rig, enum peal_probe_job job,
		  struct peali_rig_ways ways, uint64_t limit_ns);

#endif
