/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_POOLS_H
#define PEAL_TESTS_POOLS_H

#include "relay.h"

/* What the handlers of programs/pools.c and the tests agree on. */

/** A message for a member; it waits until the host word is not 0, if any. */
struct pool_task {
	struct relay_message id;
	uint64_t gate; /* address of the word; 0: none */
};

/** A member's state. */
struct pool_toil {
	uint64_t done;
};

/** A piece of work: as many leaves. */
struct pool_piece {
	uint64_t leaves;
	uint64_t pool; /* its index */
};

/** The state of who splits. */
struct pool_leaves {
	uint64_t seen, pieces;
};

#endif
