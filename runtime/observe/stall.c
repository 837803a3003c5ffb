/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stall diagnosis: finds the causes of stalls.
 *
 * 1. The search takes two snapshots of all workers and links.
 * 2. It compares them and marks everything that has not changed.
 * 3. From each message that has not moved it follows a chain of waits. A worker
 *    without free slots in a link waits for the other end of the link.
 * 4. The chain ends at a cause. A chain that comes back to one of its workers
 *    is a cycle, which is a cause, too.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/device/atomic.h>
#include <peal/name.h>
#include <peal/stall.h>
#include <peal/topic.h>
#include "runtime/observe/stall.h"
#include "runtime/observe/stall_snapshot.h"
#include "runtime/actor/forwarding.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/base/system_call.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/name_table.h"
#include "runtime/kernel/record.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/inflight.h"
#include "runtime/link/link.h"
#include "runtime/link/topic.h"

#define CALL "peal_stall_report"
/* ns between the snapshots: default, maximum */
#define WATCH_NS 100000000ULL
#define WATCH_NS_MAX 10000000000ULL
#define WATCH_STEP_NS 10000000ULL /* ns between two looks at `ending` */
#define LATE_WATCH_NS 10000000ULL /* ns, for a caller that has waited before */
#define LOG_AGAIN_NS 10000000000ULL /* as failure_log.c */
#define NO_WORKER UINT32_MAX /* the cause is at no worker */
#define CYCLE_TEXT 90 /* bytes of a text after which no worker is named */

struct cause {
	struct peal_stall out;
	const void *at; /* kernel, endpoint or link */
	uint32_t worker; /* with out.cause and `at` the key of a cause */
};

struct search {
	struct peal_runtime *rt;
	struct peali_looks now;
	uint32_t n_ways; /* chains followed so far */
	uint64_t watch_ns;
	struct cause *causes;
	uint32_t n, capacity; /* causes; capacity of `causes` */
	int no_memory;
};

const char *peal_stall_cause_name(uint32_t cause)
{
	static const char *const names[PEAL_STALL_COUNT] = {
		"handler", "receive", "port",	"cycle", "suspended",
		"input",   "mailbox", "worker", "event",
	};

	return cause < PEAL_STALL_COUNT ? names[cause] : "?";
}

/* ---- causes -------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(struct cause *c,
						      const char *format, ...)
{
	size_t used = strlen(c->out.text);
	va_list arguments;

	va_start(arguments, format);
	peali_text_vformat(c->out.text + used, sizeof(c->out.text) - used,
			   format, arguments);
	va_end(arguments);
}

/* Returns the cause of this kind at this place. A new cause has an empty text.
 * NULL: no memory. */
static struct cause *cause_at(struct search *s, enum peal_stall_cause cause,
			      const void *at, uint32_t worker)
{
	struct cause *c;
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		c = &s->causes[i];
		if (c->out.cause == cause && c->at == at && c->worker == worker)
			return c;
	}
	if (s->n == s->capacity) {
		c = realloc(s->causes, (2 * s->capacity + 8) * sizeof(*c));
		if (!c) {
			s->no_memory = 1;
			return NULL;
		}
		s->causes = c;
		s->capacity = 2 * s->capacity + 8;
	}
	c = &s->causes[s->n++];
	memset(c, 0, sizeof(*c));
	c->out.cause = cause;
	c->out.device = -1;
	c->out.without_progress_ns = s->watch_ns;
	c->at = at;
	c->worker = worker;
	return c;
}

/* The cause has made no progress for `ns` or longer. */
static void lasts(struct cause *c, uint64_t ns)
{
	if (ns > c->out.without_progress_ns)
		c->out.without_progress_ns = ns;
}

/* Returns a cause at a worker, with the beginning of its text. */
static struct cause *cause_of(struct search *s, enum peal_stall_cause cause,
			      const struct peali_worker_look *w)
{
	struct cause *c = cause_at(s, cause, w->kernel, w->worker);

	if (!c || c->out.text[0])
		return c;
	if (w->blocked)
		lasts(c, peali_worker_still_ns(w->kernel, w->worker));
	c->out.device = w->kernel->device;
	c->out.worker = w->worker;
	say(c, "worker %u of kernel '%s' on device %d ", w->worker,
	    w->kernel->name, w->kernel->device);
	return c;
}

static struct cause *handler_runs(struct search *s,
				  const struct peali_worker_look *w)
{
	struct cause *c = cause_of(s, PEAL_STALL_HANDLER, w);
	struct peali_inflight inflight = w->inflight;
	char text[256];

	if (!c || c->out.address)
		return c;
	if (inflight.since_ns < s->watch_ns)
		inflight.since_ns = s->watch_ns;
	c->out.without_progress_ns = inflight.since_ns;
	c->out.address = inflight.address;
	c->out.inflight_link = inflight.link;
	c->out.inflight_message = inflight.link ? inflight.message : 0;
	c->out.inflight_type = PEAL_INFLIGHT_TYPE(inflight.word);
	peali_inflight_text(&inflight, w->kernel, text);
	say(c, "%s", text);
	return c;
}

static struct cause *port_lost(struct search *s,
			       const struct peali_worker_look *w)
{
	struct cause *c = cause_of(s, PEAL_STALL_PORT, w);
	uint32_t number = (uint32_t)(w->blocked >> 32);
	char name[PEAL_NAME_BYTES + 3];

	if (!c || c->out.address)
		return c;
	c->out.address = w->kernel->params.address | number;
	say(c, "has a message for actor %u%s: port %u of the actor has no link",
	    PEAL_ACTOR_INDEX(number),
	    peali_name_text(w->kernel->rt, c->out.address, name),
	    PEAL_BLOCKED_PORT(w->blocked));
	return c;
}

static struct cause *suspended(struct search *s,
			       const struct peali_worker_look *w)
{
	struct cause *c =
		cause_at(s, PEAL_STALL_SUSPENDED, w->kernel, NO_WORKER);

	if (c && w->blocked)
		lasts(c, peali_worker_still_ns(w->kernel, w->worker));
	if (!c || c->out.text[0])
		return c;
	c->out.device = w->kernel->device;
	say(c, "kernel '%s' on device %d is suspended", w->kernel->name,
	    w->kernel->device);
	return c;
}

static struct cause *not_received(struct search *s,
				  const struct peal_endpoint *e)
{
	struct cause *c = cause_at(s, PEAL_STALL_RECEIVE, e, 0);

	if (!c || c->out.text[0])
		return c;
	c->out.address = peal_endpoint_address(e);
	say(c, "the host does not receive at '%s'", e->name);
	return c;
}

static struct cause *plain(struct search *s, enum peal_stall_cause cause,
			   const struct peali_worker_look *w, const char *text)
{
	struct cause *c = cause_of(s, cause, w);

	if (c && !strstr(c->out.text, text))
		say(c, "%s", text);
	return c;
}

/* The worker waits for nothing, and yet leaves its messages. Either its loop
 * runs, or the system or the device does not run it. */
static struct cause *not_taken(struct search *s,
			       const struct peali_worker_look *w)
{
	char text[96] = "polls, but does not take its messages";

	if (w->silent_ns)
		snprintf(text, sizeof(text), "has not run for %llu ms",
			 (unsigned long long)(w->silent_ns / 1000000));
	return plain(s, PEAL_STALL_WORKER, w, text);
}

/* ---- from a wait to the next --------------------------------------------- */

static struct peali_worker_look *worker_at(struct search *s,
					   const struct peali_link_end *end)
{
	uint32_t i;

	for (i = 0; i < s->now.n_workers; i++)
		if (s->now.workers[i].kernel == end->kernel)
			return &s->now.workers[i + end->worker];
	return NULL;
}

/* Returns the receiving end of the link at a worker's port. For a topic,
 * returns the subscriber with most queued messages. NULL: there is none. */
static const struct peali_link_end *behind_port(struct search *s,
						const struct peal_kernel *k,
						uint32_t worker, uint32_t index)
{
	const struct peali_link_end *slowest = NULL;
	struct peal_subscriber_info info;
	const struct peali_topic *t;
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < s->now.n_links; i++) {
		const struct peal_link *link = s->now.links[i].link;

		if (link->from.kernel == k && link->from.worker == worker &&
		    link->from.index == index)
			return &link->to;
	}
	for (t = s->rt->topics; t; t = t->next) {
		if (t->publisher.kernel != k || t->publisher.worker != worker ||
		    t->publisher.index != index)
			continue;
		for (i = 0; i < t->spec.n_subscribers; i++) {
			if (!t->subscribers[i].end.kernel)
				continue;
			peali_subscriber_read(t, i, &info);
			if (info.queued > most)
				slowest = &t->subscribers[i].end;
			most = info.queued > most ? info.queued : most;
		}
	}
	return slowest;
}

/* Returns a stalled worker of the kernel, as the likely owner of the full
 * mailbox. Prefers a worker that is not in this chain. NULL: there is none. */
static struct peali_worker_look *
behind_mail(struct search *s, const struct peali_worker_look *from)
{
	struct peali_worker_look *found = NULL;
	uint32_t i;

	for (i = 0; i < s->now.n_workers; i++) {
		struct peali_worker_look *w = &s->now.workers[i];

		if (w->kernel != from->kernel || w == from || !w->still ||
		    !(w->inflight.word || w->blocked ||
		      w->phase == PEAL_WORKER_SUSPENDED))
			continue;
		if (!found || (found->way == s->n_ways && w->way < s->n_ways))
			found = w;
	}
	return found;
}

/*
 * Returns the receiving worker of the forwarding link with most queued
 * messages. These messages keep mailbox slots of the kernel k. NULL: there is
 * none.
 */
static struct peali_worker_look *behind_fwd_links(struct search *s,
						  const struct peal_kernel *k)
{
	const struct peal_link *most = NULL;
	uint64_t queued = 0;
	uint32_t i;

	for (i = 0; i < s->now.n_links; i++) {
		const struct peali_link_look *l = &s->now.links[i];

		if (l->link->from.kernel != k || !l->link->from.fwd_link ||
		    l->info.queued <= queued)
			continue;
		queued = l->info.queued;
		most = l->link;
	}
	return most ? worker_at(s, &most->to) : NULL;
}

/* Returns the receiving end of the forwarding link to an actor that lives in
 * another kernel. NULL: there is none. */
static const struct peali_link_end *
behind_fwd_link(const struct peali_worker_look *w, uint32_t actor)
{
	struct peal_kernel *k = w->kernel;
	uint64_t next = peali_address_next(
		k->rt, k->params.address | peali_actor_number(k, actor));
	const struct peal_kernel *to = peali_kernel_of(k->rt, next);
	const struct peal_link *link =
		to ? peali_fwd_link_find(k, w->worker, to) : NULL;

	return link ? &link->to : NULL;
}

/* Follows one wait of a blocked worker. Returns the next worker. Returns NULL
 * if the chain ends, with the cause in *cause_out if it is known. */
static struct peali_worker_look *step(struct search *s,
				      const struct peali_worker_look *w,
				      struct cause **cause_out)
{
	uint32_t actor = PEAL_ACTOR_INDEX(w->blocked >> 32);
	uint32_t port = PEAL_BLOCKED_PORT(w->blocked);
	const struct peali_link_end *end;
	struct peali_worker_look *next;

	if (port == PEAL_BLOCKED_MAIL || port == PEAL_BLOCKED_TIMER ||
	    port == PEAL_BLOCKED_DOWN) {
		next = behind_mail(s, w);
		if (!next)
			next = behind_fwd_links(s, w->kernel);
		if (!next)
			*cause_out = plain(s, PEAL_STALL_MAILBOX, w,
					   port == PEAL_BLOCKED_TIMER ?
						   "has timers that are due "
						   "and wait for space in "
						   "mailboxes or pools" :
					   port == PEAL_BLOCKED_DOWN ?
						   "has down messages that "
						   "wait for space in "
						   "mailboxes" :
						   "waits for space in "
						   "mailboxes or pools");
		return next;
	}
	if (port == PEAL_BLOCKED_GATE) {
		*cause_out = plain(s, PEAL_STALL_EVENT, w,
				   "has messages that wait for an event");
		return NULL;
	}
	if (actor >= w->kernel->params.max_actors)
		return NULL;
	if (port == PEAL_BLOCKED_FORWARD)
		end = behind_fwd_link(w, actor);
	else
		end = behind_port(s, w->kernel, w->worker,
				  peali_actor_look(w->kernel, actor).port_base +
					  port);
	if (end && end->endpoint) {
		*cause_out = not_received(s, end->endpoint);
		return NULL;
	}
	return end ? worker_at(s, end) : NULL;
}

/* Returns 1 if a wait ends when another kernel has more forward slots. */
static int needs_forward_slots(const struct peali_worker_look *w)
{
	uint32_t port = PEAL_BLOCKED_PORT(w->blocked);

	return w->next->kernel != w->kernel &&
	       (port == PEAL_BLOCKED_MAIL || port == PEAL_BLOCKED_FORWARD) &&
	       w->kernel->mailbox.forward_slots;
}

/* Names the workers of a cycle, from `first` on. Those that would fill the text
 * are counted only. */
static void name_cycle(struct cause *c, const struct peali_worker_look *first)
{
	const struct peali_worker_look *w = first;
	uint32_t n = 0, unnamed = 0;
	int forwards = 0;

	say(c, "workers wait for free slots in a cycle:");
	do {
		if (strlen(c->out.text) < CYCLE_TEXT)
			say(c, "%s worker %u of '%s' (device %d)",
			    n ? " for" : "", w->worker, w->kernel->name,
			    w->kernel->device);
		else
			unnamed++;
		forwards |= needs_forward_slots(w);
		n++;
		w = w->next;
	} while (w != first);
	if (unnamed)
		say(c, ", %u more", unnamed);
	say(c, " for the first");
	if (forwards)
		say(c, "; a larger mailbox.forward_slots ends it");
}

/* Returns the cause for a cycle. It is at the first worker of the cycle in the
 * snapshot. So several chains into a cycle give one cause. */
static struct cause *cycle(struct search *s, const struct peali_worker_look *in)
{
	const struct peali_worker_look *w = in, *least = in;
	uint64_t still = UINT64_MAX, of;
	struct cause *c;

	do {
		if (w < least)
			least = w;
		of = peali_worker_still_ns(w->kernel, w->worker);
		still = of < still ? of : still;
		w = w->next;
	} while (w != in);
	c = cause_at(s, PEAL_STALL_CYCLE, least->kernel, least->worker);
	if (!c || c->out.text[0])
		return c;
	lasts(c, still);
	c->out.device = least->kernel->device;
	c->out.worker = least->worker;
	name_cycle(c, least);
	return c;
}

/* Follows the chain of waits from a worker to its cause. has_work is 1 if
 * messages wait for the worker. NULL: the worker does not wait, or it moves. */
static struct cause *follow(struct search *s, struct peali_worker_look *w,
			    int has_work)
{
	struct cause *c = NULL;

	s->n_ways++;
	while (w && w->still && w->phase < PEAL_WORKER_STOPPED) {
		if (w->phase == PEAL_WORKER_SUSPENDED)
			return suspended(s, w);
		if (w->inflight.word)
			return handler_runs(s, w);
		if (!w->blocked)
			return has_work ? not_taken(s, w) : NULL;
		if (w->blocked >> 16 & 1)
			return port_lost(s, w);
		if (w->way == s->n_ways)
			return cycle(s, w);
		w->way = s->n_ways;
		w->next = step(s, w, &c);
		if (c)
			return c;
		w = w->next;
		has_work = 1;
	}
	return NULL;
}

/* ---- starts of chains ---------------------------------------------------- */

/* Counts the queued messages of a link for a cause. */
static void hold(struct cause *c, const struct peali_link_look *l)
{
	const struct peal_link_info *info = &l->info;

	if (c->out.cause != PEAL_STALL_HANDLER)
		lasts(c, peali_link_still_ns(l->link));
	if (!c->out.held) {
		c->out.link = info->id;
		c->out.message = info->undelivered_first;
	}
	c->out.held += info->queued;
	c->out.n_links++;
}

/*
 * Returns 1 if a draining kernel waits for the end of this link, and the sender
 * has to end it. A kernel that drains or stops ends its links itself. So does a
 * kernel that sends to itself.
 */
static int not_ended(const struct peali_link_look *l)
{
	const struct peal_link *link = l->link;
	const struct peal_kernel *to = link->to.kernel, *from;

	from = link->from.kernel;
	return to && to->draining && !l->info.ended && !l->info.queued &&
	       !atomic_load(&link->sender_gone) &&
	       !atomic_load(&link->receiver_gone) &&
	       !(from && (from == to || from->draining || from->stopping));
}

static struct cause *input_open(struct search *s,
				const struct peali_link_look *l)
{
	const struct peal_link *link = l->link;
	struct cause *c = cause_at(s, PEAL_STALL_INPUT, link, 0);

	if (!c || c->out.text[0])
		return c;
	lasts(c, peali_drain_still_ns(link->to.kernel));
	c->out.device = link->from.device;
	if (c->out.device == PEALI_HOST)
		c->out.device = -1;
	c->out.address = link->from.address;
	c->out.link = l->info.id;
	c->out.message = l->info.undelivered_first;
	say(c,
	    "kernel '%s' drains, and link %llu to it, from '%s' port %u, has "
	    "not been ended",
	    link->to.kernel->name, (unsigned long long)l->info.id,
	    link->from.kernel	? link->from.kernel->name :
	    link->from.endpoint ? link->from.endpoint->name :
				  "another process",
	    link->from_port);
	return c;
}

/* Follows all chains. The caller holds rt->lock. */
static void follow_all(struct search *s)
{
	struct cause *c;
	uint32_t i;

	for (i = 0; i < s->now.n_links; i++) {
		struct peali_link_look *l = &s->now.links[i];

		if (not_ended(l))
			input_open(s, l);
		if (!l->still || !l->info.queued)
			continue;
		c = l->link->to.endpoint ?
			    not_received(s, l->link->to.endpoint) :
			    follow(s, worker_at(s, &l->link->to), 1);
		if (c)
			hold(c, l);
	}
	for (i = 0; i < s->now.n_workers; i++)
		if (s->now.workers[i].inflight.word ||
		    s->now.workers[i].blocked)
			follow(s, &s->now.workers[i], 0);
}

static int more_held(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return (x->out.held < y->out.held) - (x->out.held > y->out.held);
}

/* Sleeps. Ends early and returns 1 if `ending` becomes 1, which may be NULL. */
static int watch(uint64_t ns, const uint32_t *ending)
{
	uint64_t until = peali_now_ns() + ns, now;

	while ((now = peali_now_ns()) < until) {
		if (ending && peal_load_relaxed_sys_u32(ending))
			return 1;
		ns = until - now;
		peali_sleep_ns(ending && ns > WATCH_STEP_NS ? WATCH_STEP_NS :
							      ns);
	}
	return 0;
}

/* Takes two snapshots and compares them. Returns 0 with rt->lock held, and the
 * caller calls end_search. Returns an error without the lock: PEAL_ENOMEM, or
 * PEAL_ESTOPPED if `ending` has become 1. */
static int search(struct search *s, struct peal_runtime *rt, uint64_t watch_ns,
		  const uint32_t *ending)
{
	struct peali_looks before;
	int result;

	memset(s, 0, sizeof(*s));
	s->rt = rt;
	s->watch_ns = watch_ns;
	pthread_mutex_lock(&rt->lock);
	result = peali_looks_take(rt, &before);
	pthread_mutex_unlock(&rt->lock);
	if (result)
		return result;
	if (watch(watch_ns, ending)) {
		peali_looks_free(&before);
		return PEAL_ESTOPPED;
	}
	pthread_mutex_lock(&rt->lock);
	result = peali_looks_take(rt, &s->now);
	if (result)
		pthread_mutex_unlock(&rt->lock);
	else
		peali_looks_compare(&before, &s->now);
	peali_looks_free(&before);
	return result;
}

static void end_search(struct search *s)
{
	pthread_mutex_unlock(&s->rt->lock);
	peali_looks_free(&s->now);
	free(s->causes);
}

/* Returns 0, or the error of a failed search with its text. */
static int search_failed(int result)
{
	if (result == PEAL_ESTOPPED)
		return peali_fail(result, CALL, "the runtime is being closed");
	return result ? peali_fail(result, CALL,
				   "no memory for a stall report") :
			0;
}

int peal_stall_report(struct peal_runtime *rt, uint64_t watch_ns,
		      struct peal_stall *causes_out, uint32_t n)
{
	return peali_stall_report(rt, watch_ns, NULL, causes_out, n);
}

int peali_stall_report(struct peal_runtime *rt, uint64_t watch_ns,
		       const uint32_t *ending, struct peal_stall *causes_out,
		       uint32_t n)
{
	struct search s;
	uint32_t i;
	int result;

	if (!rt || (n && !causes_out))
		return peali_refuse_null(CALL, "runtime or causes_out");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	if (watch_ns > WATCH_NS_MAX)
		return peali_refuse_range(CALL, "argument", "watch_ns",
					  watch_ns, 0, WATCH_NS_MAX);
	result = search_failed(
		search(&s, rt, watch_ns ? watch_ns : WATCH_NS, ending));
	if (result)
		return result;
	follow_all(&s);
	if (s.n)
		qsort(s.causes, s.n, sizeof(*s.causes), more_held);
	for (i = 0; i < s.n && i < n; i++) {
		struct cause *c = &s.causes[i];

		if (c->out.held)
			say(c,
			    "; %llu message%s in %u link%s wait%s for it, the "
			    "first is number %llu of link %llu",
			    (unsigned long long)c->out.held,
			    peali_s(c->out.held), c->out.n_links,
			    peali_s(c->out.n_links),
			    c->out.held == 1 ? "s" : "",
			    (unsigned long long)c->out.message,
			    (unsigned long long)c->out.link);
		causes_out[i] = c->out;
	}
	result = s.no_memory ? peali_fail(PEAL_ENOMEM, CALL,
					  "no memory for the causes") :
			       (int)s.n;
	end_search(&s);
	return result;
}

int peali_stall_why(struct peal_kernel *k, uint32_t worker, char text[256])
{
	struct search s;
	struct cause *c = NULL;
	uint32_t i;

	if (search(&s, k->rt, LATE_WATCH_NS, NULL))
		return 0;
	for (i = 0; i < s.now.n_workers && !c; i++)
		if (s.now.workers[i].kernel == k &&
		    s.now.workers[i].worker == worker)
			c = follow(&s, &s.now.workers[i], 0);
	for (i = 0; i < s.now.n_links && !c; i++)
		if (s.now.links[i].link->to.kernel == k &&
		    s.now.links[i].link->to.worker == worker &&
		    not_ended(&s.now.links[i]))
			c = input_open(&s, &s.now.links[i]);
	if (c)
		memcpy(text, c->out.text, sizeof(c->out.text));
	end_search(&s);
	return c != NULL;
}

static int is_same_cause(const struct peal_stall *a, const struct peal_stall *b)
{
	return a->cause == b->cause && a->device == b->device &&
	       a->worker == b->worker && a->address == b->address &&
	       a->link == b->link && a->message == b->message &&
	       a->inflight_link == b->inflight_link &&
	       a->inflight_message == b->inflight_message;
}

/*
 * Returns 1 if the log has had the cause in the last LOG_AGAIN_NS. Else notes
 * it, in place of the oldest cause. The caller holds rt->lock.
 */
static int was_logged(struct peal_runtime *rt, const struct peal_stall *cause)
{
	struct peali_stall_logged *l = rt->stalls_logged, *oldest = l;
	uint64_t now = peali_now_ns();
	uint32_t i;

	for (i = 0; i < PEALI_STALLS_LOGGED; i++, l++) {
		if (l->at_ns && now - l->at_ns < LOG_AGAIN_NS &&
		    is_same_cause(&l->cause, cause))
			return 1;
		if (l->at_ns < oldest->at_ns)
			oldest = l;
	}
	oldest->cause = *cause;
	oldest->at_ns = now;
	return 0;
}

void peali_stall_log(struct peal_runtime *rt)
{
	struct peal_stall causes[PEALI_STALLS_LOGGED] = { { 0 } };
	int n, i;

	if (!peali_log_wanted(1))
		return;
	n = peal_stall_report(rt, LATE_WATCH_NS, causes, PEALI_STALLS_LOGGED);
	if (n == 0) {
		causes[0].cause = PEAL_STALL_COUNT;
		snprintf(causes[0].text, sizeof(causes[0].text), "none found");
		n = 1;
	}
	pthread_mutex_lock(&rt->lock);
	for (i = 0; i < n && i < PEALI_STALLS_LOGGED; i++)
		if (!was_logged(rt, &causes[i]))
			peali_log(1, "stall: %s", causes[i].text);
	pthread_mutex_unlock(&rt->lock);
}
