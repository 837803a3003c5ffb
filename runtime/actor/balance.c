/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Balances the load of a kernel's workers. Samples the running handlers, plans
 * moves (balance_plan.c), and migrates actors.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/balance.h>
#include <peal/migration.h>
#include "runtime/actor/balance.h"
#include "runtime/actor/forwarding.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/system_call.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/address.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/link/link.h"
#include "runtime/runtime.h"

#define CALL "peal_kernel_balance"

/* The messages of one link to an actor of the kernel. */
struct arrival {
	uint64_t id; /* the link's */
	/* the receiver's newest entry; the worker at the link's end */
	uint32_t index, worker;
	uint64_t messages; /* in all; after take_off: while watched */
};

/* The state of one call of peal_kernel_balance. */
struct watch {
	struct peal_kernel *kernel;
	const struct peal_balance_options *o;
	struct peal_balance_report *report;
	uint64_t *load; /* per worker: samples in a handler */
	uint32_t *looks; /* per actor entry: samples in its handler */
	uint8_t *tied; /* per actor entry: 1: a link leaves its own ports */
	struct arrival *arrivals; /* one per link to an actor of the kernel */
	uint32_t n_arrivals;
	struct peali_balance_actor *actors; /* that may move, with load or
					     * traffic */
	uint32_t n; /* length of `actors` */
};

/* ---- options ------------------------------------------------------------- */

static int check_range(const char *name, uint32_t value, uint32_t most)
{
	if (value <= most)
		return 0;
	return peali_refuse_option(CALL, name, value, 0, most);
}

static int complete(struct peal_balance_options *o)
{
	int result;

	o->sample_ms = o->sample_ms ? o->sample_ms : 100;
	o->sample_interval_us = o->sample_interval_us ? o->sample_interval_us :
							100;
	o->max_moves = o->max_moves ? o->max_moves : 32;
	o->tolerance = o->tolerance ? o->tolerance : 20;
	result = check_range("sample_ms", o->sample_ms, 60000);
	if (!result)
		result = check_range(
			"sample_interval_us", o->sample_interval_us,
			o->sample_ms < 10000 ? o->sample_ms * 100 : 1000000);
	if (!result)
		result = check_range("max_moves", o->max_moves, 4096);
	if (!result)
		result = check_range("tolerance", o->tolerance, 1000);
	return result ? result : check_range("dry_run", o->dry_run, 1);
}

static int check_kernel(struct peal_kernel *k)
{
	int result;

	pthread_mutex_lock(&k->rt->lock);
	result = peali_kernel_can_forward(k, CALL);
	pthread_mutex_unlock(&k->rt->lock);
	return result;
}

/* ---- watching ------------------------------------------------------------ */

/* Takes one sample: reads which actor's handler runs on each worker. */
static void look(struct watch *w)
{
	struct peal_kernel *k = w->kernel;
	uint64_t inflight;
	uint32_t i, index;

	for (i = 0; i < k->params.n_workers; i++) {
		inflight = peal_load_relaxed_sys(&k->status[i].inflight);
		index = PEAL_ACTOR_INDEX(PEAL_INFLIGHT_ACTOR(inflight));
		if (!inflight || index >= k->params.max_actors)
			continue;
		w->load[i]++;
		w->looks[index]++;
	}
	w->report->samples++;
}

/*
 * Lists the message counts of all links to actors of the kernel, and fills
 * w->tied. An actor that has migrated has its newest entry as `index`. Its
 * messages still arrive at the worker where the link ends. The caller holds
 * rt->lock and frees *out. Returns 0 or PEAL_ENOMEM.
 */
static int list_links(struct watch *w, struct arrival **out, uint32_t *n_out)
{
	struct peal_kernel *k = w->kernel;
	const struct peal_link *link;
	struct arrival *a;
	uint32_t n = 0;

	for (link = k->rt->links; link; link = link->next)
		n++;
	*n_out = 0;
	*out = calloc(n + 1, sizeof(**out));
	if (!*out)
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory to watch %u links", n);
	for (link = k->rt->links; link; link = link->next) {
		if (link->from.kernel == k && !link->from.dead_letters &&
		    !link->from.fwd_link &&
		    link->from.actor < k->params.max_actors)
			w->tied[link->from.actor] = 1;
		if (link->to.kernel != k || link->to.pool ||
		    link->to.fwd_link ||
		    link->to.actor >= k->params.first_actor_slot)
			continue;
		a = &(*out)[(*n_out)++];
		a->id = link->id;
		a->index = peali_actor_resolve(k, link->to.actor);
		a->worker = link->to.worker;
		a->messages = peal_load_relaxed_sys(&link->counts->accepted);
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_place(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->worker < y->worker ? -1 : x->worker > y->worker;
}

/*
 * Subtracts the counts of the first list, `before`, from w->arrivals. Sorts
 * w->arrivals by actor and worker.
 */
static void take_off(struct watch *w, struct arrival *before, uint32_t n)
{
	const struct arrival *was;
	uint32_t i;

	qsort(before, n, sizeof(*before), by_id);
	for (i = 0; i < w->n_arrivals; i++) {
		was = bsearch(&w->arrivals[i], before, n, sizeof(*before),
			      by_id);
		if (was)
			w->arrivals[i].messages -= was->messages;
	}
	qsort(w->arrivals, w->n_arrivals, sizeof(*w->arrivals), by_place);
}

static void look_until(struct watch *w, uint64_t until)
{
	do {
		look(w);
		peali_sleep_ns(w->o->sample_interval_us * UINT64_C(1000));
	} while (!peali_late(until));
}

static int watch(struct watch *w)
{
	struct peal_runtime *rt = w->kernel->rt;
	struct arrival *before = NULL;
	uint32_t n;
	int result;

	pthread_mutex_lock(&rt->lock);
	result = list_links(w, &before, &n);
	pthread_mutex_unlock(&rt->lock);
	if (result)
		return result;
	look_until(w, peali_deadline((int64_t)w->o->sample_ms * 1000000));
	pthread_mutex_lock(&rt->lock);
	result = list_links(w, &w->arrivals, &w->n_arrivals);
	pthread_mutex_unlock(&rt->lock);
	if (!result)
		take_off(w, before, n);
	free(before);
	return result;
}

/* ---- planning ------------------------------------------------------------ */

/* Returns 1 if the host knows no reason that prevents a migration. */
static int is_free(const struct watch *w, uint32_t index)
{
	const struct peal_kernel *k = w->kernel;
	const struct peali_actor *a = &k->actors.entries[index];

	return !a->pinned && !a->pool && !a->limit && !a->share_ports_with &&
	       !w->tied[index] && !peali_is_spawned(k, index);
}

/*
 * Sets a->home to the worker where most of the actor's messages arrive, and
 * a->traffic to their number. On entry w->arrivals[*at] is not behind the
 * actor's first arrival. The call moves *at behind the actor's last arrival.
 */
static void find_home(const struct watch *w, uint32_t *at,
		      struct peali_balance_actor *a)
{
	const struct arrival *all = w->arrivals;
	uint64_t sum;
	uint32_t worker;

	while (*at < w->n_arrivals && all[*at].index < a->index)
		++*at;
	while (*at < w->n_arrivals && all[*at].index == a->index) {
		worker = all[*at].worker;
		for (sum = 0;
		     *at < w->n_arrivals && all[*at].index == a->index &&
		     all[*at].worker == worker;
		     ++*at)
			sum += all[*at].messages;
		if (sum > a->traffic) {
			a->traffic = sum;
			a->home = worker;
		}
	}
}

/*
 * Lists the movable actors with load or traffic, and counts the other actors
 * with load as pinned. The caller holds rt->lock.
 */
static void list_actors(struct watch *w)
{
	const struct peal_kernel *k = w->kernel;
	uint32_t i, at = 0;

	for (i = 0; i < k->params.first_actor_slot; i++) {
		struct peali_balance_actor a = { .index = i };

		if (k->actors.entries[i].handler == PEAL_NO_HANDLER ||
		    k->actors.entries[i].handler == PEALI_POOL_HANDLER ||
		    k->actors.entries[i].moved_to)
			continue;
		a.worker = a.to = k->actors.entries[i].worker;
		a.load = w->looks[i];
		find_home(w, &at, &a);
		if (!is_free(w, i))
			w->report->pinned += a.load != 0;
		else if (a.load || a.traffic)
			w->actors[w->n++] = a;
	}
}

static void extremes(const struct watch *w, uint64_t *busiest, uint64_t *idlest)
{
	uint32_t i;

	*busiest = *idlest = w->load[0];
	for (i = 1; i < w->kernel->params.n_workers; i++) {
		if (w->load[i] > *busiest)
			*busiest = w->load[i];
		if (w->load[i] < *idlest)
			*idlest = w->load[i];
	}
}

static void plan(struct watch *w)
{
	struct peal_balance_report *r = w->report;
	uint32_t i;

	pthread_mutex_lock(&w->kernel->rt->lock);
	list_actors(w);
	pthread_mutex_unlock(&w->kernel->rt->lock);
	for (i = 0; i < w->kernel->params.n_workers; i++)
		r->load += w->load[i];
	extremes(w, &r->max_load, &r->min_load);
	peali_balance_plan(w->actors, w->n, w->load,
			   w->kernel->params.n_workers, w->o->tolerance,
			   w->o->max_moves);
	extremes(w, &r->predicted_max_load, &r->predicted_min_load);
}

/* ---- moving -------------------------------------------------------------- */

/* Returns 1 if the error also prevents the other moves. */
static int is_fatal(int result)
{
	return result == PEAL_ESTOPPED || result == PEAL_EHUNG ||
	       result == PEAL_ENOMEM;
}

static int move(struct watch *w, const struct peali_balance_actor *a)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = 1 + a->to };
	struct peal_kernel *k = w->kernel;
	struct peal_balance_move m = { .from = a->worker,
				       .to = a->to,
				       .load = a->load };

	if (a->home == a->to)
		m.traffic = a->traffic;
	m.actor = k->params.address | peali_actor_number(k, a->index);
	if (!w->o->dry_run)
		m.result = peal_actor_migrate(k->rt, m.actor, &o, &m.actor);
	if (w->o->moves_out)
		w->o->moves_out[w->report->moves] = m;
	w->report->moves++;
	w->report->moved += !w->o->dry_run && !m.result;
	return m.result;
}

static int move_all(struct watch *w)
{
	uint32_t i;
	int result;

	for (i = 0; i < w->n; i++) {
		if (w->actors[i].to == w->actors[i].worker)
			continue;
		result = move(w, &w->actors[i]);
		if (is_fatal(result))
			return result;
	}
	return 0;
}

static int balance(struct watch *w)
{
	const struct peal_kernel_params *p = &w->kernel->params;
	int result;

	w->load = calloc(p->n_workers, sizeof(*w->load));
	w->looks = calloc(p->max_actors, sizeof(*w->looks));
	w->tied = calloc(p->max_actors, 1);
	w->actors = calloc(p->max_actors, sizeof(*w->actors));
	if (!w->load || !w->looks || !w->tied || !w->actors)
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory to watch %u actors of kernel '%s'",
				  p->max_actors, w->kernel->name);
	result = watch(w);
	if (result)
		return result;
	plan(w);
	return move_all(w);
}

int peal_kernel_balance(struct peal_kernel *k,
			const struct peal_balance_options *options,
			struct peal_balance_report *report_out)
{
	struct peal_balance_report report;
	struct peal_balance_options o;
	struct watch w = { .kernel = k, .o = &o, .report = &report };
	int result;

	memset(&report, 0, sizeof(report));
	if (!k)
		return peali_refuse_null(CALL, "kernel");
	if (peali_foreign(&k->rt->owner, CALL))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CALL);
	if (!result)
		result = complete(&o);
	if (!result)
		result = check_kernel(k);
	if (!result)
		result = balance(&w);
	free(w.load);
	free(w.looks);
	free(w.arrivals);
	free(w.tied);
	free(w.actors);
	if (report_out)
		*report_out = report;
	return result;
}
