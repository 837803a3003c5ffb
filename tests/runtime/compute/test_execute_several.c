/* SPDX-License-Identifier: Apache-2.0 */
/* Several jobs in flight on one executor run in the order of their starts. Each
 * has its own end and report. */
#include <peal/event.h>

#include "runtime/task_fixture.h"

#define COUNT 1000

/* Opens an executor with `max_jobs`. Its jobs wait at the gate. */
static void open_jobs(struct fixture *s, uint32_t max_jobs)
{
	struct peal_executor_options o = { .size = sizeof(o),
					   .workers = 1,
					   .lanes = lanes,
					   .max_jobs = max_jobs };

	fixture_open(s, 2, 1);
	CHECK_OK(peal_executor_destroy(s->e));
	CHECK_OK(peal_executor_create(s->rt, s->devices, 2, &peal_program_tasks,
				      &o, &s->e));
	fixture_gate(s, 0);
	s->job.count = COUNT;
	s->job.grain = 10;
	s->job.schedule = PEAL_SCHEDULE_GUIDED;
}

/* Starts n jobs. The caller's job is overwritten after each start. */
static void start_jobs(struct fixture *s, uint32_t n)
{
	struct visit visit = s->visit;
	struct peal_job_argument argument[2];
	struct peal_job job = s->job;
	uint64_t address[2][2];
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < 2; k++) {
			argument[k] = s->argument[k];
			memcpy(address[k], argument[k].address,
			       sizeof(address[k]));
			argument[k].address = address[k];
		}
		visit = s->visit;
		job.arguments = argument;
		job.parameters = &visit;
		CHECK_OK(peal_executor_start(s->e, &job));
		memset(address, 0, sizeof(address));
		memset(argument, 0, sizeof(argument));
		memset(&visit, 0xff, sizeof(visit));
	}
}

PEAL_TEST(one_wait_waits_for_all_jobs)
{
	struct fixture s;

	open_jobs(&s, 4);
	start_jobs(&s, 4);
	CHECK_FAILS(
		peal_executor_start(s.e, &s.job), PEAL_EBUSY,
		"executor 'executor': has jobs in flight that no wait has "
		"reported (4, allowed 0..3); call peal_executor_wait_next first, or "
		"raise max_jobs");
	CHECK_EQ(peal_executor_run(s.e, &s.job, 0), PEAL_EBUSY);
	CHECK_EQ(peal_executor_wait(s.e, 2 * MS), PEAL_ETIMEDOUT);
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 4), COUNT);
	CHECK_EQ(peal_executor_wait_next(s.e, 0, NULL), PEAL_ENOENT);
	fixture_gate(&s, 1);
	fixture_check(&s);
	fixture_close(&s);
}

/* Each job is shorter than the wait, and all of them are much longer. One lane:
 * an emulated device runs lanes one after another. */
PEAL_TEST(limit_of_a_wait_is_for_all_jobs)
{
	struct fixture s;

	lanes = 1;
	open_jobs(&s, 64);
	s.job.count = 1;
	s.visit.slow_ns = 15 * MS;
	start_jobs(&s, 64);
	fixture_gate(&s, 1);
	CHECK_EQ(peal_executor_wait(s.e, 20 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 64), 1);
	fixture_close(&s);
}

PEAL_TEST(sync_waits_for_all_jobs)
{
	struct fixture s;

	open_jobs(&s, 3);
	start_jobs(&s, 3);
	CHECK_EQ(peal_device_sync(s.rt, PEAL_ALL_DEVICES, 2 * MS),
		 PEAL_ETIMEDOUT);
	fixture_gate(&s, 1);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 3), COUNT);
	CHECK_OK(peal_executor_wait(s.e, 0));
	fixture_close(&s);
}

/* Each wait reports one job. A failed job does not end the next one. */
PEAL_TEST(each_job_has_its_own_end_and_report)
{
	struct peal_executor_report report;
	struct fixture s;

	open_jobs(&s, 3);
	start_jobs(&s, 1);
	s.visit.fails_at = 7;
	s.visit.error = PEAL_EIO;
	s.visit.leader = 1;
	start_jobs(&s, 1);
	s.visit.fails_at = UINT64_MAX;
	s.job.count = COUNT / 2;
	start_jobs(&s, 1);
	CHECK_EQ(peal_executor_wait_next(s.e, 0, &report), PEAL_ETIMEDOUT);
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait_next(s.e, MAX_WAIT, &report));
	CHECK_EQ(report.elements, COUNT);
	CHECK_FAILS(peal_executor_wait_next(s.e, MAX_WAIT, &report), PEAL_EIO,
		    "the task of elements");
	CHECK(report.elements < COUNT);
	CHECK_OK(peal_executor_wait_next(s.e, MAX_WAIT, &report));
	CHECK_EQ(report.elements, COUNT / 2);
	CHECK_EQ(peal_executor_wait_next(s.e, 0, &report), PEAL_ENOENT);
	fixture_close(&s);
}

PEAL_TEST(wait_returns_the_first_error)
{
	struct fixture s;

	open_jobs(&s, 3);
	fixture_gate(&s, 1);
	start_jobs(&s, 1);
	s.visit.fails_at = 0;
	s.visit.error = PEAL_EIO;
	s.visit.leader = 1;
	start_jobs(&s, 1);
	s.visit.error = PEAL_ENOSPC;
	start_jobs(&s, 1);
	CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_EIO);
	CHECK_OK(peal_executor_wait(s.e, 0));
	fixture_close(&s);
}

PEAL_TEST(cancel_ends_all_jobs_in_flight)
{
	struct fixture s;
	uint32_t i;

	open_jobs(&s, 3);
	start_jobs(&s, 3);
	CHECK_OK(peal_executor_cancel(s.e));
	fixture_gate(&s, 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(peal_executor_wait_next(s.e, MAX_WAIT, NULL),
			 PEAL_ECANCELED);
	fixture_check(&s); /* later jobs are not cancelled */
	fixture_close(&s);
}

/* A cancel ends the running job and the job behind it. It does not end a job that
 * starts behind them later. */
PEAL_TEST(cancel_leaves_jobs_that_start_later)
{
	struct peal_executor_report report;
	struct fixture s;

	open_jobs(&s, 3);
	start_jobs(&s, 2);
	CHECK_OK(peal_executor_cancel(s.e));
	start_jobs(&s, 1);
	fixture_gate(&s, 1);
	CHECK_EQ(peal_executor_wait_next(s.e, MAX_WAIT, &report),
		 PEAL_ECANCELED);
	CHECK(report.elements > 0 && report.elements < COUNT);
	CHECK_EQ(peal_executor_wait_next(s.e, MAX_WAIT, &report),
		 PEAL_ECANCELED);
	CHECK_EQ(report.elements, 0);
	CHECK_OK(peal_executor_wait_next(s.e, MAX_WAIT, &report));
	CHECK_EQ(report.elements, COUNT);
	CHECK_EQ(fixture_count(&s, 0), 0);
	fixture_close(&s);
}

/* Makes an event of the host on device 0, which device 1 watches. */
static struct peal_event *make_event(struct fixture *s)
{
	struct peal_event_options o = { .size = sizeof(o), .by_host = 1 };
	const int watcher = 1;
	struct peal_event *event = NULL;

	CHECK_OK(peal_event_create(s->rt, 0, &watcher, 1, &o, &event));
	return event;
}

/* Only the job behind the event waits for it. */
PEAL_TEST(queued_job_waits_for_an_event)
{
	struct peal_event *event;
	struct fixture s;

	open_jobs(&s, 2);
	event = make_event(&s);
	start_jobs(&s, 1);
	CHECK_OK(peal_event_await_before(event, 1, 1));
	start_jobs(&s, 1);
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait_next(s.e, MAX_WAIT, NULL));
	CHECK_FAILS(peal_executor_wait_next(s.e, 5 * MS, NULL), PEAL_ETIMEDOUT,
		    "job waits for an event");
	CHECK_EQ(fixture_count(&s, 1), COUNT);
	CHECK_OK(peal_event_cancel(event));
	CHECK_OK(peal_executor_wait_next(s.e, MAX_WAIT, NULL));
	CHECK_EQ(fixture_count(&s, 2), COUNT);
	CHECK_OK(peal_event_destroy(event));
	fixture_close(&s);
}

/* An event behind a running job is recorded before the queued job begins. */
PEAL_TEST(event_is_recorded_between_two_jobs)
{
	struct peal_event *event;
	uint64_t second;
	struct fixture s;

	open_jobs(&s, 2);
	event = make_event(&s);
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY, 8, &second));
	start_jobs(&s, 1);
	CHECK_OK(peal_event_record_behind(event));
	CHECK_OK(peal_event_await_before(event, 1, 1));
	s.visit.gate = second;
	start_jobs(&s, 1);
	CHECK_EQ(peal_event_wait(event, 1, 5 * MS), PEAL_ETIMEDOUT);
	fixture_gate(&s, 1);
	CHECK_OK(peal_event_wait(event, 1, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 1), COUNT);
	peal_store_release_sys((uint64_t *)(uintptr_t)second, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 2), COUNT);
	CHECK_OK(peal_event_destroy(event));
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY, second));
	fixture_close(&s);
}

/* A job behind another one cannot begin if all kernels have ended. */
PEAL_TEST(queued_jobs_end_with_the_kernels)
{
	struct fixture s;
	uint32_t i;

	open_jobs(&s, 3);
	start_jobs(&s, 3);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_abort(s.e->devices[i].kernel, MAX_WAIT));
	fixture_gate(&s, 1);
	for (i = 0; i < 3; i++)
		CHECK_EQ(peal_executor_wait_next(s.e, MAX_WAIT, NULL),
			 PEAL_EABORTED);
	fixture_close(&s);
}

/* Bad jobs are refused at their start, and leave the jobs in flight alone.
 * Memory of a queued job cannot be freed. */
PEAL_TEST(bad_queued_job_is_refused_at_its_start)
{
	struct fixture s;
	uint64_t here[2], more, kept;

	open_jobs(&s, 3);
	start_jobs(&s, 1);
	kept = s.number[0];
	s.job.handler = "nothing";
	CHECK_EQ(peal_executor_start(s.e, &s.job), PEAL_ENOENT);
	s.job.handler = "visit";
	here[0] = here[1] = 0;
	s.argument[1].address = here;
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_EFAULT,
		    "argument 1 on device");
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY, 8 * COUNT, &more));
	here[0] = here[1] = more;
	start_jobs(&s, 1);
	CHECK_EQ(peal_memory_free(s.rt, PEAL_HOST_MEMORY, more), PEAL_EBUSY);
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 2), COUNT);
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY, more));
	s.number[0] = kept;
	fixture_close(&s);
}

PEAL_TEST(executor_with_queued_jobs_can_be_destroyed)
{
	struct peal_executor_options o = { .size = sizeof(o), .max_jobs = 65 };
	struct peal_executor *none = NULL;
	struct fixture s;

	open_jobs(&s, 64);
	CHECK_FAILS(peal_executor_create(s.rt, s.devices, 2,
					 &peal_program_tasks, &o, &none),
		    PEAL_EINVAL, "'max_jobs': is out of range (65");
	start_jobs(&s, 64);
	fixture_gate(&s, 1);
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(one_wait_waits_for_all_jobs);
	       RUN(limit_of_a_wait_is_for_all_jobs);
	       RUN_LANES(sync_waits_for_all_jobs);
	       RUN_LANES(each_job_has_its_own_end_and_report);
	       RUN_LANES(wait_returns_the_first_error);
	       RUN_LANES(cancel_ends_all_jobs_in_flight);
	       RUN_LANES(cancel_leaves_jobs_that_start_later);
	       RUN_LANES(queued_job_waits_for_an_event);
	       RUN_LANES(event_is_recorded_between_two_jobs);
	       RUN_LANES(queued_jobs_end_with_the_kernels);
	       RUN_LANES(bad_queued_job_is_refused_at_its_start);
	       RUN_LANES(executor_with_queued_jobs_can_be_destroyed);)
