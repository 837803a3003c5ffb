/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Migration of actors: reserves the new entry, tells both workers and resolves
 * addresses. The file include/peal/device/impl/worker/migrate.h explains how
 * messages follow the actor.
 */
#include <string.h>

#include <peal/abi/supervisor.h>
#include <peal/migration.h>
#include "runtime/actor/migration.h"

#include "p2p/peer.h"
#include "runtime/actor/forwarding.h"
#include "runtime/actor/initial_state.h"
#include "runtime/actor/shortcut.h"
#include "runtime/actor/slots.h"
#include "runtime/actor/supervisor.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/memory_block.h"
#include "runtime/device/program.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/kernel/record.h"
#include "runtime/link/link.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

#define CALL "peal_actor_migrate"

/* A migration of one actor. */
struct move {
	struct peal_kernel *kernel, *to; /* from, to; often equal */
	uint32_t index, next; /* the actor's entry, its new entry */
	const struct peal_handler_info *handler;
	struct peal_supervisor *supervisor; /* in another kernel, or NULL */
	struct peali_actor_slots slots; /* resources for the new entry */
};

/* ---- addresses ----------------------------------------------------------- */

/* Records that the actor now lives at its next entry. */
static void record(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	struct peali_actor *a = &k->actors.entries[m->index];
	struct peali_actor *next = &m->to->actors.entries[m->next];
	int to_other_kernel = m->to != k;

	next->handler = a->handler;
	next->pinned = a->pinned;
	next->moved_from = to_other_kernel ? PEALI_ELSEWHERE : 1 + m->index;
	next->bare = !to_other_kernel;
	next->end_number = a->end_number;
	if (!to_other_kernel)
		next->state_offset = a->state_offset;
	a->moved_to = to_other_kernel ? PEALI_ELSEWHERE : 1 + m->next;
	a->moving = 0;
	a->leads_to = peali_actor_address(m->to, m->next);
	k->actors.n_moved++;
	k->actors.n -= to_other_kernel;
	m->to->actors.n += to_other_kernel;
	peali_name_follow(k->rt, peali_actor_address(k, m->index),
			  peali_actor_address(m->to, m->next));
	if (a->share_ports_with)
		k->actors.entries[a->share_ports_with - 1].n_links--;
	if (next->share_ports_with)
		m->to->actors.entries[next->share_ports_with - 1].n_links++;
	if (to_other_kernel)
		peali_supervisor_remove_member(k, m->index);
	if (!k->supervision.actors || to_other_kernel)
		return;
	k->supervision.actors[m->next] = k->supervision.actors[m->index];
	memset(&k->supervision.actors[m->index], 0,
	       sizeof(k->supervision.actors[m->index]));
}

/* ---- checks -------------------------------------------------------------- */

int peali_schedule_check(const struct peal_handler_info *h,
			 const struct peal_handler_info *owner,
			 const char *call)
{
	if (h->ports > owner->ports || h->emits > owner->emits)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "share_ports_with",
			.problem = PEALI_PRINT(
				"is of handler '%s', which has too few "
				"ports or messages for handler '%s'",
				owner->name, h->name),
			.value = PEALI_PRINT("ports %u, messages %u", h->ports,
					     h->emits),
			.allowed = PEALI_PRINT("0..%u, 0..%u", owner->ports,
					       owner->emits),
			.remedy = "name another actor");
	if (h->output_bytes != owner->output_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "share_ports_with",
			.problem = PEALI_PRINT(
				"is of handler '%s', and handler '%s' "
				"emits messages of another length",
				owner->name, h->name),
			.number = h->output_bytes, .least = owner->output_bytes,
			.most = owner->output_bytes,
			.remedy = "name another actor");
	return 0;
}

/*
 * Returns PEAL_EBUSY if a link, a topic or another actor uses the actor's
 * ports. Ports cannot move.
 */
static int check_ports(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	uint64_t address = k->params.address | peali_actor_number(k, m->index);
	const struct peal_link *link;
	const char *topic;
	uint32_t i;

	for (link = k->rt->links; link; link = link->next)
		if (link->from.kernel == k && !link->from.dead_letters &&
		    !link->from.fwd_link && link->from.actor == m->index)
			return peali_fail(
				PEAL_EBUSY, CALL,
				"link %llu comes from port %u of actor %u of "
				"kernel '%s', and ports do not move; use "
				"`share_ports_with`, or destroy the link",
				(unsigned long long)link->id, link->from_port,
				m->index, k->name);
	for (i = 0; i < m->handler->ports; i++) {
		topic = peali_topic_at_port(k->rt, address, i);
		if (topic)
			return peali_fail(PEAL_EBUSY, CALL,
					  "port %u of actor %u of kernel "
					  "'%s' publishes to topic '%s', and "
					  "ports do not move; call "
					  "peal_unpublish first",
					  i, m->index, k->name, topic);
	}
	for (i = 0;
	     k->actors.entries[m->index].n_links && i < k->slots.n_entries; i++)
		if (k->actors.entries[i].handler != PEAL_NO_HANDLER &&
		    !k->actors.entries[i].moved_to &&
		    k->actors.entries[i].share_ports_with == 1 + m->index)
			return peali_fail(PEAL_EBUSY, CALL,
					  "actor %u of kernel '%s' shares "
					  "the ports of actor %u, which do "
					  "not move; move or retire it first",
					  i, k->name, m->index);
	return 0;
}

static int check_actor(const struct move *m)
{
	const struct peal_kernel *k = m->kernel;
	const struct peali_actor *a = &k->actors.entries[m->index];

	if (peali_is_spawned(k, m->index))
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "actor %u of kernel '%s' was made by a "
				  "handler, so its slot belongs to its "
				  "worker; only actors of peal_actor_spawn "
				  "move",
				  m->index, k->name);
	if (a->pool)
		return peali_fail(PEAL_EBUSY, CALL,
				  "actor %u of kernel '%s' is a member of a "
				  "pool, and membership does not move; call "
				  "peal_pool_leave first",
				  m->index, k->name);
	if (a->limit)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "actor %u of kernel '%s' has a limit "
				  "(mailbox_limit), which is counted at its "
				  "worker; only actors without a limit move",
				  m->index, k->name);
	return a->share_ports_with || !m->handler->ports ? 0 : check_ports(m);
}

/*
 * Finds the owner of the ports that the migrated actor will share. On entry
 * *worker is the requested worker plus 1, or 0. On success it becomes the
 * owner's worker plus 1.
 */
static int find_owner(struct move *m, uint64_t share_ports_with,
		      uint32_t *worker)
{
	struct peal_kernel *k = m->to;
	uint64_t address = peali_address_resolve(k->rt, share_ports_with);
	uint32_t index = PEAL_ACTOR_INDEX(address);
	const struct peali_actor *owner = &k->actors.entries[index];
	int itself = k == m->kernel && index == m->index;

	if (peali_kernel_of(k->rt, address) != k)
		return PEALI_REFUSE(
			PEAL_ENOENT, CALL, .object = "option",
			.name = "share_ports_with",
			.problem = PEALI_PRINT("is of no actor of kernel '%s'",
					       k->name),
			.value = PEALI_PRINT(
				"%#llx", (unsigned long long)share_ports_with),
			.allowed = "actors of this kernel",
			.remedy = "spawn that actor first");
	if (owner->share_ports_with || itself)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "share_ports_with",
			.problem = PEALI_PRINT(
				"is of an actor of kernel '%s' that %s",
				k->name,
				itself ? "moves" : "has no ports of its own"),
			.value = PEALI_PRINT("actor %u", index),
			.allowed = "other actors with ports",
			.remedy = "name another actor");
	if (*worker && *worker - 1 != owner->worker)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option", .name = "worker",
			.problem = PEALI_PRINT(
				"is not the worker of actor %u of "
				"kernel '%s', which share_ports_with "
				"names",
				index, k->name),
			.number = *worker,
			.allowed = PEALI_PRINT("0 or %u", owner->worker + 1),
			.remedy = "use 0");
	*worker = 1 + owner->worker;
	m->slots.share_ports_with = 1 + index;
	return peali_schedule_check(
		m->handler, &k->program->handlers[owner->handler], CALL);
}

/* Chooses the new worker and fills in `m->slots`. */
static int choose(struct move *m, const struct peal_migration_options *o)
{
	struct peal_kernel *k = m->kernel, *to = m->to;
	const struct peali_actor *a = &k->actors.entries[m->index];
	uint32_t worker = o->worker;
	int result = 0;

	if (worker > to->params.n_workers)
		return PEALI_REFUSE(
			PEAL_ENOENT, CALL, .object = "option", .name = "worker",
			.problem = PEALI_PRINT("is of no worker of kernel '%s'",
					       to->name),
			.number = worker, .most = to->params.n_workers);
	if (o->share_ports_with)
		result = find_owner(m, o->share_ports_with, &worker);
	else if (a->share_ports_with && m->handler->ports)
		result = peali_fail(PEAL_EINVAL, CALL,
				    "actor %u of kernel '%s' shares the "
				    "ports of actor %u, which do not move; "
				    "set `share_ports_with` to an actor of "
				    "its new worker",
				    m->index, k->name, a->share_ports_with - 1);
	if (result)
		return result;
	if (!worker)
		worker = to == k ? 1 + (a->worker + 1) % k->params.n_workers :
				   1;
	if (to == k && worker - 1 == a->worker)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option", .name = "worker",
			.problem = PEALI_PRINT(
				"is the worker that actor %u of kernel '%s' "
				"has already",
				m->index, PEALI_CUT(32, k->name)),
			.number = worker,
			.allowed = k->params.n_workers > 1 ? "other workers" :
							     "none",
			.remedy =
				k->params.n_workers > 1 ?
					"use 0 to select the next worker" :
					"launch the kernel with more workers");
	m->slots.kernel = to;
	m->slots.handler = a->handler;
	m->slots.worker = worker - 1;
	m->slots.moved = to == k;
	return 0;
}

/* ---- moving -------------------------------------------------------------- */

/*
 * Returns the offset of the actor's new state. Within a kernel the state stays
 * in place.
 */
static uint64_t state_offset(const struct move *m)
{
	return m->to == m->kernel ?
		       m->kernel->actors.entries[m->index].state_offset :
		       m->to->actors.entries[m->next].state_offset;
}

/* Makes the new worker create the next entry, where it awaits the actor. */
static int tell_next(const struct move *m)
{
	struct peal_kernel *k = m->to;
	const struct peali_actor *next = &k->actors.entries[m->next];
	const struct peal_handler_info *h = m->handler;
	struct peal_control_spawn spawn;

	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = peali_actor_number(k, m->next);
	spawn.count = 1;
	spawn.entry.state =
		peali_block_view(k->rt, k->device, &k->own) + state_offset(m);
	spawn.entry.location =
		PEAL_ENTRY(spawn.actor, m->slots.worker, m->slots.handler) |
		PEAL_ENTRY_ARRIVAL_FLAGS;
	if (k != m->kernel) /* there the supervisor's member is this entry */
		spawn.entry.location &= ~(uint64_t)PEAL_ENTRY_MIGRATED_IN;
	spawn.entry.state_bytes = h->state_bytes;
	spawn.entry.ports = h->ports;
	spawn.entry.emits = h->emits;
	spawn.entry.tells =
		(uint16_t)peali_handler_tells(h, k->params.n_workers);
	spawn.entry.port_base = (uint16_t)next->port_base;
	spawn.port_step = m->slots.share_ports_with ? 0 : h->ports;
	if (m->slots.share_ports_with)
		spawn.entry.shares = PEAL_SHARES_PORTS |
				     (m->slots.share_ports_with - 1);
	spawn.init_bytes = PEAL_CONTROL_WRITTEN;
	return peali_kernel_tell(k, m->slots.worker, PEAL_CONTROL_SPAWN, &spawn,
				 sizeof(spawn), CALL);
}

/*
 * Retires the next entry after a failed migration. Keeps the error text of the
 * migration. The entry is free again if no worker can use it.
 */
static void take_back(const struct move *m)
{
	struct peal_kernel *k = m->to;
	struct peal_error_info failed = *peal_last_error();
	struct peal_control_spawn spawn;
	int result;

	memset(&spawn, 0, sizeof(spawn));
	spawn.actor = peali_actor_number(k, m->next);
	spawn.count = 1;
	spawn.entry.location =
		PEAL_ENTRY(spawn.actor, m->slots.worker, PEAL_NO_HANDLER);
	result = peali_kernel_tell(k, m->slots.worker, PEAL_CONTROL_RETIRE,
				   &spawn, sizeof(spawn), CALL);
	peali_supervisor_remove_member(k, m->next);
	if (!result || peali_kernel_ended(k))
		peali_actor_slots_give(&m->slots, m->next);
	peali_fail(failed.code, CALL, "%s", failed.text);
}

/* Sets the error text if the former worker refuses to release the actor. */
static void say_refused(const struct move *m, int result, const char *call)
{
	const struct peal_kernel *k = m->kernel;

	if (result == PEAL_EBUSY)
		peali_fail(result, call,
			   "actors that handlers have made share the ports "
			   "of actor %u of kernel '%s', and ports do not "
			   "move; end these actors first",
			   m->index, k->name);
	if (result == PEAL_EAGAIN)
		peali_fail(result, call,
			   "actor %u of kernel '%s' waits for answers to its "
			   "asks at worker %u, or for its init; move it "
			   "after their arrival",
			   m->index, k->name,
			   k->actors.entries[m->index].worker);
	if (result == PEAL_EEXIST)
		peali_fail(result, call,
			   "actor %u of kernel '%s' is monitored, and "
			   "monitors do not move to another kernel; call "
			   "peal_unmonitor first",
			   m->index, k->name);
	if (result == PEAL_ESTOPPED && !peali_kernel_ended(m->kernel))
		peali_fail(result, call,
			   "actor %u of kernel '%s' has failed and ended",
			   m->index, k->name);
}

/*
 * Makes the former worker release the actor. Within the kernel the actor then
 * lives at its next entry.
 */
static int tell_move(const struct move *m, const char *call)
{
	struct peal_kernel *k = m->kernel;
	struct peali_actor *a = &k->actors.entries[m->index];
	struct peal_control_move move;
	int result;

	move.actor = peali_actor_number(k, m->index);
	move.next = peali_actor_number(k, m->next);
	a->moving = 1 + m->next;
	result = peali_kernel_tell(k, a->worker, PEAL_CONTROL_MOVE, &move,
				   sizeof(move), call);
	say_refused(m, result, call);
	if (!result) {
		record(m);
	} else if (result != PEAL_EHUNG) {
		a->moving = 0;
		take_back(m);
	}
	return result;
}

/*
 * Copies the state to the other kernel. Then makes the new worker take the
 * actor over. `restarts` 1: the actor restarts there.
 */
static int bring(const struct move *m, int restarts, const char *call)
{
	struct peal_kernel *k = m->kernel, *to = m->to;
	uint64_t at = k->actors.entries[m->index].state_offset;
	uint64_t to_at = to->actors.entries[m->next].state_offset;
	struct peali_place from = {
		k->device, peali_block_view(k->rt, k->device, &k->own) + at
	};
	struct peali_place into = {
		to->device,
		peali_block_view(to->rt, to->device, &to->own) + to_at
	};
	struct peal_control_move arrive = { 0, 0 };
	int result = 0;

	if (m->handler->state_bytes)
		result = peali_copy_sync_one(k->rt->peers, into, from,
					     m->handler->state_bytes);
	if (result)
		return result; /* a later call releases and copies again */
	peali_fwd_entry_from(k->rt, peali_actor_address(k, m->index))->fwd_link =
		NULL;
	record(m);
	arrive.actor = peali_actor_number(to, m->next);
	arrive.next = (uint32_t)restarts;
	return peali_kernel_tell(to, m->slots.worker, PEAL_CONTROL_ARRIVE,
				 &arrive, sizeof(arrive), call);
}

/*
 * Makes the former worker release the actor for another kernel. PEAL_EHANDLER
 * as the answer means that the actor must restart there.
 */
static int tell_leave(const struct move *m, const struct peal_link *fwd_link,
		      const char *call)
{
	struct peal_kernel *k = m->kernel;
	struct peali_actor *a = &k->actors.entries[m->index];
	struct peal_control_leave leave = { 0, 0, 0, 0 };
	int result;

	leave.actor = peali_actor_number(k, m->index);
	leave.to = peali_actor_number(m->to, m->next);
	leave.port = fwd_link->from.index;
	a->moving = PEALI_ELSEWHERE;
	result = peali_kernel_tell(k, a->worker, PEAL_CONTROL_LEAVE, &leave,
				   sizeof(leave), call);
	say_refused(m, result, call);
	if (!result || result == PEAL_EHANDLER)
		return bring(m, result != 0, call);
	if (result == PEAL_EHUNG)
		return result;
	a->moving = 0;
	peali_fwd_entry_remove(
		k->rt,
		peali_fwd_entry_from(k->rt, peali_actor_address(k, m->index)));
	take_back(m);
	return result;
}

/*
 * Prepares the forwarding link and entry. Then moves the actor to the
 * other kernel.
 */
static int leave(const struct move *m)
{
	struct peal_kernel *k = m->kernel;
	struct peali_fwd_entry c = { .from = peali_actor_address(k, m->index),
				     .to = peali_actor_address(m->to,
							       m->next) };
	int result = peali_fwd_link_make(k, k->actors.entries[m->index].worker,
					 m->to, m->slots.worker, &c.fwd_link,
					 CALL);

	if (!result)
		result = peali_fwd_entry_add(k->rt, &c, CALL);
	if (result) {
		take_back(m);
		return result;
	}
	return tell_leave(m, c.fwd_link, CALL);
}

int peali_move_settle(struct peal_kernel *k, uint32_t index, const char *call)
{
	struct peali_actor *a = &k->actors.entries[index];
	struct move m = { .kernel = k, .to = k, .index = index };
	const struct peali_fwd_entry *c = NULL;

	if (!a->moving)
		return 0;
	if (a->moving == PEALI_ELSEWHERE) {
		c = peali_fwd_entry_from(k->rt, peali_actor_address(k, index));
		m.to = c->fwd_link->to.kernel;
	}
	m.next = c ? PEAL_ACTOR_INDEX(c->to) : a->moving - 1;
	m.handler = &k->program->handlers[a->handler];
	m.slots.kernel = m.to;
	m.slots.handler = a->handler;
	m.slots.worker = m.to->actors.entries[m.next].worker;
	m.slots.share_ports_with =
		m.to->actors.entries[m.next].share_ports_with;
	m.slots.moved = !c;
	return c ? tell_leave(&m, c->fwd_link, call) : tell_move(&m, call);
}

/* Tells the new worker the actor's supervisor. This precedes the entry. */
static int send_supervision(const struct move *m)
{
	struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_kernel *to = m->to;
	struct peali_inits *inits = NULL;
	struct peal_control_supervise supervise;
	int result = peali_inits_carry(m->kernel, m->index, to, &inits, CALL);

	if (result)
		return result;
	o.init_bytes = inits ? inits->bytes : 0;
	supervise = peali_supervision_message(m->supervisor, inits, &o, 0);
	supervise.actor = peali_actor_number(to, m->next);
	supervise.count = 1;
	peali_supervisor_add_member(m->supervisor, inits, &m->next, 1);
	result = peali_kernel_tell(to, m->slots.worker, PEAL_CONTROL_SUPERVISE,
				   &supervise, sizeof(supervise), CALL);
	if (result)
		peali_supervisor_remove_member(to, m->next);
	return result;
}

static int move_on(struct move *m)
{
	int result = peali_actor_slots_take(&m->slots, 1, &m->next, CALL);

	if (result)
		return result;
	result = m->supervisor ? send_supervision(m) : 0;
	if (result) {
		/* a hung worker may still read the message: keep the entry */
		if (result != PEAL_EHUNG || peali_kernel_ended(m->to))
			peali_actor_slots_give(&m->slots, m->next);
		return result;
	}
	result = tell_next(m);
	if (!result)
		return m->to == m->kernel ? tell_move(m, CALL) : leave(m);
	peali_supervisor_remove_member(m->to, m->next);
	if (peali_kernel_ended(m->to))
		peali_actor_slots_give(&m->slots, m->next);
	/* a hung worker may still create the entry: never reuse it */
	return result;
}

/* Refuses a supervisor that is set, as `why` says. */
static int refuse_supervisor(const struct move *m, const char *why)
{
	return PEALI_REFUSE(
		PEAL_EINVAL, CALL, .object = "option", .name = "supervisor",
		.problem = PEALI_PRINT("is set, but actor %u of kernel '%s' %s",
				       m->index, PEALI_CUT(32, m->kernel->name),
				       why),
		.value = "an address", .allowed = "NULL", .remedy = "use NULL");
}

/*
 * Checks that the actor has a supervisor in the other kernel if and only if it
 * has one here.
 */
static int check_supervisor(const struct move *m)
{
	const struct peal_kernel *k = m->kernel;
	int has = k->supervision.actors &&
		  k->supervision.actors[m->index].supervisor;

	if (has && !m->supervisor)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "supervisor",
			.problem = PEALI_PRINT(
				"is NULL, but actor %u of kernel '%s' has one",
				m->index, PEALI_CUT(32, k->name)),
			.value = "NULL",
			.allowed = "a supervisor of the other kernel",
			.remedy = "create a supervisor there");
	if (!has && m->supervisor)
		return refuse_supervisor(m, "has none");
	return has ? peali_supervisor_check(m->supervisor, m->to, 1, CALL) : 0;
}

/* Checks whether the actor can migrate to the other kernel. */
static int check_other(const struct move *m)
{
	struct peal_kernel *k = m->kernel, *to = m->to;
	int result;

	if (to == k && m->supervisor)
		return refuse_supervisor(m, "stays there");
	if (to == k)
		return 0;
	result = peali_fwd_link_check(k, to, CALL);
	if (result)
		return result;
	if (to->program != k->program)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "kernel", .name = to->name,
			.problem = PEALI_PRINT(
				"runs another program than kernel '%s'",
				k->name),
			.value = to->program->name,
			.allowed = PEALI_PRINT("'%s'", k->program->name),
			.remedy = "launch that program there");
	return check_supervisor(m);
}

/*
 * Returns the kernel of an actor, or NULL with a text. Sets *address to the
 * actor's newest address.
 */
static struct peal_kernel *home_of(struct peal_runtime *rt, uint64_t *address)
{
	uint64_t given = *address;
	struct peal_kernel *k;

	*address = peali_address_resolve(rt, given);
	k = peali_kernel_of(rt, *address);
	if (!k) /* no such actor, or a handler has ended it */
		peali_refuse_address(CALL, "address", given, "actor");
	return k;
}

/* Migrates an actor. The caller holds the runtime's lock. */
static int migrate(struct peal_runtime *rt, uint64_t address,
		   const struct peal_migration_options *o,
		   uint64_t *address_out)
{
	struct peal_kernel *k = home_of(rt, &address);
	struct move m = { .kernel = NULL };
	int result;

	if (!k)
		return PEAL_ENOENT;
	result = peali_kernel_can_forward(k, CALL);
	if (!result)
		result = peali_move_settle(k, PEAL_ACTOR_INDEX(address), CALL);
	m.kernel = result ? k : home_of(rt, &address);
	if (!m.kernel)
		return PEAL_ENOENT;
	m.to = o->kernel ? o->kernel : m.kernel;
	m.supervisor = o->supervisor;
	m.index = PEAL_ACTOR_INDEX(address);
	m.handler =
		&m.kernel->program
			 ->handlers[m.kernel->actors.entries[m.index].handler];
	if (!result)
		result = check_other(&m);
	if (!result)
		result = check_actor(&m);
	if (!result)
		result = choose(&m, o);
	if (!result)
		result = move_on(&m);
	if (!result)
		peali_shortcuts_make(rt, peali_address_resolve(rt, address));
	if (address_out)
		*address_out = peali_address_resolve(rt, address);
	return result;
}

int peal_actor_migrate(struct peal_runtime *rt, uint64_t address,
		       const struct peal_migration_options *options,
		       uint64_t *address_out)
{
	struct peal_migration_options o;
	int result;

	if (!rt)
		return peali_refuse_null(CALL, "runtime");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (result)
		return result;
	pthread_mutex_lock(&rt->lock);
	result = migrate(rt, address, &o, address_out);
	pthread_mutex_unlock(&rt->lock);
	return result;
}
