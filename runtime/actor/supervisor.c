/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of supervisors: creation, members and counts. The workers
 * restart actors: include/peal/device/impl/loop/supervision.h. */
#include <stdlib.h>
#include <string.h>

#include <peal/abi/supervisor.h>
#include <peal/supervisor.h>
#include "runtime/actor/supervisor.h"

#include "runtime/actor/initial_state.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

#define CREATE "peal_supervisor_create"
#define RESTARTS_DEFAULT 3
#define PERIOD_DEFAULT_NS 5000000000ULL

struct peal_supervisor {
	struct peal_kernel *kernel; /* NULL: the place is free */
	struct peal_supervisor *parent;
	uint32_t n_members; /* actors and supervisors directly below it */
	uint32_t next_order; /* order number of its next member */
};

static uint32_t index_of(const struct peal_supervisor *s)
{
	return (uint32_t)(s - s->kernel->supervision.supervisors);
}

int peali_supervisors_open(struct peal_kernel *k)
{
	uint32_t n = k->params.max_supervisors;

	if (!n)
		return 0;
	k->supervision.supervisors =
		calloc(n, sizeof(*k->supervision.supervisors));
	k->supervision.actors =
		calloc(k->params.max_actors, sizeof(*k->supervision.actors));
	return k->supervision.supervisors && k->supervision.actors ?
		       0 :
		       PEAL_ENOMEM;
}

void peali_supervisors_close(struct peal_kernel *k)
{
	while (k->supervision.inits) {
		k->supervision.inits->actors = 0;
		peali_inits_free(k, k->supervision.inits);
	}
	free(k->supervision.supervisors);
	free(k->supervision.actors);
}

/* ---- members ------------------------------------------------------------- */

int peali_supervisor_check(const struct peal_supervisor *s,
			   const struct peal_kernel *k, uint32_t n,
			   const char *call)
{
	if (s->kernel != k)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "supervisor",
			.problem = PEALI_PRINT(
				"is not of kernel '%s', which has the "
				"actor",
				k->name),
			.value = s->kernel ? s->kernel->name : "destroyed",
			.allowed = PEALI_PRINT("'%s'", k->name),
			.remedy = "create a supervisor there");
	if (n > UINT32_MAX - s->next_order)
		return peali_fail(PEAL_ENOSPC, call,
				  "supervisor %u of kernel '%s' has had %u "
				  "member%s, and %u more exceed the order "
				  "numbers; create another supervisor",
				  index_of(s), k->name, s->next_order,
				  peali_s(s->next_order), n);
	return 0;
}

struct peal_control_supervise
peali_supervision_message(const struct peal_supervisor *s,
			  const struct peali_inits *inits,
			  const struct peal_actor_options *o, uint32_t at)
{
	struct peal_control_supervise message;

	memset(&message, 0, sizeof(message));
	message.member = PEAL_MEMBER(index_of(s), s->next_order + at);
	if (!inits)
		return message;
	message.init = peali_block_view(s->kernel->rt, s->kernel->device,
					&inits->block) +
		       at * inits->step;
	message.init_bytes = (uint32_t)o->init_bytes;
	message.init_stride = (uint32_t)inits->step;
	return message;
}

void peali_supervisor_add_member(struct peal_supervisor *s,
				 struct peali_inits *inits,
				 const uint32_t *index, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		s->kernel->supervision.actors[index[i]].supervisor = s;
		s->kernel->supervision.actors[index[i]].inits = inits;
		s->kernel->supervision.actors[index[i]].init_offset =
			inits ? i * inits->step : 0;
	}
	if (inits)
		inits->actors += n;
	s->n_members += n;
	s->next_order += n;
}

void peali_supervisor_remove_member(struct peal_kernel *k, uint32_t index)
{
	struct peali_supervised *supervised =
		k->supervision.actors ? &k->supervision.actors[index] : NULL;

	if (!supervised || !supervised->supervisor)
		return;
	supervised->supervisor->n_members--;
	if (supervised->inits) {
		supervised->inits->actors--;
		peali_inits_free(k, supervised->inits);
	}
	supervised->supervisor = NULL;
	supervised->inits = NULL;
}

/* ---- the object ---------------------------------------------------------- */

static int check_options(const struct peal_kernel *k,
			 struct peal_supervisor_options *o)
{
	const struct peal_supervisor *above;
	uint32_t depth = 1;

	if (o->strategy > PEAL_REST_FOR_ONE)
		return peali_refuse_option(CREATE, "strategy", o->strategy, 0,
					   PEAL_REST_FOR_ONE);
	if (!o->max_restarts)
		o->max_restarts = RESTARTS_DEFAULT;
	else if (o->max_restarts == PEAL_RESTARTS_NONE)
		o->max_restarts = 0;
	else if (o->max_restarts > PEAL_RESTARTS_MAX &&
		 o->max_restarts != PEAL_RESTARTS_UNLIMITED)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "option",
			.name = "max_restarts", .problem = "is too large",
			.number = o->max_restarts,
			.allowed = PEALI_PRINT("0..%u, PEAL_RESTARTS_NONE or "
					       "PEAL_RESTARTS_UNLIMITED",
					       PEAL_RESTARTS_MAX),
			.remedy = PEALI_PRINT("use %u", PEAL_RESTARTS_MAX));
	if (o->timers > PEAL_RESTART_ENDS_TIMERS)
		return peali_refuse_option(CREATE, "timers", o->timers, 0,
					   PEAL_RESTART_ENDS_TIMERS);
	if (!o->period_ns)
		o->period_ns = PERIOD_DEFAULT_NS;
	if (o->parent && o->parent->kernel != k)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "option",
			.name = "parent",
			.problem = "is a supervisor of another kernel",
			.value = o->parent->kernel ? o->parent->kernel->name :
						     "destroyed",
			.allowed = PEALI_PRINT("'%s'", k->name),
			.remedy = "create the parent there");
	for (above = o->parent; above; above = above->parent)
		depth++;
	if (depth > PEAL_SUPERVISOR_DEPTH)
		return PEALI_REFUSE(
			PEAL_EINVAL, CREATE, .object = "option",
			.name = "parent",
			.problem = "has too many supervisors above it",
			.number = depth, .most = PEAL_SUPERVISOR_DEPTH,
			.remedy = "name a higher parent");
	return 0;
}

/* Returns a free place, or NULL with an error text. */
static struct peal_supervisor *find_place(struct peal_kernel *k)
{
	uint32_t i, n = k->params.max_supervisors;

	for (i = 0; i < n; i++)
		if (!k->supervision.supervisors[i].kernel)
			return &k->supervision.supervisors[i];
	peali_fail(PEAL_ENOSPC, CREATE,
		   "kernel '%s' has no free supervisor (max_supervisors %u); "
		   "launch it with a larger max_supervisors in struct "
		   "peal_kernel_options, or destroy a supervisor",
		   k->name, n);
	return NULL;
}

/* Makes worker 0 write the record, then tells all other workers. */
static int tell_made(struct peal_kernel *k, uint32_t index,
		     const struct peal_supervisor_options *o)
{
	struct peal_control_supervisor c;
	uint32_t i;
	int result;

	memset(&c, 0, sizeof(c));
	c.index = index;
	c.action = PEAL_SUPERVISOR_MAKE;
	c.strategy = o->strategy;
	c.timers = o->timers;
	c.restarts = o->max_restarts;
	c.period_ns = o->period_ns;
	if (o->parent)
		c.member =
			PEAL_MEMBER(index_of(o->parent), o->parent->next_order);
	result = peali_kernel_tell(k, 0, PEAL_CONTROL_SUPERVISOR, &c, sizeof(c),
				   CREATE);
	c.action = PEAL_SUPERVISOR_ANNOUNCE;
	for (i = 1; i < k->params.n_workers && !result; i++)
		result = peali_kernel_tell(k, i, PEAL_CONTROL_SUPERVISOR, &c,
					   sizeof(c), CREATE);
	return result;
}

static int create(struct peal_kernel *k, struct peal_supervisor_options *o,
		  struct peal_supervisor **out)
{
	struct peal_supervisor *s;
	int result = check_options(k, o);

	if (!result && o->parent)
		result = peali_supervisor_check(o->parent, k, 1, CREATE);
	if (result)
		return result;
	s = find_place(k);
	if (!s)
		return PEAL_ENOSPC;
	result = tell_made(k, (uint32_t)(s - k->supervision.supervisors), o);
	if (result)
		return result;
	memset(s, 0, sizeof(*s));
	s->kernel = k;
	s->parent = o->parent;
	if (s->parent) {
		s->parent->n_members++;
		s->parent->next_order++;
	}
	*out = s;
	return 0;
}

int peal_supervisor_create(struct peal_kernel *k,
			   const struct peal_supervisor_options *options,
			   struct peal_supervisor **supervisor_out)
{
	struct peal_supervisor_options o;
	int result;

	if (!k || !supervisor_out)
		return peali_refuse_null(CREATE, "kernel or supervisor_out");
	if (peali_foreign(&k->rt->owner, CREATE))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CREATE);
	if (result)
		return result;
	pthread_mutex_lock(&k->rt->lock);
	result = create(k, &o, supervisor_out);
	pthread_mutex_unlock(&k->rt->lock);
	return result;
}

int peal_supervisor_destroy(struct peal_supervisor *s)
{
	struct peal_runtime *rt;
	int result = 0;

	if (!s || !s->kernel)
		return 0;
	if (peali_foreign(&s->kernel->rt->owner, "peal_supervisor_destroy"))
		return PEAL_EFORKED;
	rt = s->kernel->rt;
	pthread_mutex_lock(&rt->lock);
	if (s->n_members) {
		result = peali_fail(PEAL_EBUSY, "peal_supervisor_destroy",
				    "supervisor %u of kernel '%s' has %u "
				    "member%s; retire its actors and destroy "
				    "the supervisors below it first",
				    index_of(s), s->kernel->name, s->n_members,
				    peali_s(s->n_members));
	} else {
		if (s->parent)
			s->parent->n_members--;
		s->kernel = NULL;
	}
	pthread_mutex_unlock(&rt->lock);
	return result;
}

/* Refuses a supervisor that is NULL or destroyed. */
static int check_alive(const struct peal_supervisor *s, const char *call)
{
	if (!s)
		return peali_refuse_null(call, "supervisor");
	if (s->kernel)
		return 0;
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "argument",
			    .name = "supervisor", .problem = "is destroyed",
			    .value = "destroyed",
			    .allowed = "a supervisor of a kernel",
			    .remedy = "create another supervisor");
}

int peal_supervisor_restart(struct peal_supervisor *s)
{
	struct peal_control_supervisor c;
	struct peal_runtime *rt;
	int result;

	result = check_alive(s, "peal_supervisor_restart");
	if (result)
		return result;
	if (peali_foreign(&s->kernel->rt->owner, "peal_supervisor_restart"))
		return PEAL_EFORKED;
	rt = s->kernel->rt;
	pthread_mutex_lock(&rt->lock);
	memset(&c, 0, sizeof(c));
	c.index = index_of(s);
	c.action = PEAL_SUPERVISOR_RESTART;
	result = peali_kernel_tell(s->kernel,
				   peali_kernel_answerer(s->kernel, 0),
				   PEAL_CONTROL_SUPERVISOR, &c, sizeof(c),
				   "peal_supervisor_restart");
	pthread_mutex_unlock(&rt->lock);
	return result;
}

/* Reads the counts of a supervisor's record. A worker reports them. Once all
 * workers have ended, the host reads the record itself. */
static int read_report(struct peal_supervisor *s,
		       struct peal_supervisor_report *out)
{
	struct peal_kernel *k = s->kernel;
	struct peal_control_supervisor c;
	struct peal_supervisor_record record;
	uint64_t own = peali_block_view(k->rt, k->device, &k->own);
	int result;

	while (!peali_kernel_ended(k)) {
		memset(&c, 0, sizeof(c));
		c.index = index_of(s);
		c.action = PEAL_SUPERVISOR_REPORT;
		c.report = peali_report_view(k);
		result = peali_kernel_tell(k, peali_kernel_answerer(k, 0),
					   PEAL_CONTROL_SUPERVISOR, &c,
					   sizeof(c), "peal_supervisor_info");
		peali_report_read(k, out, sizeof(*out));
		if (result != PEAL_ESTOPPED)
			return result;
	}
	result = peali_block_read(k->rt, &k->own,
				  k->params.supervisors - own +
					  index_of(s) * sizeof(record),
				  &record, sizeof(record));
	out->failures = record.failures;
	out->restarted = record.restarted;
	out->exhausted = record.given_up;
	out->last = record.last;
	return result;
}

int peal_supervisor_info(struct peal_supervisor *s,
			 struct peal_supervisor_info *info_out)
{
	struct peal_supervisor_report report;
	struct peal_runtime *rt;
	int result;

	result = check_alive(s, "peal_supervisor_info");
	if (!result && !info_out)
		result = peali_refuse_null("peal_supervisor_info", "info_out");
	if (result)
		return result;
	if (peali_foreign(&s->kernel->rt->owner, "peal_supervisor_info"))
		return PEAL_EFORKED;
	rt = s->kernel->rt;
	pthread_mutex_lock(&rt->lock);
	result = read_report(s, &report);
	if (!result) {
		memset(info_out, 0, sizeof(*info_out));
		info_out->members = s->n_members;
		info_out->exhausted = (uint32_t)report.exhausted;
		info_out->failures = report.failures;
		info_out->restarted = report.restarted;
		if (report.last)
			info_out->last_actor = s->kernel->params.address |
					       (uint32_t)report.last;
		info_out->last_error = (int32_t)(report.last >> 32);
	}
	pthread_mutex_unlock(&rt->lock);
	return result;
}
