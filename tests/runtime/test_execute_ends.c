/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with failures, cancels, timeouts and ended kernels. The error text names
 * the cause, and no call hangs. */
#include "runtime/task_scene.h"

static struct scene s;

/* Checks a part of the last error text. */
static void says(const char *part)
{
	CHECK_CONTAINS(peal_last_error()->text, part);
}

/* ---- handlers that fail -------------------------------------------------- */

PEAL_TEST(who_fails_is_named_and_the_rest_ends)
{
	uint32_t sharing;
	uint64_t done;

	scene_open(&s, 3, 1);
	for (sharing = 0; sharing < PEAL_SHARINGS; sharing++) {
		scene_clear(&s);
		s.job.sharing = sharing;
		s.job.count = 9000;
		s.job.grain = 10;
		s.visit.fails_at = 4321;
		s.visit.error = PEAL_EIO;
		s.visit.leader = 1;
		CHECK_EQ(peal_execute(s.e, &s.job, PATIENCE), PEAL_EIO);
		says("the task of elements ");
		says(" on device ");
		CHECK_CONTAINS(peal_last_error()->call, "peal_execute_wait");
		scene_report(&s);
		/* no element ran twice; the report leaves out the failed
		 * task */
		done = scene_count(&s, 1);
		CHECK_EQ(scene_count(&s, 0) + done, 9000);
		CHECK(s.report.elements < done);
		CHECK_OK(peal_execute_wait(s.e, 0)); /* no job */
		s.visit.fails_at = UINT64_MAX;
		scene_check(&s);
	}
	scene_close(&s);
}

PEAL_TEST(the_elements_of_the_task_are_named)
{
	scene_open(&s, 2, 1);
	s.job.sharing = PEAL_SHARING_GUIDED;
	s.job.count = 1000;
	s.job.grain = 500;
	s.visit.fails_at = 700;
	s.visit.error = PEAL_ENOSPC;
	s.visit.leader = 1;
	CHECK_EQ(peal_execute(s.e, &s.job, PATIENCE), PEAL_ENOSPC);
	says("the task of elements 500 to 999 on device 0: no space left");
	scene_close(&s);
}

/* The error becomes PEAL_EHANDLER if only a lane other than the leader fails,
 * and for PEAL_ETIMEDOUT and positive values. */
PEAL_TEST(errors_that_say_something_else_are_of_the_handler)
{
	scene_open(&s, 1, 1);
	s.job.count = s.job.grain = 64;
	s.visit.fails_at = 63; /* in the last lane */
	s.visit.error = PEAL_EIO;
	CHECK_EQ(peal_execute(s.e, &s.job, PATIENCE),
		 lanes > 1 ? PEAL_EHANDLER : PEAL_EIO);
	s.visit.leader = 1;
	s.visit.error = PEAL_ETIMEDOUT;
	CHECK_EQ(peal_execute(s.e, &s.job, PATIENCE), PEAL_EHANDLER);
	says("timed out");
	s.visit.error = 5;
	CHECK_EQ(peal_execute(s.e, &s.job, PATIENCE), PEAL_EHANDLER);
	scene_close(&s);
}

/* ---- cancels and timeouts ------------------------------------------------ */

/* Starts a job with tasks that wait at the gate. The low speeds make tasks as
 * small as the grain. */
static void start_waiting(uint32_t sharing)
{
	uint32_t i;

	for (i = 0; i < s.n; i++) {
		s.e->skills[1].elements[i] = 1e3;
		s.e->skills[1].busy_ns[i] = 1e12;
	}
	scene_clear(&s);
	scene_gate(&s, 0);
	s.job.sharing = sharing;
	s.job.count = 6000;
	s.job.grain = 100;
	CHECK_OK(peal_execute_start(s.e, &s.job));
}

PEAL_TEST(a_job_is_cancelled_in_the_middle)
{
	uint32_t sharing;

	scene_open(&s, 3, 1);
	for (sharing = 1; sharing < PEAL_SHARINGS; sharing++) {
		s.visit.gate = 0;
		s.job.sharing = sharing;
		s.job.count = 600; /* measures the speeds */
		scene_check(&s);
		start_waiting(sharing);
		CHECK_EQ(peal_execute_start(s.e, &s.job), PEAL_EBUSY);
		CHECK_FAILS(peal_execute_wait(s.e, 5 * MS), PEAL_ETIMEDOUT,
			    "devices that have tasks: 1 (");
		CHECK_EQ(peal_memory_free(s.rt, PEAL_HOST_MEMORY, s.visits[0]),
			 PEAL_EBUSY);
		CHECK_OK(peal_execute_cancel(s.e));
		CHECK_EQ(peal_execute_wait(s.e, 0), PEAL_ETIMEDOUT);
		scene_gate(&s, 1);
		CHECK_EQ(peal_execute_wait(s.e, -1), PEAL_ECANCELED);
		says("cancelled: ");
		scene_report(&s);
		CHECK(s.report.elements < 6000);
		CHECK_EQ(scene_count(&s, 1), s.report.elements);
		CHECK_EQ(scene_count(&s, 0), 6000 - s.report.elements);
		scene_check(&s); /* the next job runs */
	}
	/* all tasks are assigned: the job ends as done */
	s.job.count = 2;
	s.job.sharing = PEAL_SHARING_STATIC;
	s.job.grain = 1;
	scene_clear(&s);
	scene_gate(&s, 0);
	CHECK_OK(peal_execute_start(s.e, &s.job));
	CHECK_OK(peal_execute_cancel(s.e));
	scene_gate(&s, 1);
	CHECK_OK(peal_execute_wait(s.e, PATIENCE));
	scene_visited(&s);
	scene_close(&s);
}

PEAL_TEST(a_job_that_takes_too_long_is_cancelled)
{
	scene_open(&s, 2, 1);
	s.job.count = 6000;
	s.job.grain = 100;
	scene_check(&s);
	scene_clear(&s);
	scene_gate(&s, 0);
	s.job.sharing = PEAL_SHARING_GUIDED;
	CHECK_EQ(peal_execute(s.e, &s.job, MS), PEAL_ETIMEDOUT);
	scene_gate(&s, 1);
	CHECK_EQ(peal_execute_wait(s.e, PATIENCE), PEAL_ECANCELED);
	CHECK(scene_count(&s, 0) > 0);
	scene_close(&s);
}

/* After its timeout, peal_execute_launch stops the kernels of its job. */
PEAL_TEST(a_job_alone_that_takes_too_long_is_stopped)
{
	struct peal_executor_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_runtime_info info;

	scene_open(&s, 2, 1);
	s.rt->stop_ns = 20 * MS; /* handlers end only by an abort */
	s.job.count = 600;
	scene_clear(&s);
	scene_gate(&s, 0);
	CHECK_EQ(peal_execute_launch(s.rt, s.devices, 2, &peal_program_tasks,
				     &o, &s.job, 5 * MS),
		 PEAL_ETIMEDOUT);
	says("have tasks: ");
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_executors, 1);
	CHECK_EQ(info.n_kernels, 2);
	scene_close(&s);
}

/* ---- devices that end ---------------------------------------------------- */

/* Aborts the kernel of rank 1 while its tasks wait at the gate. */
static void end_one(void)
{
	struct peal_kernel *k = s.e->stations[1].kernel;

	EVENTUALLY(s.e->stations[1].in_flight > 0);
	CHECK_OK(peal_kernel_abort(k, PATIENCE));
	scene_gate(&s, 1);
}

PEAL_TEST(a_device_that_ends_is_named_and_others_finish)
{
	uint32_t sharing;

	for (sharing = 1; sharing < PEAL_SHARINGS; sharing++) {
		scene_open(&s, 3, 1);
		s.job.count = 600;
		scene_check(&s); /* measures the speeds */
		start_waiting(sharing);
		end_one();
		CHECK_EQ(peal_execute_wait(s.e, PATIENCE), PEAL_EABORTED);
		says("device 2");
		scene_report(&s);
		CHECK_EQ(s.report.share[0].result, 0);
		CHECK(s.report.share[0].tasks > 0);
		/* the tasks of the other devices are done */
		CHECK(scene_count(&s, 1) >= s.report.elements);
		CHECK(s.report.elements < 6000);
		/* the next job runs on the other devices */
		scene_check(&s);
		CHECK_EQ(s.report.share[1].tasks, 0);
		CHECK_EQ(s.report.took_part, 2);
		scene_close(&s);
	}
}

/* Tasks that wait on an ended device are lost, too. */
PEAL_TEST(tasks_that_are_lost_are_told)
{
	uint32_t sharing;

	for (sharing = 1; sharing < PEAL_SHARINGS; sharing++) {
		scene_open(&s, 3, 1);
		s.job.count = 600;
		scene_check(&s);
		CHECK_OK(
			peal_kernel_suspend(s.e->stations[1].kernel, PATIENCE));
		start_waiting(sharing);
		CHECK(s.e->stations[1].in_flight > 0);
		scene_gate(&s, 1);
		CHECK_OK(peal_kernel_stop(s.e->stations[1].kernel, PATIENCE));
		CHECK_EQ(peal_execute_wait(s.e, PATIENCE), PEAL_EABORTED);
		says("device 2 has ended: ");
		says("tasks are lost, from element ");
		scene_report(&s);
		CHECK(s.report.share[1].result < 0);
		CHECK_EQ(s.report.share[1].tasks, 0);
		scene_close(&s);
	}
}

/* If a job is repeatable, other devices run the part of an ended device. */
PEAL_TEST(what_may_be_done_twice_is_done_by_others)
{
	uint32_t sharing;

	for (sharing = 1; sharing < PEAL_SHARINGS; sharing++) {
		const uint64_t *number;
		uint64_t i;

		scene_open(&s, 3, 1);
		s.job.count = 600;
		scene_check(&s);
		s.job.repeatable = 1;
		start_waiting(sharing);
		end_one();
		CHECK_OK(peal_execute_wait(s.e, PATIENCE));
		scene_report(&s);
		CHECK_EQ(s.report.elements, 6000);
		CHECK(s.report.share[1].result < 0);
		CHECK_EQ(scene_count(&s, 0), 0);
		number = (const uint64_t *)(uintptr_t)s.number[0];
		for (i = 0; i < 6000; i++)
			CHECK_EQ(number[i], i);
		scene_close(&s);
	}
}

/* A device ends before it runs a task. Other devices run its static part. */
PEAL_TEST(a_part_of_who_is_gone_goes_to_others)
{
	scene_open(&s, 3, 1);
	s.job.count = 600;
	scene_check(&s);
	CHECK_OK(peal_kernel_suspend(s.e->stations[2].kernel, PATIENCE));
	s.job.sharing = PEAL_SHARING_STATIC;
	s.job.repeatable = 1;
	s.job.count = 3000;
	scene_clear(&s);
	CHECK_OK(peal_execute_start(s.e, &s.job));
	EVENTUALLY(peal_execute_wait(s.e, MS) == PEAL_ETIMEDOUT &&
		   !s.e->stations[0].in_flight && !s.e->stations[1].in_flight);
	CHECK_FAILS(peal_execute_wait(s.e, 0), PEAL_ETIMEDOUT,
		    "devices that have tasks: 0 (");
	CHECK_OK(peal_kernel_stop(s.e->stations[2].kernel, PATIENCE));
	CHECK_OK(peal_execute_wait(s.e, PATIENCE));
	scene_visited(&s);
	scene_report(&s);
	CHECK_EQ(s.report.share[2].elements, 0);
	scene_close(&s);
}

/* With a partition, only the ended device has its part. The job fails. */
PEAL_TEST(a_device_with_a_part_of_its_own_is_missed)
{
	struct peal_partition p;

	scene_open(&s, 3, 1);
	CHECK_OK(peal_partition_block(3000, 3, &p));
	s.job.count = 3000;
	scene_pack(&s, &p);
	scene_check(&s);
	CHECK_OK(peal_kernel_suspend(s.e->stations[1].kernel, PATIENCE));
	s.job.repeatable = 1;
	CHECK_OK(peal_execute_start(s.e, &s.job));
	CHECK_OK(peal_kernel_stop(s.e->stations[1].kernel, PATIENCE));
	CHECK_EQ(peal_execute_wait(s.e, PATIENCE), PEAL_EABORTED);
	says("device 2 has ended: ");
	CHECK_FAILS(peal_execute_start(s.e, &s.job), PEAL_EABORTED,
		    "it has a part of 1000 elements");
	scene_unpack(&s);
	scene_check(&s);
	CHECK_OK(peal_kernel_stop(s.e->stations[0].kernel, PATIENCE));
	CHECK_OK(peal_kernel_stop(s.e->stations[2].kernel, PATIENCE));
	CHECK_FAILS(peal_execute_start(s.e, &s.job), PEAL_EABORTED,
		    "all devices");
	scene_close(&s);
}

PEAL_TEST(nobody_is_left)
{
	uint32_t i;

	scene_open(&s, 2, 1);
	s.job.count = 600;
	scene_check(&s);
	for (i = 0; i < 2; i++)
		CHECK_OK(
			peal_kernel_suspend(s.e->stations[i].kernel, PATIENCE));
	s.job.repeatable = 1;
	s.job.sharing = PEAL_SHARING_GUIDED;
	CHECK_OK(peal_execute_start(s.e, &s.job));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(s.e->stations[i].kernel, PATIENCE));
	CHECK_FAILS(peal_execute_wait(s.e, PATIENCE), PEAL_EABORTED,
		    "all devices");
	scene_close(&s);
}

/* An executor ends during a job: by its own call, then by the runtime's. */
PEAL_TEST(an_executor_ends_at_any_time)
{
	scene_open(&s, 2, 1);
	s.rt->stop_ns = 20 * MS;
	start_waiting(PEAL_SHARING_GUIDED);
	scene_close(&s); /* an abort ends the handlers */
	scene_open(&s, 2, 2);
	start_waiting(PEAL_SHARING_DYNAMIC);
	scene_gate(&s, 1);
	CHECK_EQ(peal_runtime_close(s.rt), PEAL_EBUSY);
	says("1 executors");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- refused jobs and executors ------------------------------------------ */

PEAL_TEST(jobs_that_make_no_sense_are_refused)
{
	static const uint64_t weights[] = { 1, 1 }, zero[] = { 0, 0 };
	struct peal_argument arguments[2];
	struct peal_partition p;
	struct peal_job j;

	scene_open(&s, 2, 1);
	s.job.count = 100;
	CHECK_EQ(peal_execute_report(s.e, &s.report), PEAL_ENOENT);
	CHECK_EQ(peal_execute_start(NULL, &s.job), PEAL_EINVAL);
	CHECK_EQ(peal_execute_start(s.e, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_execute_wait(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_execute_cancel(NULL), PEAL_EINVAL);
	CHECK_EQ(peal_execute_report(NULL, &s.report), PEAL_EINVAL);
	CHECK_EQ(peal_execute_report(s.e, NULL), PEAL_EINVAL);
#define REFUSED(error, part)                                                   \
	CHECK_FAILS(peal_execute_start(s.e, &j), error, part)
	j = s.job, j.sharing = 4;
	REFUSED(PEAL_EINVAL, "sharing is 4");
	j = s.job, j.handler = NULL;
	REFUSED(PEAL_EINVAL, "handler is NULL");
	j = s.job, j.handler = "nobody";
	REFUSED(PEAL_ENOENT, "combine");
	j = s.job, j.handler = "other";
	REFUSED(PEAL_ENOTSUP, "'other' does no tasks");
	j = s.job, j.n_arguments = 9;
	REFUSED(PEAL_EINVAL, "n_arguments is 9");
	j = s.job, j.arguments = NULL;
	REFUSED(PEAL_EINVAL, "arguments is NULL");
	j = s.job, j.parameter_bytes = 97;
	REFUSED(PEAL_EINVAL, "parameter_bytes is 97");
	j = s.job, j.parameters = NULL;
	REFUSED(PEAL_EINVAL, "parameters is NULL");
	j = s.job, j.repeatable = 2;
	REFUSED(PEAL_EINVAL, "repeatable is 2");
	j = s.job, j.reserved = 1;
	REFUSED(PEAL_EINVAL, "reserved is 1");
	j = s.job, j.count = UINT64_MAX / 4;
	REFUSED(PEAL_EINVAL, "count is ");
	j = s.job, j.weights = weights, j.sharing = PEAL_SHARING_DYNAMIC;
	REFUSED(PEAL_EINVAL, "weights is for static sharing");
	j.sharing = 0, j.weights = zero;
	REFUSED(PEAL_EINVAL, "all weights are 0");
	CHECK_OK(peal_partition_block(100, 3, &p));
	j = s.job, j.partition = &p;
	REFUSED(PEAL_EINVAL, "3 parts of 100 elements");
	CHECK_OK(peal_partition_block(99, 2, &p));
	REFUSED(PEAL_EINVAL, "2 parts of 99 elements");
	CHECK_OK(peal_partition_block(100, 2, &p));
	j.weights = weights;
	REFUSED(PEAL_EINVAL, "one of them");
	memcpy(arguments, s.argument, sizeof(arguments));
	j = s.job, j.arguments = arguments;
	arguments[1].bytes = 4;
	REFUSED(PEAL_EINVAL, "argument 1 has either");
	arguments[1].bytes = arguments[1].element_bytes = 0;
	REFUSED(PEAL_EINVAL, "argument 1 has either");
	arguments[1].element_bytes = 1ULL << 32;
	REFUSED(PEAL_EINVAL, "element_bytes is 4294967296");
	arguments[1] = s.argument[1], arguments[0].address = NULL;
	REFUSED(PEAL_EINVAL, "argument 0 has no addresses");
	j = s.job, j.count = SCENE_MOST + 100;
	REFUSED(PEAL_EFAULT, "argument 0 on device 1: ");
#undef REFUSED
	/* a refused job has no effect on the next one */
	scene_check(&s);
	scene_close(&s);
}

PEAL_TEST(limits_of_parts_are_told)
{
	uint64_t limits[] = { 12 * 40, 12 * 100 };
	struct peal_partition p;

	scene_open(&s, 2, 1);
	CHECK_OK(peal_partition_block(100, 2, &p));
	s.job.count = 100;
	scene_pack(&s, &p);
	s.job.limits = limits;
	CHECK_FAILS(peal_execute_start(s.e, &s.job), PEAL_ENOSPC,
		    "the part of device 1 is 50 elements: its limit is 40");
	CHECK_OK(peal_partition_weighted(100, NULL, (uint64_t[]){ 40, 100 }, 2,
					 &p));
	scene_pack(&s, &p);
	scene_check(&s);
	scene_close(&s);
}

PEAL_TEST(executors_that_cannot_be_are_refused)
{
	static const int twice[] = { 0, 1, 0 }, none[] = { 0, 7 };
	int many[PEAL_PARTS_MAX + 1] = { 0 };
	struct peal_executor_options o = { .size = sizeof(o) };
	struct peal_executor *e = NULL;
	const struct peal_program *t = &peal_program_tasks;

	if (lanes > 1)
		return;
	scene_open(&s, 2, 1);
	CHECK_EQ(peal_executor_create(NULL, none, 1, t, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_executor_create(s.rt, NULL, 1, t, NULL, &e), PEAL_EINVAL);
	CHECK_EQ(peal_executor_create(s.rt, none, 1, NULL, NULL, &e),
		 PEAL_EINVAL);
	CHECK_EQ(peal_executor_create(s.rt, none, 1, t, NULL, NULL),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_executor_create(s.rt, none, 0, t, NULL, &e),
		    PEAL_EINVAL, "0 devices");
	CHECK_FAILS(peal_executor_create(s.rt, many, 65, t, NULL, &e),
		    PEAL_EINVAL, "65 devices");
	CHECK_FAILS(peal_executor_create(s.rt, twice, 3, t, NULL, &e),
		    PEAL_EINVAL, "device 0 has two ranks");
	CHECK_EQ(peal_executor_create(s.rt, none, 2, t, NULL, &e), PEAL_ENODEV);
	CHECK_FAILS(peal_executor_create(s.rt, none, 1, &peal_program_relay,
					 NULL, &e),
		    PEAL_ENOTSUP, "no handler of 'relay'");
	o.workers = 1025;
	CHECK_FAILS(peal_executor_create(s.rt, none, 1, t, &o, &e), PEAL_EINVAL,
		    "workers is 1025");
	o.workers = 0, o.lanes = 1000000;
	CHECK_EQ(peal_executor_create(s.rt, none, 1, t, &o, &e), PEAL_EINVAL);
	CHECK(!e);
	CHECK_OK(peal_executor_destroy(NULL));
	/* a second executor on the same device */
	CHECK_OK(peal_executor_create(s.rt, none, 1, t, NULL, &e));
	s.job.count = 500;
	scene_check(&s);
	CHECK_OK(peal_execute(e, &s.job, PATIENCE));
	CHECK_EQ(scene_count(&s, 2), 500);
	CHECK_OK(peal_executor_destroy(e));
	scene_close(&s);
}

/* A small job continues on another device if the fastest device ends. */
PEAL_TEST(a_small_job_goes_on_elsewhere)
{
	struct peali_skill *k;

	scene_open(&s, 2, 1);
	s.job.count = 100;
	scene_check(&s);
	k = &s.e->skills[1];
	k->empty_ns[0] = k->empty_ns[1] = 1000;
	k->empty_all_ns = 400000;
	k->elements[0] = 1e6, k->busy_ns[0] = 1e6;
	k->elements[1] = 3e6, k->busy_ns[1] = 1e6;
	memset(s.e->address, 0, sizeof(s.e->address));
	s.job.count = 1000;
	s.job.grain = 100;
	s.job.repeatable = 1;
	scene_clear(&s);
	scene_gate(&s, 0);
	CHECK_OK(peal_execute_start(s.e, &s.job));
	CHECK_EQ(s.e->only, 1);
	CHECK_OK(peal_kernel_abort(s.e->stations[1].kernel, PATIENCE));
	scene_gate(&s, 1);
	CHECK_OK(peal_execute_wait(s.e, PATIENCE));
	scene_visited(&s);
	scene_close(&s);
}

/* A handler returns PEAL_EABORTED. Its device gets no more tasks. The other
 * device runs its static part. */
PEAL_TEST(who_says_that_it_is_aborted_leaves_its_part_to_others)
{
	uint64_t i;

	scene_open(&s, 2, 1);
	s.job.count = 3000;
	s.job.grain = 100;
	s.job.sharing = PEAL_SHARING_STATIC;
	s.job.repeatable = 1;
	s.visit.fails_at = 1700;
	s.visit.error = PEAL_EABORTED;
	s.visit.leader = 1;
	scene_clear(&s);
	/* the other device repeats the task and fails, too: none is left */
	CHECK_EQ(peal_execute(s.e, &s.job, PATIENCE), PEAL_EABORTED);
	for (i = 0; i < 1000; i++)
		CHECK(scene_visits(&s)[i] >= 1);
	scene_close(&s);
}

/* A task can be over before its link slot is free. */
PEAL_TEST(many_workers_are_never_taken_for_ended)
{
	uint32_t turn;

	if (lanes > 1)
		return;
	scene_open(&s, 1, 4);
	s.job.count = 20000;
	s.job.grain = 4;
	for (turn = 0; turn < (IDENTITY_SANITIZED ? 10 : 100); turn++) {
		s.e->skills[1].elements[0] = 1e3; /* for short tasks */
		s.e->skills[1].busy_ns[0] = 1e15;
		scene_check(&s);
		CHECK_EQ(s.e->stations[0].result, 0);
	}
	scene_close(&s);
}

/* A worker does not answer while the executor prepares a handler. */
PEAL_TEST(who_does_not_answer_at_the_first_job_is_told)
{
	uint64_t answer_ms;
	int n;

	if (lanes > 1)
		return;
	scene_open(&s, 2, 1);
	s.job.count = 100;
	CHECK_OK(peal_execute(s.e, &s.job, PATIENCE));
	answer_ms = s.rt->answer_ms;
	s.rt->answer_ms = 50;
	s.e->skills[1].ready = 0;
	CHECK_OK(peal_kernel_suspend(s.e->stations[1].kernel, PATIENCE));
	/* until the link of device 0 has no free slot */
	for (n = 0;; n++) {
		CHECK_EQ(peal_execute_start(s.e, &s.job), PEAL_EHUNG);
		if (strstr(peal_last_error()->text, "has not taken"))
			break;
		says("not answered");
		CHECK(n < 100);
		if (n > 4) /* the other device may be late */
			s.rt->answer_ms += 50;
	}
	says("device 0 has not taken");
	CHECK(n >= 4);
	s.rt->answer_ms = answer_ms;
	CHECK_OK(peal_kernel_resume(s.e->stations[1].kernel));
	EVENTUALLY(!peal_execute(s.e, &s.job, PATIENCE));
	scene_check(&s);
	scene_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(who_fails_is_named_and_the_rest_ends);
	       RUN_LANES(the_elements_of_the_task_are_named);
	       RUN_LANES(errors_that_say_something_else_are_of_the_handler);
	       RUN_LANES(a_job_is_cancelled_in_the_middle);
	       RUN_LANES(a_job_that_takes_too_long_is_cancelled);
	       RUN_LANES(a_job_alone_that_takes_too_long_is_stopped);
	       RUN_LANES(a_device_that_ends_is_named_and_others_finish);
	       RUN_LANES(tasks_that_are_lost_are_told);
	       RUN_LANES(what_may_be_done_twice_is_done_by_others);
	       RUN_LANES(a_part_of_who_is_gone_goes_to_others);
	       RUN_LANES(a_device_with_a_part_of_its_own_is_missed);
	       RUN_LANES(nobody_is_left);
	       RUN_LANES(an_executor_ends_at_any_time);
	       RUN_LANES(jobs_that_make_no_sense_are_refused);
	       RUN_LANES(limits_of_parts_are_told);
	       RUN_LANES(executors_that_cannot_be_are_refused);
	       RUN_LANES(a_small_job_goes_on_elsewhere);
	       RUN_LANES(who_says_that_it_is_aborted_leaves_its_part_to_others);
	       RUN_LANES(many_workers_are_never_taken_for_ended);
	       RUN_LANES(who_does_not_answer_at_the_first_job_is_told);)
