/* SPDX-License-Identifier: Apache-2.0 */
/* A job with a grid runs each thread (x, y, z) once, with its numbers. */
#include "runtime/task_fixture.h"

#define MOST_THREADS 20000

static struct fixture s;
static uint64_t cover[PEAL_PARTS_MAX]; /* by rank: address of the records */

static void open_grid(uint32_t n, uint32_t workers)
{
	uint32_t i;

	fixture_open(&s, n, workers);
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY,
				   MOST_THREADS * sizeof(struct cover),
				   &cover[0]));
	for (i = 1; i < n; i++)
		cover[i] = cover[0];
	s.argument[1].address = cover;
	s.job.handler = "cover";
}

static void close_grid(void)
{
	uint64_t records = cover[0];
	struct peal_runtime *rt = s.rt;

	CHECK_OK(peal_executor_destroy(s.e));
	s.e = NULL;
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, records));
	fixture_close(&s);
}

/* Sets a grid. Returns the number of its threads. */
static uint64_t set_grid(uint32_t dimensions, const uint32_t *threads,
			 const uint32_t *block)
{
	uint64_t each = 1;
	uint32_t d;

	s.job.dimensions = dimensions;
	s.job.count = 0;
	for (d = 0; d < 3; d++) {
		s.job.grid[d] = d < dimensions ? threads[d] : 0;
		s.job.threads_per_block[d] = d < dimensions ? block[d] : 0;
		if (d + 1 < dimensions)
			each *= threads[d];
	}
	s.argument[0].element_bytes = 4 * each;
	s.argument[1].element_bytes = sizeof(struct cover) * each;
	return each * threads[dimensions - 1];
}

/* Checks the numbers that a thread has written. */
static void check_thread(uint64_t at)
{
	const struct cover *c = (struct cover *)(uintptr_t)cover[0] + at;
	uint64_t rest = at;
	uint32_t d;

	for (d = 0; d < 3; d++) {
		uint32_t n = d < s.job.dimensions ? s.job.grid[d] : 1;
		uint32_t b = d < s.job.dimensions ? s.job.threads_per_block[d] :
						    1;

		CHECK_EQ(c->id[d], rest % n);
		CHECK_EQ(c->thread[d], rest % n % b);
		CHECK_EQ(c->block[d], rest % n / b);
		CHECK_EQ(c->threads[d], n);
		CHECK_EQ(c->per_block[d], b);
		CHECK_EQ(c->blocks[d], (n + b - 1) / b);
		rest /= n;
	}
}

/* Runs the job. Each of the n threads ran once, and no other. */
static void check_grid(uint64_t n)
{
	uint64_t i;

	CHECK(n <= MOST_THREADS);
	memset(fixture_visits(&s), 0, 4 * FIXTURE_MOST);
	memset((void *)(uintptr_t)cover[0], 0xff,
	       MOST_THREADS * sizeof(struct cover));
	CHECK_OK(peal_executor_run(s.e, &s.job, MAX_WAIT));
	for (i = 0; i < n; i++) {
		CHECK_EQ(fixture_visits(&s)[i], 1);
		check_thread(i);
	}
	for (; i < FIXTURE_MOST; i++)
		CHECK_EQ(fixture_visits(&s)[i], 0);
	fixture_report(&s);
	CHECK_EQ(s.report.elements, s.job.grid[s.job.dimensions - 1]);
}

/* Blocks are larger, smaller, and not a multiple of the lanes. */
static const uint32_t grids[][7] = {
	{ 1, 1, 0, 0, 1, 0, 0 },      { 1, 1000, 0, 0, 256, 0, 0 },
	{ 2, 37, 23, 0, 16, 16, 0 },  { 2, 1, 101, 0, 7, 3, 0 },
	{ 2, 101, 1, 0, 1, 1024, 0 }, { 2, 64, 48, 0, 32, 32, 0 },
	{ 3, 5, 7, 11, 4, 4, 2 },     { 3, 17, 1, 13, 3, 5, 7 },
	{ 3, 2, 3, 1, 8, 8, 16 },     { 3, 13, 11, 9, 1, 1, 1 },
};

PEAL_TEST(each_thread_runs_once_with_its_numbers)
{
	uint32_t i, schedule;

	open_grid(3, 2);
	for (schedule = 0; schedule < PEAL_SCHEDULE_COUNT; schedule++) {
		s.job.schedule = schedule;
		for (i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
			check_grid(set_grid(grids[i][0], &grids[i][1],
					    &grids[i][4]));
	}
	close_grid();
}

/* Parts of the partition do not begin at the edge of a block. */
PEAL_TEST(partitioned_rows_keep_the_numbers_of_the_grid)
{
	static const uint64_t weights[] = { 5, 1, 3 };
	struct peal_partition p;
	uint64_t n;
	uint32_t i, k;

	open_grid(3, 1);
	for (i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		n = set_grid(grids[i][0], &grids[i][1], &grids[i][4]);
		CHECK_OK(peal_partition_weighted(grids[i][grids[i][0]], weights,
						 NULL, 3, &p));
		for (k = 0; k < 3; k++) {
			s.visits[k] = s.visits[0] +
				      s.argument[0].element_bytes * p.bound[k];
			cover[k] = cover[0] +
				   s.argument[1].element_bytes * p.bound[k];
		}
		s.job.partition = &p;
		check_grid(n);
		for (k = 0; k < 3; k++)
			CHECK_EQ(s.report.part[k].elements,
				 peal_partition_length(&p, k));
	}
	close_grid();
}

PEAL_TEST(grid_and_plain_jobs_alternate)
{
	uint32_t i;

	open_grid(2, 1);
	for (i = 0; i < 4; i++) {
		s.job.handler = "cover";
		s.argument[1].address = cover;
		check_grid(set_grid(2, &grids[2][1], &grids[2][4]));
		s.job.handler = "visit";
		s.argument[1].address = s.number;
		s.argument[0].element_bytes = 4;
		s.argument[1].element_bytes = 8;
		s.job.dimensions = 0;
		memset(s.job.grid, 0, sizeof(s.job.grid));
		memset(s.job.threads_per_block, 0,
		       sizeof(s.job.threads_per_block));
		s.job.count = 500 + i;
		fixture_check(&s);
	}
	close_grid();
}

#define REFUSED(text)                                                          \
	CHECK_FAILS(peal_executor_start(s.e, &s.job), PEAL_EINVAL, text)

/* Sets the grid of three dimensions, or of fewer. */
static void refuse_grid(uint32_t dimensions, uint32_t x, uint32_t y, uint32_t z,
			uint32_t bx, uint32_t by, uint32_t bz)
{
	const uint32_t grid[] = { x, y, z }, block[] = { bx, by, bz };

	s.job.dimensions = dimensions;
	s.job.count = 0;
	memcpy(s.job.grid, grid, sizeof(grid));
	memcpy(s.job.threads_per_block, block, sizeof(block));
}

PEAL_TEST(bad_grid_is_refused)
{
	open_grid(1, 1);
	refuse_grid(4, 1, 1, 1, 1, 1, 1);
	REFUSED("option 'dimensions': is out of range (4, allowed 0..3)");
	refuse_grid(0, 8, 0, 0, 0, 0, 0);
	REFUSED("option 'grid[0]': is beyond the dimensions of the grid (8, "
		"allowed 0..1); raise dimensions, or use 1");
	refuse_grid(0, 0, 0, 0, 0, 16, 0);
	REFUSED("'threads_per_block[1]': is beyond the dimensions of the grid "
		"(16, allowed 0..1)");
	refuse_grid(2, 64, 0, 0, 16, 16, 0);
	REFUSED("option 'grid[1]': is out of range (0, allowed 1..4294967295)");
	refuse_grid(2, 64, 48, 2, 16, 16, 0);
	REFUSED("option 'grid[2]': is beyond the dimensions of the grid (2, "
		"allowed 0..1)");
	refuse_grid(2, 64, 48, 1, 0, 16, 1);
	REFUSED("'threads_per_block[0]': is out of range (0, allowed 1..1024)");
	refuse_grid(2, 64, 48, 1, 16, 1025, 1);
	REFUSED("'threads_per_block[1]': is out of range (1025, allowed "
		"1..1024)");
	refuse_grid(3, 64, 48, 9, 32, 32, 2);
	REFUSED("option 'threads_per_block': has too many threads (2048, "
		"allowed 1..1024); use smaller blocks");
	refuse_grid(3, 1024, 1024, 1024, 1024, 1024, 1024);
	REFUSED("has too many threads (1073741824, allowed 1..1024)");
	refuse_grid(3, UINT32_MAX, UINT32_MAX, 2, 1, 1, 1);
	REFUSED("option 'grid': has too many threads (4294967295 x 4294967295 "
		"x 2, allowed a product below 2^64, in whole blocks); use "
		"several jobs");
	/* only the product of the whole blocks is too large */
	refuse_grid(2, UINT32_MAX, UINT32_MAX, 1, 2, 2, 1);
	REFUSED("option 'grid': has too many threads (4294967295 x 4294967295 "
		"x 1, ");
	refuse_grid(2, 64, 48, 1, 16, 16, 1);
	s.job.count = 64;
	REFUSED("option 'count': differs from the last dimension of the grid "
		"(64, allowed 48); use 0");
	close_grid();
}

PEAL_TEST(grid_handler_without_a_grid_fails)
{
	open_grid(1, 1);
	s.job.count = 8;
	s.argument[1].element_bytes = sizeof(struct cover);
	CHECK_FAILS(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EINVAL,
		    ": invalid argument; if the handler uses a grid, set "
		    "dimensions of the job");
	/* no hint about other errors, or in a job with a grid */
	s.job.handler = "visit";
	s.argument[1].address = s.number;
	s.argument[1].element_bytes = 8;
	s.visit.fails_at = 0;
	s.visit.error = PEAL_EIO;
	s.visit.leader = 1;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EIO);
	CHECK(!strstr(peal_last_error()->text, "grid"));
	s.visit.error = PEAL_EINVAL;
	s.job.count = 0;
	s.job.dimensions = 1;
	s.job.grid[0] = 8;
	s.job.threads_per_block[0] = 1;
	CHECK_EQ(peal_executor_run(s.e, &s.job, MAX_WAIT), PEAL_EINVAL);
	CHECK(!strstr(peal_last_error()->text, "grid"));
	close_grid();
}

PEAL_TEST_MAIN(RUN_LANES(each_thread_runs_once_with_its_numbers);
	       RUN_LANES(partitioned_rows_keep_the_numbers_of_the_grid);
	       RUN_LANES(grid_and_plain_jobs_alternate);
	       RUN(bad_grid_is_refused);
	       RUN_LANES(grid_handler_without_a_grid_fails);)
