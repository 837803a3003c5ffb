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

/** A copy job: the copies of one call. */
struct peali_copy_job {
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
int peali_copy_execute(struct peali_peers *peers,
		       const struct peali_copy_op *moves, uint32_t n,
		       struct peali_copy_job *job);

/*
 * The first call counts copied bytes. The second returns 1 if the job is
 * cancelled.
 */
void peali_copy_job_add(struct peali_copy_job *job, uint64_t bytes);
int peali_copy_job_cancelled(const struct peali_copy_job *job);

/*
 * copy_staged.c. Copies moves with the same pair of places, through the
 * host. Errors are as for peali_copy_execute.
 */
int peali_copy_staged(struct peali_peers *peers,
		      const struct peali_copy_op *moves, uint32_t n,
		      struct peali_copy_job *job);
/* Ends the threads of the pool and frees their memory. */
void peali_staging_close(struct peali_peers *peers);

#endif
