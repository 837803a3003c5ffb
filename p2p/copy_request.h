/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COPY_REQUEST_H
#define PEALI_COPY_REQUEST_H

#include "p2p/copy_exec.h"

/*
 * The moves of a copy call. Every range is resolved, and cannot be freed until
 * peali_copy_request_release. `moves` have the owners' devices and addresses.
 */
struct peali_copy_request {
	struct peali_range *kept; /* target and source of each move */
	uint32_t n_kept;
	/* the moves to execute; adjacent moves are merged */
	struct peali_copy_op *moves;
	uint32_t n_moves;
	uint64_t bytes;
	struct peali_range one_kept[2];
	struct peali_copy_op one_op;
};

/*
 * Resolves and keeps the ranges of n moves. The request points into itself:
 * the struct must not be copied or moved. Returns 0, PEAL_ENODEV,
 * PEAL_EFAULT or PEAL_ENOMEM. After an error no range is kept. The caller holds
 * peers->lock.
 */
int peali_copy_request_hold(struct peali_peers *peers,
			    const struct peali_copy_op *moves, uint32_t n,
			    const char *call,
			    struct peali_copy_request *request);
/* Releases the ranges; may be called again. The caller holds peers->lock. */
void peali_copy_request_release(struct peali_copy_request *request);
/* Frees the arrays. Needs no lock. */
void peali_copy_request_free(struct peali_copy_request *request);

#endif
