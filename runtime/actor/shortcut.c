/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortcuts: after a migration, all former entries and all proxies of the actor
 * lead straight to its newest entry. Without shortcuts a message to the first
 * address would take one hop per migration.
 *
 * An entry E leads to a hop H, and H leads to N. The host makes E lead to N:
 *
 * 1. The worker of E holds the messages for E (PEAL_SHORTCUT_HOLD).
 * 2. The host waits until the messages that E has forwarded are past H.
 * 3. The worker of E switches E to N and ends the hold (PEAL_SHORTCUT_SWITCH).
 *
 * include/peal/device/impl/loop/actor_shortcut.h shows why the order of
 * messages stays. If step 2 does not end in time, the host gives up, and E
 * keeps its hop. The next migration of the actor tries again.
 *
 * The records of addresses (`moved_to`, `moved_from`, fwd_entries) stay as they
 * are: only `leads_to` of an entry changes.
 */
#include "runtime/actor/shortcut.h"

#include <stdlib.h>
#include <string.h>

#include <peal/link.h>
#include "runtime/actor/forwarding.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/record.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

/* Most time for one call and for one hold: 1 / CALL_PART and 1 / HOLD_PART of
 * rt->control_timeout_ms. Messages wait during a hold. */
#define CALL_PART 100
#define HOLD_PART 500

/* Entries of one worker that lead to the same hop. */
struct batch {
	struct peal_kernel *kernel;
	uint32_t worker;
	uint32_t port; /* to the kernel of `next`, or PEAL_REDIRECT_LOCAL */
	uint64_t hop, next; /* addresses: they lead to hop, it leads to next */
	uint32_t *actors; /* their numbers */
	uint32_t n;
	uint64_t deadline;
};

static uint64_t deadline_of(const struct peal_runtime *rt, uint64_t part)
{
	return peali_deadline(
		(int64_t)(rt->control_timeout_ms * 1000000 / part));
}

static struct peali_actor *record_of(struct peal_runtime *rt, uint64_t address)
{
	struct peal_kernel *k = peali_kernel_of(rt, address);

	return k ? &k->actors.entries[PEAL_ACTOR_INDEX(address)] : NULL;
}

/* ---- requests to workers ------------------------------------------------- */

/* Asks a worker until it agrees. Returns 0 or an error. A worker that has ended
 * agrees: nothing leaves its mailboxes and ports any more. */
static int await_step(struct peal_kernel *k, uint32_t worker, uint32_t step,
		      uint32_t port, uint64_t deadline)
{
	struct peal_control_shortcut c = { .step = step, .port = port };
	uint32_t turns = 0;
	int result;

	for (;;) {
		result = peali_kernel_try(k, worker, PEAL_CONTROL_SHORTCUT, &c,
					  sizeof(c), deadline);
		if (result != PEAL_EAGAIN || peali_late(deadline))
			break;
		peali_poll_pause(&turns);
	}
	return result == PEAL_ESTOPPED ? 0 : result;
}

/* Waits until a worker has taken all messages that are in its mailboxes. */
static int await_mail(struct peal_kernel *k, uint32_t worker, uint64_t deadline)
{
	int result = await_step(k, worker, PEAL_SHORTCUT_SNAPSHOT, 0, deadline);

	return result ? result :
			await_step(k, worker, PEAL_SHORTCUT_TAKEN, 0, deadline);
}

/* Waits until the other kernel has taken all messages of a worker's forwarding
 * link. The counts also cover a ring from before a link hand-over. */
static int await_link(struct peal_kernel *k, uint32_t worker,
		      const struct peal_kernel *to, uint64_t deadline)
{
	struct peal_link *link = peali_fwd_link_find(k, worker, to);
	struct peal_link_info info = { .queued = 0 };
	uint32_t turns = 0;
	int result;

	if (!link || peali_kernel_ended(link->to.kernel))
		return 0;
	result = await_step(k, worker, PEAL_SHORTCUT_LINK, link->from.index,
			    deadline);
	while (!result && !peal_link_info(link, &info) && info.queued) {
		if (peali_late(deadline))
			return PEAL_EAGAIN;
		peali_poll_pause(&turns);
	}
	return result;
}

/* Waits until all messages that the held entries have forwarded are past the
 * hop. If a leg of the way is a link, they must be past one more worker. It is
 * that of the next entry: messages of a link can overtake those in mailboxes. */
static int await_past(const struct batch *b)
{
	struct peal_runtime *rt = b->kernel->rt;
	struct peal_kernel *via = peali_kernel_of(rt, b->hop);
	struct peal_kernel *to = peali_kernel_of(rt, b->next);
	uint32_t worker = record_of(rt, b->hop)->worker;
	int result = 0;

	if (via != b->kernel)
		result = await_link(b->kernel, b->worker, via, b->deadline);
	if (!result)
		result = await_mail(via, worker, b->deadline);
	if (!result && to != via)
		result = await_link(via, worker, to, b->deadline);
	if (!result && (via != b->kernel || to != via))
		result = await_mail(to, record_of(rt, b->next)->worker,
				    b->deadline);
	return result;
}

/* ---- one batch ----------------------------------------------------------- */

/* Fills in the next message about the entries from `at` on. */
static struct peal_control_shortcut chunk(const struct batch *b, uint32_t step,
					  uint32_t at)
{
	struct peal_control_shortcut c = { .step = step,
					   .to = (uint32_t)b->next,
					   .port = b->port };

	c.n = b->n - at < PEAL_SHORTCUT_ACTORS ? b->n - at :
						 PEAL_SHORTCUT_ACTORS;
	memcpy(c.actors, b->actors + at, c.n * sizeof(*c.actors));
	return c;
}

static int hold(const struct batch *b)
{
	uint32_t at;
	int result = 0;

	for (at = 0; at < b->n && !result; at += PEAL_SHORTCUT_ACTORS) {
		struct peal_control_shortcut c =
			chunk(b, PEAL_SHORTCUT_HOLD, at);

		result = peali_kernel_try(b->kernel, b->worker,
					  PEAL_CONTROL_SHORTCUT, &c, sizeof(c),
					  b->deadline);
	}
	return result;
}

/* Ends the holds without waiting. A hold also ends by itself. */
static void release(const struct batch *b)
{
	uint32_t at;

	for (at = 0; at < b->n; at += PEAL_SHORTCUT_ACTORS) {
		struct peal_control_shortcut c =
			chunk(b, PEAL_SHORTCUT_RELEASE, at);

		peali_kernel_post(b->kernel, b->worker, PEAL_CONTROL_SHORTCUT,
				  &c, sizeof(c));
	}
}

/* Switches the held entries of one message. If the worker does not answer, it
 * is unknown where they lead, and no shortcut changes them any more. */
static int switch_chunk(const struct batch *b, uint32_t at)
{
	struct peal_control_shortcut c = chunk(b, PEAL_SHORTCUT_SWITCH, at);
	uint64_t deadline = deadline_of(b->kernel->rt, 1);
	struct peali_actor *a;
	int result;
	uint32_t i;

	result = peali_kernel_try(b->kernel, b->worker, PEAL_CONTROL_SHORTCUT,
				  &c, sizeof(c), deadline);
	for (i = 0; i < c.n; i++) {
		a = &b->kernel->actors.entries[PEAL_ACTOR_INDEX(c.actors[i])];
		if (!result)
			a->leads_to = b->next;
		a->unsettled = result == PEAL_EHUNG;
	}
	return result;
}

/* Returns 0, or an error if the batch has no port to the kernel of `next`. */
static int find_port(struct batch *b)
{
	struct peal_kernel *to = peali_kernel_of(b->kernel->rt, b->next);
	struct peal_link *link;
	int result;

	b->port = PEAL_REDIRECT_LOCAL;
	if (to == b->kernel)
		return 0;
	result = peali_fwd_link_check(b->kernel, to, "peal_actor_migrate");
	/* a worker in a long handler must not delay the migration */
	if (!result)
		result = await_step(b->kernel, b->worker,
				    PEAL_SHORTCUT_SNAPSHOT, 0, b->deadline);
	if (!result)
		result = peali_fwd_link_make(b->kernel, b->worker, to,
					     record_of(to->rt, b->next)->worker,
					     &link, "peal_actor_migrate");
	if (!result)
		b->port = link->from.index;
	return result;
}

/* Makes the entries of a batch lead to `next`. */
static void skip_hop(struct batch *b)
{
	uint32_t at;
	int result;

	b->deadline = deadline_of(b->kernel->rt, HOLD_PART);
	if (peali_kernel_ended(b->kernel) || find_port(b))
		return;
	result = hold(b);
	if (!result)
		result = await_past(b);
	for (at = 0; at < b->n && !result; at += PEAL_SHORTCUT_ACTORS)
		result = switch_chunk(b, at);
	if (result)
		release(b);
}

/* ---- all entries of an actor --------------------------------------------- */

/* The entries of an actor that do not lead straight to it. */
struct entries {
	uint64_t *addresses;
	uint32_t n, max;
};

static void add_entry(struct peal_runtime *rt, struct entries *e,
		      uint64_t address, uint64_t newest)
{
	const struct peali_actor *a = record_of(rt, address);
	uint32_t max = e->max ? 2 * e->max : 64;
	uint64_t *more;

	if (!a || !a->leads_to || a->leads_to == newest || a->unsettled)
		return;
	if (e->n == e->max) {
		more = realloc(e->addresses, max * sizeof(*more));
		if (!more)
			return; /* this entry keeps its hop */
		e->addresses = more;
		e->max = max;
	}
	e->addresses[e->n++] = address;
}

/* Finds the entries, from the newest one back, and the proxies. */
static struct entries find_entries(struct peal_runtime *rt, uint64_t newest)
{
	struct entries e = { NULL, 0, 0 };
	uint64_t address = newest;
	uint32_t i;

	while ((address = peali_address_before(rt, address)))
		add_entry(rt, &e, address, newest);
	for (i = 0; i < rt->n_fwd_entries; i++)
		if (rt->fwd_entries[i].proxy &&
		    peali_address_resolve(rt, rt->fwd_entries[i].to) == newest)
			add_entry(rt, &e, rt->fwd_entries[i].from, newest);
	return e;
}

/* Moves the entries of the worker of the first one that leads to `hop` to
 * `b->actors`. Returns 0 if there are none. */
static uint32_t take_batch(struct peal_runtime *rt, struct entries *e,
			   struct batch *b)
{
	uint32_t i, kept = 0;

	b->n = 0;
	for (i = 0; i < e->n; i++) {
		struct peal_kernel *k = peali_kernel_of(rt, e->addresses[i]);
		const struct peali_actor *a = record_of(rt, e->addresses[i]);
		int takes = a->leads_to == b->hop;

		if (takes && !b->n) {
			b->kernel = k;
			b->worker = a->worker;
		}
		if (takes && k == b->kernel && a->worker == b->worker)
			b->actors[b->n++] = (uint32_t)e->addresses[i];
		else
			e->addresses[kept++] = e->addresses[i];
	}
	e->n = kept;
	return b->n;
}

void peali_shortcuts_make(struct peal_runtime *rt, uint64_t newest)
{
	uint64_t deadline = deadline_of(rt, CALL_PART);
	struct entries e = find_entries(rt, newest);
	struct batch b = { .hop = newest };
	const struct peali_actor *hop;

	b.actors = e.n ? calloc(e.n, sizeof(*b.actors)) : NULL;
	/* newest hop first: it leads straight to the actor */
	while (b.actors && e.n && !peali_late(deadline)) {
		b.hop = peali_address_before(rt, b.hop);
		hop = b.hop ? record_of(rt, b.hop) : NULL;
		if (!hop)
			break;
		b.next = hop->leads_to;
		while (record_of(rt, b.next) && !hop->unsettled &&
		       take_batch(rt, &e, &b))
			skip_hop(&b);
	}
	free(b.actors);
	free(e.addresses);
}
