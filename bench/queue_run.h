/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUE_RUN_H
#define PEAL_BENCH_QUEUE_RUN_H

/*
 * Pinned threads on the two sides of a queue. The calling thread is one of
 * them, always a consumer, and the one that looks at the clock.
 */

#include "bench/bare.h"
#include "bench/queue.h"
#include "bench/samples.h"

/* Who runs where. */
enum peali_bench_queue_placement {
	PEALI_PLACE_APART = 0, /* a producer, a consumer: a core each */
	PEALI_PLACE_BOTH = 1, /* both threads produce; those of low number
			       * consume as well */
	PEALI_PLACE_ONE_CORE = 2 /* all producers on one core, the consumer on
				  * the other */
};

struct peali_bench_queue_job {
	const struct peali_bench_queue_kind *kind;
	struct peali_bench_queue_shape shape;
	enum peali_bench_queue_placement placement;
	enum peali_bench_queue_gap gap;
	struct peali_cores cores;
	uint64_t budget_ns; /* send no more after it; 0: never */
};

/** A run in which no message moves for this long fails; tests shorten it. */
extern uint64_t peali_bench_queue_limit_ns;

/** A placement's name; static. */
const char *
peali_bench_queue_placement_name(enum peali_bench_queue_placement placement);

/** A gap's name; static. */
const char *peali_bench_queue_gap_name(enum peali_bench_queue_gap gap);

/**
 * Sends so many messages in all through a new queue, a multiple of all bursts
 * of all producers, or fewer if time is over, and checks each of them.
 *
 * @return messages a second, from the first that was taken to the last;
 *         negative with a message: one was lost, doubled, changed or out of
 *         order, or a thread or memory was missing.
 */
double peali_bench_queue_rate(const struct peali_bench_queue_job *job,
			      uint64_t messages);

/**
 * Round trips of one message through two new queues.
 *
 * @param batch     round trips to a sample.
 * @param n_samples how many; the first tenth is left out.
 * @param samples   they are added to its open round, in ns per round trip.
 * @return 0, or -1 with a message as above.
 */
int peali_bench_queue_round_trips(const struct peali_bench_queue_job *job,
				  uint32_t batch, uint32_t n_samples,
				  struct peali_samples *samples);

/**
 * For a tool that counts what peali_bench_queue_counted executes: in each turn
 * the calling thread puts and takes 512 messages in such calls, one for each
 * producer and then one for each consumer, and a few before each call. It
 * checks all of them.
 *
 * @param job       of PEALI_PLACE_BOTH, and of 1,024 slots.
 * @param put_out   messages that were put in those calls.
 * @param taken_out messages that were taken in them, by all consumers.
 * @return 0, or -1 with a message as above.
 */
int peali_bench_queue_count(const struct peali_bench_queue_job *job,
			    uint32_t turns, uint64_t *put_out,
			    uint64_t *taken_out);

/** A kind's send or take; adds what it returns to *moved. */
void peali_bench_queue_counted(
	uint64_t (*call)(void *queue, struct peali_bench_queue_end *end,
			 uint64_t n),
	void *queue, struct peali_bench_queue_end *end, uint64_t n,
	uint64_t *moved);

#endif
