/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_NAME_TABLE_H
#define PEALI_NAME_TABLE_H

#include <peal/name.h>

#include "runtime/runtime.h"

/*
 * Names of a runtime's addresses. A writer holds the runtime's lock and the
 * names lock (peali_names.lock). A reader needs only one of these locks. So a
 * lookup takes the names lock and never waits for a long holder of the
 * runtime's lock.
 */

void peali_names_init(struct peali_names *names);
void peali_names_clear(struct peali_names *names);
/*
 * Returns 0 if the name is valid and free. Else returns PEAL_EINVAL or
 * PEAL_EEXIST. For this and the next functions the caller holds the runtime's
 * lock. Only peali_name_text does not need it.
 */
int peali_name_check(struct peal_runtime *rt, const char *name,
		     const char *call);
/*
 * Gives a checked name to an address without a name. Returns 0 or PEAL_ENOMEM.
 */
int peali_name_give(struct peal_runtime *rt, uint64_t address, const char *name,
		    const char *call);
/*
 * Adds `to` as the newest address of the actor at `from`. From now on a lookup
 * of the actor's name returns `to`. Without memory, or without a name, nothing
 * changes.
 */
void peali_name_follow(struct peal_runtime *rt, uint64_t from, uint64_t to);
/*
 * Writes " 'name'" for an error text, or "" if the address has no name. The
 * caller may hold the runtime's lock. Returns `text`.
 */
const char *peali_name_text(struct peal_runtime *rt, uint64_t address,
			    char text[PEAL_NAME_BYTES + 3]);
/*
 * Frees the name of an actor, pool, endpoint or topic that ends, if it has one.
 * `address` is any of its addresses.
 */
void peali_name_forget(struct peal_runtime *rt, uint64_t address);
/* Frees the names of all addresses of a kernel. */
void peali_name_forget_kernel(struct peal_runtime *rt, uint64_t address);
/*
 * Find the address of a name, the name of an address, and free a name. Return 1
 * if there is one, else 0. Only peali_name_clear needs the runtime's lock.
 */
int peali_name_find(struct peal_runtime *rt, const char *name,
		    uint64_t *address_out);
int peali_name_of(struct peal_runtime *rt, uint64_t address,
		  char name_out[PEAL_NAME_BYTES]);
int peali_name_clear(struct peal_runtime *rt, const char *name);

#endif
