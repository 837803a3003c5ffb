/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast alone quick */
/* Shows that each queue of `peal bench queues` moves all messages. */
#include "peal_test.h"

#include "bench/kinds/kinds.h"
#include "bench/baseline/cpu/baselines.h"
#include "bench/queue_run.h"

#define MESSAGES test_part(4096)

static struct peali_cores cores;

static struct peali_bench_queue_job
job_of(const struct peali_bench_queue_kind *kind, uint32_t bytes,
       uint32_t burst, enum peali_bench_queue_placement placement)
{
	const struct peali_bench_queue_job job = {
		.kind = kind,
		.shape = { .bytes = bytes,
			   .burst = burst,
			   .producers = placement == PEALI_PLACE_APART ? 1 : 2,
			   .consumers = 1,
			   .slots = bytes > 256 ? 64 : 1024,
			   .both = placement == PEALI_PLACE_BOTH },
		.placement = placement,
		.gap = PEALI_GAP_YIELD,
		.cores = cores,
	};

	return job;
}

static const uint32_t sizes[] = { 8, 48, 64, 256, 4096 };

/* Moves messages of all sizes, one by one and in bursts. */
static void flows(const struct peali_bench_queue_kind *kind, uint32_t consumers,
		  enum peali_bench_queue_placement placement)
{
	if (kind->missing) {
		printf("    skipped: %s: %s\n", kind->name, kind->missing);
		return;
	}
	for (int i = 0; i < 5; i++) {
		/* mailboxes, several producers: no rows of 4096 bytes */
		if (sizes[i] == 4096 && (kind == &peali_bench_queue_mailbox ||
					 placement != PEALI_PLACE_APART))
			continue;
		for (uint32_t burst = 1; burst <= 32; burst += 31) {
			struct peali_bench_queue_job job =
				job_of(kind, sizes[i], burst, placement);

			job.shape.consumers = consumers;
			CHECK(peali_bench_queue_rate(&job, MESSAGES) > 0);
		}
	}
}

PEAL_TEST(one_to_one_flow_delivers_all_messages)
{
	flows(peali_bench_queue_pair, 1, PEALI_PLACE_APART);
	for (int i = 0; peali_baselines_pair[i]; i++)
		flows(peali_baselines_pair[i], 1, PEALI_PLACE_APART);
}

PEAL_TEST(two_to_one_flow_delivers_all_messages)
{
	flows(peali_bench_queue_gather, 1, PEALI_PLACE_APART);
	flows(peali_bench_queue_gather, 1, PEALI_PLACE_BOTH);
	flows(peali_bench_queue_gather, 1, PEALI_PLACE_ONE_CORE);
	for (int i = 0; peali_baselines_gather[i]; i++) {
		flows(peali_baselines_gather[i], 1, PEALI_PLACE_APART);
		flows(peali_baselines_gather[i], 1, PEALI_PLACE_BOTH);
		flows(peali_baselines_gather[i], 1, PEALI_PLACE_ONE_CORE);
	}
}

PEAL_TEST(two_to_two_flow_delivers_all_messages)
{
	if (peali_bench_queue_share)
		flows(peali_bench_queue_share, 2, PEALI_PLACE_BOTH);
	for (int i = 0; peali_baselines_share[i]; i++)
		flows(peali_baselines_share[i], 2, PEALI_PLACE_BOTH);
}

/* As in the benchmark, the publisher's thread is also a reader. */
static void spread(const struct peali_bench_queue_kind *kind)
{
	for (int i = 0; i < 4; i++)
		for (uint32_t burst = 1; burst <= 32; burst += 31) {
			struct peali_bench_queue_job job =
				job_of(kind, sizes[i], burst, PEALI_PLACE_BOTH);

			job.shape.producers = 1;
			job.shape.consumers = 2;
			job.shape.every = 1;
			CHECK(peali_bench_queue_rate(&job, MESSAGES) > 0);
		}
}

PEAL_TEST(broadcast_flow_delivers_all_messages)
{
	spread(peali_bench_queue_spread);
	for (int i = 0; peali_baselines_spread[i]; i++)
		spread(peali_baselines_spread[i]);
}

static void trips(const struct peali_bench_queue_kind *kind)
{
	if (kind->missing)
		return;
	for (int i = 0; i < 4; i++) {
		struct peali_samples samples = { 0 };
		struct peali_bench_queue_job job =
			job_of(kind, sizes[i], 1, PEALI_PLACE_APART);

		job.shape.trips = 1;
		CHECK_EQ(peali_bench_queue_round_trips(&job, 4, 50, &samples),
			 0);
		CHECK_EQ(samples.n_values, 45); /* without the first tenth */
		peali_samples_fini(&samples);
	}
}

PEAL_TEST(round_trips_arrive_whole)
{
	trips(peali_bench_queue_pair);
	for (int i = 0; peali_baselines_pair[i]; i++)
		trips(peali_baselines_pair[i]);
}

/* Includes odd sizes: the sizes in slots and slab are not constants. */
PEAL_TEST(links_store_messages_in_requested_memory)
{
	static const uint32_t odd[] = { 64, 384, 1008 };

	for (int policy = 0; policy < 3; policy++)
		for (int i = 0; i < 3; i++)
			for (int slab = 0; slab < 2; slab++) {
				const struct peali_bench_queue_kind *kind =
					slab ? peali_bench_queue_slabs[policy]
								      [0] :
					       peali_bench_queue_slots[policy];
				struct peali_bench_queue_job job = job_of(
					kind, odd[i], 32, PEALI_PLACE_APART);
				struct peali_samples samples = { 0 };

				CHECK(peali_bench_queue_rate(&job, 1024) > 0);
				job.shape.burst = 1;
				CHECK(peali_bench_queue_rate(&job, 1024) > 0);
				CHECK_EQ(peali_bench_queue_round_trips(
						 &job, 4, 50, &samples),
					 0);
				peali_samples_fini(&samples);
			}
}

/*
 * The slab keeps no message that fits a slot. A slot keeps no message that is
 * too long.
 */
PEAL_TEST(unfit_slot_or_slab_link_is_refused)
{
	const struct peali_bench_queue_job small =
		job_of(peali_bench_queue_slabs[0][0], 8, 1, PEALI_PLACE_APART);
	const struct peali_bench_queue_job large =
		job_of(peali_bench_queue_slots[2], 2048, 1, PEALI_PLACE_APART);

	CHECK(peali_bench_queue_rate(&small, 1024) < 0);
	CHECK(peali_bench_queue_rate(&large, 1024) < 0);
}

static void need_two_cores(void)
{
	if (!peali_cores_pick(&cores))
		return;
	printf("skipped: needs two cores\n");
	exit(77);
}

PEAL_TEST_MAIN(need_two_cores(); RUN(one_to_one_flow_delivers_all_messages);
	       RUN(two_to_one_flow_delivers_all_messages);
	       RUN(two_to_two_flow_delivers_all_messages);
	       RUN(broadcast_flow_delivers_all_messages);
	       RUN(round_trips_arrive_whole);
	       RUN(links_store_messages_in_requested_memory);
	       RUN(unfit_slot_or_slab_link_is_refused);)
