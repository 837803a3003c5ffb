/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TASK_FIXTURE_H
#define PEAL_TESTS_TASK_FIXTURE_H

/* An executor of several devices. Its jobs count visits of every element. */

#include <peal/executor.h>

#include "runtime/both_lanes.h"
#include "runtime/compute/executor.h"
#include "runtime/tasks.h"

PEAL_DECLARE_PROGRAM(tasks);

#define FIXTURE_MOST 20000 /* most elements of a job */

struct fixture {
	struct peal_runtime *rt;
	struct peal_executor *e;
	uint32_t n;
	int devices[PEAL_PARTS_MAX];
	/* host memory that all devices map */
	uint64_t gate; /* address of a word */
	uint64_t visits[PEAL_PARTS_MAX], number[PEAL_PARTS_MAX];
	struct peal_job_argument argument[2];
	struct visit visit;
	struct peal_job job; /* visits all elements, unless a case changes it */
	struct peal_executor_report report;
};

static inline void fixture_open(struct fixture *s, uint32_t n, uint32_t workers)
{
	struct peal_executor_options o = { .size = sizeof(o),
					   .workers = workers,
					   .lanes = lanes };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->n = n;
	s->rt = harness_open((int)n, "");
	for (i = 0; i < n; i++) /* rank and device number differ */
		s->devices[i] = (int)((i + 1) % n);
	CHECK_OK(peal_executor_create(s->rt, s->devices, n, &peal_program_tasks,
				      &o, &s->e));
	CHECK_OK(peal_memory_alloc(s->rt, PEAL_HOST_MEMORY, 8, &s->gate));
	CHECK_OK(peal_memory_alloc(s->rt, PEAL_HOST_MEMORY, 4 * FIXTURE_MOST,
				   &s->visits[0]));
	CHECK_OK(peal_memory_alloc(s->rt, PEAL_HOST_MEMORY, 8 * FIXTURE_MOST,
				   &s->number[0]));
	for (i = 1; i < n; i++) {
		s->visits[i] = s->visits[0];
		s->number[i] = s->number[0];
	}
	s->argument[0].address = s->visits;
	s->argument[0].element_bytes = 4;
	s->argument[1].address = s->number;
	s->argument[1].element_bytes = 8;
	s->visit.fails_at = s->visit.gate_at = UINT64_MAX;
	s->job.size = sizeof(s->job);
	s->job.handler = "visit";
	s->job.n_arguments = 2;
	s->job.arguments = s->argument;
	s->job.parameters = &s->visit;
	s->job.parameter_bytes = sizeof(s->visit);
}

/* Returns a device of the executor, as its job has left it. The executor's thread
 * may change it at any time. */
static inline struct peali_executor_device fixture_device(struct fixture *s,
							  uint32_t rank)
{
	struct peali_executor_device device;

	pthread_mutex_lock(&s->e->lock);
	device = s->e->devices[rank];
	pthread_mutex_unlock(&s->e->lock);
	return device;
}

/* Returns the elements of the job that are done or in flight. */
static inline uint64_t fixture_handed(struct fixture *s)
{
	uint64_t handed;

	pthread_mutex_lock(&s->e->lock);
	handed = s->e->handed;
	pthread_mutex_unlock(&s->e->lock);
	return handed;
}

static inline void fixture_close(struct fixture *s)
{
	CHECK_OK(peal_executor_destroy(s->e));
	CHECK_OK(peal_memory_free(s->rt, PEAL_HOST_MEMORY, s->gate));
	CHECK_OK(peal_memory_free(s->rt, PEAL_HOST_MEMORY, s->visits[0]));
	CHECK_OK(peal_memory_free(s->rt, PEAL_HOST_MEMORY, s->number[0]));
	CHECK_OK(peal_runtime_close(s->rt));
}

static inline uint32_t *fixture_visits(const struct fixture *s)
{
	return (uint32_t *)(uintptr_t)s->visits[0];
}

static inline void fixture_clear(struct fixture *s)
{
	memset(fixture_visits(s), 0, 4 * FIXTURE_MOST);
	memset((void *)(uintptr_t)s->number[0], 0, 8 * FIXTURE_MOST);
}

/* Opens or closes the gate for which the handlers wait. */
static inline void fixture_gate(struct fixture *s, int is_open)
{
	s->visit.gate = s->gate;
	peal_store_release_sys((uint64_t *)(uintptr_t)s->gate,
			       (uint64_t)is_open);
}

/* Gives each device only its own part of the arrays. */
static inline void fixture_pack(struct fixture *s,
				const struct peal_partition *p)
{
	uint32_t i;

	for (i = 1; i < s->n; i++) {
		s->visits[i] = s->visits[0] + 4 * p->bound[i];
		s->number[i] = s->number[0] + 8 * p->bound[i];
	}
	s->job.partition = p;
}

/* Gives each device all of the arrays again. */
static inline void fixture_unpack(struct fixture *s)
{
	static const struct peal_partition none;

	fixture_pack(s, &none);
	s->job.partition = NULL;
}

/* Returns the number of elements with `times` visits. */
static inline uint64_t fixture_count(const struct fixture *s, uint32_t times)
{
	uint64_t n = 0, i;

	for (i = 0; i < s->job.count; i++)
		n += fixture_visits(s)[i] == times;
	return n;
}

/* Gets the report of the job, and checks that its numbers agree. */
static inline void fixture_report(struct fixture *s)
{
	uint64_t tasks = 0, elements = 0;
	uint32_t i, took = 0;

	CHECK_OK(peal_executor_report(s->e, &s->report));
	CHECK_EQ(s->report.devices, s->n);
	for (i = 0; i < s->n; i++) {
		const struct peal_executor_part *d = &s->report.part[i];

		CHECK_EQ(d->device, s->devices[i]);
		tasks += d->tasks;
		elements += d->elements;
		took += d->tasks > 0;
		CHECK(d->elements >= d->tasks);
		CHECK(d->first_ns <= d->last_ns || !d->tasks);
		CHECK(d->last_ns <= s->report.ns || d->result);
	}
	CHECK_EQ(s->report.tasks, tasks);
	CHECK_EQ(s->report.elements, elements);
	CHECK_EQ(s->report.n_active, took);
	CHECK(s->report.imbalance >= 1 && s->report.imbalance <= s->n + 0.01);
}

/* Each element of the job was visited once, with its number. No other was. */
static inline void fixture_visited(const struct fixture *s)
{
	const uint64_t *number = (const uint64_t *)(uintptr_t)s->number[0];
	uint64_t i;

	for (i = 0; i < FIXTURE_MOST; i++) {
		CHECK_EQ(fixture_visits(s)[i], i < s->job.count);
		CHECK_EQ(number[i], i < s->job.count ? i : 0);
	}
}

/* Runs the job, and checks all elements and the report. */
static inline void fixture_check(struct fixture *s)
{
	fixture_clear(s);
	CHECK_OK(peal_executor_run(s->e, &s->job, MAX_WAIT));
	fixture_visited(s);
	fixture_report(s);
	CHECK_EQ(s->report.elements, s->job.count);
}

#endif
