/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains kernels that send messages to each other. Their inputs never end by
 * themselves, so the host detects when all their work is done.
 *
 * The four counter method: the host counts sent messages and handled messages,
 * twice. Let the first count of handled messages equal the second count of sent
 * ones. Then no message was left when the first count ended. Source: F. Mattern,
 * "Algorithms for Distributed Termination Detection", Distributed Computing 2
 * (1987), section 4.
 *
 * Timers and asks count as messages, and so does the run of an init. Before
 * each count, every worker answers a control message. It does so between two
 * handlers, after it has published its counters. A worker counts a message as
 * sent before the message is visible, and as handled after the handler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/kernel.h>
#include <peal/link.h>
#include <peal/topic.h>
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/timer.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/link.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

#define CALL "peal_kernel_drain_many"

/* Wait for a worker's answer before the deadline is looked at again. */
#define ANSWER_NS 100000000

/* One count of the group. */
struct count {
	uint64_t sent, handled; /* messages, timers, asks and inits */
	uint64_t timers; /* of `sent`: open timers and asks */
	int open; /* 1: an input from outside has not ended, or a worker is
		   * busy */
	char why[256]; /* what keeps the group from its end; "": nothing */
};

struct group {
	struct peal_kernel *const *kernels;
	uint32_t n;
	struct peal_runtime *rt;
	uint64_t deadline;
};

static int has(const struct group *g, const struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; k && i < g->n; i++)
		if (g->kernels[i] == k)
			return 1;
	return 0;
}

/* Notes why the group does not end, unless a cause is noted already. */
#define NOTE(count, ...)                                                       \
	do {                                                                   \
		if (!(count)->why[0])                                          \
			snprintf((count)->why, sizeof((count)->why),           \
				 __VA_ARGS__);                                 \
	} while (0)

/* ---- workers ------------------------------------------------------------- */

/* Notes that a worker has work. */
static void note_busy(struct peal_kernel *k, uint32_t worker, struct count *c)
{
	const struct peal_worker_status *s = &k->status[worker];
	uint64_t word = peal_load_relaxed_sys(&s->inflight);
	uint64_t blocked = peal_load_relaxed_sys(&s->blocked);

	c->open = 1;
	if (blocked && PEAL_BLOCKED_PORT(blocked) == PEAL_BLOCKED_GATE)
		NOTE(c,
		     "worker %u of kernel '%s' has messages that wait for an "
		     "event",
		     worker, k->name);
	else if (blocked)
		NOTE(c,
		     "worker %u of kernel '%s' holds a message for actor %u, "
		     "which waits for free slots",
		     worker, k->name, PEAL_ACTOR_INDEX(blocked >> 32));
	else if (word)
		NOTE(c,
		     "worker %u of kernel '%s' handles messages for actor %u",
		     worker, k->name,
		     PEAL_ACTOR_INDEX(PEAL_INFLIGHT_ACTOR(word)));
	else
		NOTE(c, "worker %u of kernel '%s' has not answered", worker,
		     k->name);
}

/* Asks a worker for an answer between two handlers. Returns 0, also if the
 * worker has ended, or an error. */
static int pass_worker(const struct group *g, struct peal_kernel *k,
		       uint32_t worker, struct count *c)
{
	const struct peal_worker_status *s = &k->status[worker];
	struct peal_control_reclaim fence = { .step = PEAL_RECLAIM_FENCE };
	uint64_t until = peali_deadline(ANSWER_NS);
	int result;

	if (peal_load_acquire_sys(&s->phase) >= PEAL_WORKER_STOPPED)
		return 0;
	if (peal_load_relaxed_sys(&s->inflight) ||
	    peal_load_relaxed_sys(&s->blocked)) {
		note_busy(k, worker, c);
		return 0;
	}
	result = peali_kernel_try(k, worker, PEAL_CONTROL_RECLAIM, &fence,
				  sizeof(fence),
				  until < g->deadline ? until : g->deadline);
	if (result == PEAL_EHUNG) {
		note_busy(k, worker, c);
		return 0;
	}
	return result == PEAL_ESTOPPED ? 0 : result;
}

static int pass_workers(const struct group *g, struct count *c)
{
	uint32_t i, w;
	int result = 0;

	for (i = 0; i < g->n; i++)
		for (w = 0; w < g->kernels[i]->params.n_workers && !result; w++)
			result = pass_worker(g, g->kernels[i], w, c);
	return result;
}

/* ---- counts -------------------------------------------------------------- */

/* Counts the messages, timers and asks within a kernel. A kernel that has ended
 * has lost those that were left. */
static void count_kernel(struct peal_kernel *k, struct count *c)
{
	struct peal_kernel_info info;
	uint64_t open;

	if (peali_kernel_ended(k) || peal_kernel_info(k, &info))
		return;
	open = info.timers.waiting + info.asks.open;
	c->handled += info.mailbox_done + info.inits;
	c->sent += info.mailbox_sends + info.inits + open;
	c->timers += open;
	if (open)
		NOTE(c, "kernel '%s': open timers and asks: %llu", k->name,
		     (unsigned long long)open);
	if (info.mailbox_sends != info.mailbox_done)
		NOTE(c,
		     "kernel '%s': messages in its mailboxes and pools, not "
		     "handled: %llu",
		     k->name,
		     (unsigned long long)(info.mailbox_sends -
					  info.mailbox_done));
}

/* Notes an input from outside of the group that has not ended. */
static void look_outside(const struct peal_link *link,
			 const struct peal_link_info *info, struct count *c)
{
	if ((info->ended || atomic_load(&link->sender_gone)) && !info->queued)
		return;
	c->open = 1;
	NOTE(c, "link %llu to kernel '%s', from '%s' port %u, %s",
	     (unsigned long long)info->id, link->to.kernel->name,
	     link->from.kernel	 ? link->from.kernel->name :
	     link->from.endpoint ? link->from.endpoint->name :
				   "another process",
	     link->from_port,
	     info->queued ? "has messages" : "has not been ended");
}

static void count_link(const struct group *g, struct peal_link *link,
		       struct count *c)
{
	struct peal_link_info info;

	if (!has(g, link->to.kernel) || peal_link_info(link, &info))
		return;
	if (!has(g, link->from.kernel)) {
		if (!link->from.fwd_link)
			look_outside(link, &info, c);
		return;
	}
	c->handled += info.accepted - info.queued;
	c->sent += info.accepted;
	if (info.queued)
		NOTE(c,
		     "link %llu from kernel '%s' to actor %u of kernel '%s': "
		     "queued messages: %llu",
		     (unsigned long long)info.id, link->from.kernel->name,
		     link->to.actor, link->to.kernel->name,
		     (unsigned long long)info.queued);
}

static void count_topic(const struct group *g, const struct peali_topic *t,
			struct count *c)
{
	struct peal_subscriber_info info;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		const struct peali_subscriber *s = &t->subscribers[i];

		if (!has(g, s->end.kernel))
			continue;
		peali_subscriber_read(t, i, &info);
		c->handled += info.published - info.queued;
		c->sent += info.published;
		if (info.queued)
			NOTE(c, "topic '%s' has messages for kernel '%s'",
			     t->name, s->end.kernel->name);
		if (has(g, t->publisher.kernel) || s->told || info.ended)
			continue;
		c->open = 1;
		NOTE(c, "topic '%s' to kernel '%s' has not been ended", t->name,
		     s->end.kernel->name);
	}
}

/* Fills in a count. Returns 0 or an error. */
static int count_group(const struct group *g, struct count *c)
{
	struct count busy = { .why = "" };
	struct peali_topic *t;
	struct peal_link *link;
	uint32_t i;
	int result = pass_workers(g, &busy);

	memset(c, 0, sizeof(*c));
	c->open = busy.open;
	for (i = 0; i < g->n && !result; i++)
		count_kernel(g->kernels[i], c);
	pthread_mutex_lock(&g->rt->lock);
	for (link = g->rt->links; link && !result; link = link->next)
		count_link(g, link, c);
	for (t = g->rt->topics; t && !result; t = t->next)
		count_topic(g, t, c);
	pthread_mutex_unlock(&g->rt->lock);
	if (!c->why[0])
		memcpy(c->why, busy.why, sizeof(c->why));
	return result;
}

/* Counts twice. Returns 1 if the group has no work, 0, or an error. */
static int is_done(const struct group *g, struct count *c)
{
	struct count first;
	int result = count_group(g, &first);

	if (!result)
		result = count_group(g, c);
	if (result)
		return result;
	if (first.open || c->open || first.handled != c->sent) {
		if (!c->why[0])
			memcpy(c->why, first.why, sizeof(c->why));
		return 0;
	}
	return first.sent == first.handled && c->sent == c->handled;
}

/* ---- end ----------------------------------------------------------------- */

static int all_ended(const struct group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (!peali_kernel_ended(g->kernels[i]))
			return 0;
	return 1;
}

/* Resumes the kernels. They stay in the state DRAINING from now on. */
static void begin_drain(const struct group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		if (peali_kernel_ended(g->kernels[i]))
			continue;
		g->kernels[i]->draining = 1;
		peal_kernel_resume(g->kernels[i]);
	}
}

/* Ends the periodic timers of all kernels. */
static void end_ticks(const struct group *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		peal_store_release_sys(&g->kernels[i]->control->drain,
				       PEAL_DRAIN_TIMERS);
		peal_kernel_resume(g->kernels[i]); /* wakes its workers */
	}
}

/* Tells a receiver that its input ends. Retries while its control link is
 * full. */
static int end_input(const struct group *g, const struct peali_link_end *end)
{
	uint32_t turns = 0;
	int result;

	for (;;) {
		result = peali_link_end_is_live(end) ?
				 peali_link_end_post(
					 end, PEAL_CONTROL_END_INPUT, 0) :
				 0;
		if (result != PEAL_EAGAIN || peali_late(g->deadline))
			return result;
		peali_poll_pause(&turns);
	}
}

/* Ends the inputs from kernels of the group. The caller holds rt->lock. */
static int end_inputs(const struct group *g)
{
	struct peali_topic *t;
	struct peal_link *link;
	uint32_t i;
	int result = 0;

	for (link = g->rt->links; link && !result; link = link->next)
		if (has(g, link->from.kernel) && has(g, link->to.kernel) &&
		    !link->from.fwd_link)
			result = end_input(g, &link->to);
	for (t = g->rt->topics; t; t = t->next)
		for (i = 0; has(g, t->publisher.kernel) && !result &&
			    i < t->spec.n_subscribers;
		     i++)
			if (has(g, t->subscribers[i].end.kernel))
				result = end_input(g, &t->subscribers[i].end);
	return result;
}

/* Waits until the group has no work. Returns 1, also if all kernels have ended;
 * 0 after the deadline; or an error. Sets *began to the time of the first pause. */
static int look_until_done(const struct group *g, struct count *c,
			   uint64_t *began)
{
	uint32_t turns = 0;
	int result, ticks = 1;

	for (;;) {
		result = all_ended(g) ? 1 : is_done(g, c);
		if (result)
			return result;
		/* only timers are left: periodic ones end with the inputs */
		if (ticks && !c->open && c->sent - c->timers == c->handled) {
			ticks = 0;
			end_ticks(g);
			continue;
		}
		if (peali_late(g->deadline))
			return 0;
		peali_poll_pause_since(&turns, began);
	}
}

/* As look_until_done. Counts the wait. */
static int await_done(const struct group *g, struct count *c)
{
	uint64_t began = 0;
	int result = look_until_done(g, c, &began);

	if (began)
		peali_counters_waited(g->rt, PEAL_WAIT_KERNEL, began);
	return result;
}

/* Lets all kernels end, and waits for that. A kernel without other inputs ends
 * at its request, so all get the request before the first wait. */
static int await_ends(const struct group *g, int64_t timeout_ns)
{
	uint64_t now;
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n; i++)
		peal_kernel_drain(g->kernels[i], 0);
	for (i = 0; i < g->n && !result; i++) {
		now = peali_now_ns();
		if (timeout_ns > 0)
			timeout_ns = now < g->deadline ?
					     (int64_t)(g->deadline - now) :
					     1;
		result = peal_kernel_drain(g->kernels[i], timeout_ns);
	}
	return result;
}

/* ---- forwarders ---------------------------------------------------------- */

/* Returns 1 if a kernel of a forwarder is not yet in the group. */
static int is_new(const struct group *g, const struct peal_kernel *k)
{
	return k && k->program == &peal_program_peal_relay && !has(g, k);
}

/* Returns the kernel of a forwarder that gets messages of the group and is not yet
 * in it; NULL: none. The caller holds rt->lock. */
static struct peal_kernel *next_forwarder(const struct group *g)
{
	const struct peali_topic *t;
	const struct peal_link *link;
	uint32_t i;

	for (t = g->rt->topics; t; t = t->next)
		for (i = 0;
		     has(g, t->publisher.kernel) && i < t->spec.n_subscribers;
		     i++)
			if (is_new(g, t->subscribers[i].end.kernel))
				return t->subscribers[i].end.kernel;
	for (link = g->rt->links; link; link = link->next)
		if (has(g, link->from.kernel) && is_new(g, link->to.kernel) &&
		    link->from.kernel->program == &peal_program_peal_relay)
			return link->to.kernel;
	return NULL;
}

/* Adds the kernels of forwarders to the group: they carry messages of topics between
 * its kernels. The caller frees g->kernels. */
static int add_forwarders(struct group *g)
{
	struct peal_kernel *k, **all;
	uint32_t most = g->n;

	pthread_mutex_lock(&g->rt->lock);
	for (k = g->rt->kernels; k; k = k->next)
		most++;
	all = malloc(most * sizeof(*all));
	if (all) {
		memcpy(all, g->kernels, g->n * sizeof(*all));
		g->kernels = all;
		while ((k = next_forwarder(g)))
			all[g->n++] = k;
	}
	pthread_mutex_unlock(&g->rt->lock);
	return all ? 0 :
		     peali_fail(PEAL_ENOMEM, CALL, "no memory for the kernels");
}

/* ---- call ---------------------------------------------------------------- */

static int check(struct peal_kernel *const *kernels, uint32_t n)
{
	uint32_t i, j;

	if (!kernels || !n)
		return n ? peali_refuse_null(CALL, "kernels") :
			   peali_refuse_range(CALL, "argument", "n", 0, 1,
					      UINT32_MAX);
	for (i = 0; i < n; i++)
		if (!kernels[i])
			return peali_refuse_null(CALL,
						 PEALI_PRINT("kernels[%u]", i));
	if (peali_foreign(&kernels[0]->rt->owner, CALL))
		return PEAL_EFORKED;
	for (i = 1; i < n; i++) {
		if (kernels[i]->rt != kernels[0]->rt)
			return peali_fail(PEAL_EINVAL, CALL,
					  "kernel '%s' is of another runtime "
					  "than kernel '%s'",
					  kernels[i]->name, kernels[0]->name);
		for (j = 0; j < i; j++)
			if (kernels[i] == kernels[j])
				return PEALI_REFUSE(
					PEAL_EINVAL, CALL,
					.object = PEALI_PRINT(
						"kernels[%u] '%s'", i,
						kernels[i]->name),
					.problem = "is listed twice",
					.value = "2 times", .allowed = "1",
					.remedy = "list it once");
	}
	return 0;
}

/* Drains a group. The first n kernels are those of the caller. */
static int drain(struct group g, uint32_t n, int64_t timeout_ns)
{
	struct peal_kernel *const *kernels = g.kernels;
	struct count c = { .why = "" };
	int result;

	begin_drain(&g);
	result = await_done(&g, &c);
	if (!result && timeout_ns && c.why[0])
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "group of %u kernel%s still has work: %s", n,
				  peali_s(n), c.why);
	if (!result && timeout_ns)
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "group of %u kernel%s still has work: "
				  "messages go on in a cycle from kernel '%s'",
				  n, peali_s(n), kernels[0]->name);
	if (result < 0)
		return peali_fail(
			result, CALL,
			"a worker of kernel '%s' or of a later kernel "
			"refused to be counted",
			kernels[0]->name);
	if (!result)
		return 0; /* timeout_ns is 0: the kernels go on */
	pthread_mutex_lock(&g.rt->lock);
	result = end_inputs(&g);
	pthread_mutex_unlock(&g.rt->lock);
	if (result == PEAL_EAGAIN)
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "group of %u kernel%s: a control link is "
				  "full, so not all inputs have ended; call "
				  "again",
				  n, peali_s(n));
	return result ? result : await_ends(&g, timeout_ns);
}

int peal_kernel_drain_many(struct peal_kernel *const *kernels, uint32_t n,
			   int64_t timeout_ns)
{
	struct group g = { kernels, n, NULL, peali_deadline(timeout_ns) };
	struct peal_runtime *rt;
	int result = check(kernels, n);

	if (result)
		return result;
	rt = g.rt = kernels[0]->rt;
	pthread_mutex_lock(&rt->forward_lock); /* no forwarder ends meanwhile */
	result = add_forwarders(&g);
	if (!result) {
		result = drain(g, n, timeout_ns);
		free((void *)g.kernels);
	}
	pthread_mutex_unlock(&rt->forward_lock);
	return result;
}
