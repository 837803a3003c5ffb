/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the baselines of the benchmarks do their work with any number of
 * lanes.
 */
#include "peal_test.h"

#include "bench/rivals.h"

static struct peali_stand stand;
static struct peali_rivals rivals;
static struct peali_rival_reports reports;

static void open_stand(uint32_t lanes)
{
	CHECK_EQ(peali_stand_open(&stand, 2), 0);
	CHECK_EQ(peali_rivals_load(stand.runtime), 0);
	stand.lanes = lanes;
}

/*
 * Opens two sides. `way` 0: on two devices, 1: on one, 2: with host memory
 * between them.
 */
static void open_pair(int way)
{
	const struct peali_seat across[] = { { 0, 0 }, { 1, 0 } };
	const struct peali_seat local[] = { { 0, 0 }, { 0, 1 } };

	memset(&rivals, 0, sizeof(rivals));
	CHECK_EQ(peali_rivals_open(&rivals, &stand, way == 1 ? local : across,
				   2, way == 2, 0),
		 0);
	CHECK_EQ(rivals.across, way != 1);
}

static void trips(enum peali_rival_job job, uint32_t bytes)
{
	const struct peali_rival_order order = {
		.job = job,
		.bytes = bytes,
		.batch = 4,
		.warm = 8,
		.samples = 10,
		.budget_ns = 100000000000, /* a loaded machine is slow */
	};

	CHECK_EQ(peali_rivals_run(&rivals, &order, &reports), 0);
	CHECK_EQ(reports.side[0].head.n_samples, 10);
	CHECK_EQ(reports.side[0].head.messages, 8 + 10 * 4);
}

static void messages(enum peali_rival_job job, uint32_t bytes, uint32_t batch)
{
	const struct peali_rival_order order = {
		.job = job,
		.bytes = bytes,
		.batch = batch,
		.warm = 64,
		.slots = 64,
		.messages = 64 + 333,
	};

	CHECK_EQ(peali_rivals_run(&rivals, &order, &reports), 0);
	CHECK_EQ(reports.side[1].head.messages, 333);
	CHECK(reports.side[1].head.elapsed_ns > 0);
}

static void every_job(uint32_t lanes)
{
	open_stand(lanes);
	for (int way = 0; way < 3; way++) {
		open_pair(way);
		trips(PEALI_RIVAL_FLAG, 8);
		trips(PEALI_RIVAL_FLAG, 4096);
		trips(PEALI_RIVAL_ATOM, 16);
		messages(PEALI_RIVAL_TICKET, 8, 1);
		messages(PEALI_RIVAL_TICKET, 4096, 1);
		messages(PEALI_RIVAL_ACQREL, 8, 1);
		messages(PEALI_RIVAL_ACQREL, 256, 32);
		for (int job = PEALI_RIVAL_CAS; job <= PEALI_RIVAL_SEMAPHORE;
		     job++) {
			messages((enum peali_rival_job)job, 8, 1);
			messages((enum peali_rival_job)job, 256, 1);
			messages((enum peali_rival_job)job, 4096, 1);
		}
		peali_rivals_close(&rivals);
	}
	CHECK_EQ(peali_stand_close(&stand), 0);
}

PEAL_TEST(pairs_move_and_check_every_message)
{
	every_job(1);
	every_job(4);
}

PEAL_TEST(barrier_passes_all_phases)
{
	const struct peali_seat seats[] = { { 0, 0 }, { 0, 1 }, { 0, 2 } };
	const struct peali_rival_order order = {
		.job = PEALI_RIVAL_COUNTER,
		.messages = 200,
		.warm = 8,
	};

	open_stand(1);
	memset(&rivals, 0, sizeof(rivals));
	CHECK_EQ(peali_rivals_open(&rivals, &stand, seats, 3, 0, 1), 0);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(peali_rivals_run(&rivals, &order, &reports), 0);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(reports.side[i].head.messages, 192);
	}
	peali_rivals_close(&rivals);
	CHECK_EQ(peali_stand_close(&stand), 0);
}

/* A wrong sum of the payloads is found. */
PEAL_TEST(launches_add_every_payload_up)
{
	const struct peali_seat seat = { 0, 0 };

	open_stand(1);
	memset(&rivals, 0, sizeof(rivals));
	CHECK_EQ(peali_rivals_open(&rivals, &stand, &seat, 1, 1, 0), 0);
	CHECK_EQ(peali_rivals_record(&rivals), 0);
	CHECK(!rivals.recorded); /* threads are not recorded: see tests/fault */
	for (uint32_t bytes = 8; bytes <= 4096; bytes *= 8)
		CHECK(peali_rivals_launch(&rivals, bytes) > 0);
	CHECK_EQ(peali_rivals_check(&rivals), 0);
	CHECK(peali_rivals_launch(&rivals, 64) > 0);
	rivals.expected++;
	CHECK_EQ(peali_rivals_check(&rivals), -1);
	peali_rivals_close(&rivals);
	CHECK_EQ(peali_stand_close(&stand), 0);
}

PEAL_TEST_MAIN(RUN(pairs_move_and_check_every_message);
	       RUN(barrier_passes_all_phases);
	       RUN(launches_add_every_payload_up);)
