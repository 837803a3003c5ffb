/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on host arrays with failures, cancels, timeouts and ended kernels. Outputs
 * of unfinished ranges do not change, and the list names these ranges. */
#include <peal/event.h>

#include "runtime/array_fixture.h"

/* ---- failures ------------------------------------------------------------ */

PEAL_TEST(range_with_a_failing_handler_is_listed)
{
	struct peal_executor_range r = { 0 };
	uint32_t schedule;
	struct listed l;
	uint64_t i;

	open_arrays(3, 1);
	s.job.count = 9000;
	s.job.grain = 10;
	s.visit.error = PEAL_EIO;
	s.visit.leader = 1;
	for (schedule = 1; schedule < PEAL_SCHEDULE_COUNT; schedule++) {
		s.job.schedule = schedule;
		s.visit.fails_at = 4321;
		limit_all(8192);
		clear();
		CHECK_FAILS(run(MAX_WAIT), PEAL_EIO, "the task of elements ");
		CHECK_CONTAINS(peal_last_error()->call,
			       "peal_executor_arrays_run");
		l = check_report();
		CHECK(l.done < 9000);
		for (i = 0; r.first + r.count <= 4321; i++)
			CHECK_OK(peal_executor_arrays_range(s.e, i, &r));
		CHECK(r.first <= 4321);
		CHECK_EQ(r.result, PEAL_EIO);
		memset(&r, 0, sizeof(r));
		s.visit.fails_at = UINT64_MAX;
		run_all();
	}
	close_arrays();
}

/* Waits until rank 1 has begun a task. Then does something to the job, and opens
 * the gate. */
static void *interfere(void *what)
{
	EVENTUALLY(peal_load_acquire_sys(&began[1]));
	if (what)
		CHECK_OK(peal_kernel_abort(s.e->devices[1].kernel, MAX_WAIT));
	else
		CHECK_OK(peal_executor_cancel(s.e));
	fixture_gate(&s, 1);
	return NULL;
}

/* Runs the job while another thread ends rank 1, or cancels the job. All ranks are
 * said to be equally fast, so that each gets a task. */
static int run_disturbed(int ends)
{
	pthread_t thread;
	uint32_t i;
	int result;

	for (i = 0; i < s.n; i++) {
		s.e->handlers[1].elements[i] = 1e3;
		s.e->handlers[1].busy_ns[i] = 1e12;
	}
	memset(began, 0, PEAL_PARTS_MAX * sizeof(*began));
	s.visit.began = harness_address(began);
	fixture_gate(&s, 0);
	clear();
	CHECK_EQ(pthread_create(&thread, NULL, interfere, ends ? &s : NULL), 0);
	result = run(MAX_WAIT);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	return result;
}

PEAL_TEST(cancel_in_the_middle_leaves_outputs_alone)
{
	uint32_t schedule;
	struct listed l;

	open_arrays(3, 1);
	limit_all(4096);
	for (schedule = 1; schedule < PEAL_SCHEDULE_COUNT; schedule++) {
		s.job.schedule = schedule;
		s.job.count = 9000;
		CHECK_EQ(run_disturbed(0), PEAL_ECANCELED);
		l = check_report();
		CHECK(l.nowhere > 0 && l.done > 0);
		CHECK_EQ(l.nowhere + l.done, 9000);
		run_all();
	}
	close_arrays();
}

PEAL_TEST(others_repeat_ranges_of_an_ended_device)
{
	uint32_t schedule;
	struct listed l;

	for (schedule = first_schedule(); schedule < PEAL_SCHEDULE_COUNT;
	     schedule++) {
		open_arrays(3, 1);
		limit_all(4096);
		s.job.schedule = schedule;
		s.job.count = 9000;
		s.job.repeatable = 1;
		CHECK_OK(run_disturbed(1));
		l = check_report();
		CHECK_EQ(l.done, 9000);
		CHECK_EQ(l.elements[1], 0);
		CHECK(s.report.part[1].result < 0);
		run_all(); /* the next job leaves the device out */
		close_arrays();
	}
}

PEAL_TEST(ranges_of_an_ended_device_are_listed_as_lost)
{
	struct peal_executor_range r;
	uint32_t schedule;
	struct listed l;
	uint64_t i, lost;

	for (schedule = first_schedule(); schedule < PEAL_SCHEDULE_COUNT;
	     schedule++) {
		open_arrays(3, 1);
		limit_all(4096);
		s.job.schedule = schedule;
		s.job.count = 9000;
		CHECK_FAILS(run_disturbed(1), PEAL_EABORTED, "device 2");
		l = check_report();
		CHECK(l.done < 9000);
		for (i = lost = 0; i < l.ranges; i++) {
			CHECK_OK(peal_executor_arrays_range(s.e, i, &r));
			lost += r.result == PEAL_EABORTED &&
				r.device == s.devices[1];
		}
		CHECK(lost > 0);
		close_arrays();
	}
}

PEAL_TEST(no_device_is_left)
{
	uint32_t i;

	open_arrays(2, 1);
	s.job.count = 100;
	run_all();
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_abort(s.e->devices[i].kernel, MAX_WAIT));
	CHECK_FAILS(run(MAX_WAIT), PEAL_EABORTED, "all devices");
	close_arrays();
}

/* ---- memory -------------------------------------------------------------- */

#define NO_MEMORY                                                              \
	"all devices with memory for one element have ended; raise limits or " \
	"peal_memory_limit"

/* Opens two devices. Rank 1 lacks memory for one element. */
static void open_short(void)
{
	open_arrays(2, 1);
	s.job.schedule = PEAL_SCHEDULE_MEMORY;
	s.job.count = 9000;
	CHECK_OK(peal_memory_limit(s.rt, s.devices[0], 4096));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 255));
	clear();
}

/* Rank 0 has ended. Rank 1 does the next job once it has memory. */
static void close_short(void)
{
	struct listed l;

	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 4096));
	l = run_all();
	CHECK_EQ(l.elements[1], 9000);
	close_arrays();
}

/* Ends rank 0 once it has begun a task. */
static void *end_first(void *none)
{
	EVENTUALLY(peal_load_acquire_sys(&began[0]));
	CHECK_OK(peal_kernel_abort(s.e->devices[0].kernel, MAX_WAIT));
	fixture_gate(&s, 1);
	return none;
}

PEAL_TEST(no_device_has_memory_to_repeat_ranges)
{
	pthread_t thread;
	struct listed l;

	open_short();
	s.job.repeatable = 1;
	s.visit.began = harness_address(began);
	fixture_gate(&s, 0);
	CHECK_EQ(pthread_create(&thread, NULL, end_first, NULL), 0);
	CHECK_FAILS(run(MAX_WAIT), PEAL_EABORTED, NO_MEMORY);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	l = check_report();
	CHECK(l.nowhere > 0);
	CHECK(s.report.part[0].result < 0);
	CHECK_EQ(s.report.part[1].result, 0);
	close_short();
}

/* Ends rank 0 once the job has its memory. */
static void *end_idle(void *none)
{
	struct peal_memory_info m = { 0 };

	EVENTUALLY(!peal_memory_info(s.rt, s.devices[0], &m) && m.n_buffers);
	CHECK_OK(peal_kernel_abort(s.e->devices[0].kernel, MAX_WAIT));
	return none;
}

/* An event holds the job, so no task is in flight that could get lost. */
PEAL_TEST(no_device_has_memory_for_an_idle_part)
{
	struct peal_event_options o = { .size = sizeof(o), .by_host = 1 };
	const int watcher = 1;
	struct peal_event *event;
	pthread_t thread;
	struct listed l;

	open_short();
	CHECK_OK(peal_event_create(s.rt, 0, &watcher, 1, &o, &event));
	CHECK_OK(peal_event_await_before(event, 1, 1));
	CHECK_EQ(pthread_create(&thread, NULL, end_idle, NULL), 0);
	CHECK_FAILS(run(MAX_WAIT), PEAL_EABORTED, NO_MEMORY);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	l = check_report();
	CHECK_EQ(l.nowhere, 9000);
	CHECK_OK(peal_event_cancel(event));
	CHECK_OK(peal_event_destroy(event));
	close_short();
}

/* Divides the job between two devices. Then limits the memory of rank 1, as
 * another thread might, and allocates. Returns the result. */
static int prepare_short(const struct peal_job *job)
{
	uint64_t weight[2] = { job->weights[0], job->weights[1] };
	uint32_t i;
	int result;

	CHECK_OK(peali_arrays_weigh(s.e, job, weight));
	CHECK(weight[0] > 0);
	for (i = 0; i < 2; i++)
		s.e->devices[i].length = weight[i] ? 4500 : 0;
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 255));
	result = peali_arrays_prepare(s.e, job);
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 0));
	return result;
}

PEAL_TEST(device_with_a_part_loses_its_memory)
{
	static const uint64_t none[PEAL_PARTS_MAX];
	const struct peal_job_argument argument[] = {
		{ .address = none, .element_bytes = 4 },
		{ .address = none, .element_bytes = 8 },
	};
	uint64_t weights[] = { 1, 1 };
	struct peal_memory_info m;
	struct peal_job job;

	open_short();
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 0));
	run_all();
	job = s.job;
	job.n_arguments = 2;
	job.arguments = argument;
	job.weights = weights;
	s.e->arrays.array = arrays;
	CHECK_FAILS(prepare_short(&job), PEAL_ENOSPC,
		    "has too little memory for one element (255 bytes, allowed "
		    "256 bytes or more); raise limits or peal_memory_limit");
	CHECK_OK(peal_memory_info(s.rt, s.devices[0], &m));
	CHECK_EQ(m.n_buffers, 0);
	/* without a part it needs no memory */
	weights[1] = 0;
	CHECK_OK(prepare_short(&job));
	CHECK(s.e->devices[0].slots > 0);
	CHECK_EQ(s.e->devices[1].slots, 0);
	peali_arrays_free(s.e);
	s.e->arrays.array = NULL;
	run_all();
	close_arrays();
}

/* ---- time limits --------------------------------------------------------- */

/* After the call, neither the handlers nor the executor use the arrays. */
PEAL_TEST(timed_out_job_uses_no_array_any_more)
{
	struct peal_memory_info m;
	struct listed l;
	int result;

	open_arrays(2, 1);
	limit_all(4096);
	s.job.count = 9000;
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	fixture_gate(&s, 0);
	clear();
	CHECK_EQ(run(5 * MS), PEAL_ETIMEDOUT);
	l = check_ranges();
	CHECK_EQ(l.done, 0);
	CHECK(l.nowhere > 0 && l.nowhere < 9000);
	CHECK_OK(peal_memory_info(s.rt, s.devices[0], &m));
	CHECK_EQ(m.n_buffers, 1);
	CHECK_EQ(run(5 * MS), PEAL_EBUSY);
	fixture_gate(&s, 1);
	result = peal_executor_wait(s.e, MAX_WAIT);
	CHECK_EQ(result, PEAL_ECANCELED);
	l = check_ranges();
	CHECK_EQ(l.done, 0);
	CHECK_OK(peal_memory_info(s.rt, s.devices[0], &m));
	CHECK_EQ(m.n_buffers, 0);
	run_all();
	close_arrays();
}

PEAL_TEST(executor_with_a_timed_out_job_can_be_destroyed)
{
	struct peal_memory_info m;

	open_arrays(2, 1);
	s.job.count = 9000;
	fixture_gate(&s, 0);
	s.rt->stop_ns = 20 * MS; /* handlers end only by an abort */
	clear();
	CHECK_EQ(run(5 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_executor_destroy(s.e));
	s.e = NULL;
	CHECK_OK(peal_memory_info(s.rt, s.devices[0], &m));
	CHECK_EQ(m.n_buffers, 0);
	close_arrays();
}

/* A job behind an event copies nothing before its record. */
PEAL_TEST(job_behind_an_event_times_out)
{
	struct peal_event_options o = { .size = sizeof(o), .by_host = 1 };
	const int watcher = 1;
	struct peal_event *event;
	struct listed l;

	open_arrays(2, 1);
	s.job.count = 500;
	CHECK_OK(peal_event_create(s.rt, 0, &watcher, 1, &o, &event));
	CHECK_OK(peal_event_await_before(event, 1, 1));
	clear();
	CHECK_FAILS(run(5 * MS), PEAL_ETIMEDOUT, "job waits for an event");
	l = check_ranges();
	CHECK_EQ(l.ranges, 1);
	CHECK_EQ(l.nowhere, 500);
	CHECK_EQ(peal_executor_wait(s.e, MAX_WAIT), PEAL_ECANCELED);
	CHECK_OK(peal_event_cancel(event));
	CHECK_OK(peal_event_destroy(event));
	run_all();
	close_arrays();
}

PEAL_TEST_MAIN(RUN_LANES(range_with_a_failing_handler_is_listed);
	       RUN(cancel_in_the_middle_leaves_outputs_alone);
	       RUN(others_repeat_ranges_of_an_ended_device);
	       RUN(ranges_of_an_ended_device_are_listed_as_lost);
	       RUN(no_device_is_left);
	       RUN(no_device_has_memory_to_repeat_ranges);
	       RUN(no_device_has_memory_for_an_idle_part);
	       RUN(device_with_a_part_loses_its_memory);
	       RUN(timed_out_job_uses_no_array_any_more);
	       RUN(executor_with_a_timed_out_job_can_be_destroyed);
	       RUN(job_behind_an_event_times_out);)
