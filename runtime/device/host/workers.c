/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <peal/device/impl/base/host_support.h>
#include "runtime/base/core_set.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/owner.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/device/host/core_claim.h"
#include "runtime/device/host/host.h"
#include "runtime/device/host/launch.h"
#include "runtime/device/host/process.h"
#include "runtime/host_support/fibers.h"
#include "runtime/host_support/host_clock.h"
#include "runtime/host_support/idle.h"

/*
 * Workers of the host backend. A worker is a thread, its lanes are fibers of
 * the thread. All threads of a launch wait at a gate until the last thread has
 * started. So either all of them run the program or none does. The threads are
 * in this process, or in a process of the launch (process.h).
 */

/*
 * Most lanes of a launch, over all workers. Each lane needs two mappings for
 * its stack. ThreadSanitizer supports only about 8,000 lanes.
 */
#define LAUNCH_LANES (PEAL_TSAN ? 4096 : 16384)

/* ---- cores --------------------------------------------------------------- */

/*
 * Selects the core for a worker; -1: none. A worker alone on its core keeps its
 * caches. The scheduler moves other programs that are not bound away from it.
 */
static int core_for(const struct peali_launch *launch)
{
	if (!launch->desc.pin || launch->host->pin == PEALI_PIN_OFF)
		return -1;
	return peali_core_claim(launch->host->pin == PEALI_PIN_AUTO);
}

/*
 * Binds the calling thread to `core`; -1: to all cores of the process. The
 * launching thread may be bound, and a new thread inherits its binding.
 */
static void bind_self(int core)
{
	/* An unbound worker is slower, but correct. */
	if (peali_thread_bind(core))
		peali_log(1, "cannot bind a worker to core %d", core);
}

/* ---- the worker's thread ------------------------------------------------- */

static int run_lane(void *context, uint32_t lane)
{
	const struct peali_host_worker *w = context;

	return w->launch->entry((const void *)(uintptr_t)w->launch->desc.params,
				w->index, lane);
}

static int run_epoch(struct peali_host_worker *w)
{
	if (w->fibers)
		return peali_fibers_run(w->fibers, run_lane, w);
	return run_lane(w, 0);
}

static void name_self(const struct peali_host_worker *w)
{
	char name[16];

	snprintf(name, sizeof(name), "peal-d%d-w%u", w->launch->desc.device,
		 (unsigned)w->index);
	pthread_setname_np(pthread_self(), name);
}

static void *worker_main(void *argument)
{
	struct peali_host_worker *w = argument;
	struct peali_launch *launch = w->launch;
	enum peali_gate gate;

	name_self(w);
	pthread_mutex_lock(&launch->lock);
	while (launch->gate == PEALI_GATE_SHUT)
		pthread_cond_wait(&launch->changed, &launch->lock);
	gate = launch->gate;
	pthread_mutex_unlock(&launch->lock);
	if (gate == PEALI_GATE_CANCELLED)
		return NULL;
	bind_self(w->core);
	peali_clock_skew_set(launch->clock);
	if (launch->process)
		peali_process_worker_begin(launch->process, w->index);
	peali_wait_enter(peali_usable_cores());
	while (run_epoch(w) == 1)
		;
	peali_wait_leave();
	if (launch->process)
		peali_process_worker_end(launch->process);
	pthread_mutex_lock(&launch->lock);
	launch->running--;
	pthread_cond_broadcast(&launch->changed);
	pthread_mutex_unlock(&launch->lock);
	return NULL;
}

/* ---- launch -------------------------------------------------------------- */

static uint32_t most_workers(const struct peali_host *host, int device,
			     uint32_t lanes)
{
	if (host->disabled[device] & PEAL_CAN_COOPERATIVE)
		return 1;
	if (lanes > LAUNCH_LANES / PEALI_HOST_WORKERS_MAX)
		return LAUNCH_LANES / lanes;
	return PEALI_HOST_WORKERS_MAX;
}

static int check_lanes(const struct peali_host *host, int device,
		       uint32_t lanes, const char *call)
{
	int r = peali_host_check(host, device, call);

	if (!r && (!lanes || lanes > PEALI_LANES_MAX))
		r = PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option", .name = "lanes",
			.problem = PEALI_PRINT("is out of range for device %d",
					       device),
			.number = lanes, .least = 1, .most = PEALI_LANES_MAX);
	return r;
}

int peali_host_max_workers(struct peali_backend *backend, int device,
			   const struct peal_program *program,
			   const struct peali_launch_desc *shape,
			   struct peali_capacity *out)
{
	int r = check_lanes(peali_host_of(backend), device, shape->lanes,
			    "host: max_workers");

	(void)program;
	*out = (struct peali_capacity){ 0, 0, 0 };
	if (!r && shape->cluster_workers)
		return PEAL_ENOTSUP;
	if (!r)
		out->workers = most_workers(peali_host_of(backend), device,
					    shape->lanes);
	return r;
}

static int check_desc(struct peali_host *host,
		      const struct peali_launch_desc *desc)
{
	const struct peal_program *p = desc->program;
	const char *call = "host: launch";
	int r = check_lanes(host, desc->device, desc->lanes, call);
	uint32_t most;

	if (r)
		return r;
	most = most_workers(host, desc->device, desc->lanes);
	if (!p ||
	    !(p->host_entry || (desc->lanes == 1 && p->host_entry_single)))
		return peali_fail(PEAL_EPROGRAM, call,
				  "program %s has no host image for %u lane%s",
				  p && p->name ? p->name : "(none)",
				  (unsigned)desc->lanes,
				  peali_s((unsigned)desc->lanes));
	if (!desc->n_workers)
		return peali_refuse_option(call, "workers", 0, 1, most);
	if (desc->recorded)
		return peali_fail(PEAL_ENOTSUP, call,
				  "host launches cannot be recorded");
	if (desc->n_workers > most)
		return PEALI_REFUSE(
			PEAL_ENOSPC, call, .object = "option",
			.name = "workers",
			.problem = PEALI_PRINT(
				"is too large for device %d with %u "
				"lane%s",
				desc->device, (unsigned)desc->lanes,
				peali_s((unsigned)desc->lanes)),
			.number = desc->n_workers, .least = 1, .most = most);
	return 0;
}

void peali_host_set_gate(struct peali_launch *launch, enum peali_gate gate)
{
	pthread_mutex_lock(&launch->lock);
	launch->gate = gate;
	if (gate == PEALI_GATE_OPEN)
		launch->running = launch->desc.n_workers;
	pthread_cond_broadcast(&launch->changed);
	pthread_mutex_unlock(&launch->lock);
}

/* Joins the started threads and frees the launch. */
static void dismantle(struct peali_launch *launch)
{
	uint32_t i;

	peali_process_close(launch->process);
	for (i = 0; i < launch->started; i++)
		pthread_join(launch->worker[i].thread, NULL);
	for (i = 0; launch->worker && i < launch->desc.n_workers; i++) {
		peali_core_release(launch->worker[i].core);
		peali_fibers_destroy(launch->worker[i].fibers);
	}
	pthread_cond_destroy(&launch->changed);
	pthread_mutex_destroy(&launch->lock);
	free(launch->worker);
	free(launch);
}

static struct peali_launch *new_launch(struct peali_host *host,
				       const struct peali_launch_desc *desc)
{
	struct peali_launch *launch = calloc(1, sizeof(*launch));
	uint32_t i;

	if (!launch)
		return NULL;
	launch->worker = calloc(desc->n_workers, sizeof(*launch->worker));
	if (!launch->worker) {
		free(launch);
		return NULL;
	}
	launch->host = host;
	launch->desc = *desc;
	launch->clock = host->clock[desc->device];
	launch->entry = desc->program->host_entry;
	if (desc->lanes == 1 && desc->program->host_entry_single)
		launch->entry = desc->program->host_entry_single;
	pthread_mutex_init(&launch->lock, NULL);
	peali_cond_init(&launch->changed);
	for (i = 0; i < desc->n_workers; i++) {
		launch->worker[i].launch = launch;
		launch->worker[i].index = i;
		launch->worker[i].core = -1;
	}
	return launch;
}

static int give_lanes(struct peali_host_worker *w, uint32_t lanes)
{
	if (lanes == 1)
		return 0;
	w->fibers = peali_fibers_create(lanes);
	if (w->fibers)
		return 0;
	return peali_fail_system(errno, "host: launch",
				 "no stacks for a worker of %u lanes, use "
				 "fewer lanes or workers",
				 (unsigned)lanes);
}

/* Gives all workers their lanes and cores. */
static int equip_workers(struct peali_launch *launch)
{
	uint32_t i;
	int r = 0;

	for (i = 0; !r && i < launch->desc.n_workers; i++) {
		r = give_lanes(&launch->worker[i], launch->desc.lanes);
		if (!r)
			launch->worker[i].core = core_for(launch);
	}
	return r;
}

int peali_host_start_workers(struct peali_launch *launch)
{
	struct peali_host_worker *w;
	uint32_t i;
	int error = 0;

	for (i = 0; !error && i < launch->desc.n_workers; i++) {
		w = &launch->worker[i];
		error = peali_thread_start(&w->thread, worker_main, w);
		launch->started += !error;
	}
	return error;
}

int peali_host_no_worker(const struct peali_launch *launch, int error,
			 uint32_t index)
{
	return peali_fail_system(error, "host: launch",
				 "worker %u of %u could not start",
				 (unsigned)index,
				 (unsigned)launch->desc.n_workers);
}

/* Starts the workers in this process, or in a process of the launch. */
static int start(struct peali_launch *launch)
{
	int error, r = equip_workers(launch);

	if (r < 0)
		return r;
	if (launch->host->processes)
		return peali_process_start(launch);
	error = peali_host_start_workers(launch);
	return error ? peali_host_no_worker(launch, error, launch->started) : 0;
}

int peali_host_launch(struct peali_backend *backend,
		      const struct peali_launch_desc *desc,
		      struct peali_launch **out)
{
	struct peali_host *host = peali_host_of(backend);
	struct peali_launch *launch;
	int r = check_desc(host, desc);

	if (!r)
		r = peali_process_check(host, desc->device);
	if (r < 0)
		return r;
	peali_host_tear(host, desc);
	launch = new_launch(host, desc);
	if (!launch)
		return peali_fail(PEAL_ENOMEM, "host: launch",
				  "no memory for %u workers",
				  (unsigned)desc->n_workers);
	r = start(launch);
	if (r < 0) {
		peali_host_set_gate(launch, PEALI_GATE_CANCELLED);
		dismantle(launch);
		return r;
	}
	pthread_mutex_lock(&host->lock);
	host->n_launches++;
	pthread_mutex_unlock(&host->lock);
	if (!launch->process)
		peali_host_set_gate(launch, PEALI_GATE_OPEN);
	*out = launch;
	return 0;
}

int peali_host_launch_query(struct peali_launch *launch)
{
	int n;

	pthread_mutex_lock(&launch->lock);
	n = (int)launch->running;
	pthread_mutex_unlock(&launch->lock);
	return n;
}

/* Returns the time `timeout_ns` from now, by the clock of the condition. */
static struct timespec deadline(int64_t timeout_ns)
{
	const int64_t second = 1000000000;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout_ns / second;
	t.tv_nsec += timeout_ns % second;
	if (t.tv_nsec >= second) {
		t.tv_nsec -= second;
		t.tv_sec++;
	}
	return t;
}

int peali_host_launch_wait(struct peali_launch *launch, int64_t timeout_ns)
{
	struct timespec until = { 0, 0 };
	uint32_t left;
	int error = 0;

	if (timeout_ns > 0)
		until = deadline(timeout_ns);
	pthread_mutex_lock(&launch->lock);
	while (launch->running && timeout_ns && !error) {
		if (timeout_ns < 0)
			pthread_cond_wait(&launch->changed, &launch->lock);
		else
			error = pthread_cond_timedwait(&launch->changed,
						       &launch->lock, &until);
	}
	left = launch->running;
	pthread_mutex_unlock(&launch->lock);
	if (!left)
		return peali_process_result(launch->process);
	return peali_fail(PEAL_ETIMEDOUT, "host: launch_wait",
			  "%u of %u worker%s of device %d still run",
			  (unsigned)left, (unsigned)launch->desc.n_workers,
			  peali_s((unsigned)launch->desc.n_workers),
			  launch->desc.device);
}

int peali_host_launch_free(struct peali_launch *launch)
{
	struct peali_host *host;
	int left;

	if (!launch)
		return 0;
	host = launch->host;
	left = peali_host_launch_query(launch);
	if (left)
		return peali_fail(PEAL_EBUSY, "host: launch_free",
				  "%d of %u worker%s of device %d still run",
				  left, (unsigned)launch->desc.n_workers,
				  peali_s((unsigned)launch->desc.n_workers),
				  launch->desc.device);
	dismantle(launch);
	pthread_mutex_lock(&host->lock);
	host->n_launches--;
	pthread_mutex_unlock(&host->lock);
	return 0;
}
