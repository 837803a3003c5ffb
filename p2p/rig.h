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

/** What a rig shall be able to do, beyond a verification of one direction. */
enum peali_rig_need {
	PEALI_RIG_PONG = 1, /* answers by peer access, if that can be had */
	PEALI_RIG_HOST = 2, /* the reference */
	PEALI_RIG_BOTH = 4 /* verifies both directions in one launch of each */
};

struct peali_rig {
	struct peali_peers *peers;
	int from, to; /* the runtime's numbers */
	struct peali_backend *backend;
	int local[2]; /* by side: `from`, `to` */
	int held, held_back; /* access there, and the way back */
	int emulated;
	uint32_t lanes;
	uint32_t needs; /* bits of enum peali_rig_need */
	struct peali_memory block[2]; /* of each side */
	struct peali_memory area[2]; /* written there; written back, or none */
	struct peali_memory host; /* words, two bells; area, if needed */
	const struct peali_memory *taken[5];
	int n_taken;
	int used; /* it has run */
	int stuck; /* a kernel did not return: nothing of it can be freed */
	uint64_t seed;
	/* the host's view, there and back */
	struct peal_probe_words *words, *words_back;
};

/*
 * Takes what is needed, bits of enum peali_rig_need. PEAL_ENOPEER, PEAL_ENOMEM,
 * PEAL_EDRIVER; then there is nothing to close.
 */
int peali_rig_open(struct peali_peers *peers, int from, int to, uint32_t needs,
		   struct peali_rig *rig);
void peali_rig_close(struct peali_rig *rig);

/*
 * Runs both kernels to their ends; rig->words has what they say. Of a rig for
 * both directions PEAL_PROBE_VERIFY is two jobs, the way back the second, with
 * `limit_ns` for each. PEAL_EHUNG one of them has not come back, the rig is
 * then stuck; else what a launch says.
 */
int peali_rig_run(struct peali_rig *rig, enum peal_probe_job job,
		  struct peali_rig_ways ways, uint64_t limit_ns);

#endif
