/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_BOARD_H
#define PEAL_RUNTIME_BOARD_H

/*
 * Boards: where workers say that a request of the host has no answer, because its
 * message was dropped (include/peal/abi/limit.h). A requester has one while it is
 * open; the memory is for the next one then, as a worker may write there late, and
 * is freed with the runtime.
 */

#include "runtime/runtime.h"

struct peali_board {
	struct peali_area area; /* host memory */
	struct peal_board *words; /* as the host sees it */
	uint32_t number; /* 1 + its place in the kernels' tables */
	uint32_t places;
	int used; /* 1: a requester has it; guarded by the runtime's lock */
	uint64_t n_ids; /* requests of those that had it: the next one's go on
			 * behind them, so that no number comes twice */
	/* of who receives for the requester: */
	uint64_t latest; /* the request at which it has looked */
	uint32_t at; /* the place to look at next; `places`: none */
	uint64_t *seen; /* for each place, the request that it said last */
};

/* The runtime's lock is held. A board of so many places; *out is NULL if there are
 * PEAL_BOARDS_MAX: then refusals do not come. */
int peali_board_take(struct peal_runtime *rt, uint32_t places,
		     struct peali_board **out);
void peali_board_give(struct peali_board *board);
/* A kernel that has limits begins: it knows all boards. */
void peali_boards_show(struct peal_kernel *kernel);
void peali_boards_clear(struct peal_runtime *rt);
/* Whether a request of an endpoint's board has ended that was not told yet: 1 and
 * its message, as of that input. One thread at a time. */
int peali_board_receive(struct peal_endpoint *endpoint, uint32_t input);

#endif
