/* SPDX-License-Identifier: Apache-2.0 */
/* An executor runs each element of a job once, on the devices that the job's
 * sharing selects. */
#include "runtime/task_scene.h"

static struct scene s;

/* ---- sharings ------------------------------------------------------------ */

static void check_counts(uint32_t sharing)
{
	static const uint64_t counts[] = { 1, 0, 2, 3, 31, 1000, 19999 };
	static const uint64_t grains[] = { 0, 7, 5000 };
	uint32_t i, k;

	s.job.sharing = sharing;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (k = 0; k < 3; k++) {
			s.job.count = counts[i];
			s.job.grain = grains[k];
			scene_check(&s);
		}
}

PEAL_TEST(each_element_is_done_once)
{
	uint32_t sharing;

	scene_open(&s, 3, lanes > 1 ? 1 : 2);
	for (sharing = 0; sharing < PEAL_SHARINGS; sharing++)
		check_counts(sharing);
	scene_close(&s);
	scene_open(&s, 1, 1);
	for (sharing = 0; sharing < PEAL_SHARINGS; sharing++)
		check_counts(sharing);
	scene_close(&s);
}

PEAL_TEST(static_parts_are_as_the_weights_say)
{
	static const uint64_t weights[] = { 5, 0, 2 };

	scene_open(&s, 3, 1);
	s.job.sharing = PEAL_SHARING_STATIC;
	s.job.count = 1001;
	scene_check(&s);
	CHECK_EQ(s.report.share[0].elements, 334);
	CHECK_EQ(s.report.share[1].elements, 334);
	CHECK_EQ(s.report.share[2].elements, 333);
	CHECK_EQ(s.report.took_part, 3);
	s.job.weights = weights;
	s.job.sharing = PEAL_SHARING_DEFAULT;
	s.job.count = 700;
	scene_check(&s);
	CHECK_EQ(s.report.share[0].elements, 500);
	CHECK_EQ(s.report.share[1].elements, 0);
	CHECK_EQ(s.report.share[2].elements, 200);
	CHECK_EQ(s.report.took_part, 2);
	scene_close(&s);
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
	scene_open(&s, 3, 1);
	s.job.sharing = PEAL_SHARING_GUIDED;
	s.job.count = 10000;
	s.job.grain = 100;
	scene_check(&s);
	CHECK_EQ(s.report.tasks, tasks);
	CHECK_EQ(s.report.took_part, 3);
	scene_close(&s);
}

/* The executor shares by the measured speeds of the devices. */
PEAL_TEST(dynamic_shares_by_speed)
{
	uint64_t i;

	scene_open(&s, 2, 1);
	s.job.sharing = PEAL_SHARING_DYNAMIC;
	s.job.count = 2000;
	s.visit.slow_ns = 2000;
	scene_check(&s);
	CHECK_EQ(s.report.took_part, 2);
	/* tasks shrink to 25 elements, which take 50 us */
	s.e->skills[1].empty_ns[0] = s.e->skills[1].empty_ns[1] = 1000;
	scene_check(&s);
	CHECK(s.report.tasks > 4);
	for (i = 0; i < 2; i++) {
		CHECK(s.report.share[i].busy_ns >=
		      2000 * s.report.share[i].elements);
		CHECK(s.e->skills[1].elements[i] > 0);
	}
	/* pretend that rank 1 is far faster */
	s.e->skills[1].busy_ns[0] = 1e12;
	s.e->skills[1].elements[0] = 1e2;
	s.e->skills[1].busy_ns[1] = 1e12;
	s.e->skills[1].elements[1] = 1e9;
	s.visit.slow_ns = 0;
	s.job.count = 10000;
	s.job.grain = 10000 / 4;
	scene_check(&s);
	CHECK_EQ(s.report.share[0].elements, 0);
	CHECK_EQ(s.report.share[1].elements, 10000);
	scene_close(&s);
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
	struct peal_argument arguments[] = { { a, 4, 0 },
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
	struct peal_parts parts = { .size = sizeof(parts),
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
	CHECK_OK(peal_execute(s.e, &job, PATIENCE));
	parts.whole = (uintptr_t)out;
	parts.parts = sum;
	CHECK_OK(peal_gather(s.rt, &parts));
	check_combined(in, out, table, p->count);
	scene_report(&s);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(s.report.share[i].elements,
			 peal_partition_length(p, i));
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], a[i]));
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], b[i]));
		CHECK_OK(peal_memory_free(s.rt, s.devices[i], sum[i]));
	}
}

PEAL_TEST(each_device_has_its_part_alone)
{
	static const uint64_t weights[] = { 1, 0, 3 };
	struct peal_partition p;

	scene_open(&s, 3, 2);
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
	scene_close(&s);
}

/* A limit is for a static part, or for the tasks of a device at a time. */
PEAL_TEST(limits_are_kept)
{
	uint64_t limits[] = { 12 * 300, 12 * 20, 12 * 2000 };
	uint32_t i;

	scene_open(&s, 3, 1);
	s.job.limits = limits;
	s.job.sharing = PEAL_SHARING_STATIC;
	s.job.count = 2000;
	scene_check(&s);
	CHECK_EQ(s.report.share[0].elements, 300);
	CHECK_EQ(s.report.share[1].elements, 20);
	CHECK_EQ(s.report.share[2].elements, 1680);
	s.job.count = 2321;
	CHECK_FAILS(peal_execute_start(s.e, &s.job), PEAL_ENOSPC,
		    "1 elements less");
	s.job.sharing = PEAL_SHARING_DYNAMIC;
	for (i = 0; i < 2; i++) {
		s.job.count = 19000;
		scene_check(&s);
		/* at most 20 elements per task */
		CHECK(s.report.share[1].tasks * 20 >=
		      s.report.share[1].elements);
		s.job.sharing = PEAL_SHARING_GUIDED;
	}
	s.job.grain = 21;
	CHECK_FAILS(peal_execute_start(s.e, &s.job), PEAL_ENOSPC,
		    "device 2 may have 240 bytes: a task of 21 elements has "
		    "252");
	s.job.count = 20;
	scene_check(&s);
	scene_close(&s);
}

/* After the start, a device has tasks up to its limit. */
PEAL_TEST(a_device_has_no_more_at_a_time)
{
	uint64_t limits[] = { 12 * 50, 12 * 10 };

	scene_open(&s, 2, 1);
	s.job.limits = limits;
	s.job.sharing = PEAL_SHARING_GUIDED;
	s.job.count = 1000;
	scene_gate(&s, 0);
	CHECK_OK(peal_execute_start(s.e, &s.job));
	CHECK_EQ(s.e->stations[0].out, 50);
	CHECK_EQ(s.e->stations[1].out, 10);
	scene_gate(&s, 1);
	CHECK_OK(peal_execute_wait(s.e, PATIENCE));
	scene_visited(&s);
	scene_close(&s);
}

/* A fast device at its limit does not hold up a slower one. A far slower device
 * gets no task: the fast device would finish the task earlier. */
PEAL_TEST(one_that_is_full_does_not_hold_up_others)
{
	uint64_t limits[] = { 12 * 20, 12 * 1000 };
	struct peali_skill *skill;
	int turn;

	scene_open(&s, 2, 1);
	s.job.count = 1;
	scene_check(&s);
	skill = &s.e->skills[1];
	skill->empty_ns[0] = skill->empty_ns[1] = 1000;
	s.job.sharing = PEAL_SHARING_DYNAMIC;
	s.job.limits = limits;
	s.job.grain = 10;
	for (turn = 0; turn < 2; turn++) {
		scene_clear(&s);
		scene_gate(&s, 0);
		s.job.count = turn ? 40 : 1000;
		skill->elements[0] = 1e6, skill->busy_ns[0] = 1e12;
		skill->elements[1] = turn ? 1e2 : 1e5, skill->busy_ns[1] = 1e12;
		CHECK_OK(peal_execute_start(s.e, &s.job));
		CHECK_EQ(s.e->stations[0].out, 20);
		CHECK_EQ(s.e->stations[1].in_flight > 0, !turn);
		scene_gate(&s, 1);
		CHECK_OK(peal_execute_wait(s.e, PATIENCE));
		scene_visited(&s);
	}
	scene_close(&s);
}

/* ---- small jobs ---------------------------------------------------------- */

/* The threshold n solves `n / v + one = n / (v + w) + all` for speeds v and w.
 * The times `one` and `all` are those of tasks without elements. */
PEAL_TEST(a_small_job_stays_on_the_fastest)
{
	struct peali_skill *skill;

	scene_open(&s, 2, 1);
	s.job.count = 100;
	scene_check(&s);
	CHECK_EQ(s.report.threshold, 0); /* not known at the first job */
	CHECK(s.report.empty_one_ns > 0 && s.report.empty_all_ns > 0);
	skill = &s.e->skills[1];
	skill->empty_ns[0] = skill->empty_ns[1] = 1000;
	skill->empty_all_ns = 4000;
	/* 1 and 3 elements per ns: n / 3 + 1000 = n / 4 + 4000 */
	skill->elements[0] = 1e6, skill->busy_ns[0] = 1e6;
	skill->elements[1] = 3e6, skill->busy_ns[1] = 1e6;
	s.job.count = 10000;
	s.job.grain = 10;
	scene_check(&s);
	CHECK(s.report.threshold >= 35999 && s.report.threshold <= 36001);
	CHECK_EQ(s.report.took_part, 1);
	CHECK_EQ(s.report.share[1].elements, 10000);
	/* a job above the threshold is shared */
	skill->empty_all_ns = 1100;
	skill->elements[0] = 1e6, skill->busy_ns[0] = 1e6;
	skill->elements[1] = 3e6, skill->busy_ns[1] = 1e6;
	s.job.grain = 1000;
	scene_check(&s);
	CHECK(s.report.threshold >= 1199 && s.report.threshold <= 1201);
	CHECK_EQ(s.e->only, -1);
	/* a job with explicit sharing is shared */
	skill->empty_all_ns = 1000000000;
	skill->elements[0] = 1e6, skill->busy_ns[0] = 1e6;
	skill->elements[1] = 3e6, skill->busy_ns[1] = 1e6;
	s.job.sharing = PEAL_SHARING_STATIC;
	scene_check(&s);
	CHECK(s.report.threshold > 10000);
	CHECK_EQ(s.report.took_part, 2);
	scene_close(&s);
}

/* ---- several jobs -------------------------------------------------------- */

PEAL_TEST(two_handlers_and_many_jobs)
{
	struct peal_partition p;
	int i;

	scene_open(&s, 3, 2);
	CHECK_OK(peal_partition_block(600, 3, &p));
	for (i = 0; i < 10; i++) {
		s.job.count = 500 + (uint64_t)i;
		scene_check(&s);
		check_packed(&p);
	}
	CHECK_EQ(s.e->number, 20);
	scene_close(&s);
}

/* One of two workers waits in a handler. The other runs all other tasks. */
PEAL_TEST(an_idle_worker_takes_what_is_there)
{
	struct peal_kernel_info info;
	uint64_t held;
	int turn;

	scene_open(&s, 1, 2);
	s.job.count = 1;
	scene_check(&s); /* measures, without the handler */
	CHECK_OK(peal_kernel_info(s.e->stations[0].kernel, &info));
	CHECK_EQ(info.failed, 0);
	s.job.sharing = PEAL_SHARING_DYNAMIC;
	s.job.count = 1000;
	s.job.grain = 10;
	s.visit.gate_at = 0;
	for (turn = 0; turn < 8; turn++) { /* either worker waits */
		/* at this low speed, tasks shrink to the grain */
		s.e->skills[1].elements[0] = 1e3;
		s.e->skills[1].busy_ns[0] = 1e12;
		scene_clear(&s);
		scene_gate(&s, 0);
		CHECK_OK(peal_execute_start(s.e, &s.job));
		EVENTUALLY(peal_execute_wait(s.e, 0) == PEAL_ETIMEDOUT &&
			   s.e->handed == 1000 &&
			   s.e->stations[0].in_flight == 1);
		held = s.e->stations[0].out;
		CHECK(held < 1000);
		CHECK_EQ(scene_count(&s, 1), 1000 - held);
		CHECK_FAILS(peal_execute_wait(s.e, 0), PEAL_ETIMEDOUT,
			    "have tasks: 0 (1)");
		scene_gate(&s, 1);
		CHECK_OK(peal_execute_wait(s.e, PATIENCE));
		scene_visited(&s);
	}
	scene_close(&s);
}

PEAL_TEST(a_job_alone_is_launched_and_ends)
{
	struct peal_runtime_info info;
	struct peal_executor_options o = { .size = sizeof(o), .lanes = lanes };
	uint32_t kernels;

	scene_open(&s, 2, 1);
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_executors, 1);
	kernels = info.n_kernels;
	CHECK_EQ(kernels, 2);
	s.job.count = 3000;
	scene_clear(&s);
	CHECK_OK(peal_execute_launch(s.rt, s.devices, 2, &peal_program_tasks,
				     &o, &s.job, PATIENCE));
	scene_visited(&s);
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_executors, 1);
	CHECK_EQ(info.n_kernels, kernels);
	s.visit.fails_at = 17;
	s.visit.error = PEAL_EIO;
	s.visit.leader = 1;
	CHECK_FAILS(peal_execute_launch(s.rt, s.devices, 2, &peal_program_tasks,
					&o, &s.job, PATIENCE),
		    PEAL_EIO, "the task of elements ");
	s.job.handler = "nobody";
	CHECK_EQ(peal_execute_launch(s.rt, s.devices, 2, &peal_program_tasks,
				     &o, &s.job, PATIENCE),
		 PEAL_ENOENT);
	CHECK_EQ(peal_execute_launch(s.rt, s.devices, 0, &peal_program_tasks,
				     &o, &s.job, PATIENCE),
		 PEAL_EINVAL);
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_kernels, kernels);
	scene_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(each_element_is_done_once);
	       RUN_LANES(static_parts_are_as_the_weights_say);
	       RUN_LANES(guided_tasks_shrink);
	       RUN_LANES(dynamic_shares_by_speed);
	       RUN_LANES(each_device_has_its_part_alone);
	       RUN_LANES(limits_are_kept);
	       RUN_LANES(a_device_has_no_more_at_a_time);
	       RUN_LANES(one_that_is_full_does_not_hold_up_others);
	       RUN_LANES(a_small_job_stays_on_the_fastest);
	       RUN_LANES(two_handlers_and_many_jobs);
	       RUN_LANES(an_idle_worker_takes_what_is_there);
	       RUN_LANES(a_job_alone_is_launched_and_ends);)
