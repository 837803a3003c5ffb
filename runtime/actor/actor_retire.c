/* SPDX-License-Identifier: Apache-2.0 */
/* Retires actors for the host, with all table entries that they have had. */
#include "runtime/actor/actor_retire.h"

#include <stdlib.h>

#include "runtime/actor/actor_mailbox.h"
#include "runtime/actor/migration.h"
#include "runtime/actor/slots.h"
#include "runtime/actor/supervisor.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/kernel/record.h"
#include "runtime/runtime.h"

/* Actors per control message, at most. More would keep a worker from its other
 * work for too long. */
#define RUN_ACTORS 1024u

/* As `pool` of struct peali_actor: the actor is being retired. */
#define LEAVING 0xffffffffu

/* Counts the links and port-sharing actors that hold an actor. The count covers
 * all its entries, from the newest one back. */
static uint32_t links_of(struct peal_runtime *rt, uint64_t address)
{
	uint32_t n = 0;

	for (; address; address = peali_address_before(rt, address))
		n += peali_kernel_of(rt, address)
			     ->actors.entries[PEAL_ACTOR_INDEX(address)]
			     .n_links;
	return n;
}

static int check_retire(struct peal_kernel *k, uint64_t address)
{
	const struct peali_actor *a;
	uint32_t index, held;

	if (peali_kernel_of(k->rt, address) != k)
		return peali_refuse(
			peali_kernel_of(k->rt, address) ? PEAL_EINVAL :
							  PEAL_ENOENT,
			"peal_actor_retire",
			PEALI_REFUSAL(.object = "kernel", .name = k->name,
				      .problem =
					      peali_kernel_of(k->rt, address) ?
						      "has no such actor, which is "
						      "of another kernel" :
						      "has no such actor",
				      .value = PEALI_PRINT(
					      "%#llx",
					      (unsigned long long)address),
				      .allowed = "actors of one kernel",
				      .remedy =
					      peali_kernel_of(k->rt, address) ?
						      "retire it by another call" :
						      "pass an address of "
						      "peal_actor_spawn"));
	index = peali_actor_resolve(k, PEAL_ACTOR_INDEX(address));
	a = &k->actors.entries[index];
	if (a->pool == LEAVING)
		return peali_fail(PEAL_EINVAL, "peal_actor_retire",
				  "actor %u of kernel '%s' is listed twice",
				  PEAL_ACTOR_INDEX(address), k->name);
	if (a->pool)
		return peali_fail(PEAL_EBUSY, "peal_actor_retire",
				  "actor %u of kernel '%s' is a member of a "
				  "pool; call peal_pool_leave first",
				  PEAL_ACTOR_INDEX(address), k->name);
	/* links do not hold an actor that a handler has made */
	held = peali_is_spawned(k, address) ?
		       0 :
		       links_of(k->rt, peali_address_resolve(k->rt, address));
	if (held)
		return peali_fail(PEAL_EBUSY, "peal_actor_retire",
				  "actor %u of kernel '%s' has links, or "
				  "actors that share its ports (in all %u); "
				  "call peal_link_destroy or "
				  "peal_actor_retire for each first",
				  PEAL_ACTOR_INDEX(address), k->name, held);
	return peali_move_settle(k, index, "peal_actor_retire");
}

static void set_pool(struct peal_kernel *k, uint64_t address, uint32_t pool)
{
	k->actors.entries[peali_actor_resolve(k, PEAL_ACTOR_INDEX(address))]
		.pool = pool;
}

/* Marks the actors as LEAVING. Marks no actor if one of them must not be
 * retired. */
static int mark(struct peal_kernel *k, const uint64_t *addresses, uint32_t n)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < n && !result; i++) {
		result = check_retire(k, addresses[i]);
		if (!result)
			set_pool(k, addresses[i], LEAVING);
	}
	for (i -= result != 0; result && i-- > 0;)
		set_pool(k, addresses[i], 0);
	return result;
}

/*
 * Returns how many of the actors one control message can end, at most
 * RUN_ACTORS. These actors begin at addresses[0], have consecutive addresses
 * and share a worker.
 */
static uint32_t end_of(const struct peal_kernel *k, const uint64_t *addresses,
		       uint32_t n)
{
	uint32_t run = 1, index = PEAL_ACTOR_INDEX(addresses[0]);

	while (run < n && run < RUN_ACTORS &&
	       index + run < k->params.max_actors &&
	       addresses[run] == addresses[0] + run &&
	       k->actors.entries[index + run].worker ==
		       k->actors.entries[index].worker)
		run++;
	return run;
}

/* Fails with PEAL_EAGAIN: exit hooks have not run. They wait for free slots. */
static int say_exits_wait(const struct peal_kernel *k)
{
	uint64_t blocked = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers && !blocked; i++)
		blocked = peal_load_relaxed_sys(&k->status[i].blocked);
	return peali_fail(PEAL_EAGAIN, "peal_actor_retire",
			  "kernel '%s': exits of actors wait for space for "
			  "their messages, for example of actor %u; retire "
			  "the actors again later",
			  k->name, PEAL_ACTOR_INDEX(blocked >> 32));
}

/* Tells the workers to end the actors. While exit hooks have to run first, the
 * call repeats the messages, at most for control_timeout_ms. */
static int tell_runs(struct peal_kernel *k, const uint32_t *worker,
		     struct peal_control_spawn *spawn, uint32_t runs)
{
	uint64_t deadline =
		peali_deadline((int64_t)k->rt->control_timeout_ms * 1000000);
	uint32_t turns = 0, i;
	int result;

	for (;;) {
		result = peali_kernel_tell_workers(k, worker,
						   PEAL_CONTROL_RETIRE, spawn,
						   sizeof(*spawn), runs,
						   "peal_actor_retire");
		if (result != PEAL_EAGAIN)
			return result;
		if (peali_late(deadline))
			return say_exits_wait(k);
		for (i = 0; i < runs; i++)
			spawn[i].init_bytes = PEAL_CONTROL_AGAIN;
		peali_poll_pause(&turns);
	}
}

/* Groups the actors by control message and tells their workers. */
static int tell_ends(struct peal_kernel *k, const uint64_t *addresses,
		     uint32_t n)
{
	struct peal_control_spawn *spawn;
	uint32_t *worker, at, run, runs = 0;
	int result;

	for (at = 0; at < n; at += end_of(k, addresses + at, n - at))
		runs++;
	spawn = calloc(runs, sizeof(*spawn));
	worker = calloc(runs, sizeof(*worker));
	for (at = runs = 0; spawn && worker && at < n; at += run, runs++) {
		run = end_of(k, addresses + at, n - at);
		worker[runs] =
			k->actors.entries[PEAL_ACTOR_INDEX(addresses[at])]
				.worker;
		spawn[runs].actor = (uint32_t)addresses[at];
		spawn[runs].count = run;
		spawn[runs].entry.location = PEAL_ENTRY(
			addresses[at], worker[runs], PEAL_NO_HANDLER);
	}
	result = spawn && worker ?
			 tell_runs(k, worker, spawn, runs) :
			 peali_fail(PEAL_ENOMEM, "peal_actor_retire",
				    "no memory to retire %u actors", n);
	free(spawn);
	free(worker);
	return result;
}

/* Adds the error text to the refusal of a worker. A handler is the cause: it
 * has ended one of the actors, or made actors that share the ports. */
static int refused(const struct peal_kernel *k, int result)
{
	if (result == PEAL_ENOENT)
		return peali_fail(result, "peal_actor_retire",
				  "kernel '%s': an actor made by a handler has "
				  "already been ended by a handler",
				  k->name);
	if (result == PEAL_EBUSY)
		return peali_fail(result, "peal_actor_retire",
				  "actors that handlers have made share the "
				  "ports of one of the actors of kernel "
				  "'%s'; end those first",
				  k->name);
	return result;
}

/* Ends the former entries of actors that have migrated within the kernel. The
 * actors themselves have ended before. */
static int tell_former_ends(struct peal_kernel *k, const uint64_t *living,
			    uint32_t n)
{
	uint64_t *former = k->actors.n_moved ?
				   calloc(k->actors.n_moved, sizeof(*former)) :
				   NULL;
	uint32_t found = 0, i, index;
	int result = 0;

	if (k->actors.n_moved && !former)
		return peali_fail(PEAL_ENOMEM, "peal_actor_retire",
				  "no memory to retire %u actors", n);
	for (i = 0; k->actors.n_moved && i < n; i++) {
		index = PEAL_ACTOR_INDEX(living[i]);
		while (k->actors.entries[index].moved_from &&
		       k->actors.entries[index].moved_from != PEALI_ELSEWHERE) {
			index = k->actors.entries[index].moved_from - 1;
			former[found++] = k->params.address |
					  peali_actor_number(k, index);
		}
	}
	if (found)
		result = tell_ends(k, former, found);
	free(former);
	return result;
}

/* Frees an entry and all host records of it. */
static void remove_entry(struct peal_kernel *k, uint32_t index)
{
	struct peali_actor *a = &k->actors.entries[index];
	struct peali_actor_slots slots = peali_actor_slots_of(k, a->handler, a);

	if (a->share_ports_with && !a->moved_to)
		k->actors.entries[a->share_ports_with - 1].n_links--;
	peali_supervisor_remove_member(k, index);
	peali_limit_give(k, index);
	k->actors.n_moved -= a->moved_to != 0;
	a->pool = a->moved_to = a->moved_from = a->bare = a->unsettled = 0;
	a->leads_to = 0;
	peali_name_forget(k->rt,
			  k->params.address | peali_actor_number(k, index));
	if (a->handler == PEALI_PROXY_HANDLER)
		peali_entry_give(k, index);
	else
		peali_actor_slots_give(&slots, index);
}

/* Frees the entries of the retired actors. The last actor comes first, so that
 * later actors get the slots in ascending order. */
static void remove_actors(struct peal_kernel *k, const uint64_t *living,
			  uint32_t n)
{
	uint32_t index, former;

	while (n-- > 0) {
		if (peali_is_spawned(k, living[n])) {
			peali_name_forget(k->rt, living[n]);
			continue;
		}
		k->actors.n--;
		for (former = 1 + PEAL_ACTOR_INDEX(living[n]);
		     former && former != PEALI_ELSEWHERE;) {
			index = former - 1;
			former = k->actors.entries[index].moved_from;
			remove_entry(k, index);
		}
	}
}

int peali_fwd_entry_end(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = peali_kernel_of(rt, address);
	struct peali_fwd_entry *c = peali_fwd_entry_from(rt, address);
	int result = peali_kernel_ended(k) ? 0 : tell_ends(k, &address, 1);

	if (result)
		return result;
	if (c)
		peali_fwd_entry_remove(rt, c);
	remove_entry(k, PEAL_ACTOR_INDEX(address));
	return 0;
}

/* Ends the entries of other kernels that led to the actors. Also ends all
 * entries before them. */
static int end_fwd_entries(struct peal_runtime *rt, const uint64_t *living,
			   uint32_t n)
{
	uint64_t address, before;
	int crossed, result = 0;
	uint32_t i;

	for (i = 0; rt->n_fwd_entries && i < n; i++) {
		crossed = 0;
		for (address = living[i]; address && !result;
		     address = before) {
			before = peali_address_before(rt, address);
			if (crossed)
				result = peali_fwd_entry_end(rt, address);
			else if (before && (before ^ address) >> 32)
				crossed = 1;
		}
	}
	return result;
}

static int is_leaving(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = peali_kernel_of(rt, address);

	return k &&
	       k->actors.entries[PEAL_ACTOR_INDEX(address)].pool == LEAVING;
}

/* Ends the proxies of all actors that are marked as LEAVING. */
static int end_proxies(struct peal_runtime *rt)
{
	uint32_t i = 0;
	int result = 0;

	while (i < rt->n_fwd_entries && !result) {
		const struct peali_fwd_entry *c = &rt->fwd_entries[i];

		if (c->proxy &&
		    is_leaving(rt, peali_address_resolve(rt, c->to)))
			result = peali_fwd_entry_end(rt, c->from);
		else
			i++;
	}
	return result;
}

/* Retires actors that are marked. After an error removes the marks. */
static int end_marked(struct peal_kernel *k, const uint64_t *living, uint32_t n)
{
	uint32_t i;
	int result = refused(k, tell_ends(k, living, n));

	if (!result)
		result = tell_former_ends(k, living, n);
	if (!result)
		result = end_proxies(k->rt);
	if (!result)
		result = end_fwd_entries(k->rt, living, n);
	for (i = 0; result && i < n; i++)
		set_pool(k, living[i], 0);
	if (!result)
		remove_actors(k, living, n);
	return result;
}

/* Retires actors of one kernel. The caller holds rt->lock. */
static int retire_there(struct peal_runtime *rt, const uint64_t *addresses,
			uint32_t n)
{
	struct peal_kernel *k = peali_kernel_of(rt, addresses[0]);
	uint64_t *living;
	uint32_t i;
	int result;

	if (!k)
		return peali_refuse_address("peal_actor_retire",
					    n == 1 ? "address" : "addresses",
					    addresses[0], "actor");
	result = mark(k, addresses, n);
	if (result)
		return result;
	if (!k->actors.n_moved)
		return end_marked(k, addresses, n);
	living = calloc(n, sizeof(*living));
	for (i = 0; i < n; i++) {
		if (living)
			living[i] = peali_address_resolve(rt, addresses[i]);
		else
			set_pool(k, addresses[i], 0);
	}
	result = living ? end_marked(k, living, n) :
			  peali_fail(PEAL_ENOMEM, "peal_actor_retire",
				     "no memory to retire %u actors", n);
	free(living);
	return result;
}

/* Finds the newest address of an actor. First asks a worker again that has not
 * answered whether the actor has left its kernel. */
static int find_resolved(struct peal_runtime *rt, uint64_t address,
			 uint64_t *living_out)
{
	struct peal_kernel *k;
	int result = 0;

	address = peali_address_resolve(rt, address);
	k = peali_kernel_of(rt, address);
	if (k && k->actors.entries[PEAL_ACTOR_INDEX(address)].moving ==
			 PEALI_ELSEWHERE)
		result = peali_move_settle(k, PEAL_ACTOR_INDEX(address),
					   "peal_actor_retire");
	*living_out = peali_address_resolve(rt, address);
	return result;
}

int peali_actors_retire(struct peal_runtime *rt, const uint64_t *addresses,
			uint32_t n)
{
	uint64_t *living;
	uint32_t i;
	int result = 0;

	if (!rt->n_fwd_entries)
		return retire_there(rt, addresses, n);
	living = calloc(n, sizeof(*living));
	if (!living)
		return peali_fail(PEAL_ENOMEM, "peal_actor_retire",
				  "no memory to retire %u actors", n);
	for (i = 0; i < n && !result; i++)
		result = find_resolved(rt, addresses[i], &living[i]);
	if (!result)
		result = retire_there(rt, living, n);
	free(living);
	return result;
}

int peal_actor_retire_many(struct peal_runtime *rt, const uint64_t *addresses,
			   uint32_t n)
{
	int result;

	if (!rt || !addresses || !n)
		return !rt ? peali_refuse_null("peal_actor_retire", "runtime") :
		       !n  ? peali_refuse_range("peal_actor_retire", "argument",
						"n", 0, 1, UINT32_MAX) :
			     peali_refuse_null("peal_actor_retire", "addresses");
	if (peali_foreign(&rt->owner, "peal_actor_retire"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	result = peali_actors_retire(rt, addresses, n);
	pthread_mutex_unlock(&rt->lock);
	if (!result)
		peali_log(2, "actors are retired: %u, the first is %#llx", n,
			  (unsigned long long)addresses[0]);
	return result;
}

int peal_actor_retire(struct peal_runtime *rt, uint64_t address)
{
	return peal_actor_retire_many(rt, &address, 1);
}
