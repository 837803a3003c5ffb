/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROBE_SETUP_H
#define PEALI_PROBE_SETUP_H

#include <peal/abi/probe.h>
#include "p2p/peer_internal.h"

/*
 * The set-up of the probe: resources of its two kernels, and their launch.
 * The resources are memory on both devices and in the host, peer access, and
 * parameters.
 */

#define PEALI_SETUP_PATTERN_BYTES ((uint64_t)1 << 20)
#define PEALI_SETUP_BATCH 128u /* round trips per batch; 16 batches */

/** The routes of a job's data and answers. */
struct peali_probe_routes {
	int area_in_host; /* 1: data goes through host memory (the baseline) */
	/* 1: answers go to the writer's memory; 0: to the host's */
	int pong_in_peer;
};

/** Abilities of a set-up, beyond the verification of one direction. */
enum peali_probe_need {
	PEALI_SETUP_PONG = 1, /* answers by peer access, if the pair has it */
	PEALI_SETUP_HOST = 2, /* the baseline through host memory */
	/* both directions verified at the same time, by a worker each */
	PEALI_SETUP_BOTH = 4
};

struct peali_probe_setup {
	struct peali_peers *peers;
	int from, to; /* device numbers of the runtime */
	struct peali_backend *backend;
	int local[2]; /* the backend's numbers of `from`, `to` */
	int held, held_back; /* 1: access from -> to is held; to -> from */
	int emulated;
	uint32_t lanes;
	uint32_t needs; /* bits of enum peali_probe_need */
	/* enum peal_slot_policy: of the ring; of the slot under pressure */
	uint32_t policy, atom_policy;
	/* of each side: parameters, scratch, pong */
	struct peali_memory block[2];
	/*
	 * Targets of the stores: [0] of `from`, in `to`; [1] of `to`, in
	 * `from`, only with PEALI_SETUP_BOTH.
	 */
	struct peali_memory area[2];
	/* words, four bells; area with PEALI_SETUP_HOST */
	struct peali_memory host;
	const struct peali_memory *taken[5];
	int n_taken;
	int used; /* 1: a job has run, its data must be cleared */
	int hung; /* 1: a kernel did not return; its memory is never freed */
	uint64_t seed;
	/* the host's view of the results, per direction */
	struct peal_probe_words *words, *words_back;
};

/*
 * Takes the resources for `needs`, bits of enum peali_probe_need. Returns 0,
 * PEAL_ENOPEER, PEAL_ENOMEM or PEAL_EDRIVER. After an error there is nothing to
 * close.
 */
int peali_probe_setup_open(struct peali_peers *peers, int from, int to,
			   uint32_t needs, struct peali_probe_setup *setup);
void peali_probe_setup_close(struct peali_probe_setup *setup);

/* Later runs use atoms of 8 bytes where they used atoms of 16 bytes. */
void peali_probe_setup_narrow(struct peali_probe_setup *setup);

/*
 * Runs both kernels to their ends. setup->words then has the results. With
 * PEALI_SETUP_BOTH, the job PEAL_PROBE_VERIFY runs in both directions at once.
 * Each job has `limit_ns`. Returns 0 or the error of a launch.
 * PEAL_EHUNG: a kernel has not returned, and setup->hung is 1.
 */
int peali_probe_setup_run(struct peali_probe_setup *setup,
			  enum peal_probe_job job,
			  struct peali_probe_routes ways, uint64_t limit_ns);

#endif
