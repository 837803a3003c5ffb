/* SPDX-License-Identifier: Apache-2.0 */
/* Actors: making, ending, looking at their state. */
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

struct peal_kernel *peali_kernel_at(struct peal_runtime *rt, uint64_t address)
{
	uint32_t id = (uint32_t)(address >> 32) & 0xffff;
	struct peal_kernel *k;

	if (address >> 48 == PEALI_ADDRESS_HOST)
		return NULL;
	for (k = rt->kernels; k; k = k->next)
		if (k->id == id && (uint64_t)k->device == address >> 48)
			break;
	return k && (uint32_t)address < k->params.max_actors ? k : NULL;
}

struct peal_kernel *peali_kernel_of(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = peali_kernel_at(rt, address);
	uint32_t handler = k ? k->actors[(uint32_t)address].handler :
			       PEAL_NO_HANDLER;

	return handler == PEAL_NO_HANDLER || handler == PEALI_POOL_HANDLER ?
		       NULL :
		       k;
}

/* A free actor index for the handler on the worker, or -1. */
static int64_t find_room(const struct peal_kernel *k, uint32_t handler,
			 uint32_t worker)
{
	int64_t fresh = -1;
	uint32_t i;

	for (i = 0; i < k->params.max_actors; i++) {
		const struct peali_actor *a = &k->actors[i];

		if (a->handler != PEAL_NO_HANDLER)
			continue;
		/* a retired one's state and ports are reused as they are */
		if (a->was_handler == handler && a->worker == worker)
			return i;
		if (fresh < 0 && a->was_handler == PEAL_NO_HANDLER)
			fresh = i;
	}
	return fresh;
}

/* Gives a fresh actor its state and ports. */
static int take_room(struct peal_kernel *k, struct peali_actor *a,
		     const struct peal_handler_info *h, uint32_t worker)
{
	uint64_t bytes = (h->state_bytes + 15) / 16 * 16;
	struct peali_worker *w = &k->workers[worker];

	if (k->arena_bytes - k->arena_used < bytes)
		return peali_fail(
			PEAL_ENOSPC, "peal_actor_spawn",
			"the state of '%s' takes %llu bytes and %llu "
			"of arena_bytes are left in kernel '%s'",
			h->name, (unsigned long long)bytes,
			(unsigned long long)(k->arena_bytes - k->arena_used),
			k->name);
	if (k->params.max_ports - w->n_ports < h->ports)
		return peali_fail(PEAL_ENOSPC, "peal_actor_spawn",
				  "'%s' has %u ports and %u of max_ports are "
				  "left on worker %u of kernel '%s'",
				  h->name, h->ports,
				  k->params.max_ports - w->n_ports, worker,
				  k->name);
	a->state_offset = k->arena_offset + k->arena_used;
	a->port_base = w->n_ports;
	k->arena_used += bytes;
	w->n_ports += h->ports;
	return 0;
}

/* Writes the actor's first state: the init bytes, then zeros. */
static int write_state(struct peal_kernel *k, const struct peali_actor *a,
		       const struct peal_handler_info *h,
		       const struct peal_actor_options *o)
{
	uint8_t *image;
	int result;

	if (!h->state_bytes)
		return 0;
	image = calloc(1, h->state_bytes);
	if (!image)
		return peali_fail(PEAL_ENOMEM, "peal_actor_spawn",
				  "no memory for a state of %u bytes",
				  h->state_bytes);
	if (o->init_bytes)
		memcpy(image, o->init, o->init_bytes);
	result = peali_area_write(k->rt, &k->own, a->state_offset, image,
				  h->state_bytes);
	free(image);
	return result;
}

/* Makes the actor in a room that was found; the lock is held. */
static int spawn_at(struct peal_kernel *k, uint32_t index, uint32_t handler,
		    uint32_t worker, const struct peal_actor_options *o)
{
	const struct peal_handler_info *h = &k->program->handlers[handler];
	struct peali_actor *a = &k->actors[index];
	struct peal_control_spawn spawn;
	int result = 0;

	if (a->was_handler == PEAL_NO_HANDLER)
		result = take_room(k, a, h, worker);
	if (result)
		return result;
	a->was_handler = handler;
	a->worker = worker;
	result = write_state(k, a, h, o);
	if (result)
		return result;
	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = index;
	spawn.entry.state =
		peali_area_view(k->rt, k->device, &k->own) + a->state_offset;
	spawn.entry.place = PEAL_PLACE(worker, handler);
	spawn.entry.state_bytes = h->state_bytes;
	spawn.entry.ports = h->ports;
	spawn.entry.emits = h->emits;
	spawn.entry.tells = h->tells;
	spawn.entry.port_base = (uint16_t)a->port_base;
	result = peali_kernel_tell(k, worker, PEAL_CONTROL_SPAWN, &spawn,
				   sizeof(spawn), "peal_actor_spawn");
	if (result)
		return result;
	a->handler = handler;
	k->n_actors++;
	return 0;
}

static int check_options(const struct peal_kernel *k, uint32_t handler,
			 const struct peal_actor_options *o)
{
	const struct peal_handler_info *h = &k->program->handlers[handler];

	if (o->worker > k->params.n_workers)
		return peali_fail(PEAL_ENOENT, "peal_actor_spawn",
				  "no worker %u in kernel '%s': it has %u",
				  o->worker - 1, k->name, k->params.n_workers);
	if (o->init_bytes > h->state_bytes || (o->init_bytes && !o->init))
		return peali_fail(
			PEAL_EINVAL, "peal_actor_spawn",
			"%llu init bytes for '%s', whose state has %u",
			(unsigned long long)o->init_bytes, h->name,
			h->state_bytes);
	return 0;
}

static int spawn(struct peal_kernel *k, uint32_t handler,
		 const struct peal_actor_options *o, uint64_t *address_out)
{
	uint32_t worker = o->worker ? o->worker - 1 :
				      k->next_worker % k->params.n_workers;
	int64_t index = find_room(k, handler, worker);
	int result;

	if (index < 0)
		return peali_fail(
			PEAL_ENOSPC, "peal_actor_spawn",
			"all %u of max_actors are used in kernel '%s'",
			k->params.max_actors, k->name);
	result = spawn_at(k, (uint32_t)index, handler, worker, o);
	if (result)
		return result;
	if (!o->worker)
		k->next_worker++;
	*address_out =
		peali_address((uint32_t)k->device, k->id, (uint32_t)index);
	return 0;
}

int peal_actor_spawn(struct peal_kernel *k, const char *handler,
		     const struct peal_actor_options *options,
		     uint64_t *address_out)
{
	struct peal_actor_options o;
	int result, number;

	if (!k || !handler || !address_out)
		return peali_fail(PEAL_EINVAL, "peal_actor_spawn",
				  "an argument is NULL");
	result = peali_options_copy(&o, sizeof(o), options, "peal_actor_spawn");
	if (result)
		return result;
	number = peal_program_handler(k->program, handler);
	if (number < 0)
		return number;
	result = check_options(k, (uint32_t)number, &o);
	if (result)
		return result;
	pthread_mutex_lock(&k->rt->lock);
	result = spawn(k, (uint32_t)number, &o, address_out);
	pthread_mutex_unlock(&k->rt->lock);
	return result;
}

static int retire(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = peali_kernel_of(rt, address);
	struct peal_control_spawn spawn;
	struct peali_actor *a;
	int result;

	if (!k)
		return peali_fail(PEAL_ENOENT, "peal_actor_retire",
				  "no actor with the address %#llx",
				  (unsigned long long)address);
	a = &k->actors[(uint32_t)address];
	if (a->pool)
		return peali_fail(PEAL_EBUSY, "peal_actor_retire",
				  "actor %u of kernel '%s' is a member of a "
				  "pool: let it leave that first",
				  (uint32_t)address, k->name);
	if (a->n_links)
		return peali_fail(PEAL_EBUSY, "peal_actor_retire",
				  "%u links come from or lead to actor %u of "
				  "kernel '%s': destroy them first",
				  a->n_links, (uint32_t)address, k->name);
	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = (uint32_t)address;
	spawn.entry.place = PEAL_PLACE(a->worker, PEAL_NO_HANDLER);
	result = peali_kernel_tell(k, a->worker, PEAL_CONTROL_RETIRE, &spawn,
				   sizeof(spawn), "peal_actor_retire");
	if (result)
		return result;
	a->handler = PEAL_NO_HANDLER;
	k->n_actors--;
	return 0;
}

int peal_actor_retire(struct peal_runtime *rt, uint64_t address)
{
	int result;

	if (!rt)
		return peali_fail(PEAL_EINVAL, "peal_actor_retire",
				  "runtime is NULL");
	pthread_mutex_lock(&rt->lock);
	result = retire(rt, address);
	pthread_mutex_unlock(&rt->lock);
	return result;
}

static int read_state(struct peal_runtime *rt, uint64_t address,
		      void *state_out, size_t bytes)
{
	struct peal_kernel *k = peali_kernel_of(rt, address);
	enum peal_kernel_state state;
	const struct peali_actor *a;
	int failed;

	if (!k)
		return peali_fail(PEAL_ENOENT, "peal_actor_state",
				  "no actor with the address %#llx",
				  (unsigned long long)address);
	state = peali_kernel_state(k, &failed);
	if (state == PEAL_KERNEL_RUNNING || state == PEAL_KERNEL_DRAINING)
		return peali_fail(PEAL_EBUSY, "peal_actor_state",
				  "kernel '%s' runs: suspend it or let it end",
				  k->name);
	a = &k->actors[(uint32_t)address];
	if (bytes > k->program->handlers[a->handler].state_bytes)
		return peali_fail(PEAL_EINVAL, "peal_actor_state",
				  "%zu bytes of a state of %u", bytes,
				  k->program->handlers[a->handler].state_bytes);
	if (!bytes)
		return 0;
	return peali_area_read(rt, &k->own, a->state_offset, state_out, bytes);
}

int peal_actor_state(struct peal_runtime *rt, uint64_t address, void *state_out,
		     size_t bytes)
{
	int result;

	if (!rt || (!state_out && bytes))
		return peali_fail(PEAL_EINVAL, "peal_actor_state",
				  "an argument is NULL");
	pthread_mutex_lock(&rt->lock);
	result = read_state(rt, address, state_out, bytes);
	pthread_mutex_unlock(&rt->lock);
	return result;
}
