/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwarding entries and forwarding links between kernels.
 *
 * A forwarding entry maps an address to an address in another kernel. Migrated
 * actors and proxies (proxy.c) have one. A forwarding link goes from one worker
 * to another kernel. It carries the messages for all addresses of that worker
 * that lead to that kernel. Its ends belong to the kernels, not to actors.
 * include/peal/device/impl/loop/actor_forward.h explains how workers use it.
 */
#include "runtime/actor/forwarding.h"

#include <stdlib.h>
#include <string.h>

#include "queues/publication.h"
#include "runtime/actor/migration.h"
#include "runtime/actor/slots.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/program.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

/* ---- addresses ----------------------------------------------------------- */

/* ---- forwarding links ---------------------------------------------------- */

struct peal_link *peali_fwd_link_find(const struct peal_kernel *from,
				      uint32_t worker,
				      const struct peal_kernel *to)
{
	struct peal_link *link;

	for (link = from->rt->links; link; link = link->next)
		if (link->from.fwd_link && link->from.kernel == from &&
		    link->from.worker == worker && link->to.kernel == to)
			break;
	return link;
}

static void set_end(struct peali_link_end *end, struct peal_kernel *k,
		    uint32_t worker)
{
	end->address = k->params.address | PEAL_FWD_LINK_ACTOR;
	end->kernel = k;
	end->fwd_link = 1;
	end->worker = worker;
	end->device = k->device;
}

/*
 * Sets the sizes of a forwarding link. Its message size is the larger
 * mailbox.message_bytes of both kernels. One slot holds a message, whatever the
 * policy. The capacity covers mailbox.slots and mailbox.forward_slots of the
 * sending kernel, so that no message waits for a free slot.
 */
static void set_sizes(struct peal_link *like)
{
	const struct peal_kernel *from = like->from.kernel;
	const struct peal_kernel *to = like->to.kernel;
	uint32_t most = UINT32_MAX, bytes, policy;

	bytes = from->mailbox.message_bytes > to->mailbox.message_bytes ?
			from->mailbox.message_bytes :
			to->mailbox.message_bytes;
	like->spec.capacity = from->mailbox.slots;
	while (like->spec.capacity <
	       from->mailbox.slots + from->mailbox.forward_slots)
		like->spec.capacity *= 2;
	like->spec.message_bytes = bytes;
	bytes += (uint32_t)sizeof(struct peal_header);
	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++) {
		uint32_t slot = peali_publication_slot(policy, bytes);

		if (slot > like->spec.slot_bytes)
			like->spec.slot_bytes = slot;
		if (peali_publication_slot_max(policy) < most)
			most = peali_publication_slot_max(policy);
	}
	if (like->spec.slot_bytes > most) /* longer messages are dead */
		like->spec.slot_bytes = most;
}

int peali_fwd_link_make(struct peal_kernel *from, uint32_t worker,
			struct peal_kernel *to, uint32_t to_worker,
			struct peal_link **link_out, const char *call)
{
	struct peal_link like;
	int64_t port;
	int result;

	*link_out = peali_fwd_link_find(from, worker, to);
	if (*link_out)
		return 0;
	port = peali_port_take(from, worker);
	if (port < 0)
		return PEALI_REFUSE(
			PEAL_ENOSPC, call,
			.object = PEALI_PRINT("worker %u of kernel", worker),
			.name = from->name,
			.problem =
				PEALI_PRINT("has no free port for messages to "
					    "kernel '%s'",
					    to->name),
			.value = PEALI_PRINT("max_ports %u",
					     from->params.max_ports),
			.allowed = "up to 4096", .remedy = "raise max_ports");
	memset(&like, 0, sizeof(like));
	like.rt = from->rt;
	set_end(&like.from, from, worker);
	set_end(&like.to, to, to_worker);
	like.from.index = (uint32_t)port;
	like.from_port = worker;
	set_sizes(&like);
	result = peali_link_make(&like, link_out, call);
	if (result && result != PEAL_EHUNG)
		peali_port_give(from, worker, (uint32_t)port);
	return result;
}

int peali_kernel_can_forward(struct peal_kernel *k, const char *call)
{
	if (peali_kernel_ended(k))
		return peali_fail(PEAL_ESTOPPED, call, "kernel '%s' has ended",
				  k->name);
	if (k->draining || k->stopping)
		return peali_fail(PEAL_ESTOPPED, call,
				  "kernel '%s' is about to end", k->name);
	if (PEALI_NEEDS(k->program, MIGRATION, call, "a migration or a proxy"))
		return PEAL_ENOTSUP;
	if (!k->params.mailboxes)
		return peali_fail(PEAL_ENOTSUP, call,
				  "kernel '%s' has no mailboxes, so messages "
				  "cannot follow an actor; set mailbox.slots "
				  "in struct peal_kernel_options",
				  k->name);
	return 0;
}

/*
 * Returns the largest number of messages that a handler may tell. At least 1,
 * for a forwarded message.
 */
static uint32_t most_tells(const struct peal_kernel *k)
{
	uint32_t i, tells, most = 1;

	for (i = 0; i < k->program->n_handlers; i++) {
		tells = peali_handler_tells(&k->program->handlers[i],
					    k->params.n_workers);
		if (tells > most)
			most = tells;
	}
	return most;
}

int peali_fwd_link_check(struct peal_kernel *from, struct peal_kernel *to,
			 const char *call)
{
	int result;

	if (from->rt != to->rt)
		return peali_fail(PEAL_EINVAL, call,
				  "kernel '%s' is of another runtime than "
				  "kernel '%s'",
				  to->name, from->name);
	result = peali_kernel_can_forward(from, call);
	if (!result)
		result = peali_kernel_can_forward(to, call);
	/* a forwarded request ends at once only if both programs can end it */
	if (!result && from->program->uses & PEAL_USE_REQUESTS)
		result = PEALI_NEEDS(to->program, REQUESTS, call,
				     "a proxy of a program with requests");
	if (result || to->mailbox.forward_slots >= most_tells(to))
		return result;
	return PEALI_REFUSE(
		PEAL_ENOTSUP, call, .object = "kernel", .name = to->name,
		.problem = "has too few mailbox.forward_slots for its "
			   "handlers",
		.number = to->mailbox.forward_slots, .least = most_tells(to),
		.most = to->mailbox.slots,
		.remedy = PEALI_PRINT("raise it to %u", most_tells(to)));
}

/*
 * Asks the workers again for unfinished migrations from or to a kernel. Returns
 * 0, or PEAL_EHUNG if a worker does not answer.
 */
static int settle(struct peal_kernel *k)
{
	struct peal_runtime *rt = k->rt;
	struct peal_kernel *from;
	uint32_t i = 0, index;

	while (i < rt->n_fwd_entries) {
		const struct peali_fwd_entry *c = &rt->fwd_entries[i];

		from = peali_kernel_of(rt, c->from);
		index = PEAL_ACTOR_INDEX(c->from);
		if (!c->fwd_link ||
		    (from != k && c->fwd_link->to.kernel != k)) {
			i++;
			continue;
		}
		if (peali_move_settle(from, index, "peal_kernel_destroy") ==
		    PEAL_EHUNG)
			return PEAL_EHUNG;
		if (from->actors.entries[index]
			    .moving) { /* the state was not copied */
			from->actors.entries[index].moving = 0;
			peali_fwd_entry_remove(rt, &rt->fwd_entries[i]);
		}
	}
	return 0;
}

/*
 * Waits until the receivers have taken all messages on the kernel's forwarding
 * links. Returns 0, or PEAL_EBUSY after rt->control_timeout_ms.
 */
static int await_taken(struct peal_kernel *k)
{
	uint64_t deadline =
		peali_deadline((int64_t)k->rt->control_timeout_ms * 1000000);
	struct peal_link_info info;
	struct peal_link *link;
	uint32_t turns = 0;

	for (link = k->rt->links; link; link = link->next) {
		if (!link->from.fwd_link || link->from.kernel != k)
			continue;
		while (!peal_link_info(link, &info) && info.queued) {
			if (peali_late(deadline))
				return peali_fail(
					PEAL_EBUSY, "peal_kernel_destroy",
					"kernel '%s' still has %llu message%s "
					"for actors of kernel '%s'; destroy it "
					"after their delivery, or after the "
					"end of the other kernel",
					k->name,
					(unsigned long long)info.queued,
					peali_s(info.queued),
					link->to.kernel->name);
			peali_poll_pause(&turns);
		}
	}
	return 0;
}

/*
 * Tells the worker of `address`, in kernel `from`, that the actor now has
 * address `now` in kernel `to`. Returns 0, or an error: `address` then leads
 * nowhere.
 */
static int tell_lead(struct peal_kernel *from, uint64_t address,
		     struct peal_kernel *to, uint64_t now)
{
	static const char call[] = "peal_kernel_destroy";
	uint32_t worker =
		from->actors.entries[PEAL_ACTOR_INDEX(address)].worker;
	struct peal_control_leave lead = { (uint32_t)address, (uint32_t)now,
					   PEAL_REDIRECT_LOCAL, 0 };
	struct peal_link *fwd_link;
	int result = 0;

	if (to != from && !peali_kernel_ended(to)) {
		result = peali_fwd_link_make(
			from, worker, to,
			to->actors.entries[PEAL_ACTOR_INDEX(now)].worker,
			&fwd_link, call);
		if (!result)
			lead.port = fwd_link->from.index;
	} else if (to != from) {
		result = PEAL_ESTOPPED;
	}
	return result ? result :
			peali_kernel_tell(from, worker, PEAL_CONTROL_REDIRECT,
					  &lead, sizeof(lead), call);
}

/* Returns 1 if an address is in kernel `k`. */
static int is_in(const struct peal_kernel *k, uint64_t address)
{
	return !((address ^ k->params.address) >> 32);
}

/* Returns the first address outside of kernel `k` that the actor had after
 * `address`. 0: the actor has not left `k`. */
static uint64_t address_past(struct peal_kernel *k, uint64_t address)
{
	while (address && is_in(k, address))
		address = peali_address_next(k->rt, address);
	return address;
}

/*
 * Redirects an entry that leads to the ended kernel `k` if the actor has left
 * `k`. Returns 0, or PEAL_EHUNG if a worker does not answer.
 */
static int lead_entry_past(struct peal_kernel *k, struct peal_kernel *from,
			   uint32_t index)
{
	struct peali_actor *a = &from->actors.entries[index];
	uint64_t now = address_past(k, a->leads_to);
	struct peal_kernel *to = now ? peali_kernel_of(k->rt, now) : NULL;
	int result;

	if (!to)
		return 0; /* the actor has not left, or an end is gone */
	result = peali_kernel_ended(from) ?
			 0 :
			 tell_lead(from, peali_actor_address(from, index), to,
				   now);
	if (!result)
		a->leads_to = now;
	return result == PEAL_EHUNG ? result : 0;
}

/* Redirects all entries that lead to the ended kernel `k`. */
static int lead_entries_past(struct peal_kernel *k)
{
	struct peal_kernel *from;
	uint32_t i;
	int result = 0;

	for (from = k->rt->kernels; from && !result; from = from->next)
		for (i = 0; from != k && from->actors.n_moved && !result &&
			    i < from->params.first_actor_slot;
		     i++)
			if (is_in(k, from->actors.entries[i].leads_to))
				result = lead_entry_past(k, from, i);
	return result;
}

/* Records that an entry has no address in the ended kernel `k` after it. */
static void record_past(struct peal_kernel *k, struct peali_fwd_entry *c)
{
	struct peal_runtime *rt = k->rt;
	struct peal_kernel *from = peali_kernel_of(rt, c->from), *to;
	uint64_t now = address_past(k, c->to);

	to = now ? peali_kernel_of(rt, now) : NULL;
	if (!from || !to ||
	    is_in(k, from->actors.entries[PEAL_ACTOR_INDEX(c->from)].leads_to))
		return; /* not redirected */
	if (to != from || c->proxy) { /* a proxy is no former entry */
		c->to = now;
		return;
	}
	from->actors.entries[PEAL_ACTOR_INDEX(c->from)].moved_to =
		1 + PEAL_ACTOR_INDEX(now);
	from->actors.entries[PEAL_ACTOR_INDEX(now)].moved_from =
		1 + PEAL_ACTOR_INDEX(c->from);
	/* peali_fwd_links_end removes all entries from `k` */
	c->from = k->params.address | PEAL_FWD_LINK_ACTOR;
}

int peali_fwd_links_end(struct peal_kernel *k)
{
	struct peal_link *link, *next;
	uint32_t i;
	int result = settle(k);

	if (!result)
		result = await_taken(k);
	if (!result)
		result = lead_entries_past(k);
	if (result)
		return result;
	for (i = 0; i < k->rt->n_fwd_entries; i++)
		if (is_in(k, k->rt->fwd_entries[i].to))
			record_past(k, &k->rt->fwd_entries[i]);
	for (link = k->rt->links; link; link = next) {
		next = link->next;
		if (!link->from.fwd_link ||
		    (link->from.kernel != k && link->to.kernel != k))
			continue;
		result = peali_link_take_down(link, "peal_kernel_destroy");
		if (result)
			return result;
	}
	/*
	 * Remove the entries from `k`: its addresses now lead nowhere. An
	 * actor that has left `k` has no former address there any more.
	 */
	for (i = 0; i < k->rt->n_fwd_entries;)
		if (is_in(k, k->rt->fwd_entries[i].from))
			peali_fwd_entry_remove(k->rt, &k->rt->fwd_entries[i]);
		else
			i++;
	return 0;
}
