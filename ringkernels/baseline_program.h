/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_BASELINE_PROGRAM_H
#define PEAL_RINGKERNELS_BASELINE_PROGRAM_H

/*
 * Interface of the benchmarks and the baseline kernels: plain kernels as one
 * writes them without Peal. The kernels end by themselves. Device dialect.
 */

#include "ringkernels/bench_program.h"
#include "ringkernels/crowd_program.h"

#define PEALI_BASELINE_MAGIC 0x4c4156495250454bULL
#define PEALI_BASELINE_SIDES 8 /* workers of one contest */

/** The job of a launch. `role` is the part of a worker. */
enum peali_baseline_job {
	/* A payload, a fence, then a flag; role 0 begins, 1 answers. */
	PEALI_BASELINE_FLAG = 1,
	/* One atom to the other worker and back: the lower bound. */
	PEALI_BASELINE_ATOM = 2,
	/* A ring: a ticket and two fences for each message; 0 sends. */
	PEALI_BASELINE_TICKET = 3,
	/* A ring: cached head and tail by release and acquire; 0 sends. */
	PEALI_BASELINE_ACQREL = 4,
	/*
	 * A barrier on one counter, like grid-wide barriers; 0 owns the
	 * counter.
	 */
	PEALI_BASELINE_COUNTER = 5,
	/* Adds a payload to elapsed_ns and returns: one launch per message. */
	PEALI_BASELINE_SUM = 6,
	/* A ring: both sides claim slots by compare-and-swap; 0 sends. */
	PEALI_BASELINE_CAS = 7,
	/* A ring: each lane takes a ticket for its own message; 0 sends. */
	PEALI_BASELINE_LANES = 8,
	/* A ring: half of each atom is a flag, no fence; 0 sends. */
	PEALI_BASELINE_LL = 9,
	/* A ring: one semaphore for messages, one for free slots; 0 sends. */
	PEALI_BASELINE_SEMAPHORE = 10,
	/*
	 * A crowd at one queue: all put, then all take. A count admits, tickets
	 * order. One lane adds for its worker (broker queue).
	 */
	PEALI_BASELINE_BROKER = 11,
	/* As BROKER, but each lane takes tickets for itself, without a count. */
	PEALI_BASELINE_POPPERS = 12,
	/* A task of budget_ns, which counts itself at its flag, and returns. */
	PEALI_BASELINE_STEP = 13,
	/* A crowd at a barrier on one counter. */
	PEALI_BASELINE_GRID = 14
};

/** Value of a flag or a turn word: the writer has ended, stop waiting. */
#define PEALI_BASELINE_ENDED (~(uint64_t)0)

/** The job of one worker, in device memory; one entry per worker. */
struct peali_baseline_side {
	uint64_t seed; /* of the payload */
	uint64_t messages; /* messages, or phases, with warm-up */
	uint64_t budget_ns; /* flag, atom: limit for warm-up and for samples */
	uint64_t limit_ns; /* limit of every job */
	uint64_t in; /* area that the other workers write, this worker's view */
	uint64_t out; /* area that this worker writes for others, its view */
	uint64_t work; /* private memory on the worker's device */
	uint64_t bell; /* host only: struct peal_bell, its own */
	uint32_t job; /* enum peali_baseline_job */
	uint32_t role;
	uint32_t bytes; /* of a message, a multiple of 8 */
	uint32_t batch; /* round trips per sample; messages per release */
	uint32_t warm; /* warm-up messages, round trips or phases */
	uint32_t samples; /* flag, atom: most samples */
	uint32_t slots; /* of a ring; a power of two */
	uint32_t participants; /* of a barrier */
	uint32_t lanes;
	uint32_t across; /* 1: the areas are on several devices */
	uint32_t reserved[6];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_baseline_side) == 128, "side");

/**
 * Parameters of the kernel; a side for each worker follows. The workers of a
 * crowd have one side together.
 */
struct peali_baseline_params {
	uint64_t magic;
	uint64_t is_crowd;
	uint64_t reserved[14];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_baseline_params) == 128, "params");

/* Offsets in `in` and `out`, in bytes. */
#define PEALI_BASELINE_FLAG_AT 0 /* flag, atom, tail or counter */
#define PEALI_BASELINE_HEAD_AT 128 /* of a ring */
#define PEALI_BASELINE_SLOTS_AT 256
#define PEALI_BASELINE_SLOTS_BYTES 524288 /* 64 of 4,096 bytes and flags */
#define PEALI_BASELINE_AREA_BYTES                                              \
	(PEALI_BASELINE_SLOTS_AT + PEALI_BASELINE_SLOTS_BYTES)

/* Offsets in `work`: leader's words at 0, payload of message 0, report. */
#define PEALI_BASELINE_BASE_AT 128
#define PEALI_BASELINE_REPORT_AT (PEALI_BASELINE_BASE_AT + PEALI_BENCH_BYTES)
#define PEALI_BASELINE_WORK_BYTES (PEALI_BASELINE_REPORT_AT + 4096)

/** `work` of a crowd has one for each worker. */
struct peali_baseline_member {
	uint8_t own[PEAL_SHARED_LINE]; /* leader's words */
	struct peali_crowd_line line;
};

/* Area of a crowd: the counter of its barrier, the queue's words, the slots. */
#define PEALI_BASELINE_TAIL_AT 128
#define PEALI_BASELINE_TURN_AT 256
#define PEALI_BASELINE_COUNT_AT 384
#define PEALI_BASELINE_QUEUE_AT 512

/** A slot of a crowd's queue. */
struct peali_baseline_slot {
	struct peali_crowd_item item;
	uint64_t turn; /* even: free; odd: full */
	uint64_t reserved;
};

/** Returns the bytes of a slot; a turn word of 16 bytes comes first. */
static PEAL_HD PEAL_INLINE uint64_t peali_baseline_stride(uint32_t bytes)
{
	return ((uint64_t)bytes + 16 + 63) / 64 * 64;
}

/** Returns the bytes of a PEALI_BASELINE_LL slot: payload and flags only. */
static PEAL_HD PEAL_INLINE uint64_t peali_baseline_ll_stride(uint32_t bytes)
{
	return (2 * (uint64_t)bytes + 63) / 64 * 64;
}

/** A report with its samples, in the unit of bench_program.h. */
struct peali_baseline_report {
	struct peali_bench_report head;
	uint32_t samples[PEALI_BENCH_SAMPLES];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_baseline_report) <= 4096, "report");

#endif
