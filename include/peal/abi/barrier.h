/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_BARRIER_H
#define PEAL_ABI_BARRIER_H

#include <peal/device/platform.h>

/*
 * A barrier across devices. Each participant owns an array of words, one per
 * participant; to arrive it stores its generation into its own word of every
 * participant's array, to wait it polls its own array. No word has two
 * writers, nothing is read remotely, the host takes no part unless invited.
 * (The all-to-all dissemination of sense words: Mellor-Crummey and Scott,
 * "Algorithms for scalable synchronization on shared-memory multiprocessors",
 * ACM TOCS 9(1), 1991, with one round.)
 */

#define PEAL_BARRIER_PARTICIPANTS_MAX 256

/** One participant's word in another's array. Only writer: that participant. */
struct peal_barrier_word {
	uint64_t generation; /* 1 + the last phase it arrived at */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_barrier_word) == PEAL_SHARED_LINE,
		   "barrier word");

/** One participant's view; addresses as its device sees them. */
struct peal_barrier_view {
	uint64_t arrays; /* uint64_t[participants]: the arrays' addresses */
	uint64_t abort; /* uint64_t, host memory; writer: the host */
	uint64_t bells; /* host only: uint64_t[participants], 0: no bell */
	uint64_t state; /* struct peal_barrier_state, own memory */
	uint64_t observer; /* an array in host memory for who watches; or 0 */
	uint32_t participants;
	uint32_t self; /* this participant's number */
	uint32_t index; /* slot in the worker's barrier table */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_barrier_view) == 56, "barrier view");

/** A participant's own progress; only it touches it. */
struct peal_barrier_state {
	uint64_t arrived; /* generations arrived at */
	uint64_t passed; /* generations waited for */
};

#endif
