/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_POOLS_H
#define PEAL_TESTS_POOLS_H

#include "relay.h"

/* Messages and states of programs/pools.c and its tests. */

/** A message for a member, which waits until the host word is not 0. */
struct pool_task {
	struct relay_message id;
	uint64_t gate; /* address of the word; 0: none */
};

/** A member's state. */
struct pool_toil {
	uint64_t done;
};

/** A piece of work, split down to single leaves. */
struct pool_piece {
	uint64_t leaves;
	uint64_t pool; /* index of the pool */
};

/** State of `split`. */
struct pool_leaves {
	uint64_t seen, pieces;
};

#endif
