/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LOAD_H
#define PEALI_LOAD_H

#include "p2p/carry.h"

/*
 * What a call wants copied: every place is looked up, and kept from being freed
 * until the load is let go of. In `moves` places are the owners' own.
 */
struct peali_load {
	struct peali_range *kept; /* target and source of each */
	uint32_t n_kept;
	struct peali_move *moves; /* what is done: adjacent ones are one */
	uint32_t n_moves;
	uint64_t bytes;
	struct peali_range one_kept[2];
	struct peali_move one_move;
};

/*
 * All with the lock of `peers` held, but for peali_load_free. A load does not
 * move from where it was taken. PEAL_ENODEV, PEAL_EFAULT, PEAL_ENOMEM: nothing
 * is kept.
 */
int peali_load_take(struct peali_peers *peers, const struct peali_move *moves,
		    uint32_t n, const char *call, struct peali_load *load);
/* Once or more. */
void peali_load_let_go(struct peali_load *load);
void peali_load_free(struct peali_load *load);

#endif
