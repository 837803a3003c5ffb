/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_BARRIER_H
#define PEAL_ABI_BARRIER_H

#include <peal/device/platform.h>

/*
 * A barrier across devices. Each participant owns an array of words, one word
 * per participant.
 *
 * 1. To arrive, it stores its generation to its own word of every array.
 * 2. To wait, it polls all words of its own array.
 *
 * Each word has one writer. The arrays lie in the memory of their owners'
 * devices if all have peer access, else in host memory. The host takes part
 * only if it is a participant.
 *
 * Source: the all-to-all dissemination of sense words, with one round.
 * Mellor-Crummey and Scott, "Algorithms for scalable synchronization on
 * shared-memory multiprocessors", ACM TOCS 9(1), 1991.
 */

#define PEAL_BARRIER_PARTICIPANTS_MAX 256

/** A participant's word in an array. Only writer: that participant. */
struct peal_barrier_word {
	uint64_t generation; /* 1 + the last phase it arrived at */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_barrier_word) == PEAL_SHARED_LINE,
		   "barrier word");

/** A participant's view. Addresses are as its device sees them. */
struct peal_barrier_view {
	uint64_t arrays; /* uint64_t[participants]: the arrays' addresses */
	uint64_t abort; /* uint64_t in host memory, set by the host to abort */
	uint64_t bells; /* host only: uint64_t[participants]; 0: no bells */
	uint64_t state; /* struct peal_barrier_state, own memory */
	uint64_t observer; /* one more array, for the host's reports; 0: none */
	uint32_t participants;
	uint32_t self; /* this participant's number */
	uint32_t index; /* index in the worker's table of barriers */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_barrier_view) == 56, "barrier view");

/** A participant's progress. Only this participant accesses it. */
struct peal_barrier_state {
	uint64_t arrived; /* number of generations at which it has arrived */
	uint64_t passed; /* the latest generation that it has waited for */
};

#endif
