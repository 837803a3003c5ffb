/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with failures, cancels, timeouts and ended kernels. The error text names
 * the cause, and no call hangs. */
#include <peal/event.h>

#include "runtime/task_fixture.h"

static struct fixture s;

/* Checks a part of the last error text. */
static void says(const char *part)
{
	CHECK_CONTAINS(peal_last_error()->text, part);
}

/* ---- handlers that fail -------------------------------------------------- */

PEAL_TEST(failing_device_is_named_and_the_job_ends)
{
	uint32_t sharing;
	uint64_t done;

	fixture_open(&s, 3, 1);
	for (sharing = 0; sharing < PEAL_SCHEDULE_COUNT; sharing++) {
		fixture_clear(&s);
		s.job.schedule = sharing;
		s.job.count = 9000;
		s.job.grain = 10;
		s.visit.fails_at = 4321;
		s.visit.error = PEAL_EIO;
		s.visit.leader = 1;
		CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EIO);
		says("the task of elements ");
		says(" on device ");
		CHECK_CONTAINS(peal_last_error()->call, "peal_executor_run");
		fixture_report(&s);
		/* no element ran twice; the report leaves out the failed
		 * task */
		done = fixture_count(&s, 1);
		CHECK_EQ(fixture_count(&s, 0) + done, 9000);
		CHECK(s.report.elements < done);
		CHECK_OK(peal_executor_wait(s.e, 0)); /* no job */
		s.visit.fails_at = UINT64_MAX;
		fixture_check(&s);
	}
	fixture_close(&s);
}

PEAL_TEST(error_names_elements_of_the_failed_task)
{
	fixture_open(&s, 2, 1);
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	s.job.count = 1000;
	s.job.grain = 500;
	s.visit.fails_at = 700;
	s.visit.error = PEAL_ENOSPC;
	s.visit.leader = 1;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_ENOSPC);
	says("the task of elements 500 to 999 on device 0: no space left");
	fixture_close(&s);
}

/* The error becomes PEAL_EHANDLER if only a lane other than the leader fails,
 * and for PEAL_ETIMEDOUT and positive values. */
PEAL_TEST(ambiguous_handler_errors_become_ehandler)
{
	fixture_open(&s, 1, 1);
	s.job.count = s.job.grain = 64;
	s.visit.fails_at = 63; /* in the last lane */
	s.visit.error = PEAL_EIO;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT),
		 lanes > 1 ? PEAL_EHANDLER : PEAL_EIO);
	s.visit.leader = 1;
	s.visit.error = PEAL_ETIMEDOUT;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EHANDLER);
	says("timed out");
	s.visit.error = 5;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EHANDLER);
	fixture_close(&s);
}

/* ---- cancels and timeouts ------------------------------------------------ */

/* Starts a job with tasks that wait at the gate. The low speeds make tasks as
 * small as the grain. */
static void start_waiting(uint32_t sharing)
{
	uint32_t i;

	for (i = 0; i < s.n; i++) {
		s.e->handlers[1].elements[i] = 1e3;
		s.e->handlers[1].busy_ns[i] = 1e12;
	}
	fixture_clear(&s);
	fixture_gate(&s, 0);
	s.job.schedule = sharing;
	s.job.count = 6000;
	s.job.grain = 100;
	CHECK_OK(peal_executor_start(s.e, &s.job));
}

PEAL_TEST(running_job_can_be_cancelled)
{
	uint32_t sharing;

	fixture_open(&s, 3, 1);
	for (sharing = 1; sharing < PEAL_SCHEDULE_COUNT; sharing++) {
		s.visit.gate = 0;
		s.job.schedule = sharing;
		s.job.count = 600; /* measures the speeds */
		fixture_check(&s);
		start_waiting(sharing);
		CHECK_EQ(peal_executor_start(s.e, &s.job), PEAL_EBUSY);
		CHECK_FAILS(peal_executor_wait(s.e, 5 * MS), PEAL_ETIMEDOUT,
			    "devices with tasks: 1 (");
		CHECK_EQ(peal_memory_free(s.rt, PEAL_HOST_MEMORY, s.visits[0]),
			 PEAL_EBUSY);
		CHECK_OK(peal_executor_cancel(s.e));
		CHECK_EQ(peal_executor_wait(s.e, 0), PEAL_ETIMEDOUT);
		fixture_gate(&s, 1);
		CHECK_EQ(peal_executor_wait(s.e, -1), PEAL_ECANCELED);
		says("cancelled: ");
		fixture_report(&s);
		CHECK(s.report.elements < 6000);
		CHECK_EQ(fixture_count(&s, 1), s.report.elements);
		CHECK_EQ(fixture_count(&s, 0), 6000 - s.report.elements);
		fixture_check(&s); /* the next job runs */
	}
	/* all tasks are assigned: the job ends as done */
	s.job.count = 2;
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	s.job.grain = 1;
	fixture_clear(&s);
	fixture_gate(&s, 0);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_OK(peal_executor_cancel(s.e));
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	fixture_visited(&s);
	fixture_close(&s);
}

PEAL_TEST(timed_out_job_is_cancelled)
{
	fixture_open(&s, 2, 1);
	s.job.count = 6000;
	s.job.grain = 100;
	fixture_check(&s);
	fixture_clear(&s);
	fixture_gate(&s, 0);
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MS), PEAL_ETIMEDOUT);
	fixture_gate(&s, 1);
	CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_ECANCELED);
	CHECK(fixture_count(&s, 0) > 0);
	fixture_close(&s);
}

/* After its timeout, peal_executor_run_once stops the kernels of its job. */
PEAL_TEST(timed_out_run_once_stops_its_kernels)
{
	struct peal_executor_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_runtime_info info;

	fixture_open(&s, 2, 1);
	s.rt->stop_ns = 20 * MS; /* handlers end only by an abort */
	s.job.count = 600;
	fixture_clear(&s);
	fixture_gate(&s, 0);
	CHECK_EQ(peal_executor_run_once(s.rt, s.devices, 2, &peal_program_tasks,
					&o, &s.job, 5 * MS),
		 PEAL_ETIMEDOUT);
	says("with tasks: ");
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_executors, 1);
	CHECK_EQ(info.n_kernels, 2);
	fixture_close(&s);
}

/* ---- devices that end ---------------------------------------------------- */

/* Aborts the kernel of rank 1 while its tasks wait at the gate. */
static void end_one(void)
{
	struct peal_kernel *k = s.e->devices[1].kernel;

	EVENTUALLY(fixture_device(&s, 1).in_flight > 0);
	CHECK_OK(peal_kernel_abort(k, MAX_WAIT));
	fixture_gate(&s, 1);
}

PEAL_TEST(ended_device_is_named_and_others_finish)
{
	uint32_t sharing;

	for (sharing = 1; sharing < PEAL_SCHEDULE_COUNT; sharing++) {
		fixture_open(&s, 3, 1);
		s.job.count = 600;
		fixture_check(&s); /* measures the speeds */
		start_waiting(sharing);
		end_one();
		CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_EABORTED);
		says("device 2");
		fixture_report(&s);
		CHECK_EQ(s.report.part[0].result, 0);
		CHECK(s.report.part[0].tasks > 0);
		/* the tasks of the other devices are done */
		CHECK(fixture_count(&s, 1) >= s.report.elements);
		CHECK(s.report.elements < 6000);
		/* the next job runs on the other devices */
		fixture_check(&s);
		CHECK_EQ(s.report.part[1].tasks, 0);
		CHECK_EQ(s.report.n_active, 2);
		fixture_close(&s);
	}
}

/* Tasks that wait on an ended device are lost, too. */
PEAL_TEST(lost_tasks_are_reported)
{
	uint32_t sharing;

	for (sharing = 1; sharing < PEAL_SCHEDULE_COUNT; sharing++) {
		fixture_open(&s, 3, 1);
		s.job.count = 600;
		fixture_check(&s);
		CHECK_OK(peal_kernel_suspend(s.e->devices[1].kernel, MAX_WAIT));
		start_waiting(sharing);
		CHECK(fixture_device(&s, 1).in_flight > 0);
		fixture_gate(&s, 1);
		CHECK_OK(peal_kernel_stop(s.e->devices[1].kernel, MAX_WAIT));
		CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_EABORTED);
		says("device 2 has ended; lost tasks: ");
		fixture_report(&s);
		CHECK(s.report.part[1].result < 0);
		CHECK_EQ(s.report.part[1].tasks, 0);
		fixture_close(&s);
	}
}

/* If a job is repeatable, other devices run the part of an ended device. */
PEAL_TEST(repeatable_part_runs_on_other_devices)
{
	uint32_t sharing;

	for (sharing = 1; sharing < PEAL_SCHEDULE_COUNT; sharing++) {
		const uint64_t *number;
		uint64_t i;

		fixture_open(&s, 3, 1);
		s.job.count = 600;
		fixture_check(&s);
		s.job.repeatable = 1;
		start_waiting(sharing);
		end_one();
		CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
		fixture_report(&s);
		CHECK_EQ(s.report.elements, 6000);
		CHECK(s.report.part[1].result < 0);
		CHECK_EQ(fixture_count(&s, 0), 0);
		number = (const uint64_t *)(uintptr_t)s.number[0];
		for (i = 0; i < 6000; i++)
			CHECK_EQ(number[i], i);
		fixture_close(&s);
	}
}

/* A device ends before it runs a task. Other devices run its static part. */
PEAL_TEST(static_part_of_ended_device_is_reassigned)
{
	fixture_open(&s, 3, 1);
	s.job.count = 600;
	fixture_check(&s);
	CHECK_OK(peal_kernel_suspend(s.e->devices[2].kernel, MAX_WAIT));
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	s.job.repeatable = 1;
	s.job.count = 3000;
	fixture_clear(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	EVENTUALLY(peal_executor_wait(s.e, MS) == PEAL_ETIMEDOUT &&
		   !fixture_device(&s, 0).in_flight &&
		   !fixture_device(&s, 1).in_flight);
	CHECK_FAILS(peal_executor_wait(s.e, 0), PEAL_ETIMEDOUT,
		    "devices with tasks: 0 (");
	CHECK_OK(peal_kernel_stop(s.e->devices[2].kernel, MAX_WAIT));
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	fixture_visited(&s);
	fixture_report(&s);
	CHECK_EQ(s.report.part[2].elements, 0);
	fixture_close(&s);
}

/* Starts the job behind an event. Aborts the kernel of a rank, and waits until the
 * executor knows. Then cancels the event. */
static void end_held(uint32_t rank)
{
	struct peal_event_options o = { .size = sizeof(o), .by_host = 1 };
	const int watcher = 1;
	struct peal_event *event;

	CHECK_OK(peal_event_create(s.rt, 0, &watcher, 1, &o, &event));
	CHECK_OK(peal_event_await_before(event, 1, 1));
	fixture_clear(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_OK(peal_kernel_abort(s.e->devices[rank].kernel, MAX_WAIT));
	EVENTUALLY(fixture_device(&s, rank).result);
	CHECK_EQ(fixture_handed(&s), 0);
	CHECK_OK(peal_event_cancel(event));
	CHECK_OK(peal_event_destroy(event));
}

/* A device ends while an event holds the job. No task of it has run, so others run
 * all elements, also if a task may not run twice. */
PEAL_TEST(held_part_of_ended_device_is_reassigned)
{
	static const uint32_t schedules[] = { PEAL_SCHEDULE_STATIC,
					      PEAL_SCHEDULE_MEMORY,
					      PEAL_SCHEDULE_STATIC,
					      PEAL_SCHEDULE_GUIDED };
	uint32_t i, rank;

	for (i = 0; i < 4; i++) {
		rank = i % 3;
		fixture_open(&s, 3, 1);
		s.job.count = 6000;
		s.job.schedule = schedules[i];
		s.job.repeatable = i < 2;
		fixture_check(&s);
		end_held(rank);
		CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
		fixture_visited(&s);
		fixture_report(&s);
		CHECK_EQ(s.report.elements, 6000);
		CHECK_EQ(s.report.part[rank].tasks, 0);
		CHECK(s.report.part[rank].result < 0);
		fixture_close(&s);
	}
}

/* The error names the first element of the part, which has no task yet. */
PEAL_TEST(held_packed_part_of_ended_device_is_named)
{
	struct peal_partition p;

	fixture_open(&s, 3, 1);
	CHECK_OK(peal_partition_block(3000, 3, &p));
	s.job.count = 3000;
	s.job.repeatable = 1;
	fixture_pack(&s, &p);
	fixture_check(&s);
	end_held(1);
	CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_EABORTED);
	says("device 2 has ended; lost tasks: ");
	says("lost tasks: 0, from element 1000 on");
	CHECK_EQ(fixture_count(&s, 0), 3000);
	fixture_close(&s);
}

/* With a partition, only the ended device has its part. The job fails. */
PEAL_TEST(ended_device_with_partition_fails_the_job)
{
	struct peal_partition p;

	fixture_open(&s, 3, 1);
	CHECK_OK(peal_partition_block(3000, 3, &p));
	s.job.count = 3000;
	fixture_pack(&s, &p);
	fixture_check(&s);
	CHECK_OK(peal_kernel_suspend(s.e->devices[1].kernel, MAX_WAIT));
	s.job.repeatable = 1;
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_OK(peal_kernel_stop(s.e->devices[1].kernel, MAX_WAIT));
	CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_EABORTED);
	says("device 2 has ended; lost tasks: ");
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_EABORTED,
		    "it has a part of 1000 elements");
	fixture_unpack(&s);
	fixture_check(&s);
	CHECK_OK(peal_kernel_stop(s.e->devices[0].kernel, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(s.e->devices[2].kernel, MAX_WAIT));
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_EABORTED,
		    "all devices");
	fixture_close(&s);
}

PEAL_TEST(job_fails_if_no_device_is_left)
{
	uint32_t i;

	fixture_open(&s, 2, 1);
	s.job.count = 600;
	fixture_check(&s);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_suspend(s.e->devices[i].kernel, MAX_WAIT));
	s.job.repeatable = 1;
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	CHECK_OK(peal_executor_start(s.e, &s.job));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(s.e->devices[i].kernel, MAX_WAIT));
	CHECK_FAILS(peal_executor_wait(s.e, MAX_WAIT), PEAL_EABORTED,
		    "all devices");
	fixture_close(&s);
}

/* An executor ends during a job: by its own call, then by the runtime's. */
PEAL_TEST(executor_can_be_destroyed_during_a_job)
{
	fixture_open(&s, 2, 1);
	s.rt->stop_ns = 20 * MS;
	start_waiting(PEAL_SCHEDULE_GUIDED);
	fixture_close(&s); /* an abort ends the handlers */
	fixture_open(&s, 2, 2);
	start_waiting(PEAL_SCHEDULE_DYNAMIC);
	fixture_gate(&s, 1);
	CHECK_EQ(peal_runtime_close(s.rt), PEAL_EBUSY);
	says("1 executor");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- refused jobs and executors ------------------------------------------ */

PEAL_TEST(invalid_jobs_are_refused)
{
	static const uint64_t weights[] = { 1, 1 }, zero[] = { 0, 0 };
	struct peal_job_argument arguments[2];
	struct peal_partition p;
	struct peal_job j;

	fixture_open(&s, 2, 1);
	s.job.count = 100;
	CHECK_EQ(peal_executor_report(s.e, &s.report), PEAL_ENOENT);
	CHECK_EQ(peal_executor_start(NULL, &s.job), PEAL_EINVAL);
	CHECK_EQ(peal_executor_start(s.e, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_executor_wait(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_executor_cancel(NULL), PEAL_EINVAL);
	CHECK_EQ(peal_executor_report(NULL, &s.report), PEAL_EINVAL);
	CHECK_EQ(peal_executor_report(s.e, NULL), PEAL_EINVAL);
#define REFUSED(error, part)                                                   \
	CHECK_FAILS(peal_executor_start(s.e, &j), error, part)
	j = s.job, j.schedule = 5;
	REFUSED(PEAL_EINVAL, "'schedule': is out of range (5, allowed 0..4)");
	j = s.job, j.handler = NULL;
	REFUSED(PEAL_EINVAL, "'handler': is NULL (NULL, allowed an address)");
	j = s.job, j.handler = "nobody";
	REFUSED(PEAL_ENOENT, "combine");
	j = s.job, j.handler = "other";
	REFUSED(PEAL_ENOTSUP, "'other' does no tasks");
	j = s.job, j.n_arguments = 9;
	REFUSED(PEAL_EINVAL,
		"'n_arguments': is out of range (9, allowed 0..8)");
	j = s.job, j.arguments = NULL;
	REFUSED(PEAL_EINVAL, "'arguments': is NULL (NULL, allowed an address)");
	j = s.job, j.parameter_bytes = 97;
	REFUSED(PEAL_EINVAL, "'parameter_bytes': is out of range (97, allowed "
			     "0..96)");
	j = s.job, j.parameters = NULL;
	REFUSED(PEAL_EINVAL,
		"'parameters': is NULL (NULL, allowed an address)");
	j = s.job, j.repeatable = 2;
	REFUSED(PEAL_EINVAL, "'repeatable': is out of range (2, allowed 0..1)");
	j = s.job, j.count = UINT64_MAX / 4;
	REFUSED(PEAL_EINVAL, "'count': is out of range (4611686018427387903, "
			     "allowed 0..1537228672809129301)");
	j = s.job, j.weights = weights, j.schedule = PEAL_SCHEDULE_DYNAMIC;
	REFUSED(PEAL_EINVAL, "'weights': is for static schedules (schedule 2, "
			     "allowed schedule 0..1)");
	j.schedule = 0, j.weights = zero;
	REFUSED(PEAL_EINVAL,
		"'weights': has only zeros, and no part takes the "
		"100 elements (sum 0, allowed a sum of 1 or more)");
	CHECK_OK(peal_partition_block(100, 3, &p));
	j = s.job, j.partition = &p;
	REFUSED(PEAL_EINVAL,
		"'partition': does not fit the executor and the "
		"job (3 parts, 100 elements, allowed 2 parts, 100 elements)");
	CHECK_OK(peal_partition_block(99, 2, &p));
	REFUSED(PEAL_EINVAL,
		"'partition': does not fit the executor and the "
		"job (2 parts, 99 elements, allowed 2 parts, 100 elements)");
	CHECK_OK(peal_partition_block(100, 2, &p));
	j.weights = weights;
	REFUSED(PEAL_EINVAL, "option 'weights': excludes option partition");
	memcpy(arguments, s.argument, sizeof(arguments));
	j = s.job, j.arguments = arguments;
	arguments[1].bytes = 4;
	REFUSED(PEAL_EINVAL, "argument 1: needs element_bytes or bytes (");
	arguments[1].bytes = arguments[1].element_bytes = 0;
	REFUSED(PEAL_EINVAL, "argument 1: needs element_bytes or bytes (");
	arguments[1].element_bytes = 1ULL << 32;
	REFUSED(PEAL_EINVAL, "'element_bytes': is out of range (4294967296, "
			     "allowed 0..4294967295)");
	arguments[1] = s.argument[1], arguments[0].address = NULL;
	REFUSED(PEAL_EINVAL, "argument 0: has no addresses (NULL");
	j = s.job, j.count = FIXTURE_MOST + 100;
	REFUSED(PEAL_EFAULT, "argument 0 on device 1: ");
#undef REFUSED
	/* a refused job has no effect on the next one */
	fixture_check(&s);
	fixture_close(&s);
}

PEAL_TEST(part_over_its_limit_is_refused)
{
	uint64_t limits[] = { 12 * 40, 12 * 100 };
	struct peal_partition p;

	fixture_open(&s, 2, 1);
	CHECK_OK(peal_partition_block(100, 2, &p));
	s.job.count = 100;
	fixture_pack(&s, &p);
	s.job.limits = limits;
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_ENOSPC,
		    "device 1: has a part beyond its limit (50 elements");
	CHECK_OK(peal_partition_weighted(100, NULL, (uint64_t[]){ 40, 100 }, 2,
					 &p));
	fixture_pack(&s, &p);
	fixture_check(&s);
	fixture_close(&s);
}

PEAL_TEST(invalid_executors_are_refused)
{
	static const int twice[] = { 0, 1, 0 }, none[] = { 0, 7 };
	int many[PEAL_PARTS_MAX + 1] = { 0 };
	struct peal_executor_options o = { .size = sizeof(o) };
	struct peal_executor *e = NULL;
	const struct peal_program *t = &peal_program_tasks;

	if (lanes > 1)
		return;
	fixture_open(&s, 2, 1);
	CHECK_EQ(peal_executor_create(NULL, none, 1, t, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_executor_create(s.rt, NULL, 1, t, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_executor_create(s.rt, none, 1, NULL, NULL, &e),
		 PEAL_EINVAL);
	CHECK_EQ(peal_executor_create(s.rt, none, 1, t, NULL, NULL),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_executor_create(s.rt, none, 0, t, NULL, &e),
		    PEAL_EINVAL, "'n': is out of range (0, allowed 1..128)");
	CHECK_FAILS(peal_executor_create(s.rt, many, 129, t, NULL, &e),
		    PEAL_EINVAL, "'n': is out of range (129, allowed 1..128)");
	CHECK_FAILS(peal_executor_create(s.rt, twice, 3, t, NULL, &e),
		    PEAL_EINVAL,
		    "device 0: is in an executor twice (ranks 0 "
		    "and 2");
	CHECK_EQ(peal_executor_create(s.rt, none, 2, t, NULL, &e), PEAL_ENODEV);
	CHECK_FAILS(peal_executor_create(s.rt, none, 1, &peal_program_relay,
					 NULL, &e),
		    PEAL_ENOTSUP, "no handler of 'relay'");
	o.workers = 1025;
	CHECK_FAILS(peal_executor_create(s.rt, none, 1, t, &o, &e), PEAL_EINVAL,
		    "'workers': is out of range (1025, allowed 0..1024)");
	o.workers = 0, o.lanes = 1000000;
	CHECK_EQ(peal_executor_create(s.rt, none, 1, t, &o, &e), PEAL_EINVAL);
	CHECK(!e);
	CHECK_OK(peal_executor_destroy(NULL));
	/* a second executor on the same device */
	CHECK_OK(peal_executor_create(s.rt, none, 1, t, NULL, &e));
	s.job.count = 500;
	fixture_check(&s);
	CHECK_OK(peal_executor_run(e, &s.job, MAX_WAIT));
	CHECK_EQ(fixture_count(&s, 2), 500);
	CHECK_OK(peal_executor_destroy(e));
	fixture_close(&s);
}

/* Opens an executor with a fast device of rank 1. It alone gets the job. */
static void open_small_job(void)
{
	struct peali_executor_handler *k;

	fixture_open(&s, 2, 1);
	s.job.count = 100;
	fixture_check(&s);
	k = &s.e->handlers[1];
	k->empty_ns[0] = k->empty_ns[1] = 1000;
	k->empty_all_ns = 400000;
	k->elements[0] = 1e6, k->busy_ns[0] = 1e6;
	k->elements[1] = 3e6, k->busy_ns[1] = 1e6;
	memset(s.e->address, 0, sizeof(s.e->address));
	s.job.count = 1000;
	s.job.grain = 100;
	s.job.repeatable = 1;
}

/* A small job continues on another device if the fastest device ends. */
PEAL_TEST(small_job_continues_on_another_device)
{
	open_small_job();
	fixture_clear(&s);
	fixture_gate(&s, 0);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_EQ(s.e->only, 1);
	CHECK_OK(peal_kernel_abort(s.e->devices[1].kernel, MAX_WAIT));
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	fixture_visited(&s);
	fixture_close(&s);
}

PEAL_TEST(held_small_job_continues_on_another_device)
{
	open_small_job();
	end_held(1);
	CHECK_EQ(s.e->only, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	fixture_visited(&s);
	fixture_close(&s);
}

/* A handler returns PEAL_EABORTED. Its device gets no more tasks. The other
 * device runs its static part. */
PEAL_TEST(aborted_device_leaves_its_part_to_other_device)
{
	uint64_t i;

	fixture_open(&s, 2, 1);
	s.job.count = 3000;
	s.job.grain = 100;
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	s.job.repeatable = 1;
	s.visit.fails_at = 1700;
	s.visit.error = PEAL_EABORTED;
	s.visit.leader = 1;
	fixture_clear(&s);
	/* the other device repeats the task and fails, too: none is left */
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EABORTED);
	for (i = 0; i < 1000; i++)
		CHECK(fixture_visits(&s)[i] >= 1);
	fixture_close(&s);
}

/* The kernels go on, so the next job has tasks on both devices. */
PEAL_TEST(device_with_aborted_task_takes_part_in_next_job)
{
	struct peal_executor_report report;
	uint32_t i;

	fixture_open(&s, 2, 1);
	s.job.count = 3000;
	s.job.grain = 100;
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	s.job.repeatable = 1;
	s.visit.fails_at = 1700;
	s.visit.error = PEAL_EABORTED;
	s.visit.leader = 1;
	fixture_clear(&s);
	CHECK_FAILS(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EABORTED,
		    "a task on each has returned PEAL_EABORTED");
	CHECK_OK(peal_executor_report(s.e, &report));
	for (i = 0; i < 2; i++)
		CHECK_EQ(report.part[i].result, PEAL_EABORTED);
	s.visit.error = 0;
	fixture_check(&s);
	CHECK_OK(peal_executor_report(s.e, &report));
	for (i = 0; i < 2; i++) {
		CHECK_EQ(report.part[i].result, 0);
		CHECK_EQ(report.part[i].elements, 1500);
	}
	fixture_close(&s);
}

/* A task can be over before its link slot is free. */
PEAL_TEST(busy_workers_are_not_treated_as_ended)
{
	uint32_t turn;

	if (lanes > 1)
		return;
	fixture_open(&s, 1, 4);
	s.job.count = 20000;
	s.job.grain = 4;
	for (turn = 0; turn < (IDENTITY_SANITIZED ? 10 : 100); turn++) {
		s.e->handlers[1].elements[0] = 1e3; /* for short tasks */
		s.e->handlers[1].busy_ns[0] = 1e15;
		fixture_check(&s);
		CHECK_EQ(s.e->devices[0].result, 0);
	}
	fixture_close(&s);
}

/* A worker does not answer while the executor prepares a handler. */
PEAL_TEST(unresponsive_worker_fails_the_first_job)
{
	uint64_t control_timeout_ms;
	int n;

	if (lanes > 1)
		return;
	fixture_open(&s, 2, 1);
	s.job.count = 100;
	CHECK_OK(peal_executor_run(s.e, &s.job, MAX_WAIT));
	control_timeout_ms = s.rt->control_timeout_ms;
	s.rt->control_timeout_ms = 50;
	s.e->handlers[1].ready = 0;
	CHECK_OK(peal_kernel_suspend(s.e->devices[1].kernel, MAX_WAIT));
	/* until the link of device 0 has no free slot */
	for (n = 0;; n++) {
		CHECK_EQ(peal_executor_start(s.e, &s.job), PEAL_EHUNG);
		if (strstr(peal_last_error()->text, "has not accepted"))
			break;
		says("gave no answer");
		CHECK(n < 100);
		if (n > 4) /* the other device may be late */
			s.rt->control_timeout_ms += 50;
	}
	says("device 0 has not accepted");
	CHECK(n >= 4);
	s.rt->control_timeout_ms = control_timeout_ms;
	CHECK_OK(peal_kernel_resume(s.e->devices[1].kernel));
	EVENTUALLY(!peal_executor_run(s.e, &s.job, MAX_WAIT));
	fixture_check(&s);
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(failing_device_is_named_and_the_job_ends);
	       RUN_LANES(error_names_elements_of_the_failed_task);
	       RUN_LANES(ambiguous_handler_errors_become_ehandler);
	       RUN_LANES(running_job_can_be_cancelled);
	       RUN_LANES(timed_out_job_is_cancelled);
	       RUN_LANES(timed_out_run_once_stops_its_kernels);
	       RUN_LANES(ended_device_is_named_and_others_finish);
	       RUN_LANES(lost_tasks_are_reported);
	       RUN_LANES(repeatable_part_runs_on_other_devices);
	       RUN_LANES(static_part_of_ended_device_is_reassigned);
	       RUN_LANES(held_part_of_ended_device_is_reassigned);
	       RUN_LANES(held_packed_part_of_ended_device_is_named);
	       RUN_LANES(ended_device_with_partition_fails_the_job);
	       RUN_LANES(job_fails_if_no_device_is_left);
	       RUN_LANES(executor_can_be_destroyed_during_a_job);
	       RUN_LANES(invalid_jobs_are_refused);
	       RUN_LANES(part_over_its_limit_is_refused);
	       RUN_LANES(invalid_executors_are_refused);
	       RUN_LANES(small_job_continues_on_another_device);
	       RUN_LANES(held_small_job_continues_on_another_device);
	       RUN_LANES(aborted_device_leaves_its_part_to_other_device);
	       RUN_LANES(device_with_aborted_task_takes_part_in_next_job);
	       RUN_LANES(busy_workers_are_not_treated_as_ended);
	       RUN_LANES(unresponsive_worker_fails_the_first_job);)
