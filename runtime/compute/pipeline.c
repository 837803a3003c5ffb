/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: creates and destroys them, and reports their state. */
#include "runtime/compute/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/task.h"
#include "runtime/device/devices.h"
#include "runtime/device/program.h"
#include "runtime/kernel/busy_times.h"
#include "runtime/kernel/features.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/launch/kernel_fit.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"

#define CREATE "peal_pipeline_create"
#define WORKERS_MOST 4096 /* limit of an endpoint's ports */
#define LANES 128
#define ARENA_BYTES (1ULL << 20) /* default of a kernel */
#define ACTORS 64
#define END_NS 1000000000LL

/* ---- checks -------------------------------------------------------------- */

/* Adds the stage to the text of the last error. Returns `result`. */
static int of_stage(int result, uint32_t i, const char *name)
{
	struct peal_error_info said = *peal_last_error();

	return peali_fail_driver(result, said.driver_code, CREATE,
				 "stage %u, '%s': %s", i, PEALI_CUT(24, name),
				 said.text);
}

static int check_options(const struct peal_pipeline_options *o)
{
	if (o->workers > WORKERS_MOST)
		return peali_refuse_option(CREATE, "workers", o->workers, 0,
					   WORKERS_MOST);
	if (o->skip_failed > 1 || o->reserved)
		return peali_refuse_option(
			CREATE, o->reserved ? "reserved" : "skip_failed",
			o->reserved ? o->reserved : o->skip_failed, 0,
			!o->reserved);
	if (o->skip_failed && o->workers > 1)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "option",
			.name = "workers",
			.problem = "is too large with skip_failed, as a "
				   "missing batch breaks the order",
			.number = o->workers, .most = 1);
	if (o->link && (o->link->require || o->link->priority))
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "option", .name = "link",
			.problem = PEALI_PRINT(
				"sets %s, which the link of a stage "
				"does not have",
				o->link->require ? "require" : "priority"),
			.number = o->link->require ? o->link->require :
						     o->link->priority,
			.remedy = o->link->require ? "set require of a stage" :
						     "use 0");
	return 0;
}

/* Refuses a handler without one port, or with too much output for the workers. */
static int refuse_handler(const struct peal_pipeline *p,
			  const struct peal_handler_info *h, uint32_t i)
{
	char stage[80];

	snprintf(stage, sizeof(stage), "stage %u, '%s': handler", i,
		 PEALI_CUT(24, p->stages[i].name));
	if (h->ports != 1)
		return PEALI_REFUSE(PEAL_EINVAL, CREATE, .object = stage,
				    .name = h->name,
				    .problem = h->ports ?
						       "has several ports, and "
						       "a stage has one" :
						       "has no port to emit on",
				    .number = h->ports, .least = 1, .most = 1,
				    .remedy = "use a handler with one port");
	return PEALI_REFUSE(
		PEAL_EINVAL, CREATE, .object = stage, .name = h->name,
		.problem = "declares more than one message per batch, and the "
			   "stage has several workers",
		.number = h->emits, .least = 1, .most = 1,
		.remedy = "set workers to 1");
}

/* Checks the options of a stage. */
static int check_stage(const struct peal_pipeline *p,
		       const struct peal_pipeline_stage *s, uint32_t i)
{
	const struct peal_handler_info *h;
	int result;

	if (!s->program || !s->handler)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE,
			.object = PEALI_PRINT("stage %u", i),
			.problem = s->program ? "has no handler" :
						"has no program",
			.value = "NULL",
			.allowed = s->program ? "a name" : "a program",
			.remedy = s->program ? "set handler" : "set program");
	result = peali_devices_check(&p->rt->devices, s->device, CREATE);
	if (!result)
		result = peali_program_check(s->program, CREATE);
	if (!result && !p->skip_failed)
		result = PEALI_NEEDS(s->program, SUPERVISION, CREATE,
				     "a pipeline without skip_failed");
	if (result)
		return of_stage(result, i, p->stages[i].name);
	result = peali_program_handler(s->program, s->handler, CREATE);
	if (result < 0)
		return of_stage(result, i, p->stages[i].name);
	h = &s->program->handlers[result];
	if (peali_is_task(h))
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE,
			.object = PEALI_PRINT("stage %u, '%s': handler", i,
					      PEALI_CUT(24, p->stages[i].name)),
			.name = h->name,
			.problem = "is a handler of jobs, which PEAL_TASK "
				   "makes",
			.value = "PEAL_TASK", .allowed = "other handlers",
			.remedy = "use an executor or a graph for it");
	if (h->ports != 1 || (p->workers > 1 && h->emits != 1))
		return refuse_handler(p, h, i);
	if (s->init_bytes > h->state_bytes || (s->init_bytes && !s->init))
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE,
			.object = PEALI_PRINT("stage %u", i),
			.name = p->stages[i].name,
			.problem = PEALI_PRINT(
				"has init_bytes beyond the state of "
				"its handler on device %d, or no init",
				s->device),
			.number = s->init_bytes, .most = h->state_bytes);
	if (i == 0 && s->require)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "stage 0",
			.name = p->stages[i].name,
			.problem = "requires a route, but no stage is before "
				   "it",
			.value = PEALI_PRINT("0x%x", s->require),
			.allowed = "0", .remedy = "set require to 0");
	return 0;
}

/* ---- creation ------------------------------------------------------------ */

static int start_stage(struct peal_pipeline *p,
		       const struct peal_pipeline_stage *s, uint32_t i)
{
	struct peali_pipeline_stage *stage = &p->stages[i];
	int handler = peal_program_handler(s->program, s->handler);
	uint64_t state = s->program->handlers[handler].state_bytes + 4096ULL;
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = p->workers,
					 .lanes = s->lanes,
					 .drain_when_inputs_end = 1,
					 .name = stage->name };
	struct peal_actor_options actor = { .size = sizeof(actor),
					    .init = s->init,
					    .init_bytes = s->init_bytes };
	int result;

	if (!o.lanes)
		o.lanes = peali_kernel_lanes(p->rt, s->device, LANES);
	if (p->workers > ACTORS)
		o.max_actors = p->workers;
	if (p->workers * state > ARENA_BYTES)
		o.arena_bytes = p->workers * state;
	o.on_failure = p->skip_failed ? PEAL_FAILURE_CONTINUE :
					PEAL_FAILURE_END;
	result = peal_kernel_launch(p->rt, s->device, s->program, &o,
				    &stage->kernel);
	for (actor.worker = 1; !result && actor.worker <= p->workers;
	     actor.worker++)
		result = peal_actor_spawn(stage->kernel, s->handler, &actor,
					  &stage->actors[actor.worker - 1]);
	return result ? of_stage(result, i, stage->name) : 0;
}

static int make_endpoints(struct peal_pipeline *p)
{
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = p->workers,
					   .max_inputs = 1,
					   .name = p->name };
	uint32_t i;
	int result = peali_endpoint_create_for(p->rt, &o, PEAL_WAIT_KINDS,
					       &p->source);

	o.max_ports = 1;
	for (i = 0; i < p->workers && !result; i++)
		result = peali_endpoint_create_for(p->rt, &o, PEAL_WAIT_KINDS,
						   &p->sinks[i]);
	return result;
}

/*
 * Connects link `i` of a worker: from stage i - 1, or the source, to stage i,
 * or the sink.
 */
static int connect_link(struct peal_pipeline *p, uint32_t i, uint32_t worker,
			const struct peal_link_options *o)
{
	struct peal_link **link = &p->links[(size_t)i * p->workers + worker];
	uint64_t from = i ? p->stages[i - 1].actors[worker] :
			    peal_endpoint_address(p->source);
	uint64_t to = i < p->n ? p->stages[i].actors[worker] :
				 peal_endpoint_address(p->sinks[worker]);
	int result = peal_connect(p->rt, from, i ? 0 : worker, to, o, link);
	struct peal_error_info said;

	if (!result)
		return 0;
	said = *peal_last_error();
	return peali_fail(result, CREATE, "from '%s' to '%s': %s",
			  i ? p->stages[i - 1].name : "the host",
			  i < p->n ? p->stages[i].name : "the host", said.text);
}

static int connect_all(struct peal_pipeline *p,
		       const struct peal_pipeline_stage *const *stages,
		       const struct peal_link_options *link)
{
	struct peal_link_options o = { .size = sizeof(o) };
	struct peal_link_info info;
	uint32_t i, worker;
	int result = 0;

	if (link)
		o = *link;
	for (i = 0; i <= p->n; i++) {
		o.require = i && i < p->n ? stages[i]->require : 0;
		for (worker = 0; worker < p->workers && !result; worker++)
			result = connect_link(p, i, worker, &o);
	}
	if (!result)
		result = peal_link_info(peali_pipeline_link(p, 0, 0), &info);
	if (!result)
		p->capacity = info.capacity;
	return result;
}

static int start(struct peal_pipeline *p,
		 const struct peal_pipeline_stage *const *stages,
		 const struct peal_link_options *link)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < p->n && !result; i++)
		result = check_stage(p, stages[i], i);
	if (!result)
		result = make_endpoints(p);
	for (i = 0; i < p->n && !result; i++)
		result = start_stage(p, stages[i], i);
	return result ? result : connect_all(p, stages, link);
}

static void free_pipeline(struct peal_pipeline *p)
{
	uint32_t i;

	for (i = 0; p->stages && i < p->n; i++)
		free(p->stages[i].actors);
	free(p->stages);
	free(p->links);
	free(p->sinks);
	free(p);
}

static struct peal_pipeline *new_pipeline(struct peal_runtime *rt, uint32_t n,
					  const struct peal_pipeline_options *o)
{
	struct peal_pipeline *p = calloc(1, sizeof(*p));
	uint32_t i, made = 0;

	if (!p)
		return NULL;
	p->rt = rt;
	p->n = n;
	p->workers = o->workers ? o->workers : 1;
	p->skip_failed = o->skip_failed;
	peali_text_fit(p->name, sizeof(p->name),
		       o->name ? o->name : "pipeline");
	p->stages = calloc(n, sizeof(*p->stages));
	p->links = calloc(((size_t)n + 1) * p->workers, sizeof(*p->links));
	p->sinks = calloc(p->workers, sizeof(*p->sinks));
	for (i = 0; p->stages && i < n; i++) {
		p->stages[i].actors =
			calloc(p->workers, sizeof(*p->stages[i].actors));
		made += p->stages[i].actors != NULL;
	}
	if (p->links && p->sinks && p->stages && made == n)
		return p;
	free_pipeline(p);
	return NULL;
}

/* ---- destruction --------------------------------------------------------- */

/*
 * Ends all kernels and frees everything that no worker uses any more. If a
 * worker hangs, the pipeline stays.
 */
static int take_down(struct peal_pipeline *p)
{
	size_t n_links = ((size_t)p->n + 1) * p->workers, i;
	uint64_t deadline = peali_deadline(END_NS);
	int result = 0;

	for (i = 0; i < p->n; i++)
		if (p->stages[i].kernel)
			peal_kernel_stop(p->stages[i].kernel, 0);
	for (i = 0; i < p->n; i++)
		if (p->stages[i].kernel &&
		    peali_kernel_end(p->stages[i].kernel, deadline))
			result = PEAL_EHUNG;
	for (i = 0; i < n_links && !result; i++) {
		result = peal_link_destroy(p->links[i]);
		if (!result)
			p->links[i] = NULL;
	}
	for (i = 0; i < p->n && !result; i++) {
		result = peal_kernel_destroy(p->stages[i].kernel);
		if (!result)
			p->stages[i].kernel = NULL;
	}
	for (i = 0; i < p->workers && !result; i++) {
		result = peal_endpoint_destroy(p->sinks[i]);
		if (!result)
			p->sinks[i] = NULL;
	}
	if (!result)
		result = peal_endpoint_destroy(p->source);
	if (!result)
		free_pipeline(p);
	return result;
}

static void enlist(struct peal_pipeline *p)
{
	pthread_mutex_lock(&p->rt->lock);
	p->next = p->rt->pipelines;
	p->rt->pipelines = p;
	pthread_mutex_unlock(&p->rt->lock);
}

static void unlist(struct peal_pipeline *p)
{
	struct peal_pipeline **at;

	pthread_mutex_lock(&p->rt->lock);
	for (at = &p->rt->pipelines; *at && *at != p; at = &(*at)->next)
		;
	if (*at)
		*at = p->next;
	pthread_mutex_unlock(&p->rt->lock);
}

int peal_pipeline_destroy(struct peal_pipeline *p)
{
	int result;

	if (!p)
		return 0;
	if (peali_foreign(&p->rt->owner, "peal_pipeline_destroy"))
		return PEAL_EFORKED;
	unlist(p);
	result = take_down(p);
	if (result)
		enlist(p);
	return result;
}

/*
 * Takes down a pipeline after an error of its creation. Keeps the error text.
 */
static void give_up(struct peal_pipeline *p)
{
	struct peal_error_info failed = *peal_last_error();

	if (take_down(p))
		enlist(p); /* the runtime's shutdown takes it down */
	peali_fail_driver(failed.code, failed.driver_code, CREATE, "%s",
			  failed.text);
}

/* Copies the stages. Each stage must have the size of the first stage. */
static int copy_stages(struct peal_pipeline *p,
		       const struct peal_pipeline_stage *stages,
		       struct peal_pipeline_stage *out,
		       const struct peal_pipeline_stage **list)
{
	const uint8_t *at = (const uint8_t *)stages;
	uint32_t i;
	int result = 0;

	for (i = 0; i < p->n && !result; i++, at += stages->size) {
		const struct peal_pipeline_stage *s =
			(const struct peal_pipeline_stage *)(const void *)at;
		struct peali_pipeline_stage *stage = &p->stages[i];

		if (!stages->size || s->size != stages->size)
			return PEALI_REFUSE(
				PEAL_EINVAL, CREATE,
				.object = PEALI_PRINT("stage %u", i),
				.problem = "has another struct size than "
					   "the first stage",
				.number = s->size, .least = stages->size,
				.most = stages->size,
				.remedy = "set size to sizeof the struct");
		result = peali_options_copy(&out[i], sizeof(out[i]), s, CREATE);
		list[i] = &out[i];
		stage->device = out[i].device;
		if (out[i].name)
			peali_text_fit(stage->name, sizeof(stage->name),
				       out[i].name);
		else
			snprintf(stage->name, sizeof(stage->name), "%s@%d",
				 PEALI_CUT(80, out[i].handler ? out[i].handler :
								"?"),
				 out[i].device);
	}
	return result;
}

int peal_pipeline_create(struct peal_runtime *rt,
			 const struct peal_pipeline_stage *stages, uint32_t n,
			 const struct peal_pipeline_options *options,
			 struct peal_pipeline **pipeline_out)
{
	const struct peal_pipeline_stage **list;
	struct peal_pipeline_stage *copies;
	struct peal_pipeline_options o;
	struct peal_pipeline *p;
	int result;

	if (!rt || !pipeline_out || (n && !stages))
		return peali_refuse_null(CREATE,
					 "runtime, pipeline_out or stages");
	if (peali_foreign(&rt->owner, CREATE))
		return PEAL_EFORKED;
	if (!n)
		return peali_refuse_range(CREATE, "argument", "n", 0, 1,
					  UINT32_MAX);
	result = peali_options_copy(&o, sizeof(o), options, CREATE);
	if (!result)
		result = check_options(&o);
	if (result)
		return result;
	p = new_pipeline(rt, n, &o);
	list = calloc(n, sizeof(*list));
	copies = calloc(n, sizeof(*copies));
	if (!p || !list || !copies) {
		if (p)
			free_pipeline(p);
		p = NULL;
		result = peali_fail(PEAL_ENOMEM, CREATE,
				    "no memory for a pipeline of %u stages", n);
	}
	if (p)
		result = copy_stages(p, stages, copies, list);
	if (p && !result)
		result = start(p, list, o.link);
	if (p && result)
		give_up(p);
	free(list);
	free(copies);
	if (result)
		return result;
	enlist(p);
	*pipeline_out = p;
	return 0;
}

/* ---- queries ------------------------------------------------------------- */

struct peal_kernel *peal_pipeline_kernel(struct peal_pipeline *p,
					 uint32_t stage)
{
	if (!p || stage >= p->n ||
	    peali_foreign(&p->rt->owner, "peal_pipeline_kernel"))
		return NULL;
	return p->stages[stage].kernel;
}

uint64_t peal_pipeline_actor(struct peal_pipeline *p, uint32_t stage,
			     uint32_t worker)
{
	if (!p || stage >= p->n || worker >= p->workers ||
	    peali_foreign(&p->rt->owner, "peal_pipeline_actor"))
		return 0;
	return p->stages[stage].actors[worker];
}

struct peal_link *peal_pipeline_link(struct peal_pipeline *p, uint32_t stage,
				     uint32_t worker)
{
	if (!p || stage > p->n || worker >= p->workers ||
	    peali_foreign(&p->rt->owner, "peal_pipeline_link"))
		return NULL;
	return peali_pipeline_link(p, stage, worker);
}

static uint64_t dead_of(const struct peal_link_info *info)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < PEAL_REASON_COUNT; i++)
		sum += info->dead[i];
	return sum;
}

int peal_pipeline_info(struct peal_pipeline *p,
		       struct peal_pipeline_info *info_out)
{
	struct peal_pipeline_info info = { .failed_stage = -1 };
	uint32_t n_links, failed, i;
	int result = 0;

	if (!p || !info_out)
		return peali_refuse_null("peal_pipeline_info",
					 "pipeline or info_out");
	if (peali_foreign(&p->rt->owner, "peal_pipeline_info"))
		return PEAL_EFORKED;
	n_links = (p->n + 1) * p->workers;
	memcpy(info.name, p->name, sizeof(info.name));
	info.stages = p->n;
	info.workers = p->workers;
	info.capacity = p->capacity;
	info.pulled = atomic_load(&p->pulled);
	info.pulled_bytes = atomic_load(&p->pulled_bytes);
	info.pushed = atomic_load(&p->pushed);
	info.pushed_bytes = atomic_load(&p->pushed_bytes);
	info.closed = atomic_load(&p->closed);
	for (i = 0; i < n_links && !result; i++) {
		struct peal_link_info link;

		result = peal_link_info(p->links[i], &link);
		info.in_flight += link.queued;
		/* a staged link has two rings */
		info.in_flight_max +=
			(link.route == PEAL_ROUTE_STAGED ? 2 : 1) *
			(uint64_t)p->capacity;
		info.dead += dead_of(&link);
		info.memory_bytes += link.memory_bytes;
		failed = i / p->workers;
		if (!p->skip_failed && info.failed_stage < 0 &&
		    link.dead[PEAL_REASON_HANDLER])
			info.failed_stage = (int32_t)failed;
	}
	for (i = 0; i < p->n && !result; i++) {
		struct peal_kernel_info kernel;

		result = peal_kernel_info(p->stages[i].kernel, &kernel);
		info.memory_bytes += kernel.memory_bytes;
	}
	if (!result)
		*info_out = info;
	return result;
}

int peal_pipeline_stage_info(struct peal_pipeline *p, uint32_t stage,
			     struct peal_pipeline_stage_info *info_out)
{
	struct peal_pipeline_stage_info info;
	struct peal_kernel_info kernel;
	struct peali_busy_times times;
	uint32_t i;
	int result;

	if (!p || !info_out)
		return peali_refuse_null("peal_pipeline_stage_info",
					 "pipeline or info_out");
	if (peali_foreign(&p->rt->owner, "peal_pipeline_stage_info"))
		return PEAL_EFORKED;
	if (stage >= p->n)
		return peali_refuse_index("peal_pipeline_stage_info",
					  "pipeline", p->name, "stage", stage,
					  p->n, NULL);
	memset(&info, 0, sizeof(info));
	result = peal_kernel_info(p->stages[stage].kernel, &kernel);
	for (i = 0; i < p->workers && !result; i++) {
		struct peal_link *l = peali_pipeline_link(p, stage, i);
		struct peal_link_info link;

		result = peal_link_info(l, &link);
		info.accepted += link.accepted;
		info.accepted_bytes += link.accepted_bytes;
		info.delivered += link.delivered;
		info.delivered_bytes += link.delivered_bytes;
		info.dead += dead_of(&link);
		info.queued += link.queued;
		info.full_count += link.full_count;
		info.residence_ns += atomic_load(&l->residence.ns);
	}
	if (result)
		return result;
	memcpy(info.name, p->stages[stage].name, sizeof(info.name));
	info.device = kernel.device;
	info.workers = kernel.workers;
	info.lanes = kernel.lanes;
	info.handled = kernel.handled;
	info.failed = kernel.failed;
	peali_counters_times(p->stages[stage].kernel, &times);
	info.samples = times.samples;
	info.worker_ns = times.worker_ns;
	info.busy_ns = times.busy_ns;
	info.blocked_ns = times.blocked_ns;
	*info_out = info;
	return 0;
}
