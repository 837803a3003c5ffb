/* SPDX-License-Identifier: Apache-2.0 */
/* Reports which message a worker is handling, and for how long. */
#include <stdio.h>
#include <string.h>

#include <peal/name.h>
#include "runtime/link/inflight.h"

#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/link_counts.h"
#include "runtime/kernel/name_table.h"
#include "runtime/kernel/record.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"
#include "runtime/link/topic.h"

/* ---- duration ------------------------------------------------------------ */

static void watch(struct peali_progress *p, uint64_t done, uint64_t now)
{
	if (p->done == done && p->moved_ns)
		return;
	p->done = done;
	p->moved_ns = now;
}

/* Returns for how many ns `done` has been unchanged; 0: it has just changed. */
static uint64_t still_for(const struct peali_progress *p, uint64_t done,
			  uint64_t now)
{
	return p->moved_ns && p->done == done ? now - p->moved_ns : 0;
}

/* The time of an empty link does not count: no message of it waits. */
static void watch_link(struct peal_link *link, uint64_t now)
{
	const struct peal_link_counts *sent = peali_remote_sender_counts(link);
	const struct peal_link_counts *received =
		peali_remote_receiver_counts(link);

	if (!peali_counts_queued(sent, received))
		link->progress.moved_ns = 0;
	watch(&link->progress, peali_counts_done(received), now);
}

static void watch_worker(struct peal_kernel *k, uint32_t worker, uint64_t now)
{
	const struct peal_worker_status *s = &k->status[worker];
	struct peali_worker *w = &k->workers[worker];

	watch(&w->handled, peal_load_relaxed_sys(&s->handled), now);
	watch(&w->blocked, peal_load_relaxed_sys(&s->blocked), now);
	watch(&w->progress, peal_load_relaxed_sys(&s->inflight), now);
}

uint64_t peali_link_still_ns(const struct peal_link *link)
{
	return still_for(&link->progress,
			 peali_counts_done(peali_remote_receiver_counts(link)),
			 peali_now_ns());
}

uint64_t peali_worker_still_ns(const struct peal_kernel *k, uint32_t worker)
{
	const struct peal_worker_status *s = &k->status[worker];
	const struct peali_worker *w = &k->workers[worker];
	uint64_t now = peali_now_ns(), handled, blocked;

	handled =
		still_for(&w->handled, peal_load_relaxed_sys(&s->handled), now);
	blocked =
		still_for(&w->blocked, peal_load_relaxed_sys(&s->blocked), now);
	return handled < blocked ? handled : blocked;
}

uint64_t peali_drain_still_ns(const struct peal_kernel *k)
{
	return still_for(&k->drains, (uint64_t)(k->draining != 0),
			 peali_now_ns());
}

void peali_inflight_watch(struct peal_runtime *rt, uint64_t now)
{
	struct peal_kernel *k;
	struct peal_link *link;
	struct peali_topic *t;
	uint32_t i;

	for (link = rt->links; link; link = link->next)
		watch_link(link, now);
	for (t = rt->topics; t; t = t->next)
		for (i = 0; i < t->spec.n_subscribers; i++)
			watch(&t->subscribers[i].progress,
			      peali_counts_done(&t->counts[i].link), now);
	/*
	 * Read the workers' words last. If a word and the counter of its link
	 * do not change afterwards, the worker still handles the same message.
	 */
	for (k = rt->kernels; k; k = k->next) {
		watch(&k->drains, (uint64_t)(k->draining != 0), now);
		for (i = 0; i < k->params.n_workers; i++)
			watch_worker(k, i, now);
	}
}

/* ---- source of the message ----------------------------------------------- */

static void from_link(const struct peal_kernel *k, uint32_t worker,
		      uint32_t input, struct peali_inflight *out, uint64_t now)
{
	const struct peal_link *link;
	uint64_t since;

	for (link = k->rt->links; link; link = link->next) {
		if (link->to.kernel != k || link->to.worker != worker ||
		    link->to.index != input)
			continue;
		out->link = link->id;
		out->lags = peali_link_holds(link) != 0;
		out->message = peali_counts_done(link->counts);
		since = still_for(&link->progress, out->message, now);
		if (since < out->since_ns)
			out->since_ns = since;
		return;
	}
}

static void from_topic(const struct peal_kernel *k, uint32_t worker,
		       uint32_t input, struct peali_inflight *out, uint64_t now)
{
	const struct peali_topic *t;
	uint64_t since;
	uint32_t i;

	for (t = k->rt->topics; t; t = t->next)
		for (i = 0; i < t->spec.n_subscribers; i++) {
			const struct peali_subscriber *s = &t->subscribers[i];

			if (s->end.kernel != k || s->end.worker != worker ||
			    s->end.index != input)
				continue;
			out->topic = t->name;
			out->lags = peali_is_on_gpu(k->rt, &s->end);
			out->message = peali_counts_done(&t->counts[i].link);
			since = still_for(&s->progress, out->message, now);
			if (since < out->since_ns)
				out->since_ns = since;
			return;
		}
}

/* ---- actor and handler --------------------------------------------------- */

static const char *handler_of(const struct peal_kernel *k, uint32_t number)
{
	uint32_t index = PEAL_ACTOR_INDEX(number);
	uint32_t handler = index < k->params.max_actors ?
				   peali_actor_look(k, index).handler :
				   PEAL_NO_HANDLER;

	return handler < k->program->n_handlers ?
		       k->program->handlers[handler].name :
		       "?";
}

int peali_inflight_read(struct peal_kernel *k, uint32_t worker,
			struct peali_inflight *out)
{
	uint64_t now = peali_now_ns(), handled;
	uint32_t input;

	memset(out, 0, sizeof(*out));
	out->word = peal_load_relaxed_sys(&k->status[worker].inflight);
	if (!out->word)
		return 0;
	out->address = k->params.address | PEAL_INFLIGHT_ACTOR(out->word);
	out->handler = handler_of(k, PEAL_INFLIGHT_ACTOR(out->word));
	out->since_ns = still_for(&k->workers[worker].progress, out->word, now);
	input = PEAL_INFLIGHT_INPUT(out->word);
	if (input < k->params.max_inputs) {
		from_link(k, worker, input, out, now);
		if (!out->link)
			from_topic(k, worker, input, out, now);
	} else {
		input -= k->params.max_inputs;
		out->pool = input >= PEAL_INFLIGHT_POOL;
		out->message = PEAL_INFLIGHT_NUMBER(input);
		/* on a GPU, messages of a mailbox have no number */
		handled = still_for(
			&k->workers[worker].handled,
			peal_load_relaxed_sys(&k->status[worker].handled), now);
		if (handled < out->since_ns)
			out->since_ns = handled;
	}
	return 1;
}

/* Writes a text such as: handler 'x' of actor 3, on message 7 of link 2, of type
 * 1 */
static void describe(const struct peali_inflight *h, struct peal_kernel *k,
		     char text[256])
{
	char name[PEAL_NAME_BYTES + 3], from[96] = "";
	const char *later = h->lags ? " or a later one" : "";

	if (h->link)
		snprintf(from, sizeof(from), "message %llu%s of link %llu",
			 (unsigned long long)h->message, later,
			 (unsigned long long)h->link);
	else if (h->topic)
		snprintf(from, sizeof(from), "message %llu%s of topic '%s'",
			 (unsigned long long)h->message, later, h->topic);
	peali_text_format(text, 256,
			  "handler '%s' of actor %u%s, on %s, of type %u",
			  h->handler, PEAL_ACTOR_INDEX(h->address),
			  peali_name_text(k->rt, h->address, name),
			  from[0] ? from :
			  h->pool ? "a message of a pool" :
				    "a message of its mailbox",
			  PEAL_INFLIGHT_TYPE(h->word));
}

void peali_inflight_text(const struct peali_inflight *h, struct peal_kernel *k,
			 char text[256])
{
	char where[256];

	describe(h, k, where);
	peali_text_format(text, 256, "is in %s, for %llu ms so far", where,
			  (unsigned long long)h->since_ns / 1000000);
}

void peali_inflight_note_crash(struct peal_kernel *k)
{
	const struct peali_backend_ops *ops =
		k->rt->devices.device[k->device].backend->ops;
	/* a process can end before its launch returns */
	int i = k->launch && ops->launch_culprit ?
			ops->launch_culprit(k->launch) :
			-1;
	struct peali_inflight inflight;
	char where[256];

	if (i < 0 || k->crash[0] ||
	    !peali_inflight_read(k, (uint32_t)i, &inflight))
		return;
	describe(&inflight, k, where);
	peali_text_format(k->crash, sizeof(k->crash), "worker %d was in %s", i,
			  where);
	peali_log(1, "kernel '%s' on device %d: %s", k->name, k->device,
		  k->crash);
}

int peali_inflight_describe(struct peal_kernel *k, uint32_t worker,
			    char text[256])
{
	struct peali_inflight inflight;

	if (!peali_inflight_read(k, worker, &inflight))
		return 0;
	peali_inflight_text(&inflight, k, text);
	return 1;
}
