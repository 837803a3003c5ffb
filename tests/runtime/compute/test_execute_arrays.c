/* SPDX-License-Identifier: Apache-2.0 */
/* One call scatters arrays, runs a job on them and gathers the results. It lists
 * where each element ran. */
#include "runtime/array_fixture.h"

/* ---- schedules, sizes, devices ------------------------------------------- */

static void check_counts(uint32_t schedule)
{
	static const uint64_t counts[] = { 1, 0, 2, 3, 31, 1000, 7777 };
	uint32_t i;

	s.job.schedule = schedule;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		s.job.count = counts[i];
		s.job.grain = i % 2 ? 7 : 0;
		/* ranks are unequally fast */
		s.visit.slower_ns = counts[i] < 100 ? 2000 : 20;
		run_all();
	}
}

/* All schedules, without and with limits that need several rounds. */
static void check_devices(uint32_t n, uint32_t workers)
{
	uint32_t schedule;

	open_arrays(n, workers);
	for (schedule = 0; schedule < PEAL_SCHEDULE_COUNT; schedule++) {
		/* GPUs of a double are slow */
		limit_all(0);
		if (!test_on_gpu() || n < 20)
			check_counts(schedule);
		limit_all(2000);
		check_counts(schedule);
	}
	close_arrays();
}

PEAL_TEST(each_element_runs_once_and_is_listed)
{
	check_devices(1, 1);
	check_devices(2, 2);
	check_devices(3, 1);
}

PEAL_TEST(many_devices_share_the_arrays)
{
	check_devices(4, 1);
	if (test_part(2) > 1) /* too slow on the PTX machine */
		check_devices(20, 1);
}

/* Returns the bytes of a range of the arrays, on a device. */
static uint64_t range_bytes(uint64_t n)
{
	return (4 * n + 127) / 128 * 128 + (8 * n + 127) / 128 * 128;
}

/* The ranges that a device has at a time fit in its limit. */
PEAL_TEST(ranges_fit_in_the_memory_of_their_device)
{
	uint64_t limits[] = { 1024, 9000, 4096 };
	uint32_t schedule, i;
	struct listed l;

	open_arrays(3, 1);
	s.job.count = 5000;
	for (schedule = 1; schedule < PEAL_SCHEDULE_COUNT; schedule++) {
		s.job.schedule = schedule;
		limit_all(3000);
		l = run_all();
		for (i = 0; i < 3; i++)
			CHECK(2 * range_bytes(l.most[i]) <= 3000 * (i + 1));
		limit_all(0);
		s.job.limits = limits; /* of the job */
		l = run_all();
		for (i = 0; i < 3; i++)
			CHECK(2 * range_bytes(l.most[i]) <= limits[i]);
		s.job.limits = NULL;
	}
	close_arrays();
}

/* ---- memory-aware -------------------------------------------------------- */

PEAL_TEST(memory_schedule_follows_the_limits)
{
	struct listed l;

	open_arrays(3, 1);
	s.job.schedule = PEAL_SCHEDULE_MEMORY;
	s.job.count = 6000;
	limit_all(8192);
	l = run_all();
	CHECK_EQ(l.elements[0], 1000);
	CHECK_EQ(l.elements[1], 2000);
	CHECK_EQ(l.elements[2], 3000);
	CHECK(l.most[0] < l.most[1] && l.most[1] < l.most[2]);
	/* the shares follow the next limits, and those of the job */
	CHECK_OK(peal_memory_limit(s.rt, s.devices[0], 3 * 8192));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 2 * 8192));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[2], 8192));
	l = run_all();
	CHECK_EQ(l.elements[0], 3000);
	CHECK_EQ(l.elements[1], 2000);
	CHECK_EQ(l.elements[2], 1000);
	close_arrays();
}

/* Free memory counts without a limit, and other buffers within one. */
PEAL_TEST(memory_schedule_follows_the_free_memory)
{
	struct peal_buffer_options o = { .size = sizeof(o), .bytes = 24000 };
	struct peal_memory_info m;
	struct peal_buffer *other;
	uint64_t address;
	struct listed l;

	setenv("PEAL_HOST_MEMORY", "64M", 1);
	setenv("PEAL_GPU_MEMORY", "64M", 1);
	open_arrays(2, 1);
	s.job.schedule = PEAL_SCHEDULE_MEMORY;
	s.job.count = 10000;
	l = run_all();
	CHECK(l.elements[0] > 4800 && l.elements[0] < 5200);
	CHECK_OK(peal_memory_info(s.rt, s.devices[0], &m));
	CHECK_OK(peal_memory_alloc(s.rt, s.devices[0], m.largest_bytes / 2,
				   &address));
	l = run_all();
	CHECK(l.elements[0] > 2500 && l.elements[0] < 4000);
	CHECK_OK(peal_memory_free(s.rt, s.devices[0], address));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[0], 32000));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 32000));
	o.device = s.devices[1];
	CHECK_OK(peal_buffer_create(s.rt, &o, &other));
	clear();
	CHECK_OK(run(MAX_WAIT));
	l = check_ranges();
	CHECK_EQ(l.elements[0], 8000);
	CHECK_EQ(l.elements[1], 2000);
	CHECK_OK(peal_buffer_destroy(other));
	close_arrays();
	unsetenv("PEAL_HOST_MEMORY");
	unsetenv("PEAL_GPU_MEMORY");
}

PEAL_TEST(device_without_memory_for_an_element)
{
	uint64_t limits[] = { 255, 100000 };
	uint32_t schedule;
	struct listed l;

	open_arrays(2, 1);
	s.job.count = 500;
	CHECK_OK(peal_memory_limit(s.rt, s.devices[0], 255));
	for (schedule = 1; schedule < PEAL_SCHEDULE_MEMORY; schedule++) {
		s.job.schedule = schedule;
		CHECK_FAILS(run(MAX_WAIT), PEAL_ENOSPC,
			    "device 1: has too little memory for one element "
			    "(255 bytes, allowed 256 bytes or more); raise "
			    "limits or peal_memory_limit, or use "
			    "PEAL_SCHEDULE_MEMORY");
	}
	s.job.schedule = PEAL_SCHEDULE_MEMORY;
	l = run_all();
	CHECK_EQ(l.elements[0], 0);
	CHECK_EQ(l.elements[1], 500);
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 100));
	CHECK_FAILS(run(MAX_WAIT), PEAL_ENOSPC,
		    "executor 'executor': has no device with memory for one "
		    "element (255 bytes, allowed 256 bytes or more)");
	CHECK_OK(peal_memory_limit(s.rt, s.devices[0], 0));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 0));
	s.job.schedule = PEAL_SCHEDULE_GUIDED;
	s.job.limits = limits;
	CHECK_FAILS(run(MAX_WAIT), PEAL_ENOSPC, "device 1: has too little");
	/* one range at a time, of 128 bytes for each array at most */
	limits[0] = limits[1] = 256;
	l = run_all();
	CHECK(l.most[0] <= 16 && l.most[1] <= 16);
	CHECK(l.ranges >= 500 / 16);
	close_arrays();
}

/* ---- arrays -------------------------------------------------------------- */

/* Elements of two sizes, and an array that all ranges get as a whole. */
PEAL_TEST(whole_array_and_separate_output)
{
	static const uint32_t table[] = { 11, 22, 33 }, factor = 7;
	static uint32_t in[MOST], sum[MOST], *out;
	struct peal_executor_array three[] = {
		{ .input = in, .element_bytes = 4 },
		{ .input = table, .bytes = sizeof(table) },
		{ .output = sum, .element_bytes = 4 },
	};
	uint32_t schedule;
	uint64_t i;

	open_arrays(3, 2);
	s.job.handler = "combine";
	s.job.parameters = &factor;
	s.job.parameter_bytes = sizeof(factor);
	s.job.count = 9999;
	for (schedule = 0; schedule < 2 * PEAL_SCHEDULE_COUNT; schedule++) {
		s.job.schedule = schedule / 2;
		limit_all(schedule % 3 ? 3000 : 0);
		/* the sums may replace the input */
		out = schedule % 2 ? in : sum;
		three[2].output = out;
		memset(sum, 0, sizeof(sum));
		for (i = 0; i < MOST; i++)
			in[i] = i < 9999 ? (uint32_t)(i * 2654435761u) : 0;
		CHECK_OK(peal_executor_arrays_run(s.e, &s.job, three, 3,
						  MAX_WAIT));
		for (i = 0; i < MOST; i++)
			CHECK_EQ(out[i],
				 i < 9999 ?
					 (uint32_t)(i * 2654435761u) * factor +
						 table[i % 3] :
					 0);
	}
	close_arrays();
}

/* An element is a plane of the grid. */
PEAL_TEST(planes_of_a_grid_are_elements)
{
	static uint32_t visits[13 * 11 * 9];
	static struct cover covers[13 * 11 * 9];
	const struct peal_executor_array planes[] = {
		{ .input = visits, .output = visits, .element_bytes = 572 },
		{ .output = covers, .element_bytes = 143 * sizeof(covers[0]) },
	};
	uint32_t i, schedule;

	open_arrays(2, 1);
	s.job.handler = "cover";
	s.job.dimensions = 3;
	for (i = 0; i < 3; i++) {
		s.job.grid[i] = 13 - 2 * i;
		s.job.threads_per_block[i] = 4;
	}
	limit_all(50000);
	for (schedule = 0; schedule < PEAL_SCHEDULE_COUNT; schedule++) {
		s.job.schedule = schedule;
		memset(covers, 0xff, sizeof(covers));
		memset(visits, 0, sizeof(visits));
		CHECK_OK(peal_executor_arrays_run(s.e, &s.job, planes, 2,
						  MAX_WAIT));
		for (i = 0; i < 13 * 11 * 9; i++) {
			CHECK_EQ(visits[i], 1);
			CHECK_EQ(covers[i].id[0], i % 13);
			CHECK_EQ(covers[i].id[1], i / 13 % 11);
			CHECK_EQ(covers[i].id[2], i / 143);
		}
	}
	close_arrays();
}

/* The same executor runs plain jobs and jobs on arrays. */
PEAL_TEST(plain_jobs_and_arrays_alternate)
{
	uint32_t i;

	open_arrays(2, 1);
	for (i = 0; i < 4; i++) {
		s.job.count = 3000 + i;
		s.job.schedule = i;
		s.job.n_arguments = 0;
		limit_all(4000);
		run_all();
		s.job.n_arguments = 2;
		s.job.arguments = s.argument;
		fixture_check(&s);
	}
	close_arrays();
}

/* A device that is said to be far faster gets all elements, in several ranges. */
PEAL_TEST(dynamic_ranges_follow_device_speed)
{
	struct peali_executor_handler *h;
	struct listed l;

	open_arrays(2, 1);
	s.job.schedule = PEAL_SCHEDULE_DYNAMIC;
	s.job.count = 100;
	run_all();
	h = &s.e->handlers[1];
	h->elements[0] = 1e2, h->busy_ns[0] = 1e12;
	h->elements[1] = 1e9, h->busy_ns[1] = 1e12;
	s.job.count = 10000;
	s.job.grain = 10000 / 4;
	l = run_all();
	CHECK_EQ(l.elements[0], 0);
	CHECK_EQ(l.elements[1], 10000);
	CHECK(l.ranges >= 4);
	close_arrays();
}

/* ---- bad arguments ------------------------------------------------------- */

#define REFUSED(text) CHECK_FAILS(run(MAX_WAIT), PEAL_EINVAL, text)

static void refuse_arrays(void)
{
	const struct peal_executor_array good = arrays[1];

	arrays[1].output = NULL;
	REFUSED("array 1: has no memory (input and output NULL");
	arrays[1] = good;
	arrays[1].element_bytes = 0;
	REFUSED("argument 1: needs element_bytes or bytes (none");
	arrays[1].bytes = 8;
	REFUSED("array 1: is whole, and has an output");
	arrays[1].element_bytes = 8;
	arrays[1].output = NULL;
	arrays[1].input = number;
	REFUSED("argument 1: needs element_bytes or bytes (both");
	arrays[1] = good;
	arrays[1].element_bytes = (uint64_t)UINT32_MAX + 1;
	REFUSED("'element_bytes': is out of range (4294967296, allowed "
		"0..4294967295)");
	arrays[1].element_bytes = UINT32_MAX;
	CHECK_EQ(run(MAX_WAIT), 0); /* no element */
	s.job.count = UINT64_MAX / UINT32_MAX;
	REFUSED("'count': is out of range (4294967297, allowed 0..");
	arrays[1] = good;
}

/* An output may be an input of equal elements, as in the other cases. It overlaps
 * nothing else. */
PEAL_TEST(overlapping_arrays_are_refused)
{
	uint8_t *at = (uint8_t *)number;

	open_arrays(1, 1);
	s.job.count = 10;
	arrays[0].input = at + 8;
	REFUSED("array 1: has an output that overlaps memory of array 0");
	arrays[0].input = seen;
	arrays[0].output = at + 8;
	REFUSED("array 0: has an output that overlaps memory of array 1");
	arrays[0].output = seen;
	arrays[1].input = at + 1;
	REFUSED("array 1: has an output that overlaps memory of array 1");
	close_arrays();
}

PEAL_TEST(bad_arguments_are_refused)
{
	struct peal_executor_range r;
	struct peal_partition p;

	open_arrays(2, 1);
	CHECK_FAILS(peal_executor_arrays_range(s.e, 0, &r), PEAL_ENOENT,
		    "call peal_executor_arrays_run first");
	CHECK_FAILS(peal_executor_arrays_run(NULL, &s.job, arrays, 2, -1),
		    PEAL_EINVAL, "executor, job or arrays");
	CHECK_EQ(peal_executor_arrays_run(s.e, NULL, arrays, 2, -1),
		 PEAL_EINVAL);
	CHECK_EQ(peal_executor_arrays_run(s.e, &s.job, NULL, 2, -1),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_executor_arrays_run(s.e, &s.job, arrays, 0, -1),
		    PEAL_EINVAL,
		    "'n_arrays': is out of range (0, allowed 1..8");
	CHECK_EQ(peal_executor_arrays_run(s.e, &s.job, arrays, 9, -1),
		 PEAL_EINVAL);
	CHECK_EQ(peal_executor_arrays_range(NULL, 0, &r), PEAL_EINVAL);
	CHECK_EQ(peal_executor_arrays_range(s.e, 0, NULL), PEAL_EINVAL);
	CHECK_OK(peal_memory_limit(s.rt, s.devices[0], 1 << 20));
	CHECK_OK(peal_memory_limit(s.rt, s.devices[1], 1 << 20));
	refuse_arrays();
	s.job.count = 100;
	run_all();
	s.job.n_arguments = 2;
	REFUSED("'n_arguments': is out of range (2, allowed 0");
	s.job.n_arguments = 0;
	s.job.count = UINT64_C(1) << 62;
	REFUSED("'count': is out of range (4611686018427387904, allowed 0..");
	s.job.count = 100;
	CHECK_OK(peal_partition_block(100, 2, &p));
	s.job.partition = &p;
	REFUSED("option 'partition': is for arguments in memory of devices");
	s.job.partition = NULL;
	s.job.handler = "nothing";
	CHECK_EQ(run(MAX_WAIT), PEAL_ENOENT);
	s.job.handler = "other";
	CHECK_EQ(run(MAX_WAIT), PEAL_ENOTSUP);
	s.job.size = 4;
	CHECK_EQ(run(MAX_WAIT), PEAL_EINVAL);
	s.job.size = sizeof(s.job);
	s.job.schedule = PEAL_SCHEDULE_COUNT;
	REFUSED("'schedule'");
	check_report(); /* still that of the last job that began */
	close_arrays();
}

PEAL_TEST(running_job_keeps_the_executor_busy)
{
	open_arrays(2, 1);
	s.job.count = 100;
	run_all();
	s.job.n_arguments = 2;
	s.job.arguments = s.argument;
	fixture_gate(&s, 0);
	CHECK_OK(peal_executor_start(s.e, &s.job));
	s.job.n_arguments = 0;
	CHECK_FAILS(run(MAX_WAIT), PEAL_EBUSY, "peal_executor_wait first");
	check_ranges();
	fixture_gate(&s, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	run_all();
	close_arrays();
}

PEAL_TEST_MAIN(RUN_LANES(each_element_runs_once_and_is_listed);
	       RUN(many_devices_share_the_arrays);
	       RUN(ranges_fit_in_the_memory_of_their_device);
	       RUN(memory_schedule_follows_the_limits);
	       RUN(memory_schedule_follows_the_free_memory);
	       RUN(device_without_memory_for_an_element);
	       RUN_LANES(whole_array_and_separate_output);
	       RUN_LANES(planes_of_a_grid_are_elements);
	       RUN(plain_jobs_and_arrays_alternate);
	       RUN(dynamic_ranges_follow_device_speed);
	       RUN(overlapping_arrays_are_refused);
	       RUN(bad_arguments_are_refused);
	       RUN(running_job_keeps_the_executor_busy);)
