/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUE_RUN_H
#define PEAL_BENCH_QUEUE_RUN_H

/*
 * Pinned threads on the two sides of a queue. The calling thread is one of
 * them: a consumer, and the thread that measures the time.
 */

#include "bench/cacheline_bounce.h"
#include "bench/queue.h"
#include "bench/samples.h"

/* Cores and ends of the threads. */
enum peali_bench_queue_placement {
	PEALI_PLACE_APART = 0, /* a producer and a consumer on two cores */
	/* Both threads produce. The first `consumers` of them consume, too. */
	PEALI_PLACE_BOTH = 1,
	/* All producers on one core, the consumer on the other core. */
	PEALI_PLACE_ONE_CORE = 2
};

/* A run. */
struct peali_bench_queue_job {
	const struct peali_bench_queue_kind *kind;
	struct peali_bench_queue_shape shape;
	enum peali_bench_queue_placement placement;
	enum peali_bench_queue_gap gap;
	struct peali_cores cores;
	uint64_t budget_ns; /* send nothing more after this time; 0: no limit */
};

/** ns without a moved message after which a run fails; tests shorten it. */
extern uint64_t peali_bench_queue_limit_ns;

/** Returns a placement's name. The text is static. */
const char *
peali_bench_queue_placement_name(enum peali_bench_queue_placement placement);

/** Returns a gap's name. The text is static. */
const char *peali_bench_queue_gap_name(enum peali_bench_queue_gap gap);

/**
 * Sends messages through a new queue and checks each of them. Sends fewer when
 * the time is over.
 *
 * @param messages of all producers together, a multiple of their bursts.
 * @return messages per second, from the first to the last one received.
 *     Negative with a message: a message was lost, doubled, changed or out of
 *     order. Or there was no memory or no thread.
 */
double peali_bench_queue_rate(const struct peali_bench_queue_job *job,
			      uint64_t messages);

/**
 * Makes round trips of one message through two new queues.
 *
 * @param batch round trips in a sample.
 * @param n_samples number of samples; the first tenth is dropped.
 * @param samples gets the samples in its open round, in ns per round trip.
 * @return 0, or -1 with a message as above.
 */
int peali_bench_queue_round_trips(const struct peali_bench_queue_job *job,
				  uint32_t batch, uint32_t n_samples,
				  struct peali_samples *samples);

/**
 * Moves messages for a tool that counts the instructions of
 * peali_bench_queue_counted.
 *
 * In each turn the calling thread sends and receives 512 messages inside of
 * that function. It calls it once for each producer, then once for each
 * consumer. Before each call it moves a burst outside of the function. All
 * messages are checked.
 *
 * @param job with PEALI_PLACE_BOTH and 1,024 slots.
 * @param put_out messages sent inside.
 * @param taken_out messages received inside, by all consumers.
 * @return 0, or -1 with a message as above.
 */
int peali_bench_queue_count(const struct peali_bench_queue_job *job,
			    uint32_t turns, uint64_t *put_out,
			    uint64_t *taken_out);

/** Calls a kind's send or take and adds its result to *moved. */
void peali_bench_queue_counted(
	uint64_t (*call)(void *queue, struct peali_bench_queue_end *end,
			 uint64_t n),
	void *queue, struct peali_bench_queue_end *end, uint64_t n,
	uint64_t *moved);

#endif
