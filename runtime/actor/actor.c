/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves actor addresses, spawns actors, and reads states of actors. */
#include <stdlib.h>
#include <string.h>

#include <peal/abi/supervisor.h>

#include "runtime/actor/initial_state.h"
#include "runtime/actor/actor_mailbox.h"
#include "runtime/actor/migration.h"
#include "runtime/actor/actor_retire.h"
#include "runtime/actor/slots.h"
#include "runtime/actor/supervisor.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
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
#include "runtime/runtime.h"

/* ---- spawn --------------------------------------------------------------- */

/* Limits of one control message: they keep its handling short. */
#define RUN_ACTORS 1024u /* actors */
#define RUN_BYTES 65536u /* bytes of states that the worker fills */
#define RUN_WRITTEN_BYTES (1u << 20) /* bytes of states that the host writes */

/* The actors of one spawn call. A run is the actors of one control message. */
struct batch {
	struct peal_kernel *kernel;
	const struct peal_handler_info *handler;
	const struct peal_actor_options *options;
	struct peali_actor_slots
		slots; /* of the slots; take_slots sets `worker` */
	uint32_t n; /* actors, at least 1 */
	uint32_t *index; /* n indexes of kernel->actors */
	int written; /* 1: the host writes the states; 0: the workers do */
	int told; /* 1: workers may have received control messages */
	uint32_t n_runs;
	/* initial states for restarts; NULL: no supervisor, or zeros */
	struct peali_inits *inits;
	struct peal_control_supervise
		*supervision; /* n_runs; NULL: no supervisor */
	struct peal_control_spawn *spawn; /* n_runs control messages */
	uint32_t *worker; /* n_runs workers that receive the messages */
};

static void free_batch(struct batch *c)
{
	free(c->index);
	free(c->supervision);
	free(c->spawn);
	free(c->worker);
}

/*
 * Frees the slots of the first n actors. The reverse order lets
 * peali_actor_slots_give shrink the used part of the kernel's tables.
 */
static void give_slots(struct batch *c, uint32_t n)
{
	while (n-- > 0) {
		struct peali_actor_slots slots = peali_actor_slots_of(
			c->kernel, c->slots.handler,
			&c->kernel->actors.entries[c->index[n]]);

		peali_limit_give(c->kernel, c->index[n]);
		peali_actor_slots_give(&slots, c->index[n]);
	}
}

/*
 * Takes a slot for a single actor. Tries `workers` workers in turn, from worker
 * `first` on. Returns 0, or the error of the last worker.
 */
static int take_slot(struct batch *c, uint32_t first, uint32_t workers)
{
	uint32_t turn;
	int result = 0;

	for (turn = 0; turn < workers; turn++) {
		c->slots.worker = (first + turn) % c->kernel->params.n_workers;
		result = peali_actor_slots_take(&c->slots, 1, c->index,
						"peal_actor_spawn");
		if (!result)
			break;
	}
	return result;
}

/*
 * Takes slots for all actors, or none. The actors go to the worker of the
 * options. Without one, each worker gets an equal share.
 */
static int take_slots(struct batch *c)
{
	struct peal_kernel *k = c->kernel;
	uint32_t workers = c->options->worker ? 1 : k->params.n_workers;
	uint32_t first = c->options->worker ? c->options->worker - 1 :
					      k->next_worker % workers;
	uint32_t taken = 0, turn, share;
	int result;

	if (c->n == 1)
		return take_slot(c, first, workers);
	for (turn = 0; turn < workers; turn++) {
		share = c->n / workers + (turn < c->n % workers);
		c->slots.worker = (first + turn) % k->params.n_workers;
		result = peali_actor_slots_take(
			&c->slots, share, c->index + taken, "peal_actor_spawn");
		if (result) {
			give_slots(c, taken);
			return result;
		}
		taken += share;
	}
	return 0;
}

/*
 * Returns 1 if one control message can make actor `at` and its predecessor.
 * Both have the same worker and generation. Their entries, states, limits and
 * ports are contiguous.
 */
static int follows(const struct batch *c, uint32_t at)
{
	const struct peali_actor *a =
		&c->kernel->actors.entries[c->index[at - 1]];
	const struct peali_actor *b = &c->kernel->actors.entries[c->index[at]];
	uint64_t ports = c->slots.share_ports_with ? 0 : c->handler->ports;

	return c->index[at] == c->index[at - 1] + 1 && a->worker == b->worker &&
	       a->generation == b->generation &&
	       a->state_offset + peali_state_stride(c->handler) ==
		       b->state_offset &&
	       (!a->limit || a->limit + 1 == b->limit) &&
	       a->port_base + ports == b->port_base;
}

/* Returns the length of the run that starts at actor `at`. */
static uint32_t run_of(const struct batch *c, uint32_t at)
{
	uint64_t step = peali_state_stride(c->handler);
	uint64_t most = c->written ? RUN_WRITTEN_BYTES : RUN_BYTES;
	uint32_t n = 1;

	while (at + n < c->n && n < RUN_ACTORS && (n + 1) * step <= most &&
	       follows(c, at + n))
		n++;
	return n;
}

/* Writes the states of a run to the device: the init bytes, then zeros. */
static int write_states(const struct batch *c, uint32_t at, uint32_t n)
{
	const struct peal_actor_options *o = c->options;
	struct peal_kernel *k = c->kernel;
	uint64_t step = peali_state_stride(c->handler);
	uint8_t *image = calloc(n, step);
	uint32_t i;
	int result;

	if (!image)
		return peali_fail(PEAL_ENOMEM, "peal_actor_spawn",
				  "no memory for a state of %u bytes",
				  c->handler->state_bytes);
	for (i = 0; i < n && o->init_bytes; i++)
		memcpy(image + i * step,
		       (const uint8_t *)o->init + (at + i) * o->init_stride,
		       o->init_bytes);
	result = peali_block_write(k->rt, &k->own,
				   k->actors.entries[c->index[at]].state_offset,
				   image, n * step);
	free(image);
	return result;
}

/* Fills the control messages of a run: SPAWN, and SUPERVISE. */
static void plan_run(struct batch *c, uint32_t at, uint32_t n)
{
	struct peal_control_spawn *spawn = &c->spawn[c->n_runs];
	const struct peal_handler_info *h = c->handler;
	struct peal_kernel *k = c->kernel;
	const struct peali_actor *a = &k->actors.entries[c->index[at]];

	spawn->actor = peali_actor_number(k, c->index[at]);
	spawn->count = n;
	spawn->entry.state =
		peali_block_view(k->rt, k->device, &k->own) + a->state_offset;
	spawn->entry.location =
		PEAL_ENTRY(spawn->actor, a->worker,
			   a->limit << PEAL_LIMIT_SHIFT | c->slots.handler);
	if (a->limit)
		spawn->limit = PEAL_SPAWN_LIMIT(c->options->mailbox_limit,
						c->options->mailbox_overflow);
	if (h->kind & PEAL_HANDLER_HOOKS)
		spawn->entry.location |= PEAL_ENTRY_RESTART_PENDING |
					 PEAL_ENTRY_HOOK;
	spawn->entry.state_bytes = h->state_bytes;
	spawn->entry.ports = h->ports;
	spawn->entry.emits = h->emits;
	spawn->entry.tells =
		(uint16_t)peali_handler_tells(h, k->params.n_workers);
	spawn->entry.port_base = (uint16_t)a->port_base;
	if (c->slots.share_ports_with)
		spawn->entry.shares = PEAL_SHARES_PORTS |
				      (c->slots.share_ports_with - 1);
	spawn->port_step = c->slots.share_ports_with ? 0 : h->ports;
	spawn->state_step = (uint32_t)peali_state_stride(h);
	spawn->init_bytes = PEAL_CONTROL_WRITTEN;
	if (!c->written) {
		spawn->init_bytes = (uint32_t)c->options->init_bytes;
		if (spawn->init_bytes)
			memcpy(spawn->init, c->options->init,
			       spawn->init_bytes);
	}
	if (c->supervision) {
		c->supervision[c->n_runs] = peali_supervision_message(
			c->options->supervisor, c->inits, c->options, at);
		c->supervision[c->n_runs].actor = spawn->actor;
		c->supervision[c->n_runs].count = n;
	}
	c->worker[c->n_runs++] = a->worker;
}

static int plan_runs(struct batch *c)
{
	uint32_t at, n, runs = 0;
	int result;

	for (at = 0; at < c->n; at += run_of(c, at))
		runs++;
	c->spawn = calloc(runs, sizeof(*c->spawn));
	c->worker = calloc(runs, sizeof(*c->worker));
	if (c->options->supervisor)
		c->supervision = calloc(runs, sizeof(*c->supervision));
	if (!c->spawn || !c->worker ||
	    (c->options->supervisor && !c->supervision))
		return peali_fail(PEAL_ENOMEM, "peal_actor_spawn",
				  "no memory to make %u actors", c->n);
	for (at = 0; at < c->n; at += n) {
		n = run_of(c, at);
		result = c->written && c->handler->state_bytes ?
				 write_states(c, at, n) :
				 0;
		if (result)
			return result;
		plan_run(c, at, n);
	}
	return 0;
}

/* Records the actors on the host after the workers have made them. */
static void record_actors(struct batch *c, uint64_t *addresses_out)
{
	struct peal_kernel *k = c->kernel;
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		k->actors.entries[c->index[i]].handler = c->slots.handler;
		k->actors.entries[c->index[i]].mailbox_limit =
			c->options->mailbox_limit;
		k->actors.entries[c->index[i]].mailbox_overflow =
			c->options->mailbox_overflow;
		k->actors.entries[c->index[i]].pinned = c->options->worker != 0;
		addresses_out[i] = k->params.address |
				   peali_actor_number(k, c->index[i]);
	}
	if (c->options->supervisor)
		peali_supervisor_add_member(c->options->supervisor, c->inits,
					    c->index, c->n);
	if (c->slots.share_ports_with)
		k->actors.entries[c->slots.share_ports_with - 1].n_links +=
			c->n;
	k->actors.n += c->n;
	if (!c->options->worker)
		k->next_worker += c->n;
}

/* Prepares all control messages, and sends none. */
static int plan_batch(struct batch *c)
{
	int result = 0;

	if (c->options->supervisor)
		result = peali_inits_make(c->kernel, c->options, c->n,
					  &c->inits, "peal_actor_spawn");
	if (!result)
		result = plan_runs(c);
	if (result && c->inits)
		peali_inits_free(c->kernel, c->inits);
	return result;
}

static int spawn_batch(struct batch *c, uint64_t *addresses_out)
{
	int result = take_slots(c);

	if (result)
		return result;
	if (c->options->mailbox_limit)
		peali_limits_take(c->kernel, c->index, c->n);
	result = plan_batch(c);
	c->told = !result;
	if (!result && c->supervision)
		result = peali_kernel_tell_workers(
			c->kernel, c->worker, PEAL_CONTROL_SUPERVISE,
			c->supervision, sizeof(*c->supervision), c->n_runs,
			"peal_actor_spawn");
	if (!result)
		result = peali_kernel_tell_workers(c->kernel, c->worker,
						   PEAL_CONTROL_SPAWN, c->spawn,
						   sizeof(*c->spawn), c->n_runs,
						   "peal_actor_spawn");
	if (!result)
		record_actors(c, addresses_out);
	else if (!c->told || peali_kernel_ended(c->kernel))
		give_slots(c, c->n);
	/* else a worker may still make the actors: the slots stay taken */
	return result;
}

/* ---- options ------------------------------------------------------------- */

static int check_options(const struct peal_kernel *k, uint32_t handler,
			 const struct peal_actor_options *o)
{
	const struct peal_handler_info *h = &k->program->handlers[handler];

	if (o->worker > k->params.n_workers)
		return PEALI_REFUSE(
			PEAL_ENOENT, "peal_actor_spawn", .object = "option",
			.name = "worker",
			.problem = PEALI_PRINT("is of no worker of kernel '%s'",
					       k->name),
			.number = o->worker, .most = k->params.n_workers);
	if (o->init_bytes && !o->init)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_spawn", .object = "option",
			.name = "init_bytes",
			.problem = "needs an initial state, and init is "
				   "NULL",
			.number = o->init_bytes, .remedy = "set init");
	if (o->init_bytes > h->state_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_spawn", .object = "option",
			.name = "init_bytes",
			.problem = PEALI_PRINT(
				"is too large for the state of handler "
				"'%s'",
				h->name),
			.number = o->init_bytes, .most = h->state_bytes);
	if (o->init_stride && o->init_stride < o->init_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_spawn", .object = "option",
			.name = "init_stride",
			.problem = "is too small, as the initial states "
				   "would overlap",
			.number = o->init_stride,
			.allowed =
				PEALI_PRINT("0 or at least %llu",
					    (unsigned long long)o->init_bytes),
			.remedy = "use 0 for one state of all actors");
	return 0;
}

/* Refuses an actor of a kernel as the owner of shared ports. */
static int refuse_owner(const struct peal_kernel *k, uint32_t index,
			const char *why, const char *remedy)
{
	return PEALI_REFUSE(
		PEAL_EINVAL, "peal_actor_spawn", .object = "option",
		.name = "share_ports_with",
		.problem = PEALI_PRINT("is of an actor of kernel '%s' %s",
				       k->name, why),
		.value = PEALI_PRINT("actor %u", index),
		.allowed = "actors with ports", .remedy = remedy);
}

/*
 * Finds the owner of the ports that new actors share (option share_ports_with).
 * Sets o->worker to the owner's worker, or fails if o->worker names another
 * worker.
 */
static int find_owner(struct batch *c, struct peal_actor_options *o)
{
	struct peal_kernel *k = c->kernel;
	uint64_t address = peali_address_resolve(k->rt, o->share_ports_with);
	uint32_t index = PEAL_ACTOR_INDEX(address);
	const struct peali_actor *a;

	if (!o->share_ports_with)
		return 0;
	if (peali_kernel_of(k->rt, address) != k)
		return PEALI_REFUSE(
			PEAL_ENOENT, "peal_actor_spawn", .object = "option",
			.name = "share_ports_with",
			.problem = PEALI_PRINT("is of no actor of kernel '%s'",
					       k->name),
			.value = PEALI_PRINT(
				"%#llx",
				(unsigned long long)o->share_ports_with),
			.allowed = "actors of this kernel",
			.remedy = "spawn that actor first");
	a = &k->actors.entries[index];
	if (peali_is_spawned(k, o->share_ports_with))
		return refuse_owner(k, index,
				    "that a handler made, which has no ports",
				    "name an actor of peal_actor_spawn");
	if (a->share_ports_with)
		return refuse_owner(k, index, "that has no ports of its own",
				    PEALI_PRINT("name actor %u",
						a->share_ports_with - 1));
	if (o->worker && o->worker - 1 != a->worker)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_spawn", .object = "option",
			.name = "worker",
			.problem = PEALI_PRINT(
				"is not the worker of actor %u of "
				"kernel '%s', which share_ports_with "
				"names",
				index, k->name),
			.number = o->worker,
			.allowed = PEALI_PRINT("0 or %u", a->worker + 1),
			.remedy = "use 0");
	o->worker = 1 + a->worker;
	c->slots.share_ports_with = 1 + index;
	return peali_schedule_check(c->handler,
				    &k->program->handlers[a->handler],
				    "peal_actor_spawn");
}

/* Spawns n actors of a checked handler. The caller holds rt->lock. */
static int spawn(struct peal_kernel *k, uint32_t handler,
		 struct peal_actor_options *o, uint32_t n,
		 uint64_t *addresses_out)
{
	struct batch c = { .kernel = k, .options = o, .n = n };
	int result;

	c.handler = &k->program->handlers[handler];
	c.slots.kernel = k;
	c.slots.handler = handler;
	result = find_owner(&c, o);
	if (result)
		return result;
	c.written = o->init_stride || o->init_bytes > PEAL_CONTROL_INIT ||
		    peali_state_stride(c.handler) > RUN_BYTES;
	c.index = calloc(n, sizeof(*c.index));
	if (!c.index)
		result = peali_fail(PEAL_ENOMEM, "peal_actor_spawn",
				    "no memory to make %u actors", n);
	else
		result = spawn_batch(&c, addresses_out);
	free_batch(&c);
	return result;
}

static int spawn_actors(struct peal_kernel *k, const char *handler,
			const struct peal_actor_options *options, uint32_t n,
			uint64_t *addresses_out, const char *out_name)
{
	struct peal_actor_options o;
	int result, number;

	if (!n)
		return PEALI_REFUSE(PEAL_EINVAL, "peal_actor_spawn",
				    .object = "argument", .name = "n",
				    .number = 0, .least = 1,
				    .most = UINT32_MAX);
	if (!k || !handler || !addresses_out)
		return peali_refuse_null("peal_actor_spawn",
					 PEALI_PRINT("kernel, handler or %s",
						     out_name));
	if (peali_foreign(&k->rt->owner, "peal_actor_spawn"))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, "peal_actor_spawn");
	if (result)
		return result;
	number = peali_program_handler(k->program, handler, "peal_actor_spawn");
	if (number < 0)
		return number;
	result = check_options(k, (uint32_t)number, &o);
	if (result)
		return result;
	if (o.name && n > 1)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_spawn", .object = "option",
			.name = "name", .problem = "is for one actor",
			.value = PEALI_PRINT("%u actors", n), .allowed = "1",
			.remedy = "name the others by peal_name_set");
	if (o.init_stride > (SIZE_MAX - o.init_bytes) / n)
		return PEALI_REFUSE(PEAL_EINVAL, "peal_actor_spawn",
				    .object = "option", .name = "init_stride",
				    .problem = PEALI_PRINT(
					    "is too large for %u actors in the "
					    "address space",
					    n),
				    .number = o.init_stride,
				    .most = (SIZE_MAX - o.init_bytes) / n);
	pthread_mutex_lock(&k->rt->lock);
	if (o.name)
		result = peali_name_check(k->rt, o.name, "peal_actor_spawn");
	if (!result)
		result = peali_limits_check(k, &o, n);
	if (!result && o.supervisor)
		result = peali_supervisor_check(o.supervisor, k, n,
						"peal_actor_spawn");
	if (!result)
		result = spawn(k, (uint32_t)number, &o, n, addresses_out);
	if (!result && o.name) {
		result = peali_name_give(k->rt, addresses_out[0], o.name,
					 "peal_actor_spawn");
		if (result)
			peali_actors_retire(k->rt, addresses_out, 1);
	}
	pthread_mutex_unlock(&k->rt->lock);
	if (!result)
		peali_log(3,
			  "kernel '%s' has new actors of handler '%s': %u, "
			  "the first is %#llx",
			  k->name, handler, n,
			  (unsigned long long)addresses_out[0]);
	return result;
}

int peal_actor_spawn(struct peal_kernel *k, const char *handler,
		     const struct peal_actor_options *options,
		     uint64_t *address_out)
{
	return peali_fail_in(spawn_actors(k, handler, options, 1, address_out,
					  "address_out"),
			     "peal_actor_spawn");
}

int peal_actor_spawn_many(struct peal_kernel *k, const char *handler,
			  const struct peal_actor_options *options, uint32_t n,
			  uint64_t *addresses_out)
{
	return peali_fail_in(spawn_actors(k, handler, options, n, addresses_out,
					  "addresses_out"),
			     "peal_actor_spawn_many");
}

/* ---- read a state -------------------------------------------------------- */

static int read_state(struct peal_runtime *rt, uint64_t address,
		      void *state_out, size_t bytes)
{
	struct peal_kernel *k;
	enum peal_kernel_state state;
	const struct peal_handler_info *h;
	const struct peali_actor *a;
	int failed;

	address = peali_address_resolve(rt, address);
	k = peali_kernel_of(rt, address);
	if (!k)
		return peali_refuse_address("peal_actor_state", "address",
					    address, "actor");
	state = peali_kernel_state(k, &failed);
	if (state == PEAL_KERNEL_RUNNING || state == PEAL_KERNEL_DRAINING)
		return peali_fail(PEAL_EBUSY, "peal_actor_state",
				  "kernel '%s' runs; suspend it or let it end",
				  k->name);
	a = &k->actors.entries[PEAL_ACTOR_INDEX(address)];
	h = &k->program->handlers[a->handler];
	if (bytes > h->state_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_state", .object = "argument",
			.name = "bytes",
			.problem = PEALI_PRINT("is larger than the state of "
					       "handler '%s'",
					       h->name),
			.number = bytes, .most = h->state_bytes);
	if (!bytes)
		return 0;
	return peali_block_read(rt, &k->own, a->state_offset, state_out, bytes);
}

int peal_actor_state(struct peal_runtime *rt, uint64_t address, void *state_out,
		     size_t bytes)
{
	int result;

	if (!rt || (!state_out && bytes))
		return peali_refuse_null("peal_actor_state",
					 "runtime or state_out");
	if (peali_foreign(&rt->owner, "peal_actor_state"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	result = read_state(rt, address, state_out, bytes);
	pthread_mutex_unlock(&rt->lock);
	return result;
}
