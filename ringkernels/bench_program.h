/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_BENCH_PROGRAM_H
#define PEAL_RINGKERNELS_BENCH_PROGRAM_H

/*
 * Interface of the benchmarks and their kernel program: message types, layouts,
 * and the payload of a message by its number. Device dialect.
 */

#include <peal/device/platform.h>

/** Types of the benchmarks' messages. */
enum peali_bench_type {
	PEALI_BENCH_START = 1, /* host to actor: struct peali_bench_start */
	PEALI_BENCH_DATA = 2,
	PEALI_BENCH_TICK = 3, /* an actor to itself: continue */
	PEALI_BENCH_REPORT = 4 /* actor to host: struct peali_bench_report */
};

/* Largest message of throughput and latency; streams send larger ones. */
#define PEALI_BENCH_BYTES 4096
#define PEALI_BENCH_WORDS (PEALI_BENCH_BYTES / 8)
/* Most messages of one run of `source` on a port. */
#define PEALI_BENCH_BATCH 32
/* Samples of one round; a report of so many fits a slot of 4,096 bytes. */
#define PEALI_BENCH_SAMPLES 1000

/** Begins a round. Unused fields are 0. */
struct peali_bench_start {
	uint64_t seed; /* of the payload */
	uint64_t mask; /* ping: replies are the payload xor this */
	/* source: to send; sink: to expect; phases: phases */
	uint64_t messages;
	/* ping: limit for warm-up and for samples; 0: none */
	uint64_t budget_ns;
	/*
	 * stream: the template; phases: shared words; rally, caller: the
	 * receiving actor
	 */
	uint64_t address;
	uint32_t bytes; /* of a message, a multiple of 8 */
	uint32_t batch; /* ping: round trips per sample; source: per run */
	uint32_t warm; /* ping, sink, phases: warm-up count, not timed */
	uint32_t samples; /* ping: most samples */
	uint32_t self; /* phases, caller: own number; rally: 0 sends first */
	uint32_t participants; /* phases: number of participants */
};

PEAL_STATIC_ASSERT(sizeof(struct peali_bench_start) == 64, "start");

/** A message to one of many actors; also the state of such an actor. */
struct peali_bench_call {
	/* number of the actor; nursery: actors to make and end */
	uint64_t guest;
	uint64_t calls; /* in the state: messages received */
};

PEAL_STATIC_ASSERT(sizeof(struct peali_bench_call) == 16, "call");

/* Bytes of the state of `mover`. */
#define PEALI_BENCH_MOVED (1 << 20)
/* Time that `rally_ask` waits for an answer. */
#define PEALI_BENCH_ASK_NS 5000000000

/* Most messages of one run of `caller`; most callers of a callee. */
#define PEALI_BENCH_TELLS 16
#define PEALI_BENCH_CALLERS 16

/**
 * Ends a round. n_samples samples of 4 bytes follow, in
 * PEALI_BENCH_UNITS_PER_NS.
 */
struct peali_bench_report {
	/* duration of the timed part, by the actor's clock */
	uint64_t elapsed_ns;
	/* round trips, messages or phases in the timed part */
	uint64_t messages;
	uint64_t wrong; /* messages with wrong content */
	uint32_t n_samples;
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peali_bench_report) == 32, "report");

/* A sample is a mean over a batch: a whole nanosecond would be too coarse. */
#define PEALI_BENCH_UNITS_PER_NS 8

/** Returns word i of a seed (splitmix64). All words of a seed differ. */
static PEAL_HD PEAL_INLINE uint64_t peali_bench_word(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/** A lane's share of the words of a message. */
struct peali_bench_share {
	uint32_t words; /* of the message */
	uint32_t lane, lanes; /* this lane's words: lane, lane + lanes, ... */
};

/**
 * Fills a share of a message. Each word is its base word plus the message's
 * number. So every word differs from message to message.
 */
static PEAL_HD PEAL_INLINE void
peali_bench_fill(uint64_t *PEAL_RESTRICT to, const uint64_t *PEAL_RESTRICT base,
		 uint64_t number, struct peali_bench_share share)
{
	uint32_t i;

	for (i = share.lane; i < share.words; i += share.lanes)
		to[i] = base[i] + number;
}

/**
 * Compares a share, xor `mask`, with the values of peali_bench_fill. Returns 0
 * if all words are equal.
 */
static PEAL_HD PEAL_INLINE uint64_t peali_bench_check(
	const uint64_t *PEAL_RESTRICT from, const uint64_t *PEAL_RESTRICT base,
	uint64_t number, uint64_t mask, struct peali_bench_share share)
{
	uint64_t wrong = 0;
	uint32_t i;

	for (i = share.lane; i < share.words; i += share.lanes)
		wrong |= from[i] ^ mask ^ (base[i] + number);
	return wrong;
}

/**
 * Returns a lane's part of a sum of n words, n a multiple of 8. The sum detects
 * missing, doubled, changed and moved words, except words moved by a multiple
 * of 8.
 */
static PEAL_HD PEAL_INLINE uint64_t peali_bench_sum(const uint64_t *words,
						    uint64_t n, uint32_t lane,
						    uint32_t lanes)
{
	uint64_t part[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
	uint64_t sum = 0;
	uint64_t i;
	uint32_t k;

	for (i = (uint64_t)lane * 8; i < n; i += (uint64_t)lanes * 8)
		for (k = 0; k < 8; k++)
			part[k] += words[i + k];
	for (k = 0; k < 8; k++)
		sum += part[k] * (2 * k + 1);
	return sum;
}

#endif
