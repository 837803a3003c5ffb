/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_ADDRESS_H
#define PEALI_KERNEL_ADDRESS_H

#include "runtime/runtime.h"

/*
 * The address book: resolves addresses of actors and pools.
 *
 * Layout of an address: device 8 | kernel 16 | generation 8 | actor 24 bits.
 */

struct peali_actor;
struct peali_pool;

#define PEALI_ADDRESS_HOST 0xff
#define PEALI_ADDRESS_DEAD_LETTERS 0xffffffffu /* generation 255: no actor's */
#define PEALI_ADDRESS_TOPIC (1ULL << 56) /* bit of topics, above the device */

static inline uint64_t peali_address(uint32_t device, uint32_t object,
				     uint32_t actor)
{
	return (uint64_t)device << 48 | (uint64_t)object << 32 | actor;
}

/* Returns the kernel of an actor's or a pool's address, or NULL. */
struct peal_kernel *peali_kernel_at(struct peal_runtime *rt, uint64_t address);
/* Returns the kernel of an actor's address, or NULL. */
struct peal_kernel *peali_kernel_of(struct peal_runtime *rt, uint64_t address);

/* Returns the low half of an entry's address. */
uint32_t peali_actor_number(const struct peal_kernel *kernel, uint32_t index);
/* Returns the address of an entry. */
uint64_t peali_actor_address(const struct peal_kernel *kernel, uint32_t index);
/* Returns the newest entry of an actor in this kernel. */
uint32_t peali_actor_resolve(const struct peal_kernel *kernel, uint32_t index);
/* Returns the newest address of an actor; any other address unchanged. */
uint64_t peali_address_resolve(struct peal_runtime *rt, uint64_t address);
/* Return an actor's first address, and the address after this one or 0. */
uint64_t peali_address_first(struct peal_runtime *rt, uint64_t address);
uint64_t peali_address_next(struct peal_runtime *rt, uint64_t address);
/* Returns the previous address of an actor, or 0. */
uint64_t peali_address_before(struct peal_runtime *rt, uint64_t address);
/* Returns 1 if an address names a slot for handlers' actors. */
int peali_is_spawned(const struct peal_kernel *kernel, uint64_t address);
/* Returns the host's record of any actor. Without rt->lock an actor of a
 * handler may end at any moment. */
struct peali_actor peali_actor_look(const struct peal_kernel *kernel,
				    uint32_t index);
/* Returns the pool of an address and its kernel, or NULL. */
struct peali_pool *peali_pool_at(struct peal_runtime *rt, uint64_t address,
				 struct peal_kernel **kernel_out);
/* Returns PEAL_EBUSY if the end of the pool has begun, else 0. */
int peali_pool_open(const struct peali_pool *pool, const char *call);

/** An address that leads to another kernel. */
struct peali_fwd_entry {
	uint64_t from, to;
	struct peal_link *fwd_link; /* of an unfinished migration; NULL: none */
	int proxy; /* 1: a proxy */
};

/* Return the entry from an address, and the migration to an address. NULL:
 * there is none. */
struct peali_fwd_entry *peali_fwd_entry_from(const struct peal_runtime *rt,
					     uint64_t address);
struct peali_fwd_entry *peali_fwd_entry_to(const struct peal_runtime *rt,
					   uint64_t address);
/* Add an entry, or return PEAL_ENOMEM, and remove one. */
int peali_fwd_entry_add(struct peal_runtime *rt,
			const struct peali_fwd_entry *entry, const char *call);
void peali_fwd_entry_remove(struct peal_runtime *rt,
			    struct peali_fwd_entry *entry);

#endif
