/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors that move to another worker: what they take of it, what the workers are
 * told, and where an address leads. How messages follow is in
 * include/peal/device/migrate.h.
 */
#include <string.h>

#include "runtime/name.h"
#include "runtime/runtime.h"

#define CALL "peal_actor_migrate"

/* An actor that is to move. */
struct move {
	struct peal_kernel *kernel;
	uint32_t index, next; /* its entry, and that to be */
	const struct peal_handler_info *handler;
	struct peali_rooms rooms; /* what it takes */
};

/* ---- where they live --------------------------------------------------------- */

uint32_t peali_actor_lives(const struct peal_kernel *k, uint32_t index)
{
	while (k->actors[index].moved_to)
		index = k->actors[index].moved_to - 1;
	return index;
}

uint64_t peali_address_lives(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = peali_kernel_of(rt, address);
	uint32_t index = PEAL_ACTOR_INDEX(address);

	if (!k || !k->actors[index].moved_to)
		return address;
	return k->params.address |
	       peali_actor_number(k, peali_actor_lives(k, index));
}

/* The address of an entry, by 1 + its index; 0: there is none. */
static uint64_t address_at(const struct peal_kernel *k, uint32_t entry)
{
	return entry ? k->params.address | peali_actor_number(k, entry - 1) : 0;
}

uint64_t peali_address_first(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = peali_kernel_of(rt, address);
	uint32_t index = PEAL_ACTOR_INDEX(address);

	if (!k || !k->actors[index].moved_from)
		return address;
	while (k->actors[index].moved_from)
		index = k->actors[index].moved_from - 1;
	return address_at(k, 1 + index);
}

uint64_t peali_address_next(struct peal_runtime *rt, uint64_t address)
{
	const struct peal_kernel *k = peali_kernel_of(rt, address);

	return k ? address_at(k,
			      k->actors[PEAL_ACTOR_INDEX(address)].moved_to) :
		   0;
}

/* It lives at its next entry from now on. */
static void record(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	struct peali_actor *a = &k->actors[m->index];
	struct peali_actor *next = &k->actors[m->next];

	next->handler = a->handler;
	next->state_offset = a->state_offset;
	next->moved_from = 1 + m->index;
	a->moved_to = 1 + m->next;
	a->moving = 0;
	k->n_moved++;
	peali_name_follow(k->rt, address_at(k, 1 + m->index),
			  address_at(k, 1 + m->next));
	if (a->ports_of)
		k->actors[a->ports_of - 1].n_links--;
	if (next->ports_of)
		k->actors[next->ports_of - 1].n_links++;
	if (!k->wards)
		return;
	k->wards[m->next] = k->wards[m->index];
	memset(&k->wards[m->index], 0, sizeof(k->wards[m->index]));
}

/* ---- what is asked for ------------------------------------------------------- */

int peali_sharing_check(const struct peal_handler_info *h,
			const struct peal_handler_info *owner, const char *call)
{
	if (h->ports > owner->ports || h->emits > owner->emits)
		return peali_fail(PEAL_EINVAL, call,
				  "`ports_of`: '%s' has %u ports and emits %u, "
				  "'%s' has %u and emits %u: it shares no more "
				  "than there is",
				  h->name, h->ports, h->emits, owner->name,
				  owner->ports, owner->emits);
	if (h->output_bytes != owner->output_bytes)
		return peali_fail(PEAL_EINVAL, call,
				  "`ports_of`: '%s' emits messages of %llu "
				  "bytes and '%s' of %llu",
				  h->name, (unsigned long long)h->output_bytes,
				  owner->name,
				  (unsigned long long)owner->output_bytes);
	return 0;
}

static int check_kernel(struct peal_kernel *k)
{
	if (peali_kernel_ended(k))
		return peali_fail(PEAL_ESTOPPED, CALL, "kernel '%s' has ended",
				  k->name);
	if (k->draining || k->stopping)
		return peali_fail(PEAL_ESTOPPED, CALL,
				  "kernel '%s' is about to end", k->name);
	if (!k->params.mailboxes)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "kernel '%s' has no mailboxes, by which "
				  "messages would follow: say mailbox_slots in "
				  "struct peal_kernel_options",
				  k->name);
	return 0;
}

/* Links and topics that messages leave by, which cannot move. */
static int check_ports(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	uint64_t address = k->params.address | peali_actor_number(k, m->index);
	const struct peal_link *link;
	const char *topic;
	uint32_t i;

	for (link = k->rt->links; link; link = link->next)
		if (link->from.kernel == k && !link->from.dead_letters &&
		    link->from.actor == m->index)
			return peali_fail(
				PEAL_EBUSY, CALL,
				"link %llu comes from port %u of actor %u of "
				"kernel '%s', and a port does not move: let it "
				"share ports (ports_of), or destroy the link",
				(unsigned long long)link->id, link->from_port,
				m->index, k->name);
	for (i = 0; i < m->handler->ports; i++) {
		topic = peali_topic_at_port(k->rt, address, i);
		if (topic)
			return peali_fail(PEAL_EBUSY, CALL,
					  "port %u of actor %u of kernel '%s' "
					  "publishes to topic '%s', and a port "
					  "does not move: peal_unpublish first",
					  i, m->index, k->name, topic);
	}
	for (i = 0; k->actors[m->index].n_links && i < k->n_rooms; i++)
		if (k->actors[i].handler != PEAL_NO_HANDLER &&
		    !k->actors[i].moved_to &&
		    k->actors[i].ports_of == 1 + m->index)
			return peali_fail(PEAL_EBUSY, CALL,
					  "actor %u of kernel '%s' shares the "
					  "ports of actor %u, which do not "
					  "move: move or retire it first",
					  i, k->name, m->index);
	return 0;
}

static int check_actor(const struct move *m)
{
	const struct peal_kernel *k = m->kernel;
	const struct peali_actor *a = &k->actors[m->index];

	if (peali_is_spawned(k, m->index))
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "actor %u of kernel '%s' was made by a "
				  "handler, whose worker has its room: only "
				  "those move that the host has made",
				  m->index, k->name);
	if (a->pool)
		return peali_fail(PEAL_EBUSY, CALL,
				  "actor %u of kernel '%s' is a member of a "
				  "pool, which knows it by its worker: let it "
				  "leave that first",
				  m->index, k->name);
	if (a->limit)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "actor %u of kernel '%s' has a limit "
				  "(mailbox_limit), which counts what waits at "
				  "its worker: only those move that have none",
				  m->index, k->name);
	return a->ports_of || !m->handler->ports ? 0 : check_ports(m);
}

/* Whose ports it is to share; in *worker its worker, or where it is to be. */
static int find_owner(struct move *m, uint64_t ports_of, uint32_t *worker)
{
	struct peal_kernel *k = m->kernel;
	uint64_t address = peali_address_lives(k->rt, ports_of);
	uint32_t index = PEAL_ACTOR_INDEX(address);
	const struct peali_actor *owner = &k->actors[index];

	if (peali_kernel_of(k->rt, address) != k)
		return peali_fail(PEAL_ENOENT, CALL,
				  "`ports_of`: kernel '%s' has no actor with "
				  "the address %#llx",
				  k->name, (unsigned long long)ports_of);
	if (owner->ports_of || index == m->index)
		return peali_fail(PEAL_EINVAL, CALL,
				  "`ports_of`: actor %u of kernel '%s' %s",
				  index, k->name,
				  index == m->index ?
					  "is the one that moves" :
					  "has no ports of its own");
	if (*worker && *worker - 1 != owner->worker)
		return peali_fail(PEAL_EINVAL, CALL,
				  "`ports_of`: actor %u of kernel '%s' is of "
				  "worker %u, not of %u",
				  index, k->name, owner->worker, *worker - 1);
	*worker = 1 + owner->worker;
	m->rooms.ports_of = 1 + index;
	return peali_sharing_check(m->handler,
				   &k->program->handlers[owner->handler], CALL);
}

/* Where it is to move to. */
static int choose(struct move *m, const struct peal_migrate_options *o)
{
	struct peal_kernel *k = m->kernel;
	const struct peali_actor *a = &k->actors[m->index];
	uint32_t worker = o->worker;
	int result = 0;

	if (worker > k->params.n_workers)
		return peali_fail(PEAL_ENOENT, CALL,
				  "no worker %u in kernel '%s': it has %u",
				  worker - 1, k->name, k->params.n_workers);
	if (o->ports_of)
		result = find_owner(m, o->ports_of, &worker);
	else if (a->ports_of && m->handler->ports)
		result = peali_fail(PEAL_EINVAL, CALL,
				    "actor %u of kernel '%s' shares the ports "
				    "of actor %u, which stay: name an actor of "
				    "its new worker as `ports_of`",
				    m->index, k->name, a->ports_of - 1);
	if (result)
		return result;
	if (!worker)
		worker = 1 + (a->worker + 1) % k->params.n_workers;
	if (worker - 1 == a->worker)
		return peali_fail(PEAL_EINVAL, CALL,
				  "actor %u of kernel '%s' is of worker %u "
				  "already%s",
				  m->index, k->name, a->worker,
				  k->params.n_workers > 1 ?
					  "" :
					  ", and there is no other");
	m->rooms.kernel = k;
	m->rooms.handler = a->handler;
	m->rooms.worker = worker - 1;
	m->rooms.moved = 1;
	return 0;
}

/* ---- moving ------------------------------------------------------------------ */

/* Its new worker makes the entry, in which it awaits the actor. */
static int tell_next(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	const struct peali_actor *next = &k->actors[m->next];
	const struct peal_handler_info *h = m->handler;
	struct peal_control_spawn spawn;

	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = peali_actor_number(k, m->next);
	spawn.count = 1;
	spawn.entry.state = peali_area_view(k->rt, k->device, &k->own) +
			    k->actors[m->index].state_offset;
	spawn.entry.place =
		PEAL_PLACE(spawn.actor, m->rooms.worker, m->rooms.handler) |
		PEAL_PLACE_ARRIVES;
	spawn.entry.state_bytes = h->state_bytes;
	spawn.entry.ports = h->ports;
	spawn.entry.emits = h->emits;
	spawn.entry.tells = h->tells;
	spawn.entry.port_base = (uint16_t)next->port_base;
	spawn.port_step = m->rooms.ports_of ? 0 : h->ports;
	if (m->rooms.ports_of)
		spawn.entry.shares = PEAL_SHARES | (m->rooms.ports_of - 1);
	spawn.init_bytes = PEAL_CONTROL_WRITTEN;
	return peali_kernel_tell(k, m->rooms.worker, PEAL_CONTROL_SPAWN, &spawn,
				 sizeof(spawn), CALL);
}

/* It has not moved, and nobody will know its next entry. */
static void take_back(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	struct peal_error_info failed = *peal_last_error();
	struct peal_control_spawn spawn;
	int result;

	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = peali_actor_number(k, m->next);
	spawn.count = 1;
	spawn.entry.place =
		PEAL_PLACE(spawn.actor, m->rooms.worker, PEAL_NO_HANDLER);
	result = peali_kernel_tell(k, m->rooms.worker, PEAL_CONTROL_RETIRE,
				   &spawn, sizeof(spawn), CALL);
	if (!result || peali_kernel_ended(k))
		peali_rooms_give(&m->rooms, m->next);
	peali_fail(failed.code, CALL, "%s", failed.text);
}

/* Its own worker lets go of it. */
static int tell_move(const struct move *m, const char *call)
{
	struct peal_kernel *k = m->kernel;
	struct peali_actor *a = &k->actors[m->index];
	struct peal_control_move move;
	int result;

	move.actor = peali_actor_number(k, m->index);
	move.next = peali_actor_number(k, m->next);
	a->moving = 1 + m->next;
	result = peali_kernel_tell(k, a->worker, PEAL_CONTROL_MOVE, &move,
				   sizeof(move), call);
	if (result == PEAL_EBUSY)
		peali_fail(result, call,
			   "actors that handlers have made share the ports of "
			   "actor %u of kernel '%s', which do not move: end "
			   "those first",
			   m->index, k->name);
	if (result == PEAL_EAGAIN)
		peali_fail(result, call,
			   "actor %u of kernel '%s' waits for answers to its "
			   "asks, which come to worker %u: move it when they "
			   "have come",
			   m->index, k->name, a->worker);
	if (!result) {
		record(m);
	} else if (result != PEAL_EHUNG) {
		a->moving = 0;
		take_back(m);
	}
	return result;
}

int peali_move_settle(struct peal_kernel *k, uint32_t index, const char *call)
{
	struct peali_actor *a = &k->actors[index];
	struct move m = { .kernel = k, .index = index };

	if (!a->moving)
		return 0;
	m.next = a->moving - 1;
	m.rooms.kernel = k;
	m.rooms.handler = a->handler;
	m.rooms.worker = k->actors[m.next].worker;
	m.rooms.ports_of = k->actors[m.next].ports_of;
	m.rooms.moved = 1;
	return tell_move(&m, call);
}

static int move_on(struct move *m)
{
	struct peal_kernel *k = m->kernel;
	int result = peali_rooms_take(&m->rooms, 1, &m->next, CALL);

	if (result)
		return result;
	result = tell_next(m);
	if (!result)
		return tell_move(m, CALL);
	if (peali_kernel_ended(k))
		peali_rooms_give(&m->rooms, m->next);
	/* else a worker may make it yet: nobody else may have that entry */
	return result;
}

/* The runtime's lock is held. */
static int migrate(struct peal_runtime *rt, uint64_t address,
		   const struct peal_migrate_options *o, uint64_t *address_out)
{
	struct peal_kernel *k = peali_kernel_of(rt, address);
	struct move m = { .kernel = k };
	int result;

	if (!k)
		return peali_fail(PEAL_ENOENT, CALL,
				  "no actor with the address %#llx",
				  (unsigned long long)address);
	m.index = peali_actor_lives(k, PEAL_ACTOR_INDEX(address));
	result = check_kernel(k);
	if (!result)
		result = peali_move_settle(k, m.index, CALL);
	m.index = peali_actor_lives(k, m.index);
	m.handler = &k->program->handlers[k->actors[m.index].handler];
	if (!result)
		result = check_actor(&m);
	if (!result)
		result = choose(&m, o);
	if (!result)
		result = move_on(&m);
	if (address_out)
		*address_out = peali_address_lives(rt, address);
	return result;
}

int peal_actor_migrate(struct peal_runtime *rt, uint64_t address,
		       const struct peal_migrate_options *options,
		       uint64_t *address_out)
{
	struct peal_migrate_options o;
	int result;

	if (!rt)
		return peali_fail(PEAL_EINVAL, CALL, "runtime is NULL");
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (result)
		return result;
	pthread_mutex_lock(&rt->lock);
	result = migrate(rt, address, &o, address_out);
	pthread_mutex_unlock(&rt->lock);
	return result;
}
