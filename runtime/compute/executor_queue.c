/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: jobs that wait behind the current job, and the outcomes of jobs
 * that no wait has reported. Jobs run one after another, in the order of their
 * starts. The caller of all functions holds the executor's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/compute/executor.h"

#define START "peal_executor_start"

/* Copies all memory that the job points to, except its arguments. */
static void copy_job(struct peali_executor_queued *q,
		     const struct peal_executor *e, const struct peal_job *j)
{
	uint32_t k;

	q->job = *j;
	q->job.handler = e->program->handlers[q->handler].name;
	for (k = 0; k < j->n_arguments; k++) {
		q->argument[k] = j->arguments[k];
		memcpy(q->address[k], j->arguments[k].address,
		       e->n * sizeof(q->address[k][0]));
		q->argument[k].address = q->address[k];
	}
	q->job.arguments = q->argument;
	if (j->parameter_bytes)
		memcpy(q->parameters, j->parameters, j->parameter_bytes);
	q->job.parameters = q->parameters;
	if (j->partition)
		q->job.partition = memcpy(&q->partition, j->partition,
					  sizeof(q->partition));
	if (j->weights)
		q->job.weights = memcpy(q->weights, j->weights,
					e->n * sizeof(q->weights[0]));
	if (j->limits)
		q->job.limits = memcpy(q->limits, j->limits,
				       e->n * sizeof(q->limits[0]));
}

static void let_go(struct peal_executor *e, struct peali_executor_queued *q)
{
	uint32_t i, k;

	for (i = 0; i < e->n; i++)
		for (k = 0; k < PEAL_TASK_ARGUMENTS; k++)
			peali_range_let_go(e->rt->peers, &q->kept[i][k]);
}

/* Keeps argument k of a device. Returns 0, or the error that names both. */
static int keep_one(struct peal_executor *e, struct peali_executor_queued *q,
		    uint32_t i, uint32_t k)
{
	const struct peal_job_argument *a = &q->argument[k];
	struct peali_place place = { e->devices[i].device, a->address[i] };
	uint64_t n = q->job.partition ?
			     peal_partition_length(q->job.partition, i) :
			     q->job.count;
	struct peal_error_info failed;
	int result;

	if (!n || (e->devices[i].result && !e->devices[i].is_left_out))
		return 0;
	result = peali_range_keep(e->rt->peers, place,
				  a->bytes + a->element_bytes * n, START,
				  &q->kept[i][k]);
	if (!result)
		return 0;
	failed = *peal_last_error();
	return peali_fail(result, START, "argument %u on device %d: %s", k,
			  e->devices[i].device, failed.text);
}

static int keep_all(struct peal_executor *e, struct peali_executor_queued *q)
{
	uint32_t i, k;
	int result = 0;

	for (i = 0; i < e->n && !result; i++)
		for (k = 0; k < q->job.n_arguments && !result; k++)
			result = keep_one(e, q, i, k);
	if (result)
		let_go(e, q);
	return result;
}

int peali_executor_queue(struct peal_executor *e, const struct peal_job *job,
			 uint32_t handler)
{
	struct peali_executor_queued *q =
		calloc(1, sizeof(*q) + e->n * sizeof(q->kept[0]));
	struct peali_executor_queued **at;
	uint32_t i;
	int result;

	if (!q)
		return peali_fail(PEAL_ENOMEM, START, "no memory for a job");
	q->handler = handler;
	copy_job(q, e, job);
	result = keep_all(e, q);
	if (!result)
		result = peali_executor_need_thread(e, START);
	if (result) {
		let_go(e, q);
		free(q);
		return result;
	}
	for (i = 0; i < e->n; i++)
		q->gate[i] =
			peali_gate_of(&e->rt->devices, e->devices[i].device);
	q->submission = atomic_fetch_add(&e->rt->devices.submissions, 1);
	q->number = atomic_fetch_add(&e->started, 1) + 1;
	for (at = &e->queued; *at; at = &(*at)->next)
		;
	*at = q;
	e->n_queued++;
	if (!atomic_load(&e->unfinished))
		peali_executor_advance(e);
	return 0;
}

/* ---- outcomes ------------------------------------------------------------ */

static struct peali_executor_outcome *new_outcome(struct peal_executor *e)
{
	uint32_t at = (e->first_outcome + e->n_outcomes++) % e->max_jobs;
	struct peali_executor_outcome *o = &e->outcomes[at];

	memset(o, 0, sizeof(*o));
	return o;
}

int peali_executor_take_outcome(struct peal_executor *e, const char *call,
				struct peal_executor_report *report_out)
{
	const struct peali_executor_outcome *o = &e->outcomes[e->first_outcome];

	e->first_outcome = (e->first_outcome + 1) % e->max_jobs;
	e->n_outcomes--;
	if (report_out)
		*report_out = o->report;
	return o->result ? peali_fail(o->result, call, "%s", o->why) : 0;
}

/* Begins the first job of the queue. If it cannot begin, it is over with that
 * error. */
static void begin_next(struct peal_executor *e)
{
	struct peali_executor_queued *q = e->queued;
	struct peali_executor_outcome *o;
	int result;

	e->queued = q->next;
	e->n_queued--;
	e->from = q;
	result = peali_executor_begin(e, &q->job, 0);
	e->from = NULL;
	if (result) {
		o = new_outcome(e);
		o->result = result;
		peali_text_fit(o->why, sizeof(o->why), peal_last_error()->text);
	}
	let_go(e, q);
	free(q);
}

void peali_executor_advance(struct peal_executor *e)
{
	struct peali_executor_outcome *o;

	peali_executor_let_go(e);
	if (e->goes_on) {
		o = new_outcome(e);
		o->result = e->result;
		memcpy(o->why, e->why, sizeof(o->why));
		peali_executor_fill_report(e, &o->report);
	}
	e->goes_on = 0;
	while (e->queued && !e->goes_on)
		begin_next(e);
	if (!e->goes_on)
		atomic_store(&e->unfinished, 0);
}

void peali_executor_drop_queue(struct peal_executor *e)
{
	struct peali_executor_queued *q;

	while ((q = e->queued)) {
		e->queued = q->next;
		let_go(e, q);
		free(q);
	}
	e->n_queued = 0;
}
