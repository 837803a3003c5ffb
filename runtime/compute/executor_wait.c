/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: starts a job, waits for its end, reports it.
 *
 * A job goes on by the calls of the threads that wait for it. While no thread
 * waits, a thread of the executor does the work of a waiting one. It does not
 * sleep at the endpoint, because other threads may call the executor at any time.
 * It pauses between two looks without a report, for longer each time. The first
 * peal_executor_start creates it, or the first wait that times out.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/compute/executor.h"
#include "runtime/kernel/counters.h"

#define START "peal_executor_start"
#define WAIT "peal_executor_wait"
#define WAIT_NEXT "peal_executor_wait_next"
#define LOOK_NS 20000000LL /* ns without report until kernels are checked */
/* ns between two looks of the executor's thread, at first and at most */
#define PAUSE_FIRST_NS 5000
#define PAUSE_MOST_NS 500000

void peali_executor_lock(struct peal_executor *e)
{
	atomic_fetch_add(&e->callers, 1);
	pthread_mutex_lock(&e->lock);
}

void peali_executor_unlock(struct peal_executor *e)
{
	atomic_fetch_sub(&e->callers, 1);
	pthread_cond_signal(&e->work);
	pthread_mutex_unlock(&e->lock);
}

/* No task of the job runs any more, and none will. */
static void job_is_over(struct peal_executor *e)
{
	peali_executor_let_go(e);
	atomic_store(&e->unfinished, 0);
}

/* The current job is over. The next one begins, if there is one. */
static void job_ended(struct peal_executor *e)
{
	if (e->n_queued)
		peali_executor_advance(e);
	else
		job_is_over(e);
}

/* ---- the executor's thread ----------------------------------------------- */

/* Waits at most `ns` for a call of another thread. */
static void pause_thread(struct peal_executor *e, long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&e->work, &e->lock, &until);
}

/* Does a step of the job. *pause_ns is the pause after a step without a report. */
static void step(struct peal_executor *e, long *pause_ns)
{
	int result = peali_executor_step(e, 0);

	if (result == 1) {
		job_ended(e);
	} else if (result == PEAL_EAGAIN) {
		pause_thread(e, *pause_ns);
		*pause_ns *= 2;
		if (*pause_ns > PAUSE_MOST_NS)
			*pause_ns = PAUSE_MOST_NS;
	} else {
		*pause_ns = PAUSE_FIRST_NS;
		pthread_mutex_unlock(&e->lock); /* callers come first */
		sched_yield();
		pthread_mutex_lock(&e->lock);
	}
}

static void *thread_main(void *argument)
{
	struct peal_executor *e = argument;
	long pause_ns = PAUSE_FIRST_NS;

	pthread_setname_np(pthread_self(), "peal-jobs");
	pthread_mutex_lock(&e->lock);
	while (!e->ends) {
		if (atomic_load(&e->unfinished) && !atomic_load(&e->callers))
			step(e, &pause_ns);
		else
			pthread_cond_wait(&e->work, &e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

int peali_executor_need_thread(struct peal_executor *e, const char *call)
{
	int error;

	if (e->has_thread)
		return 0;
	error = peali_thread_start(&e->thread, thread_main, e);
	if (error)
		return peali_fail_system(error, call,
					 "no thread for jobs of an executor");
	e->has_thread = 1;
	return 0;
}

void peali_executor_open_thread(struct peal_executor *e)
{
	pthread_mutex_init(&e->lock, NULL);
	peali_cond_init(&e->work);
}

void peali_executor_end_thread(struct peal_executor *e)
{
	peali_executor_lock(e);
	e->ends = 1;
	peali_executor_unlock(e);
	if (e->has_thread)
		pthread_join(e->thread, NULL);
	e->has_thread = e->ends = 0;
}

void peali_executor_resume_thread(struct peal_executor *e)
{
	if (!atomic_load(&e->unfinished))
		return;
	peali_executor_lock(e);
	if (peali_executor_need_thread(e, "peal_executor_destroy"))
		atomic_store(&e->unfinished, 0); /* else a sync never ends */
	peali_executor_unlock(e);
}

int peali_executor_is_busy(const struct peal_executor *e, int device,
			   uint64_t before)
{
	uint32_t i;

	if (atomic_load(&e->submission) >= before)
		return 0;
	for (i = 0; atomic_load(&e->unfinished) && i < e->n; i++)
		if (device == PEAL_ALL_DEVICES ||
		    e->devices[i].device == device)
			return 1;
	return 0;
}

/* ---- start and wait ------------------------------------------------------ */

int peal_executor_start(struct peal_executor *e, const struct peal_job *job)
{
	int result;

	if (!e || !job)
		return peali_refuse_null(START, "executor or job");
	if (peali_forked(&e->rt->owner, START))
		return PEAL_EFORKED;
	peali_executor_lock(e);
	result = peali_executor_begin(e, job, 1);
	peali_executor_unlock(e);
	return result;
}

/* Returns PEAL_ETIMEDOUT. Its text lists devices with tasks, if they fit. */
static int say_late(const struct peal_executor *e, int64_t timeout_ns)
{
	char text[160] = "";
	size_t at = 0;
	uint32_t i;

	if (peali_executor_is_gated(e))
		return peali_fail(PEAL_ETIMEDOUT, WAIT,
				  "job waits for an event and is incomplete "
				  "after %lld ns; record the event",
				  (long long)timeout_ns);
	for (i = 0; i < e->n && at < sizeof(text); i++)
		if (e->devices[i].in_flight)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%d (%u)", at ? ", " : "",
					       e->devices[i].device,
					       e->devices[i].in_flight);
	return peali_fail(PEAL_ETIMEDOUT, WAIT,
			  "job is incomplete after %lld ns; devices with "
			  "tasks: %s",
			  (long long)timeout_ns, text);
}

/* Returns the ns that a wait has left, LOOK_NS at most. `began` is the time of the
 * call. */
static int64_t time_left(int64_t timeout_ns, uint64_t began)
{
	int64_t left = timeout_ns - (int64_t)(peal_clock_ns() - began);

	if (timeout_ns < 0 || left > LOOK_NS)
		return LOOK_NS;
	return left > 0 ? left : 0;
}

/* Waits for the end of the current job. `began` is the time of the call. */
static int wait_for_job(struct peal_executor *e, int64_t timeout_ns,
			uint64_t began)
{
	int64_t left = time_left(timeout_ns, began);

	while (peali_executor_step(e, left) != 1) {
		left = time_left(timeout_ns, began);
		if (!left)
			return say_late(e, timeout_ns);
	}
	return 0;
}

/* Waits until the oldest job is over, or all jobs if `all` is 1. The last one
 * stays the current job. Returns 0 or PEAL_ETIMEDOUT. */
static int wait_for_ends(struct peal_executor *e, int all, int64_t timeout_ns)
{
	uint64_t began = peal_clock_ns();
	int result = 0;

	while (e->goes_on && (all || !e->n_outcomes) && !result) {
		result = wait_for_job(e, timeout_ns, began);
		if (!result && !e->n_queued)
			break;
		if (!result)
			peali_executor_advance(e);
	}
	if (timeout_ns)
		peali_counters_waited(e->rt, PEAL_WAIT_EXECUTOR, began);
	return result;
}

/* The wait has timed out: the executor's thread goes on with the jobs. */
static int leave_to_thread(struct peal_executor *e)
{
	struct peal_error_info late = *peal_last_error();

	/* without the thread, the next wait goes on with the job */
	peali_executor_need_thread(e, WAIT);
	return peali_fail(PEAL_ETIMEDOUT, WAIT, "%s", late.text);
}

/* Reports the end of the oldest job, which is over. */
static int finish(struct peal_executor *e, const char *call,
		  struct peal_executor_report *report_out)
{
	if (e->n_outcomes)
		return peali_executor_take_outcome(e, call, report_out);
	e->goes_on = 0;
	job_is_over(e);
	if (report_out)
		peali_executor_fill_report(e, report_out);
	return e->result ? peali_fail(e->result, call, "%s", e->why) : 0;
}

/* Waits for all jobs, and reports the first error. The caller holds the lock. */
static int wait_locked(struct peal_executor *e, int64_t timeout_ns)
{
	struct peal_error_info first;
	int result = 0;

	if (!e->goes_on && !e->n_outcomes)
		return 0;
	if (wait_for_ends(e, 1, timeout_ns))
		return leave_to_thread(e);
	while (e->n_outcomes || e->goes_on) {
		int failed = finish(e, WAIT, NULL);

		if (failed && !result) {
			result = failed;
			first = *peal_last_error();
		}
	}
	return result ? peali_fail(result, WAIT, "%s", first.text) : 0;
}

int peal_executor_wait(struct peal_executor *e, int64_t timeout_ns)
{
	int result;

	if (!e)
		return peali_refuse_null(WAIT, "executor");
	if (peali_forked(&e->rt->owner, WAIT))
		return PEAL_EFORKED;
	peali_executor_lock(e);
	result = wait_locked(e, timeout_ns);
	peali_executor_unlock(e);
	return result;
}

int peal_executor_wait_next(struct peal_executor *e, int64_t timeout_ns,
			    struct peal_executor_report *report_out)
{
	int result;

	if (!e)
		return peali_refuse_null(WAIT_NEXT, "executor");
	if (peali_forked(&e->rt->owner, WAIT_NEXT))
		return PEAL_EFORKED;
	peali_executor_lock(e);
	if (!e->goes_on && !e->n_outcomes)
		result = peali_fail(PEAL_ENOENT, WAIT_NEXT,
				    "the executor has no job; call "
				    "peal_executor_start first");
	else if (wait_for_ends(e, 0, timeout_ns))
		result = leave_to_thread(e);
	else
		result = finish(e, WAIT_NEXT, report_out);
	peali_executor_unlock(e);
	return result ? peali_fail_in(result, WAIT_NEXT) : 0;
}

int peali_executor_run_locked(struct peal_executor *e,
			      const struct peal_job *job, int64_t timeout_ns)
{
	int result = peali_executor_begin(e, job, 0);

	if (result)
		return result;
	result = wait_locked(e, timeout_ns);
	if (result == PEAL_ETIMEDOUT)
		atomic_store(&e->cancelled, 1);
	return result;
}

int peal_executor_run(struct peal_executor *e, const struct peal_job *job,
		      int64_t timeout_ns)
{
	int result;

	if (!e || !job)
		return peali_refuse_null("peal_executor_run",
					 "executor or job");
	if (peali_forked(&e->rt->owner, "peal_executor_run"))
		return PEAL_EFORKED;
	peali_executor_lock(e);
	result = peali_executor_run_locked(e, job, timeout_ns);
	peali_executor_unlock(e);
	return peali_fail_in(result, "peal_executor_run");
}

static void raise_to(_Atomic uint64_t *at, uint64_t value)
{
	uint64_t seen = atomic_load(at);

	while (seen < value && !atomic_compare_exchange_weak(at, &seen, value))
		;
}

int peal_executor_cancel(struct peal_executor *e)
{
	if (!e)
		return peali_refuse_null("peal_executor_cancel", "executor");
	if (peali_foreign(&e->rt->owner, "peal_executor_cancel"))
		return PEAL_EFORKED;
	/* in this order: begin() reads them in the other order */
	raise_to(&e->cancelled_to, atomic_load(&e->started));
	atomic_store(&e->cancelled, 1);
	return 0;
}

/* ---- report -------------------------------------------------------------- */

void peali_executor_fill_report(struct peal_executor *e,
				struct peal_executor_report *r)
{
	uint64_t busy = 0, most = 0;
	uint32_t i, took = 0;

	memset(r, 0, sizeof(*r));
	r->devices = e->n;
	r->ns = e->ended_ns - e->began_ns;
	r->threshold = e->threshold;
	r->empty_all_ns = e->handler->empty_all_ns;
	for (i = 0; i < e->n; i++) {
		struct peal_executor_part *share = &r->part[i];

		*share = e->devices[i].share;
		share->device = e->devices[i].device;
		share->result = e->devices[i].result;
		r->tasks += share->tasks;
		r->elements += share->elements;
		r->n_active += share->tasks > 0;
		busy += share->busy_ns;
		took += share->busy_ns > 0;
		most = share->busy_ns > most ? share->busy_ns : most;
		if (e->handler->empty_ns[i] &&
		    (!r->empty_one_ns ||
		     e->handler->empty_ns[i] < r->empty_one_ns))
			r->empty_one_ns = e->handler->empty_ns[i];
	}
	r->imbalance = busy ? (double)most * took / (double)busy : 1;
}

int peal_executor_report(struct peal_executor *e,
			 struct peal_executor_report *report_out)
{
	int result = 0;

	if (!e || !report_out)
		return peali_refuse_null("peal_executor_report",
					 "executor or report_out");
	if (peali_foreign(&e->rt->owner, "peal_executor_report"))
		return PEAL_EFORKED;
	peali_executor_lock(e);
	if (e->number)
		peali_executor_fill_report(e, report_out);
	else
		result = peali_fail(PEAL_ENOENT, "peal_executor_report",
				    "the executor has run no job");
	peali_executor_unlock(e);
	return result;
}
