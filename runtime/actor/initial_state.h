/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_INITIAL_STATE_H
#define PEALI_ACTOR_INITIAL_STATE_H

#include "runtime/device/memory_block.h"
#include "runtime/runtime.h"

/* Initial states of supervised actors. */

/** Initial states of the supervised actors of one call. */
struct peali_inits {
	struct peali_inits *next;
	struct peali_block block;
	uint64_t bytes; /* of each; the rest of a state is 0 */
	uint64_t step; /* bytes from one state to the next; 0: all are equal */
	uint32_t actors; /* that still use this; at 0 it is freed */
};

/* Stores the initial states of n actors. *inits_out: NULL for zeros. */
int peali_inits_make(struct peal_kernel *kernel,
		     const struct peal_actor_options *options, uint32_t n,
		     struct peali_inits **inits_out, const char *call);
/* Stores the initial state of an actor of another kernel. */
int peali_inits_carry(const struct peal_kernel *from, uint32_t index,
		      struct peal_kernel *kernel,
		      struct peali_inits **inits_out, const char *call);
/* Frees initial states that no actor uses. */
void peali_inits_free(struct peal_kernel *kernel, struct peali_inits *inits);

#endif
