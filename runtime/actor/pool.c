/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: creates and destroys them, and manages their members. */
#include <stdlib.h>
#include <string.h>

#include <peal/pool.h>
#include "runtime/actor/pool.h"

#include "queues/publication.h"
#include "queues/work.h"
#include "runtime/actor/slots.h"
#include "runtime/actor/supervisor.h"
#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/memory_block.h"
#include "runtime/device/program.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/kernel/record.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

#define CREATE "peal_pool_create"
#define JOIN "peal_pool_join"
#define LEAVE "peal_pool_leave"
#define DESTROY "peal_pool_destroy"

#define CAPACITY_DEFAULT 64

void peali_pools_free(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; k->pools && i < k->params.max_pools; i++) {
		peali_block_free(k->rt, &k->pools[i].block);
		free(k->pools[i].members);
	}
	free(k->pools);
}

static int no_such_pool(uint64_t address, const char *call)
{
	return peali_refuse_address(call, "pool", address, "pool");
}

/* ---- creation ----------------------------------------------------------- */

/*
 * Returns the bytes of a worker's message buffer. A slot's content follows it.
 */
static uint64_t message_space(const struct peali_pool *p)
{
	return peali_whole_lines(p->spec.message_bytes);
}

static int plan(struct peal_kernel *k, const struct peal_pool_options *o,
		struct peali_pool *p)
{
	struct peali_backend *b = k->rt->devices.device[k->device].backend;
	uint32_t i, tells;
	int result;

	memset(&p->spec, 0, sizeof(p->spec));
	p->spec.slots = o->capacity ? o->capacity : CAPACITY_DEFAULT;
	p->spec.message_bytes = o->message_bytes;
	p->spec.policy = o->policy;
	p->spec.n_producers = 1; /* each worker puts into its own shard */
	p->spec.bulk = 1;
	for (i = 0; i < k->program->n_handlers; i++) {
		tells = peali_handler_tells(&k->program->handlers[i],
					    k->params.n_workers);
		if (tells > p->spec.bulk)
			p->spec.bulk = tells;
	}
	result = peali_work_spec_complete(&p->spec, b->ops->policies(b),
					  (uint32_t)b->ops->default_policy(b),
					  CREATE);
	if (result)
		return result;
	p->worker_offset = peali_whole_lines(
		peali_work_set_bytes(&p->spec, k->params.n_workers));
	p->worker_bytes =
		message_space(p) + peali_whole_lines(peali_publication_stage(
					   p->spec.policy, p->spec.slot_bytes));
	return 0;
}

/* Writes the headers of the set and of its shards. All other bytes are zero. */
static int write_headers(struct peal_kernel *k, const struct peali_pool *p)
{
	struct peal_work_set set;
	struct peal_work shard;
	uint32_t i;
	int result;

	peali_work_set_header(&set, &p->spec, k->params.n_workers);
	peali_work_header(&shard, &p->spec);
	result = peali_block_write(k->rt, &p->block, 0, &set, sizeof(set));
	for (i = 0; i < k->params.n_workers && !result; i++)
		result = peali_block_write(k->rt, &p->block,
					   set.shards_offset +
						   i * set.shard_bytes,
					   &shard, sizeof(shard));
	return result;
}

static int tell_worker(struct peal_kernel *k, const struct peali_pool *p,
		       uint32_t worker, uint16_t type, const char *call)
{
	uint64_t base = peali_block_view(k->rt, k->device, &p->block);
	struct peal_pool_view view;

	memset(&view, 0, sizeof(view));
	view.set = base;
	view.message = base + p->worker_offset + worker * p->worker_bytes;
	view.stage = view.message + message_space(p);
	view.index = (uint32_t)(p - k->pools);
	view.actor = peali_actor_number(k, p->actor);
	if (p->members[worker])
		view.member = 1 + peali_actor_number(k, p->members[worker] - 1);
	view.message_bytes = p->spec.message_bytes;
	return peali_kernel_tell(k, worker, type, &view, sizeof(view), call);
}

/*
 * Tells all live workers. Worker 0 is last, because it makes the address known.
 * Returns PEAL_ESTOPPED if some workers have ended.
 */
static int tell_all(struct peal_kernel *k, const struct peali_pool *p,
		    uint16_t type, const char *call)
{
	uint32_t i;
	int result = 0, told;

	for (i = k->params.n_workers; i--;) {
		told = tell_worker(k, p, i, type, call);
		if (told && told != PEAL_ESTOPPED)
			return told;
		if (told)
			result = told;
	}
	return result;
}

/*
 * Frees a pool when no worker knows it any more. On an error its memory may
 * still be in use, so the pool stays.
 */
static int take_down(struct peal_kernel *k, struct peali_pool *p,
		     const char *call)
{
	int result = 0;

	p->ending = 1;
	if (!peali_kernel_ended(k))
		result = tell_all(k, p, PEAL_CONTROL_POOL_GONE, call);
	if (result && result != PEAL_ESTOPPED)
		return result;
	peali_name_forget(k->rt,
			  k->params.address | peali_actor_number(k, p->actor));
	peali_entry_give(k, p->actor);
	peali_block_free(k->rt, &p->block);
	p->used = p->ending = 0;
	return 0;
}

/* Finds a free pool and takes a free entry for its address. */
static int find_free_pool(struct peal_kernel *k, struct peali_pool **pool_out,
			  uint32_t *actor_out)
{
	int64_t actor;
	uint32_t i;

	for (i = 0; i < k->params.max_pools && k->pools[i].used; i++)
		;
	if (i == k->params.max_pools)
		return peali_fail(
			PEAL_ENOSPC, CREATE,
			"kernel '%s' has no free pool of max_pools %u; launch "
			"it with a larger max_pools in struct "
			"peal_kernel_options, or destroy a pool",
			k->name, k->params.max_pools);
	actor = peali_entry_take(k);
	if (actor < 0)
		return peali_fail(
			PEAL_ENOSPC, CREATE,
			"all %u of max_actors are used in kernel '%s', and a "
			"pool needs one slot; launch it with a larger "
			"max_actors",
			k->params.first_actor_slot, k->name);
	*pool_out = &k->pools[i];
	*actor_out = (uint32_t)actor;
	return 0;
}

/* Allocates and initializes a pool. The workers do not know it yet. */
static int make(struct peal_kernel *k, const struct peal_pool_options *o,
		struct peali_pool *p)
{
	int result = plan(k, o, p);

	if (result)
		return result;
	if (!p->members)
		p->members = calloc(k->params.n_workers, sizeof(*p->members));
	if (!p->members)
		return peali_fail(PEAL_ENOMEM, CREATE,
				  "no memory for the members of %u workers",
				  k->params.n_workers);
	result = peali_block_alloc(k->rt, k->device,
				   p->worker_offset + k->params.n_workers *
							      p->worker_bytes,
				   &p->block);
	if (!result)
		result = write_headers(k, p);
	if (result)
		peali_block_free(k->rt, &p->block);
	return result;
}

static int create(struct peal_kernel *k, const struct peal_pool_options *o,
		  uint64_t *address_out)
{
	struct peali_pool *p = NULL;
	uint32_t actor = 0;
	int result = find_free_pool(k, &p, &actor);

	if (result)
		return result;
	result = make(k, o, p);
	if (result) {
		peali_entry_give(k, actor);
		return result;
	}
	p->actor = actor;
	/* a hung worker may still use the pool */
	p->used = 1;
	k->actors.entries[actor].handler = PEALI_POOL_HANDLER;
	result = tell_all(k, p, PEAL_CONTROL_POOL, CREATE);
	if (!result) {
		*address_out = k->params.address | peali_actor_number(k, actor);
	} else if (result == PEAL_ESTOPPED) {
		result = take_down(k, p, CREATE);
		if (!result)
			result = peali_fail(PEAL_ESTOPPED, CREATE,
					    "a worker of kernel '%s' has ended",
					    k->name);
	}
	return result;
}

int peal_pool_create(struct peal_kernel *k,
		     const struct peal_pool_options *options,
		     uint64_t *address_out)
{
	struct peal_pool_options o;
	int result;

	if (!k || !address_out)
		return peali_refuse_null(CREATE, "kernel or address_out");
	if (peali_foreign(&k->rt->owner, CREATE))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CREATE);
	if (result)
		return result;
	pthread_mutex_lock(&k->rt->lock);
	result = PEALI_NEEDS(k->program, POOLS, CREATE, "a pool");
	if (!result && peali_kernel_ended(k))
		result = peali_fail(PEAL_ESTOPPED, CREATE,
				    "kernel '%s' has ended", k->name);
	if (!result)
		result = create(k, &o, address_out);
	pthread_mutex_unlock(&k->rt->lock);
	return peali_fail_in(result, "peal_pool_create");
}

/* ---- members ------------------------------------------------------------ */

/*
 * Checks that a handler takes the messages of the pool's links and of its other
 * members.
 */
static int check_types(struct peal_kernel *k, const struct peali_pool *p,
		       const struct peal_handler_info *h)
{
	const struct peal_handler_info *other;
	const struct peal_link *link;
	uint32_t i;
	int result;

	for (link = k->rt->links; link; link = link->next) {
		if (link->to.pool != p || !link->from.kernel)
			continue;
		result = peali_handlers_agree(
			peali_link_end_handler(&link->from), h, JOIN);
		if (!result && link->from.dead_letters)
			result = peali_handler_takes_dead_letters(h, JOIN);
		if (result)
			return result;
	}
	if (h->input_bytes > p->spec.message_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, JOIN, .object = "handler", .name = h->name,
			.problem = "takes messages that are too long for "
				   "the pool",
			.value =
				PEALI_PRINT("%llu bytes",
					    (unsigned long long)h->input_bytes),
			.allowed = PEALI_PRINT("0..%u", p->spec.message_bytes),
			.remedy = "raise message_bytes of the pool");
	for (i = 0; i < k->params.n_workers; i++) {
		if (!p->members[i])
			continue;
		other = &k->program->handlers
				 [k->actors.entries[p->members[i] - 1].handler];
		if (h->input_bytes && other->input_bytes &&
		    h->input_bytes != other->input_bytes)
			return PEALI_REFUSE(
				PEAL_EINVAL, JOIN, .object = "handler",
				.name = h->name,
				.problem = PEALI_PRINT(
					"takes messages of another "
					"length than handler '%s' of "
					"another member",
					other->name),
				.number = h->input_bytes,
				.least = other->input_bytes,
				.most = other->input_bytes,
				.remedy = "use another pool");
	}
	return 0;
}

static int join(struct peal_runtime *rt, uint64_t pool, uint64_t actor)
{
	struct peal_kernel *k = NULL;
	struct peali_pool *p = peali_pool_at(rt, pool, &k);
	struct peali_actor *a;
	int result;

	actor = peali_address_resolve(rt, actor);
	if (!p)
		return no_such_pool(pool, JOIN);
	result = peali_pool_open(p, JOIN);
	if (result)
		return result;
	if (!peali_kernel_of(rt, actor))
		return peali_refuse_address(JOIN, "actor", actor, "actor");
	if (peali_kernel_of(rt, actor) != k)
		return PEALI_REFUSE(
			PEAL_EINVAL, JOIN, .object = "argument",
			.name = "actor",
			.problem = "is an actor of another kernel than the "
				   "pool",
			.value = peali_kernel_of(rt, actor)->name,
			.allowed = PEALI_PRINT("'%s'", k->name),
			.remedy = "pass an actor of that kernel");
	if (peali_is_spawned(k, actor))
		return peali_fail(PEAL_EINVAL, JOIN,
				  "actor %u of kernel '%s' was made by a "
				  "handler, which may end it at any time; "
				  "only actors of peal_actor_spawn join a "
				  "pool",
				  PEAL_ACTOR_INDEX(actor), k->name);
	a = &k->actors.entries[PEAL_ACTOR_INDEX(actor)];
	if (a->pool)
		return peali_fail(PEAL_EEXIST, JOIN,
				  "actor %u of kernel '%s' is a member of a "
				  "pool already",
				  PEAL_ACTOR_INDEX(actor), k->name);
	if (k->supervision.actors &&
	    k->supervision.actors[PEAL_ACTOR_INDEX(actor)].supervisor)
		return peali_fail(PEAL_EINVAL, JOIN,
				  "actor %u of kernel '%s' has a supervisor, "
				  "and a pool does not wait for a restart; "
				  "join an actor without a supervisor",
				  PEAL_ACTOR_INDEX(actor), k->name);
	if (p->members[a->worker])
		return peali_fail(PEAL_EEXIST, JOIN,
				  "worker %u of kernel '%s' has a member of "
				  "this pool already: actor %u",
				  a->worker, k->name,
				  p->members[a->worker] - 1);
	result = check_types(k, p, &k->program->handlers[a->handler]);
	if (result)
		return result;
	p->members[a->worker] = 1 + PEAL_ACTOR_INDEX(actor);
	result = tell_worker(k, p, a->worker, PEAL_CONTROL_POOL_MEMBER, JOIN);
	if (result && result != PEAL_EHUNG) {
		p->members[a->worker] = 0;
		return result;
	}
	/* a hung worker adds the member when it continues */
	a->pool = 1 + (uint32_t)(p - k->pools);
	p->n_members++;
	return result;
}

int peal_pool_join(struct peal_runtime *rt, uint64_t pool, uint64_t actor)
{
	int result;

	if (!rt)
		return peali_refuse_null(JOIN, "runtime");
	if (peali_foreign(&rt->owner, JOIN))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	result = join(rt, pool, actor);
	pthread_mutex_unlock(&rt->lock);
	return result;
}

static int leave(struct peal_runtime *rt, uint64_t pool, uint64_t actor)
{
	struct peal_kernel *k = NULL;
	struct peali_pool *p = peali_pool_at(rt, pool, &k);
	struct peali_actor *a;
	int result = 0;

	actor = peali_address_resolve(rt, actor);
	if (!p)
		return no_such_pool(pool, LEAVE);
	if (peali_kernel_of(rt, actor) != k ||
	    k->actors.entries[PEAL_ACTOR_INDEX(actor)].pool !=
		    1 + (uint32_t)(p - k->pools))
		return PEALI_REFUSE(PEAL_ENOENT, LEAVE, .object = "argument",
				    .name = "actor",
				    .problem = "is no member of the pool",
				    .value = PEALI_PRINT(
					    "%#llx", (unsigned long long)actor),
				    .allowed = "addresses of its members",
				    .remedy = "call peal_pool_join first");
	a = &k->actors.entries[PEAL_ACTOR_INDEX(actor)];
	p->members[a->worker] = 0;
	if (!peali_kernel_ended(k))
		result = tell_worker(k, p, a->worker, PEAL_CONTROL_POOL_MEMBER,
				     LEAVE);
	if (result && result != PEAL_ESTOPPED) {
		p->members[a->worker] = 1 + PEAL_ACTOR_INDEX(actor);
		return result;
	}
	a->pool = 0;
	p->n_members--;
	return 0;
}

int peal_pool_leave(struct peal_runtime *rt, uint64_t pool, uint64_t actor)
{
	int result;

	if (!rt)
		return peali_refuse_null(LEAVE, "runtime");
	if (peali_foreign(&rt->owner, LEAVE))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	result = leave(rt, pool, actor);
	pthread_mutex_unlock(&rt->lock);
	return result;
}

/* ---- destruction -------------------------------------------------------- */

static int destroy(struct peal_runtime *rt, uint64_t pool)
{
	struct peal_kernel *k = NULL;
	struct peali_pool *p = peali_pool_at(rt, pool, &k);

	if (!p)
		return no_such_pool(pool, DESTROY);
	if (p->n_members || k->actors.entries[p->actor].n_links)
		return peali_fail(PEAL_EBUSY, DESTROY,
				  "pool %#llx still has members (%u) or links "
				  "to it (%u); call peal_pool_leave and "
				  "peal_link_destroy first",
				  (unsigned long long)pool, p->n_members,
				  k->actors.entries[p->actor].n_links);
	return take_down(k, p, DESTROY);
}

int peal_pool_destroy(struct peal_runtime *rt, uint64_t pool)
{
	int result;

	if (!rt)
		return peali_refuse_null(DESTROY, "runtime");
	if (peali_foreign(&rt->owner, DESTROY))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	result = destroy(rt, pool);
	pthread_mutex_unlock(&rt->lock);
	return result;
}

int peal_pool_info(struct peal_runtime *rt, uint64_t pool,
		   struct peal_pool_info *info_out)
{
	struct peal_kernel *k = NULL;
	struct peali_pool *p;
	int result = 0;

	if (!rt || !info_out)
		return peali_refuse_null("peal_pool_info",
					 "runtime or info_out");
	if (peali_foreign(&rt->owner, "peal_pool_info"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	p = peali_pool_at(rt, pool, &k);
	if (p) {
		info_out->capacity = p->spec.slots;
		info_out->message_bytes = p->spec.message_bytes;
		info_out->policy = p->spec.policy;
		info_out->members = p->n_members;
		info_out->memory_bytes = p->block.bytes;
	} else {
		result = no_such_pool(pool, "peal_pool_info");
	}
	pthread_mutex_unlock(&rt->lock);
	return result;
}
