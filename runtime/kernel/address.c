/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address book: resolves addresses of actors and pools. An actor that has
 * migrated has an entry for each of its addresses. A forwarding entry leads to
 * an address in another kernel.
 */
#include "runtime/kernel/address.h"

#include <stdlib.h>
#include <string.h>
#include <peal/device/atomic.h>

#include "runtime/base/error.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/runtime.h"

uint32_t peali_actor_number(const struct peal_kernel *k, uint32_t index)
{
	return k->actors.entries[index].generation << PEAL_ACTOR_BITS | index;
}

int peali_is_spawned(const struct peal_kernel *k, uint64_t address)
{
	uint32_t index = PEAL_ACTOR_INDEX(address);

	return index >= k->params.first_actor_slot &&
	       index < k->params.max_actors;
}

struct peali_actor peali_actor_look(const struct peal_kernel *k, uint32_t index)
{
	uint32_t at = index - k->params.first_actor_slot;
	struct peali_actor a;
	uint64_t slot;

	if (!peali_is_spawned(k, index))
		return k->actors.entries[index];
	slot = peal_load_relaxed_sys(&k->spawn.slots[at]);
	memset(&a, 0, sizeof(a));
	a.handler = PEAL_ACTOR_SLOT_HANDLER(slot) == PEAL_ACTOR_SLOT_FREE ?
			    PEAL_NO_HANDLER :
			    PEAL_ACTOR_SLOT_HANDLER(slot);
	a.worker = at / k->params.max_spawned_actors;
	a.generation = PEAL_ACTOR_SLOT_GENERATION(slot);
	if (a.generation == k->actors.entries[index].generation)
		a.end_number = k->actors.entries[index].end_number;
	a.share_ports_with = PEAL_ACTOR_SLOT_PORTS_OF(slot);
	if (a.share_ports_with)
		a.port_base =
			k->actors.entries[a.share_ports_with - 1].port_base;
	a.state_offset =
		k->spawn.states_offset + at * k->params.slot_state_step;
	return a;
}

struct peal_kernel *peali_kernel_at(struct peal_runtime *rt, uint64_t address)
{
	uint32_t id = (uint32_t)(address >> 32) & 0xffff;
	struct peal_kernel *k;

	if (address >> 48 == PEALI_ADDRESS_HOST)
		return NULL;
	for (k = rt->kernels; k; k = k->next)
		if (k->id == id && (uint64_t)k->device == address >> 48)
			break;
	if (k && peali_is_spawned(k, address))
		k->actors.entries[PEAL_ACTOR_INDEX(address)] =
			peali_actor_look(k, PEAL_ACTOR_INDEX(address));
	return k && PEAL_ACTOR_INDEX(address) < k->params.max_actors &&
			       (uint32_t)address ==
				       peali_actor_number(
					       k, PEAL_ACTOR_INDEX(address)) ?
		       k :
		       NULL;
}

struct peal_kernel *peali_kernel_of(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = peali_kernel_at(rt, address);
	uint32_t handler =
		k ? k->actors.entries[PEAL_ACTOR_INDEX(address)].handler :
		    PEAL_NO_HANDLER;

	return handler == PEAL_NO_HANDLER || handler == PEALI_POOL_HANDLER ?
		       NULL :
		       k;
}

struct peali_pool *peali_pool_at(struct peal_runtime *rt, uint64_t address,
				 struct peal_kernel **kernel_out)
{
	struct peal_kernel *k = peali_kernel_at(rt, address);
	uint32_t i;

	for (i = 0; k && i < k->params.max_pools; i++)
		if (k->pools[i].used &&
		    k->pools[i].actor == PEAL_ACTOR_INDEX(address)) {
			*kernel_out = k;
			return &k->pools[i];
		}
	return NULL;
}

int peali_pool_open(const struct peali_pool *pool, const char *call)
{
	if (!pool->ending)
		return 0;
	return peali_fail(PEAL_EBUSY, call,
			  "pool is being destroyed, and a worker has not "
			  "answered; call peal_pool_destroy again");
}

struct peali_fwd_entry *peali_fwd_entry_from(const struct peal_runtime *rt,
					     uint64_t address)
{
	uint32_t i;

	for (i = 0; i < rt->n_fwd_entries; i++)
		if (rt->fwd_entries[i].from == address)
			return &rt->fwd_entries[i];
	return NULL;
}

struct peali_fwd_entry *peali_fwd_entry_to(const struct peal_runtime *rt,
					   uint64_t address)
{
	uint32_t i;

	for (i = 0; i < rt->n_fwd_entries; i++)
		if (rt->fwd_entries[i].to == address &&
		    !rt->fwd_entries[i].proxy)
			return &rt->fwd_entries[i];
	return NULL;
}

int peali_fwd_entry_add(struct peal_runtime *rt,
			const struct peali_fwd_entry *entry, const char *call)
{
	struct peali_fwd_entry *more;

	if (rt->n_fwd_entries == rt->max_fwd_entries) {
		uint32_t max = rt->max_fwd_entries ? 2 * rt->max_fwd_entries :
						     16;

		more = realloc(rt->fwd_entries, max * sizeof(*more));
		if (!more)
			return peali_fail(PEAL_ENOMEM, call,
					  "no memory for %u addresses that "
					  "lead to other kernels",
					  max);
		rt->fwd_entries = more;
		rt->max_fwd_entries = max;
	}
	rt->fwd_entries[rt->n_fwd_entries++] = *entry;
	return 0;
}

void peali_fwd_entry_remove(struct peal_runtime *rt,
			    struct peali_fwd_entry *entry)
{
	*entry = rt->fwd_entries[--rt->n_fwd_entries];
}

uint32_t peali_actor_resolve(const struct peal_kernel *k, uint32_t index)
{
	while (k->actors.entries[index].moved_to &&
	       k->actors.entries[index].moved_to != PEALI_ELSEWHERE)
		index = k->actors.entries[index].moved_to - 1;
	return index;
}

uint64_t peali_actor_address(const struct peal_kernel *k, uint32_t index)
{
	return k->params.address | peali_actor_number(k, index);
}

uint64_t peali_address_next(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = peali_kernel_of(rt, address);
	uint32_t next =
		k ? k->actors.entries[PEAL_ACTOR_INDEX(address)].moved_to : 0;

	if (next == PEALI_ELSEWHERE)
		return peali_fwd_entry_from(rt, address)->to;
	return next ? peali_actor_address(k, next - 1) : 0;
}

uint64_t peali_address_before(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = peali_kernel_of(rt, address);
	uint32_t was =
		k ? k->actors.entries[PEAL_ACTOR_INDEX(address)].moved_from : 0;
	const struct peali_fwd_entry *c;

	if (was != PEALI_ELSEWHERE)
		return was ? peali_actor_address(k, was - 1) : 0;
	c = peali_fwd_entry_to(rt,
			       address); /* NULL: that kernel is destroyed */
	return c ? c->from : 0;
}

uint64_t peali_address_resolve(struct peal_runtime *rt, uint64_t address)
{
	uint64_t next;

	while ((next = peali_address_next(rt, address)))
		address = next;
	return address;
}

uint64_t peali_address_first(struct peal_runtime *rt, uint64_t address)
{
	uint64_t before;

	while ((before = peali_address_before(rt, address)))
		address = before;
	return address;
}
