/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job goes on while no thread waits for it. peal_device_sync waits for jobs and
 * for background copies.
 */
#include <peal/copy.h>
#include <peal/peer.h>

#include "runtime/task_fixture.h"

#define COUNT 4000 /* elements; far more than all windows hold */
#define BYTES (32 << 20) /* of a copy */

/* Opens an executor with a job of small tasks, which wait at the gate. */
static void open_job(struct fixture *s)
{
	fixture_open(s, 2, 1);
	s->visit.gate = s->gate;
	s->job.count = COUNT;
	s->job.grain = 1;
	s->job.schedule = PEAL_SCHEDULE_DYNAMIC;
}

static void open_gate(struct fixture *s)
{
	peal_store_release_sys((uint64_t *)(uintptr_t)s->gate, 1);
}

/* Returns 1 if each element of the job was visited once. */
static int all_visited(const struct fixture *s)
{
	const uint32_t *visits = fixture_visits(s);
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		if (visits[i] != 1)
			return 0;
	return 1;
}

PEAL_TEST(sync_waits_for_a_job_that_no_thread_waits_for)
{
	struct fixture s;

	open_job(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_EQ(peal_device_sync(s.rt, PEAL_ALL_DEVICES, 20 * MS),
		 PEAL_ETIMEDOUT);
	open_gate(&s);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	CHECK(all_visited(&s));
	CHECK_OK(peal_executor_wait(s.e, 0));
	fixture_close(&s);
}

PEAL_TEST(sync_of_one_device_waits_for_a_job)
{
	struct fixture s;

	open_job(&s);
	open_gate(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK(all_visited(&s));
	CHECK_OK(peal_executor_wait(s.e, 0));
	fixture_close(&s);
}

/* The timeout text of a sync names the job. */
PEAL_TEST(sync_names_the_unfinished_job)
{
	struct fixture s;

	open_job(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_FAILS(peal_device_sync(s.rt, 0, 5 * MS), PEAL_ETIMEDOUT,
		    "a job of an executor");
	CHECK_EQ(peal_device_sync(s.rt, 0, 0), PEAL_EAGAIN);
	open_gate(&s);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	fixture_close(&s);
}

/* A wait that times out gives the job back to the executor's thread. */
PEAL_TEST(a_job_goes_on_after_a_wait_that_times_out)
{
	struct fixture s;
	uint32_t i;

	open_job(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	for (i = 0; i < 3; i++)
		CHECK_EQ(peal_executor_wait(s.e, 2 * MS), PEAL_ETIMEDOUT);
	open_gate(&s);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	CHECK(all_visited(&s));
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	CHECK_OK(peal_executor_report(s.e, &s.report));
	CHECK_EQ(s.report.elements, COUNT);
	fixture_close(&s);
}

/* peal_executor_run cancels a job at its timeout. The job ends by itself. */
PEAL_TEST(a_cancelled_job_ends_without_a_wait)
{
	struct fixture s;

	open_job(&s);
	CHECK_EQ(peal_executor_run(s.e, &s.job, 5 * MS), PEAL_ETIMEDOUT);
	open_gate(&s);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	CHECK_EQ(peal_executor_wait(s.e, 0), PEAL_ECANCELED);
	fixture_close(&s);
}

/* Arguments can be freed when the job is over, before a wait reports it. */
PEAL_TEST(arguments_of_a_job_that_is_over_can_be_freed)
{
	struct fixture s;
	uint64_t more[2], kept;
	uint32_t i;

	open_job(&s);
	open_gate(&s);
	kept = s.number[0];
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_memory_alloc(s.rt, s.devices[i], 8 * COUNT,
					   &more[i]));
		s.number[i] = more[i];
	}
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], more[i]));
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	s.number[0] = kept;
	fixture_close(&s);
}

/* A start with wrong arguments has its own error, and no job. */
PEAL_TEST(a_refused_start_leaves_no_job)
{
	struct fixture s;

	open_job(&s);
	s.job.handler = "nothing";
	CHECK_EQ(peal_executor_start(s.e, &s.job), PEAL_ENOENT);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	CHECK_OK(peal_executor_wait(s.e, 0));
	fixture_close(&s);
}

/* The executor is destroyed while its thread works. */
PEAL_TEST(an_executor_with_a_job_can_be_destroyed)
{
	struct fixture s;

	open_job(&s);
	open_gate(&s);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	fixture_close(&s);
}

PEAL_TEST(sync_waits_for_background_copies)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_copy *copy[8];
	uint64_t at[2];
	uint32_t i;

	for (i = 0; i < 2; i++)
		CHECK_OK(peal_memory_alloc(rt, (int)i, BYTES, &at[i]));
	for (i = 0; i < 8; i++)
		CHECK_OK(peal_peer_copy_async(rt, 1, at[1], 0, at[0], BYTES,
					      &copy[i]));
	CHECK_OK(peal_device_sync(rt, 0, MAX_WAIT));
	for (i = 0; i < 8; i++)
		CHECK_OK(peal_copy_wait(copy[i], 0));
	for (i = 0; i < 8; i++)
		peal_copy_destroy(copy[i]);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_memory_free(rt, (int)i, at[i]));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN_LANES(sync_waits_for_a_job_that_no_thread_waits_for);
	       RUN_LANES(sync_of_one_device_waits_for_a_job);
	       RUN_LANES(sync_names_the_unfinished_job);
	       RUN_LANES(a_job_goes_on_after_a_wait_that_times_out);
	       RUN_LANES(a_cancelled_job_ends_without_a_wait);
	       RUN_LANES(arguments_of_a_job_that_is_over_can_be_freed);
	       RUN_LANES(a_refused_start_leaves_no_job);
	       RUN_LANES(an_executor_with_a_job_can_be_destroyed);
	       RUN(sync_waits_for_background_copies);)
