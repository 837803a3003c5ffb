/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: creates them with their kernels, and destroys them. */
#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/compute/executor.h"
#include "runtime/compute/task.h"
#include "runtime/device/devices.h"
#include "runtime/device/program.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/link/endpoint.h"

#define CREATE "peal_executor_create"
#define DESTROY "peal_executor_destroy"
#define WORKERS_MAX 1024

struct peal_executor *peali_executor_next(struct peal_executor *e)
{
	return e->next;
}

/* ---- setup --------------------------------------------------------------- */

static int check_devices(struct peal_runtime *rt, const int *devices,
			 uint32_t n)
{
	if (!n || n > PEAL_PARTS_MAX)
		return peali_refuse_range(CREATE, "argument", "n", n, 1,
					  PEAL_PARTS_MAX);
	return peali_devices_check_ranks(&rt->devices, devices, n,
					 "an executor", CREATE);
}

static int launch(struct peal_executor *e, struct peali_executor_device *s,
		  const struct peal_executor_options *options)
{
	struct peali_task_kernel what = { e->program, s->device,
					  options->workers, options->lanes,
					  options->name ? options->name :
							  "executor" };
	int result = peali_task_launch(e->rt, &what, &s->kernel, CREATE);

	if (result)
		return result;
	s->workers = what.workers;
	s->window = 2 * s->workers;
	s->chunks = calloc(s->window, sizeof(*s->chunks));
	s->owner = calloc(s->workers, sizeof(*s->owner));
	return s->chunks && s->owner ? 0 :
				       peali_fail(PEAL_ENOMEM, CREATE,
						  "no memory for an executor");
}

static int start(struct peal_executor *e, const int *devices,
		 const struct peal_executor_options *options)
{
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = e->n,
					   .name = "executor" };
	uint32_t windows = 3 * e->n, i;
	int result = 0;

	for (i = 0; i < e->program->n_handlers; i++)
		e->handlers[i].is_task =
			peali_is_task(&e->program->handlers[i]);
	for (i = 0; i < e->n && !result; i++) {
		e->devices[i].device = devices[i];
		result = launch(e, &e->devices[i], options);
		o.max_inputs += e->devices[i].workers;
		windows += e->devices[i].window;
	}
	if (result)
		return result;
	e->max_links = o.max_inputs + e->n;
	e->links = calloc(e->max_links, sizeof(*e->links));
	e->back = calloc(windows, sizeof(*e->back));
	if (!e->links || !e->back)
		return peali_fail(PEAL_ENOMEM, CREATE,
				  "no memory for an executor");
	result =
		peali_endpoint_create_for(e->rt, &o, PEAL_WAIT_KINDS, &e->host);
	if (!result)
		e->host->passes_gates = 1; /* each job waits as a whole */
	return result;
}

/* ---- teardown ------------------------------------------------------------ */

static void free_all(struct peal_executor *e)
{
	uint32_t i;

	for (i = 0; e->devices && i < e->n; i++) {
		free(e->devices[i].chunks);
		free(e->devices[i].owner);
	}
	free(e->back);
	free(e->outcomes);
	free(e->arrays.range);
	free(e->links);
	free(e->handlers);
	free(e->devices);
	pthread_cond_destroy(&e->work);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/*
 * Stops all kernels and waits for their end. Aborts kernels that still run at
 * the deadline. Returns 0 or PEAL_EHUNG.
 */
static int stop_all(struct peal_executor *e)
{
	uint64_t deadline = peali_deadline(e->rt->stop_ns);
	uint32_t i;
	int result = 0;

	for (i = 0; i < e->n; i++)
		if (e->devices[i].kernel)
			peal_kernel_stop(e->devices[i].kernel, 0);
	for (i = 0; i < e->n; i++)
		if (e->devices[i].kernel &&
		    peali_kernel_end(e->devices[i].kernel, deadline))
			result = PEAL_EHUNG;
	return result;
}

/*
 * Ends the kernels of an executor, also of a half made one, and frees it. After
 * an error such as PEAL_EHUNG the executor still exists.
 */
static int take_down(struct peal_executor *e)
{
	uint32_t i;
	int result = stop_all(e);

	if (!result) {
		peali_executor_let_go(e);
		peali_executor_drop_queue(e);
	}
	while (!result && e->n_links)
		peal_link_destroy(e->links[--e->n_links]);
	for (i = 0; i < e->n && !result; i++) {
		result = peal_kernel_destroy(e->devices[i].kernel);
		if (!result)
			e->devices[i].kernel = NULL;
	}
	if (result)
		return result;
	peal_endpoint_destroy(e->host);
	free_all(e);
	return 0;
}

static void enlist(struct peal_executor *e)
{
	pthread_mutex_lock(&e->rt->lock);
	e->next = e->rt->executors;
	e->rt->executors = e;
	pthread_mutex_unlock(&e->rt->lock);
}

static void unlist(struct peal_executor *e)
{
	struct peal_executor **at;

	pthread_mutex_lock(&e->rt->lock);
	for (at = &e->rt->executors; *at && *at != e; at = &(*at)->next)
		;
	if (*at)
		*at = e->next;
	pthread_mutex_unlock(&e->rt->lock);
}

int peal_executor_destroy(struct peal_executor *e)
{
	int result;

	if (!e)
		return 0;
	if (peali_foreign(&e->rt->owner, "peal_executor_destroy"))
		return PEAL_EFORKED;
	unlist(e);
	peali_executor_end_thread(e);
	result = take_down(e);
	if (result) {
		peali_executor_resume_thread(e);
		enlist(e);
	}
	return result;
}

/* ---- create, launch once ------------------------------------------------- */

int peal_executor_create(struct peal_runtime *rt, const int *devices,
			 uint32_t n, const struct peal_program *program,
			 const struct peal_executor_options *options,
			 struct peal_executor **executor_out)
{
	struct peal_executor_options o;
	struct peal_error_info failed;
	struct peal_executor *e;
	int result;

	if (!rt || !devices || !program || !executor_out)
		return peali_refuse_null(
			CREATE, "runtime, devices, program or executor_out");
	if (peali_foreign(&rt->owner, CREATE))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CREATE);
	if (!result)
		result = peali_program_check(program, CREATE);
	if (!result && o.workers > WORKERS_MAX)
		result = peali_refuse_option(CREATE, "workers", o.workers, 0,
					     WORKERS_MAX);
	if (!result && o.max_jobs > PEALI_JOBS_MAX)
		result = peali_refuse_option(CREATE, "max_jobs", o.max_jobs, 0,
					     PEALI_JOBS_MAX);
	if (!result && o.reserved)
		result = peali_refuse_option(CREATE, "reserved", o.reserved, 0,
					     0);
	if (!result)
		result = check_devices(rt, devices, n);
	if (result)
		return result;
	e = calloc(1, sizeof(*e));
	if (!e)
		return peali_fail(PEAL_ENOMEM, CREATE,
				  "no memory for an executor");
	e->rt = rt;
	e->program = program;
	peali_executor_open_thread(e);
	e->devices = calloc(n, sizeof(*e->devices));
	e->handlers = calloc(program->n_handlers, sizeof(*e->handlers));
	e->max_jobs = o.max_jobs ? o.max_jobs : 1;
	e->outcomes = calloc(e->max_jobs, sizeof(*e->outcomes));
	if (!e->devices || !e->handlers || !e->outcomes) {
		free_all(e);
		return peali_fail(PEAL_ENOMEM, CREATE,
				  "no memory for an executor");
	}
	e->n = n;
	result = start(e, devices, &o);
	if (result) {
		failed = *peal_last_error();
		if (take_down(e))
			enlist(e); /* peal_runtime_close reports it */
		return peali_fail(result, CREATE, "%s", failed.text);
	}
	enlist(e);
	*executor_out = e;
	return 0;
}

int peal_executor_run_once(struct peal_runtime *rt, const int *devices,
			   uint32_t n, const struct peal_program *program,
			   const struct peal_executor_options *options,
			   const struct peal_job *job, int64_t timeout_ns)
{
	struct peal_error_info failed;
	struct peal_executor *e = NULL;
	int result = peal_executor_create(rt, devices, n, program, options, &e);
	int ended;

	if (result)
		return result;
	result = peal_executor_run(e, job, timeout_ns);
	failed = *peal_last_error();
	ended = peal_executor_destroy(e);
	if (!result || ended)
		return ended;
	return peali_fail(result, "peal_executor_run_once", "%s", failed.text);
}
