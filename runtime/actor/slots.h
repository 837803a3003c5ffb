/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_SLOTS_H
#define PEALI_ACTOR_SLOTS_H

#include "runtime/runtime.h"

/* Actor slots: see slots.c. */

struct peali_actor;

/* The slots for the actors of one spawn: an entry, a state and ports each. */
struct peali_actor_slots {
	struct peal_kernel *kernel;
	uint32_t handler;
	uint32_t worker;
	uint32_t share_ports_with; /* 1 + its entry; 0: own ports */
	uint32_t moved; /* 1: a migrated actor, which has a state */
};

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_actor_slots_open(struct peal_kernel *kernel);
void peali_actor_slots_close(struct peal_kernel *kernel);
/* Returns the bytes from one state to the next. */
uint64_t peali_state_stride(const struct peal_handler_info *handler);
/* Returns the kind of slot of an actor. */
struct peali_actor_slots peali_actor_slots_of(struct peal_kernel *kernel,
					      uint32_t handler,
					      const struct peali_actor *actor);
/* Takes n slots, or none: PEAL_ENOSPC. index_out gets their entries. */
int peali_actor_slots_take(const struct peali_actor_slots *slots, uint32_t n,
			   uint32_t *index_out, const char *call);
/* Frees a slot, for the next actor of its kind. */
void peali_actor_slots_give(const struct peali_actor_slots *slots,
			    uint32_t index);
/* Take and free only an entry, for a pool or a proxy. -1: none is left. */
int64_t peali_entry_take(struct peal_kernel *kernel);
void peali_entry_give(struct peal_kernel *kernel, uint32_t index);
/* Take and free a port in a worker's table, for no actor. -1: none is left. */
int64_t peali_port_take(struct peal_kernel *kernel, uint32_t worker);
void peali_port_give(struct peal_kernel *kernel, uint32_t worker,
		     uint32_t port);

#endif
