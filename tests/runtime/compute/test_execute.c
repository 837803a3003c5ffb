/* SPDX-License-Identifier: Apache-2.0 */
/* An executor runs each element of a job once, on the devices that the job's
 * schedule selects. */
#include "runtime/task_fixture.h"

static struct fixture s;

/* ---- schedules ----------------------------------------------------------- */

static void check_counts(uint32_t sharing)
{
	static const uint64_t counts[] = { 1, 0, 2, 3, 31, 1000, 19999 };
	static const uint64_t grains[] = { 0, 7, 5000 };
	uint32_t i, k;

	s.job.schedule = sharing;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (k = 0; k < 3; k++) {
			s.job.count = counts[i];
			s.job.grain = grains[k];
			fixture_check(&s);
		}
}

PEAL_TEST(each_element_is_processed_once)
{
	uint32_t sharing;

	fixture_open(&s, 3, lanes > 1 ? 1 : 2);
	for (sharing = 0; sharing < PEAL_SCHEDULE_COUNT; sharing++)
		check_counts(sharing);
	fixture_close(&s);
	fixture_open(&s, 1, 1);
	for (sharing = 0; sharing < PEAL_SCHEDULE_COUNT; sharing++)
		check_counts(sharing);
	fixture_close(&s);
}

PEAL_TEST(static_shares_match_the_weights)
{
	static const uint64_t weights[] = { 5, 0, 2 };

	fixture_open(&s, 3, 1);
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	s.job.count = 1001;
	fixture_check(&s);
	CHECK_EQ(s.report.part[0].elements, 334);
	CHECK_EQ(s.report.part[1].elements, 334);
	CHECK_EQ(s.report.part[2].elements, 333);
	CHECK_EQ(s.report.n_active, 3);
	s.job.weights = weights;
	s.job.schedule = PEAL_SCHEDULE_DEFAULT;
	s.job.count = 700;
	fixture_check(&s);
	CHECK_EQ(s.report.part[0].elements, 500);
	CHECK_EQ(s.report.part[1].elements, 0);
	CHECK_EQ(s.report.part[2].elements, 200);
	CHECK_EQ(s.report.n_active, 2);
	fixture_close(&s);
}

/* With P workers, a task is 1/P of the elements left (at least the grain). */
PEAL_TEST(guided_tasks_shrink)
{
	uint64_t left = 10000, tasks = 0;

	while (left) {
		uint64_t n = (left + 2) / 3;

		left -= n > 100 ? n : left < 100 ? left : 100;
		tasks++;
	}
	fixture_open(&s, 3, 1);
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	s.job.count = 10000;
	s.job.grain = 100;
	fixture_check(&s);
	CHECK_EQ(s.report.tasks, tasks);
	CHECK_EQ(s.report.n_active, 3);
	fixture_close(&s);
}

/* The executor shares by the measured speeds of the devices. */
PEAL_TEST(dynamic_shares_follow_device_speed)
{
	uint64_t i;

	fixture_open(&s, 2, 1);
	s.job.schedule = PEAL_SCHEDULE_DYNAMIC;
	s.job.count = 2000;
	s.visit.slow_ns = 2000;
	fixture_check(&s);
	CHECK_EQ(s.report.n_active, 2);
	/* tasks shrink to 25 elements, which take 50 us */
	s.e->handlers[1].empty_ns[0] = s.e->handlers[1].empty_ns[1] = 1000;
	fixture_check(&s);
	CHECK(s.report.tasks > 4);
	for (i = 0; i < 2; i++) {
		CHECK(s.report.part[i].busy_ns >=
		      2000 * s.report.part[i].elements);
		CHECK(s.e->handlers[1].elements[i] > 0);
	}
	/* pretend that rank 1 is far faster */
	s.e->handlers[1].busy_ns[0] = 1e12;
	s.e->handlers[1].elements[0] = 1e2;
	s.e->handlers[1].busy_ns[1] = 1e12;
	s.e->handlers[1].elements[1] = 1e9;
	s.visit.slow_ns = 0;
	s.job.count = 10000;
	s.job.grain = 10000 / 4;
	fixture_check(&s);
	CHECK_EQ(s.report.part[0].elements, 0);
	CHECK_EQ(s.report.part[1].elements, 10000);
	fixture_close(&s);
}

/* ---- memory -------------------------------------------------------------- */

static void check_combined(const uint32_t *in, const uint32_t *out,
			   const uint32_t *table, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		CHECK_EQ(out[i], in[i] * 7 + table[i % 3]);
}

/* Runs a job: each device has its packed part and the whole table. */
static void check_packed(const struct peal_partition *p)
{
	static const uint32_t table[] = { 11, 22, 33 }, factor = 7;
	uint32_t in[1000], out[1000];
	uint64_t a[3], b[3], sum[3];
	struct peal_job_argument arguments[] = { { a, 4, 0 },
						 { b, 0, sizeof(table) },
						 { sum, 4, 0 } };
	struct peal_job job = { .size = sizeof(job),
				.handler = "combine",
				.count = p->count,
				.n_arguments = 3,
				.arguments = arguments,
				.parameters = &factor,
				.parameter_bytes = sizeof(factor),
				.partition = p };
	struct peal_partition_memory parts = { .size = sizeof(parts),
					       .element_bytes = 4,
					       .partition = p,
					       .whole_device = PEAL_HOST_MEMORY,
					       .whole = (uintptr_t)in,
					       .devices = s.devices,
					       .parts = a };
	uint32_t i;

	for (i = 0; i < 1000; i++)
		in[i] = i * 2654435761u;
	memset(out, 0, sizeof(out));
	for (i = 0; i < 3; i++) {
		uint64_t bytes = 4 * peal_partition_length(p, i);

		/* exactly the part: an address beyond it is refused */
		bytes += !bytes;
		CHECK_OK(peal_memory_alloc(s.rt, s.devices[i], bytes, &a[i]));
		CHECK_OK(peal_memory_alloc(s.rt, s.devices[i], bytes, &sum[i]));
		CHECK_OK(peal_memory_alloc(s.rt, s.devices[i], sizeof(table),
					   &b[i]));
		CHECK_OK(peal_peer_copy(s.rt, s.devices[i], b[i],
					PEAL_HOST_MEMORY, (uintptr_t)table,
					sizeof(table)));
	}
	CHECK_OK(peal_scatter(s.rt, &parts));
	CHECK_OK(peal_executor_run(s.e, &job, MAX_WAIT));
	parts.whole = (uintptr_t)out;
	parts.parts = sum;
	CHECK_OK(peal_gather(s.rt, &parts));
	check_combined(in, out, table, p->count);
	fixture_report(&s);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(s.report.part[i].elements,
			 peal_partition_length(p, i));
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], a[i]));
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], b[i]));
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], sum[i]));
	}
}

PEAL_TEST(partition_gives_each_device_its_part)
{
	static const uint64_t weights[] = { 1, 0, 3 };
	struct peal_partition p;

	fixture_open(&s, 3, 2);
	CHECK_OK(peal_partition_block(1000, 3, &p));
	check_packed(&p);
	CHECK_OK(peal_partition_block(2, 3, &p));
	check_packed(&p);
	CHECK_OK(peal_partition_weighted(997, weights, NULL, 3, &p));
	check_packed(&p);
	CHECK_OK(peal_partition_cyclic(1000, 64, 3, &p));
	check_packed(&p);
	CHECK_OK(peal_partition_cyclic(100, 1, 3, &p));
	check_packed(&p);
	fixture_close(&s);
}

/* A limit is for a static part, or for the tasks of a device at a time. */
PEAL_TEST(element_limits_are_respected)
{
	uint64_t limits[] = { 12 * 300, 12 * 20, 12 * 2000 };
	uint32_t i;

	fixture_open(&s, 3, 1);
	s.job.limits = limits;
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	s.job.count = 2000;
	fixture_check(&s);
	CHECK_EQ(s.report.part[0].elements, 300);
	CHECK_EQ(s.report.part[1].elements, 20);
	CHECK_EQ(s.report.part[2].elements, 1680);
	s.job.count = 2321;
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_ENOSPC,
		    "'count': is larger than the sum of the limits (2321, "
		    "allowed 0..2320)");
	s.job.schedule = PEAL_SCHEDULE_DYNAMIC;
	for (i = 0; i < 2; i++) {
		s.job.count = 19000;
		fixture_check(&s);
		/* at most 20 elements per task */
		CHECK(s.report.part[1].tasks * 20 >= s.report.part[1].elements);
		s.job.schedule = PEAL_SCHEDULE_GUIDED;
	}
	s.job.grain = 21;
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_ENOSPC,
		    "'limits': is too small for a task of 21 elements on "
		    "device 2 (240, allowed 252 or more)");
	s.job.count = 20;
	fixture_check(&s);
	fixture_close(&s);
}

/* After the start, a device has tasks up to its limit. */
PEAL_TEST(elements_in_flight_stay_within_device_limit)
{
	uint64_t limits[] = { 12 * 50, 12 * 10 };

	fixture_open(&s, 2, 1);
	s.job.limits = limits;
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	s.job.count = 1000;
	fixture_gate(&s, 0);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_EQ(fixture_device(&s, 0).out, 50);
	CHECK_EQ(fixture_device(&s, 1).out, 10);
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	fixture_visited(&s);
	fixture_close(&s);
}

/* A fast device at its limit does not hold up a slower one. A far slower device
 * gets no task: the fast device would finish the task earlier. */
PEAL_TEST(full_device_does_not_block_other_devices)
{
	uint64_t limits[] = { 12 * 20, 12 * 1000 };
	struct peali_executor_handler *h;
	int turn;

	fixture_open(&s, 2, 1);
	s.job.count = 1;
	fixture_check(&s);
	h = &s.e->handlers[1];
	h->empty_ns[0] = h->empty_ns[1] = 1000;
	s.job.schedule = PEAL_SCHEDULE_DYNAMIC;
	s.job.limits = limits;
	s.job.grain = 10;
	for (turn = 0; turn < 2; turn++) {
		fixture_clear(&s);
		fixture_gate(&s, 0);
		s.job.count = turn ? 40 : 1000;
		h->elements[0] = 1e6, h->busy_ns[0] = 1e12;
		h->elements[1] = turn ? 1e2 : 1e5, h->busy_ns[1] = 1e12;
		CHECK_OK(peal_executor_start(s.e, &s.job));
		CHECK_EQ(fixture_device(&s, 0).out, 20);
		CHECK_EQ(fixture_device(&s, 1).in_flight > 0, !turn);
		fixture_gate(&s, 1);
		CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
		fixture_visited(&s);
	}
	fixture_close(&s);
}

/* ---- small jobs ---------------------------------------------------------- */

/* The threshold n solves `n / v + one = n / (v + w) + all` for speeds v and w.
 * The times `one` and `all` are those of tasks without elements. */
PEAL_TEST(small_job_runs_on_the_fastest_device)
{
	struct peali_executor_handler *h;

	fixture_open(&s, 2, 1);
	s.job.count = 100;
	fixture_check(&s);
	CHECK_EQ(s.report.threshold, 0); /* not known at the first job */
	CHECK(s.report.empty_one_ns > 0 && s.report.empty_all_ns > 0);
	h = &s.e->handlers[1];
	h->empty_ns[0] = h->empty_ns[1] = 1000;
	h->empty_all_ns = 4000;
	/* 1 and 3 elements per ns: n / 3 + 1000 = n / 4 + 4000 */
	h->elements[0] = 1e6, h->busy_ns[0] = 1e6;
	h->elements[1] = 3e6, h->busy_ns[1] = 1e6;
	s.job.count = 10000;
	s.job.grain = 10;
	fixture_check(&s);
	CHECK(s.report.threshold >= 35999 && s.report.threshold <= 36001);
	CHECK_EQ(s.report.n_active, 1);
	CHECK_EQ(s.report.part[1].elements, 10000);
	/* a job above the threshold is shared */
	h->empty_all_ns = 1100;
	h->elements[0] = 1e6, h->busy_ns[0] = 1e6;
	h->elements[1] = 3e6, h->busy_ns[1] = 1e6;
	s.job.grain = 1000;
	fixture_check(&s);
	CHECK(s.report.threshold >= 1199 && s.report.threshold <= 1201);
	CHECK_EQ(s.e->only, -1);
	/* a job with explicit schedule is shared */
	h->empty_all_ns = 1000000000;
	h->elements[0] = 1e6, h->busy_ns[0] = 1e6;
	h->elements[1] = 3e6, h->busy_ns[1] = 1e6;
	s.job.schedule = PEAL_SCHEDULE_STATIC;
	fixture_check(&s);
	CHECK(s.report.threshold > 10000);
	CHECK_EQ(s.report.n_active, 2);
	fixture_close(&s);
}

/* ---- several jobs -------------------------------------------------------- */

PEAL_TEST(two_handlers_run_many_jobs)
{
	struct peal_partition p;
	int i;

	fixture_open(&s, 3, 2);
	CHECK_OK(peal_partition_block(600, 3, &p));
	for (i = 0; i < 10; i++) {
		s.job.count = 500 + (uint64_t)i;
		fixture_check(&s);
		check_packed(&p);
	}
	CHECK_EQ(s.e->number, 20);
	fixture_close(&s);
}

/* One of two workers waits in a handler. The other runs all other tasks. */
PEAL_TEST(idle_worker_runs_all_other_tasks)
{
	struct peal_kernel_info info;
	uint64_t held;
	int turn;

	fixture_open(&s, 1, 2);
	s.job.count = 1;
	fixture_check(&s); /* measures, without the handler */
	CHECK_OK(peal_kernel_info(s.e->devices[0].kernel, &info));
	CHECK_EQ(info.failed, 0);
	s.job.schedule = PEAL_SCHEDULE_DYNAMIC;
	s.job.count = 1000;
	s.job.grain = 10;
	s.visit.gate_at = 0;
	for (turn = 0; turn < 8; turn++) { /* either worker waits */
		/* at this low speed, tasks shrink to the grain */
		s.e->handlers[1].elements[0] = 1e3;
		s.e->handlers[1].busy_ns[0] = 1e12;
		fixture_clear(&s);
		fixture_gate(&s, 0);
		CHECK_OK(peal_executor_start(s.e, &s.job));
		EVENTUALLY(peal_executor_wait(s.e, 0) == PEAL_ETIMEDOUT &&
			   fixture_handed(&s) == 1000 &&
			   fixture_device(&s, 0).in_flight == 1);
		held = fixture_device(&s, 0).out;
		CHECK(held < 1000);
		CHECK_EQ(fixture_count(&s, 1), 1000 - held);
		CHECK_FAILS(peal_executor_wait(s.e, 0), PEAL_ETIMEDOUT,
			    "with tasks: 0 (1)");
		fixture_gate(&s, 1);
		CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
		fixture_visited(&s);
	}
	fixture_close(&s);
}

PEAL_TEST(run_once_starts_and_ends_its_kernels)
{
	struct peal_runtime_info info;
	struct peal_executor_options o = { .size = sizeof(o), .lanes = lanes };
	uint32_t kernels;

	fixture_open(&s, 2, 1);
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_executors, 1);
	kernels = info.n_kernels;
	CHECK_EQ(kernels, 2);
	s.job.count = 3000;
	fixture_clear(&s);
	CHECK_OK(peal_executor_run_once(s.rt, s.devices, 2, &peal_program_tasks,
					&o, &s.job, MAX_WAIT));
	fixture_visited(&s);
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_executors, 1);
	CHECK_EQ(info.n_kernels, kernels);
	s.visit.fails_at = 17;
	s.visit.error = PEAL_EIO;
	s.visit.leader = 1;
	CHECK_FAILS(peal_executor_run_once(s.rt, s.devices, 2,
					   &peal_program_tasks, &o, &s.job,
					   MAX_WAIT),
		    PEAL_EIO, "the task of elements ");
	s.job.handler = "nobody";
	CHECK_EQ(peal_executor_run_once(s.rt, s.devices, 2, &peal_program_tasks,
					&o, &s.job, MAX_WAIT),
		 PEAL_ENOENT);
	CHECK_EQ(peal_executor_run_once(s.rt, s.devices, 0, &peal_program_tasks,
					&o, &s.job, MAX_WAIT),
		 PEAL_EINVAL);
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_kernels, kernels);
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(each_element_is_processed_once);
	       RUN_LANES(static_shares_match_the_weights);
	       RUN_LANES(guided_tasks_shrink);
	       RUN_LANES(dynamic_shares_follow_device_speed);
	       RUN_LANES(partition_gives_each_device_its_part);
	       RUN_LANES(element_limits_are_respected);
	       RUN_LANES(elements_in_flight_stay_within_device_limit);
	       RUN_LANES(full_device_does_not_block_other_devices);
	       RUN_LANES(small_job_runs_on_the_fastest_device);
	       RUN_LANES(two_handlers_run_many_jobs);
	       RUN_LANES(idle_worker_runs_all_other_tasks);
	       RUN_LANES(run_once_starts_and_ends_its_kernels);)
