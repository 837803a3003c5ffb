/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the baselines of the benchmarks do their work with any number of
 * lanes.
 */
#include "peal_test.h"

#include "bench/baseline/gpu.h"

static struct peali_fixture fixture;
static struct peali_baseline baseline;
static struct peali_baseline_reports reports;

static void open_rank_fixture(uint32_t lanes)
{
	CHECK_EQ(peali_fixture_open(&fixture, 2), 0);
	CHECK_EQ(peali_baseline_load(fixture.runtime), 0);
	fixture.lanes = lanes;
}

/*
 * Opens two sides. `way` 0: on two devices, 1: on one, 2: with host memory
 * between them.
 */
static void open_pair(int way)
{
	const struct peali_fixture_worker across[] = { { 0, 0 }, { 1, 0 } };
	const struct peali_fixture_worker local[] = { { 0, 0 }, { 0, 1 } };

	memset(&baseline, 0, sizeof(baseline));
	CHECK_EQ(peali_baseline_open(&baseline, &fixture,
				     way == 1 ? local : across, 2, way == 2, 0),
		 0);
	CHECK_EQ(baseline.across, way != 1);
}

static void trips(enum peali_baseline_job job, uint32_t bytes)
{
	const struct peali_baseline_order order = {
		.job = job,
		.bytes = bytes,
		.batch = 4,
		.warm = 8,
		.samples = 10,
		.budget_ns = 100000000000, /* a loaded machine is slow */
	};

	CHECK_EQ(peali_baseline_run(&baseline, &order, &reports), 0);
	CHECK_EQ(reports.side[0].head.n_samples, 10);
	CHECK_EQ(reports.side[0].head.messages, 8 + 10 * 4);
}

static void messages(enum peali_baseline_job job, uint32_t bytes,
		     uint32_t batch)
{
	const struct peali_baseline_order order = {
		.job = job,
		.bytes = bytes,
		.batch = batch,
		.warm = 64,
		.slots = 64,
		.messages = 64 + 333,
	};

	CHECK_EQ(peali_baseline_run(&baseline, &order, &reports), 0);
	CHECK_EQ(reports.side[1].head.messages, 333);
	CHECK(reports.side[1].head.elapsed_ns > 0);
}

static void every_job(uint32_t lanes)
{
	open_rank_fixture(lanes);
	for (int way = 0; way < 3; way++) {
		open_pair(way);
		trips(PEALI_BASELINE_FLAG, 8);
		trips(PEALI_BASELINE_FLAG, 4096);
		trips(PEALI_BASELINE_ATOM, 16);
		messages(PEALI_BASELINE_TICKET, 8, 1);
		messages(PEALI_BASELINE_TICKET, 4096, 1);
		messages(PEALI_BASELINE_ACQREL, 8, 1);
		messages(PEALI_BASELINE_ACQREL, 256, 32);
		for (int job = PEALI_BASELINE_CAS;
		     job <= PEALI_BASELINE_SEMAPHORE; job++) {
			messages((enum peali_baseline_job)job, 8, 1);
			messages((enum peali_baseline_job)job, 256, 1);
			messages((enum peali_baseline_job)job, 4096, 1);
		}
		peali_baseline_close(&baseline);
	}
	CHECK_EQ(peali_fixture_close(&fixture), 0);
}

PEAL_TEST(pairs_move_and_check_every_message)
{
	every_job(1);
	every_job(4);
}

PEAL_TEST(barrier_passes_all_phases)
{
	const struct peali_fixture_worker sides[] = { { 0, 0 },
						      { 0, 1 },
						      { 0, 2 } };
	const struct peali_baseline_order order = {
		.job = PEALI_BASELINE_COUNTER,
		.messages = 200,
		.warm = 8,
	};

	open_rank_fixture(1);
	memset(&baseline, 0, sizeof(baseline));
	CHECK_EQ(peali_baseline_open(&baseline, &fixture, sides, 3, 0, 1), 0);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(peali_baseline_run(&baseline, &order, &reports), 0);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(reports.side[i].head.messages, 192);
	}
	peali_baseline_close(&baseline);
	CHECK_EQ(peali_fixture_close(&fixture), 0);
}

/* A wrong sum of the payloads is found. */
PEAL_TEST(launches_sum_every_payload)
{
	const struct peali_fixture_worker worker = { 0, 0 };

	open_rank_fixture(1);
	memset(&baseline, 0, sizeof(baseline));
	CHECK_EQ(peali_baseline_open(&baseline, &fixture, &worker, 1, 1, 0), 0);
	CHECK_EQ(peali_baseline_record(&baseline), 0);
	CHECK(!baseline.recorded); /* not for threads: see tests/fault */
	for (uint32_t bytes = 8; bytes <= 4096; bytes *= 8)
		CHECK(peali_baseline_launch(&baseline, bytes) > 0);
	CHECK_EQ(peali_baseline_check(&baseline), 0);
	CHECK(peali_baseline_launch(&baseline, 64) > 0);
	baseline.expected++;
	CHECK_EQ(peali_baseline_check(&baseline), -1);
	peali_baseline_close(&baseline);
	CHECK_EQ(peali_fixture_close(&fixture), 0);
}

PEAL_TEST_MAIN(RUN(pairs_move_and_check_every_message);
	       RUN(barrier_passes_all_phases); RUN(launches_sum_every_payload);)
