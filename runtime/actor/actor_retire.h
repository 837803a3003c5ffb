/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_RETIRE_H
#define PEALI_ACTOR_RETIRE_H

#include "runtime/runtime.h"

/* The end of actors and of addresses. */

/* peal_actor_retire_many for callers that hold rt->lock. */
int peali_actors_retire(struct peal_runtime *rt, const uint64_t *addresses,
			uint32_t n);
/* Ends an address that leads to another kernel. */
int peali_fwd_entry_end(struct peal_runtime *rt, uint64_t address);

#endif
