/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Monitors: sets and removes them, and gives endpoints their down messages.
 * Workers detect the end of actors and notify the owners
 * (include/peal/device/monitor.h).
 */
#include <stdlib.h>
#include <string.h>

#include <peal/abi/monitor.h>
#include <peal/monitor.h>
#include "runtime/actor/monitor.h"

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/link/endpoint.h"
#include "runtime/runtime.h"

#define CALL "peal_monitor"

/** An endpoint's monitor. It has the same index as its slot in down_slots. */
struct peali_monitor {
	_Atomic uint32_t used; /* set under the runtime's lock; cleared by the
				* thread that has unlinked it */
	struct peal_kernel *kernel;
	struct peali_monitor *next; /* of the endpoint's list */
	uint64_t handle, tag, actor;
	uint32_t type;
};

int peali_monitors_plan(const struct peal_kernel *k,
			const struct peal_kernel_options *o)
{
	if (!o->max_monitors || !o->mailbox.slots ||
	    k->mailbox.message_bytes >= sizeof(struct peal_down))
		return 0;
	return PEALI_REFUSE(
		PEAL_EINVAL, "peal_kernel_launch", .object = "option",
		.name = "mailbox.message_bytes",
		.problem = "is too small for the struct peal_down of "
			   "monitors",
		.number = k->mailbox.message_bytes,
		.allowed = PEALI_PRINT("%zu or more", sizeof(struct peal_down)),
		.remedy = PEALI_PRINT("use %zu", sizeof(struct peal_down)));
}

int peali_monitors_open(struct peal_kernel *k)
{
	uint32_t n = k->params.max_monitors;

	if (!n)
		return 0;
	k->monitors.table = calloc(n, sizeof(*k->monitors.table));
	return k->monitors.table ? 0 : PEAL_ENOMEM;
}

static struct peal_down_slot *slot_of(const struct peali_monitor *m)
{
	return &m->kernel->monitors.slots[m - m->kernel->monitors.table];
}

/*
 * Removes a monitor from an endpoint's list. Returns 1 if it was in the list.
 * The caller holds monitors_lock of the endpoint.
 */
static int unlink_one(struct peal_endpoint *e, const struct peali_monitor *m)
{
	struct peali_monitor **p;

	for (p = &e->monitors; *p && *p != m; p = &(*p)->next)
		;
	if (!*p)
		return 0;
	*p = m->next;
	atomic_fetch_sub(&e->n_monitors, 1);
	return 1;
}

void peali_monitors_close(struct peal_kernel *k)
{
	struct peal_endpoint *e;
	uint32_t i;

	if (!k->monitors.table)
		return;
	pthread_mutex_lock(&k->rt->lock);
	for (e = k->rt->endpoints; e; e = e->next) {
		pthread_mutex_lock(&e->monitors_lock);
		for (i = 0; i < k->params.max_monitors; i++)
			unlink_one(e, &k->monitors.table[i]);
		pthread_mutex_unlock(&e->monitors_lock);
	}
	pthread_mutex_unlock(&k->rt->lock);
	free(k->monitors.table);
}

/* ---- calls to workers ---------------------------------------------------- */

/*
 * Returns the worker of a live actor, or else one that can answer. Any worker
 * can serve a monitor.
 */
static uint32_t worker_of(struct peal_kernel *k, uint64_t actor)
{
	return peali_kernel_of(k->rt, actor) == k ?
		       k->actors
			       .entries[peali_actor_resolve(
				       k, PEAL_ACTOR_INDEX(actor))]
			       .worker :
		       peali_kernel_answerer(k, 0);
}

static int ask(struct peal_kernel *k, uint64_t actor,
	       struct peal_control_monitor *c, uint64_t *handle_out,
	       const char *call)
{
	const uint64_t *said;
	int result;

	c->report = peali_block_view(k->rt, k->device, &k->shared) +
		    k->supervision.report_offset;
	result = peali_kernel_tell(k, worker_of(k, actor), PEAL_CONTROL_MONITOR,
				   c, sizeof(*c), call);
	said = (const uint64_t *)(uintptr_t)(peali_block_view(k->rt, PEALI_HOST,
							      &k->shared) +
					     k->supervision.report_offset);
	if (!result && handle_out)
		*handle_out = peal_load_relaxed_sys(said);
	return result;
}

static int take_off(struct peal_kernel *k, uint64_t handle, const char *call)
{
	struct peal_control_monitor c;

	memset(&c, 0, sizeof(c));
	c.handle = handle;
	return ask(k, 0, &c, NULL, call);
}

static int check_kernel(const struct peal_kernel *k, const char *call)
{
	if (!k)
		return peali_refuse_null(call, "kernel");
	if (peali_foreign(&k->rt->owner, call))
		return PEAL_EFORKED;
	if (k->monitors.table)
		return 0;
	return peali_fail(PEAL_ENOTSUP, call,
			  "kernel '%s' was launched without monitors; set "
			  "max_monitors in struct peal_kernel_options",
			  k->name);
}

/* ---- setting ------------------------------------------------------------- */

static int check_options(const struct peal_monitor_options *o)
{
	if (o->flags & ~(uint32_t)(PEAL_MONITOR_RESTARTS | PEAL_MONITOR_BINDS))
		return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "option",
				    .name = "flags",
				    .problem = "has bits that are not of enum "
					       "peal_monitor_flag",
				    .value = PEALI_PRINT("%#x", o->flags),
				    .allowed = PEALI_PRINT(
					    "bits of %#x",
					    (unsigned)(PEAL_MONITOR_RESTARTS |
						       PEAL_MONITOR_BINDS)),
				    .remedy = "use 0");
	if (o->type > UINT16_MAX)
		return peali_refuse_option(CALL, "type", o->type, 0,
					   UINT16_MAX);
	if (o->reserved)
		return peali_refuse_option(CALL, "reserved", o->reserved, 0, 0);
	return 0;
}

static int check_actor(struct peal_kernel *k, uint64_t actor, const char *call)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor);

	if ((actor ^ k->params.address) >> 32 ||
	    index >= k->params.max_actors ||
	    (k->actors.entries[index].handler == PEALI_POOL_HANDLER &&
	     (uint32_t)actor == peali_actor_number(k, index)))
		return PEALI_REFUSE(
			PEAL_ENOENT, call, .object = "kernel", .name = k->name,
			.problem = "has no such actor",
			.value =
				PEALI_PRINT("%#llx", (unsigned long long)actor),
			.allowed = "addresses of its actors",
			.remedy = "pass an address of peal_actor_spawn");
	return 0;
}

/* Checks an actor that is to get the down message. Sets its number in *c. */
static int check_owner(struct peal_kernel *k, uint64_t owner, uint64_t actor,
		       struct peal_control_monitor *c)
{
	const struct peal_kernel *of = peali_kernel_of(k->rt, owner);

	if (of != k)
		return PEALI_REFUSE(
			of ? PEAL_EINVAL : PEAL_ENOENT, CALL,
			.object = "argument", .name = "owner",
			.problem = of ? "is of another kernel" :
					"is neither an actor nor an "
					"endpoint",
			.value =
				PEALI_PRINT("%#llx", (unsigned long long)owner),
			.allowed = PEALI_PRINT(
				"an endpoint or an actor of kernel '%s'",
				k->name),
			.remedy = "pass such an address");
	if (peali_address_resolve(k->rt, owner) ==
	    peali_address_resolve(k->rt, actor))
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "kernel", .name = k->name,
			.problem = "has an actor that would monitor itself",
			.value = PEALI_PRINT("actor %u",
					     PEAL_ACTOR_INDEX(actor)),
			.allowed = "another owner",
			.remedy = "pass another owner");
	if (!k->params.mailboxes)
		return peali_fail(PEAL_ENOTSUP, CALL,
				  "kernel '%s' has no mailboxes, so its "
				  "actors cannot get down messages; set "
				  "mailbox.slots in struct "
				  "peal_kernel_options",
				  k->name);
	c->owner = (uint32_t)owner;
	return 0;
}

/* Sets the error text of a failed PEAL_CONTROL_MONITOR. Returns `result`. */
static int set_failed(struct peal_kernel *k, int result)
{
	if (result == PEAL_ENOSPC)
		return peali_fail(result, CALL,
				  "all %u monitors of kernel '%s' are set; "
				  "launch it with a larger max_monitors in "
				  "struct peal_kernel_options, or remove a "
				  "monitor",
				  k->params.max_monitors, k->name);
	return result;
}

/* Returns a free monitor for an endpoint, or NULL with a text. */
static struct peali_monitor *find_place(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->params.max_monitors; i++)
		if (!atomic_load_explicit(&k->monitors.table[i].used,
					  memory_order_acquire))
			return &k->monitors.table[i];
	set_failed(k, PEAL_ENOSPC);
	return NULL;
}

static int set_for_endpoint(struct peal_kernel *k, struct peal_endpoint *e,
			    uint64_t actor, struct peal_control_monitor *c,
			    uint64_t *handle_out)
{
	struct peali_monitor *m;
	int result;

	if (c->flags & PEAL_MONITOR_BINDS)
		return peali_fail(PEAL_EINVAL, CALL,
				  "option flags has PEAL_MONITOR_BINDS, and "
				  "the owner is endpoint '%s'; an endpoint "
				  "does not end with an actor",
				  e->name);
	m = find_place(k);
	if (!m)
		return PEAL_ENOSPC;
	m->kernel = k;
	m->tag = c->tag;
	m->actor = actor;
	m->type = c->type;
	peal_store_relaxed_sys(&slot_of(m)->posted, 0);
	c->owner = PEAL_MONITOR_HOST;
	c->slot = (uint32_t)(m - k->monitors.table);
	result = ask(k, actor, c, &m->handle, CALL);
	/* a hung worker may still use the slot */
	if (!result || result == PEAL_EHUNG)
		atomic_store(&m->used, 1);
	if (result)
		return set_failed(k, result);
	*handle_out = m->handle;
	atomic_store(&e->silent, 1); /* the endpoint polls for these */
	pthread_mutex_lock(&e->monitors_lock);
	m->next = e->monitors;
	e->monitors = m;
	atomic_fetch_add(&e->n_monitors, 1);
	pthread_mutex_unlock(&e->monitors_lock);
	return 0;
}

/*
 * Sets a monitor of an endpoint or an actor. The caller holds the runtime's
 * lock.
 */
static int set(struct peal_kernel *k, uint64_t owner, uint64_t actor,
	       const struct peal_monitor_options *o, uint64_t *handle_out)
{
	struct peal_endpoint *e = peali_endpoint_of(k->rt, owner);
	struct peal_control_monitor c;
	int result = check_actor(k, actor, CALL);

	if (result)
		return result;
	memset(&c, 0, sizeof(c));
	c.actor = (uint32_t)actor;
	c.tag = o->tag;
	c.type = (uint16_t)o->type;
	c.flags = (uint16_t)o->flags;
	if (e)
		return set_for_endpoint(k, e, actor, &c, handle_out);
	result = check_owner(k, owner, actor, &c);
	if (!result)
		result = set_failed(k, ask(k, actor, &c, handle_out, CALL));
	return result;
}

int peal_monitor(struct peal_kernel *k, uint64_t owner, uint64_t actor,
		 const struct peal_monitor_options *options,
		 uint64_t *monitor_out)
{
	struct peal_monitor_options o;
	uint64_t handle = 0;
	int result = check_kernel(k, CALL);

	if (!result)
		result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (!result)
		result = check_options(&o);
	if (result)
		return result;
	pthread_mutex_lock(&k->rt->lock);
	result = set(k, owner, actor, &o, &handle);
	pthread_mutex_unlock(&k->rt->lock);
	if (!result && monitor_out)
		*monitor_out = handle;
	return result;
}

int peal_actor_bind(struct peal_kernel *k, uint64_t a, uint64_t b,
		    uint64_t monitors_out[2])
{
	struct peal_monitor_options o = { .size = sizeof(o),
					  .flags = PEAL_MONITOR_BINDS };
	uint64_t pair[2] = { 0, 0 };
	int result = check_kernel(k, "peal_actor_bind");

	if (result)
		return result;
	pthread_mutex_lock(&k->rt->lock);
	if (peali_endpoint_of(k->rt, b))
		result = PEALI_REFUSE(
			PEAL_EINVAL, "peal_actor_bind", .object = "argument",
			.name = "b", .problem = "is an endpoint",
			.value = PEALI_PRINT("%#llx", (unsigned long long)b),
			.allowed = "actors",
			.remedy = "monitor the actor by peal_monitor");
	if (!result)
		result = set(k, a, b, &o, &pair[0]);
	if (!result) {
		result = set(k, b, a, &o, &pair[1]);
		if (result)
			take_off(k, pair[0], "peal_actor_bind");
	}
	pthread_mutex_unlock(&k->rt->lock);
	if (!result && monitors_out)
		memcpy(monitors_out, pair, sizeof(pair));
	return result;
}

/* ---- removing ------------------------------------------------------------ */

/* Removes a monitor from the list of its endpoint. */
static void forget(struct peal_kernel *k, uint64_t handle)
{
	struct peal_endpoint *e;
	struct peali_monitor *m;

	for (e = k->rt->endpoints; e; e = e->next) {
		pthread_mutex_lock(&e->monitors_lock);
		for (m = e->monitors; m; m = m->next)
			if (m->kernel == k && m->handle == handle)
				break;
		if (m && unlink_one(e, m))
			atomic_store(&m->used, 0);
		pthread_mutex_unlock(&e->monitors_lock);
	}
}

int peal_unmonitor(struct peal_kernel *k, uint64_t monitor)
{
	int result = check_kernel(k, "peal_unmonitor");

	if (result)
		return result;
	if (!monitor)
		return peali_fail(PEAL_ENOENT, "peal_unmonitor",
				  "0 is no monitor");
	pthread_mutex_lock(&k->rt->lock);
	result = take_off(k, monitor, "peal_unmonitor");
	if (!result)
		forget(k, monitor);
	pthread_mutex_unlock(&k->rt->lock);
	if (result == PEAL_ENOENT)
		return peali_fail(result, "peal_unmonitor",
				  "monitor %#llx of kernel '%s' is over: it "
				  "sent its message, was removed, or never "
				  "existed",
				  (unsigned long long)monitor, k->name);
	return result;
}

void peali_monitors_leave(struct peal_endpoint *e)
{
	struct peali_monitor *m;
	int result;

	while ((m = e->monitors)) {
		result = peali_kernel_ended(m->kernel) ?
				 0 :
				 take_off(m->kernel, m->handle,
					  "peal_endpoint_destroy");
		pthread_mutex_lock(&e->monitors_lock);
		unlink_one(e, m);
		pthread_mutex_unlock(&e->monitors_lock);
		/* otherwise a worker may still write to the slot */
		if (!result || peal_load_acquire_sys(&slot_of(m)->posted))
			atomic_store(&m->used, 0);
	}
}

/* ---- receiving ----------------------------------------------------------- */

/* Returns 1 with the message in *out if the monitor has one, else 0. */
static int look(const struct peali_monitor *m, struct peal_down *out)
{
	struct peal_down_slot *slot = slot_of(m);
	/* read before the slot: a worker posts before its kernel ends */
	int ended = peali_kernel_ended(m->kernel);

	/* A15: pairs with R15 in peali_down_post. */
	if (peal_load_acquire_sys(&slot->posted)) {
		*out = slot->down;
		return 1;
	}
	if (!ended)
		return 0;
	memset(out, 0, sizeof(*out));
	out->actor = m->actor;
	out->monitor = m->handle;
	out->tag = m->tag;
	out->reason = PEAL_DOWN_KERNEL;
	return 1;
}

int peali_monitors_look(struct peal_endpoint *e, struct peal_down *out,
			uint16_t *type_out)
{
	struct peali_monitor *m;

	pthread_mutex_lock(&e->monitors_lock);
	for (m = e->monitors; m; m = m->next)
		if (look(m, out))
			break;
	if (m) {
		*type_out = (uint16_t)m->type;
		unlink_one(e, m);
		atomic_store(&m->used, 0);
	}
	pthread_mutex_unlock(&e->monitors_lock);
	return m != NULL;
}
