/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COPY_REQUEST_H
#define PEALI_COPY_REQUEST_H

#include "p2p/copy_exec.h"

/*
 * The moves of a copy call. Every range is resolved, and cannot be freed until
 * peali_load_let_go. `moves` have the owners' devices and addresses.
 */
struct peali_load {
	struct peali_range *kept; /* target and source of each move */
	uint32_t n_kept;
	/* the moves to execute; adjacent moves are merged */
	struct peali_move *moves;
	uint32_t n_moves;
	uint64_t bytes;
	struct peali_range one_kept[2];
	struct peali_move one_move;
};

/*
 * Resolves and keeps the ranges of n moves. The load points into itself, so the
 * struct must not be copied or moved afterwards. Returns 0, PEAL_ENODEV,
 * PEAL_EFAULT or PEAL_ENOMEM. After an error no range is kept. The caller holds
 * peers->lock.
 */
int peali_load_take(struct peali_peers *peers, const struct peali_move *moves,
		    uint32_t n, const char *call, struct peali_load *load);
/* Releases the ranges; may be called again. The caller holds peers->lock. */
void peali_load_let_go(struct peali_load *load);
/* Frees the arrays. Needs no lock. */
void peali_load_free(struct peali_load *load);

#endif
