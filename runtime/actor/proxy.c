/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proxies: addresses in one kernel that lead to actors or pools of other
 * kernels. On the host a proxy is a forwarding entry. On the device it is like
 * the entry of an actor that has migrated to another kernel
 * (include/peal/device/impl/loop/actor_forward.h).
 */
#include <string.h>

#include <peal/proxy.h>

#include "runtime/actor/forwarding.h"
#include "runtime/actor/actor_retire.h"
#include "runtime/actor/slots.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

#define CREATE "peal_proxy_create"

/* Returns the kernel of an actor or a pool, or NULL. */
static struct peal_kernel *home_of(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = peali_kernel_of(rt, address);

	if (!k)
		peali_pool_at(rt, address, &k);
	return k;
}

/* Returns the worker where a new forwarding link ends. */
static uint32_t arrives_at(const struct peal_kernel *to, uint64_t address)
{
	const struct peali_actor *a =
		&to->actors.entries[PEAL_ACTOR_INDEX(address)];

	return a->handler == PEALI_POOL_HANDLER ? 0 : a->worker;
}

/* Returns a worker with a forwarding link to that kernel, or else worker 0. */
static uint32_t choose_worker(const struct peal_kernel *k,
			      const struct peal_kernel *to)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		if (peali_fwd_link_find(k, i, to))
			return i;
	return 0;
}

static int tell_proxy(struct peal_kernel *k, uint32_t index, uint64_t address,
		      uint32_t port)
{
	uint32_t worker = k->actors.entries[index].worker;
	struct peal_control_spawn spawn;

	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = peali_actor_number(k, index);
	spawn.count = 1;
	spawn.entry.state = (uint32_t)address;
	spawn.entry.port_base = (uint16_t)port;
	spawn.entry.location = PEAL_ENTRY_FORWARD_TO(
		PEAL_ENTRY(spawn.actor, worker, 0), PEAL_ENTRY_OTHER_KERNEL);
	spawn.init_bytes = PEAL_CONTROL_WRITTEN;
	return peali_kernel_tell(k, worker, PEAL_CONTROL_SPAWN, &spawn,
				 sizeof(spawn), CREATE);
}

/* Removes a proxy that no worker knows. Keeps the error text. */
static void give_up(struct peal_kernel *k, uint64_t from)
{
	struct peal_error_info failed = *peal_last_error();

	peali_fwd_entry_end(k->rt, from);
	peali_fail(failed.code, CREATE, "%s", failed.text);
}

/* Creates an entry that leads to `address` over a forwarding link. */
static int make(struct peal_kernel *k, struct peal_link *fwd_link,
		uint64_t address, uint64_t *address_out)
{
	struct peali_fwd_entry c = { .to = address, .proxy = 1 };
	int64_t index = peali_entry_take(k);
	struct peali_actor *a;
	int result;

	if (index < 0)
		return peali_fail(PEAL_ENOSPC, CREATE,
				  "all %u of max_actors are used in kernel "
				  "'%s', and a proxy needs one slot",
				  k->params.first_actor_slot, k->name);
	c.from = k->params.address | peali_actor_number(k, (uint32_t)index);
	result = peali_fwd_entry_add(k->rt, &c, CREATE);
	if (result) {
		peali_entry_give(k, (uint32_t)index);
		return result;
	}
	a = &k->actors.entries[index];
	a->handler = PEALI_PROXY_HANDLER;
	a->worker = fwd_link->from.worker;
	a->moved_to = PEALI_ELSEWHERE;
	a->leads_to = address;
	k->actors.n_moved++;
	result = tell_proxy(k, (uint32_t)index, address, fwd_link->from.index);
	if (!result)
		*address_out = c.from;
	else if (result != PEAL_EHUNG) /* a hung worker may still create it */
		give_up(k, c.from);
	return result;
}

static int create(struct peal_kernel *k, uint64_t given, uint32_t worker,
		  uint64_t *address_out)
{
	uint64_t address = peali_address_resolve(k->rt, given);
	struct peal_kernel *to = home_of(k->rt, address);
	struct peal_link *fwd_link;
	int result;

	if (!to)
		return peali_refuse_address(CREATE, "address", given,
					    "actor or pool");
	if (to == k)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "kernel",
			.name = k->name,
			.problem = "has the actor itself and needs no "
				   "proxy",
			.value = PEALI_PRINT("%#llx",
					     (unsigned long long)address),
			.allowed = "actors of other kernels",
			.remedy = PEALI_PRINT("tell it by its number, %u",
					      (uint32_t)address));
	result = peali_fwd_link_check(k, to, CREATE);
	if (result)
		return result;
	if (worker > k->params.n_workers)
		return PEALI_REFUSE(
			PEAL_ENOENT, CREATE, .object = "option",
			.name = "worker",
			.problem = PEALI_PRINT("is of no worker of kernel '%s'",
					       k->name),
			.number = worker, .most = k->params.n_workers);
	worker = worker ? worker - 1 : choose_worker(k, to);
	result = peali_fwd_link_make(k, worker, to, arrives_at(to, address),
				     &fwd_link, CREATE);
	return result ? result : make(k, fwd_link, address, address_out);
}

int peal_proxy_create(struct peal_kernel *k, uint64_t address,
		      const struct peal_proxy_options *options,
		      uint64_t *address_out)
{
	struct peal_proxy_options o;
	int result;

	if (!k || !address_out)
		return peali_refuse_null(CREATE, "kernel or address_out");
	if (peali_foreign(&k->rt->owner, CREATE))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CREATE);
	if (result)
		return result;
	pthread_mutex_lock(&k->rt->lock);
	result = create(k, address, o.worker, address_out);
	pthread_mutex_unlock(&k->rt->lock);
	return result;
}

int peal_proxy_destroy(struct peal_runtime *rt, uint64_t address)
{
	const struct peali_fwd_entry *c;
	int result;

	if (!rt)
		return peali_refuse_null("peal_proxy_destroy", "runtime");
	if (peali_foreign(&rt->owner, "peal_proxy_destroy"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	c = peali_fwd_entry_from(rt, address);
	result = c && c->proxy ?
			 peali_fwd_entry_end(rt, address) :
			 peali_refuse_address("peal_proxy_destroy", "address",
					      address, "proxy");
	pthread_mutex_unlock(&rt->lock);
	return result;
}
