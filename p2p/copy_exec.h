/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COPY_EXEC_H
#define PEALI_COPY_EXEC_H

#include <stdatomic.h>

#include <peal/transfer.h>
#include "p2p/peer.h"

/*
 * Executes copies. Chooses the route of each copy, batches copies, and stages
 * copies through the host if there is no other route. The caller has resolved
 * all places and keeps them allocated. The caller holds no lock.
 */

/** A run: the copies of one call. */
struct peali_run {
	const char *call; /* public function, for error texts */
	uint32_t routes; /* allowed routes, bits of enum peal_route; 0: any */
	/* bytes per chunk of staged copies; 0: the default */
	uint64_t chunk_bytes;
	/* of a background copy, else NULL */
	atomic_int *cancel; /* 1: cancelled; checked between pieces */
	_Atomic uint64_t *done; /* bytes copied so far */
	struct peal_copy_result result; /* zeroed by the caller; filled here */
};

/*
 * Executes n moves. Returns 0, PEAL_ECANCELED, PEAL_ENOPEER, PEAL_ENOMEM or
 * PEAL_EDRIVER.
 */
int peali_carry(struct peali_peers *peers, const struct peali_move *moves,
		uint32_t n, struct peali_run *run);

/*
 * The first call counts copied bytes. The second returns 1 if the run is
 * cancelled.
 */
void peali_run_add(struct peali_run *run, uint64_t bytes);
int peali_run_cancelled(const struct peali_run *run);

/*
 * stage.c. Copies moves that all have the same pair of places, through the
 * host. Errors are as for peali_carry.
 */
int peali_stage_run(struct peali_peers *peers, const struct peali_move *moves,
		    uint32_t n, struct peali_run *run);
/* Ends the threads of all stages and frees their memory. */
void peali_stages_close(struct peali_peers *peers);

#endif
