/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_RIVALS_PROGRAM_H
#define PEAL_RINGKERNELS_RIVALS_PROGRAM_H

/*
 * What the benchmarks and the rivals of ring kernels agree on: plain kernels
 * that do what one writes without Peal. They end by themselves. Device dialect.
 */

#include "ringkernels/bench_program.h"

#define PEALI_RIVALS_MAGIC 0x4c4156495250454bULL
#define PEALI_RIVALS_SIDES 8 /* workers of one contest */

/** What a launch does; `role` says which part of it a worker has. */
enum peali_rival_job {
	/* A payload, a fence, then a flag; role 0 begins, 1 answers. */
	PEALI_RIVAL_FLAG = 1,
	/* One atom there and back and nothing else: the limit. */
	PEALI_RIVAL_ATOM = 2,
	/* A ring: a ticket and two fences for each message; 0 sends. */
	PEALI_RIVAL_TICKET = 3,
	/* A ring: head and tail by release and acquire, cached; 0 sends. */
	PEALI_RIVAL_ACQREL = 4,
	/* A barrier on one counter, as grid-wide ones are; 0 owns it. */
	PEALI_RIVAL_COUNTER = 5,
	/* Adds a payload to elapsed_ns and returns: a launch per message. */
	PEALI_RIVAL_SUM = 6,
	/* A ring: both claim a slot by compare-and-swap; 0 sends. */
	PEALI_RIVAL_CAS = 7,
	/* A ring: each lane takes a ticket for a message of its own; 0 sends. */
	PEALI_RIVAL_LANES = 8,
	/* A ring: half of each atom is a flag, no fence; 0 sends. */
	PEALI_RIVAL_LL = 9,
	/* A ring: a semaphore for what came, one for room; 0 sends. */
	PEALI_RIVAL_SEMAPHORE = 10
};

/** As a flag or a turn: who writes it has ended, wait no longer. */
#define PEALI_RIVAL_ENDED (~(uint64_t)0)

/** What one worker is to do; device memory, one after the other. */
struct peali_rival_side {
	uint64_t seed; /* of the payload */
	uint64_t messages; /* rings: to send, warm ones too; phases likewise */
	uint64_t budget_ns; /* flag, atom: end warm-up, end early after it */
	uint64_t limit_ns; /* give up after it, whatever the job */
	uint64_t in; /* what others write for it, as it sees it */
	uint64_t out; /* what it writes for others, as it sees it */
	uint64_t work; /* for itself alone, on its device */
	uint64_t bell; /* host only: struct peal_bell, its own */
	uint32_t job; /* enum peali_rival_job */
	uint32_t role;
	uint32_t bytes; /* of a message, a multiple of 8 */
	uint32_t batch; /* round trips per sample; messages per release */
	uint32_t warm; /* messages, round trips or phases that are not timed */
	uint32_t samples; /* flag, atom: how many to take at most */
	uint32_t slots; /* of a ring; a power of two */
	uint32_t participants; /* of a barrier */
	uint32_t lanes;
	uint32_t across; /* 1: areas are not all of one device */
	uint32_t reserved[6];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_rival_side) == 128, "side");

/** What the kernel is given: this, then a side for each worker. */
struct peali_rival_params {
	uint64_t magic;
	uint64_t reserved[15];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_rival_params) == 128, "params");

/* In `in` and `out`, bytes from the begin. */
#define PEALI_RIVAL_FLAG_AT 0 /* flag, atom, tail or counter */
#define PEALI_RIVAL_HEAD_AT 128 /* of a ring */
#define PEALI_RIVAL_SLOTS_AT 256
#define PEALI_RIVAL_SLOTS_BYTES 524288 /* 64 of 4,096 bytes and flags */
#define PEALI_RIVAL_AREA_BYTES (PEALI_RIVAL_SLOTS_AT + PEALI_RIVAL_SLOTS_BYTES)

/* In `work`: the words of the leader, the payload of message 0, the report. */
#define PEALI_RIVAL_BASE_AT 128
#define PEALI_RIVAL_REPORT_AT (PEALI_RIVAL_BASE_AT + PEALI_BENCH_BYTES)
#define PEALI_RIVAL_WORK_BYTES (PEALI_RIVAL_REPORT_AT + 4096)

/** Bytes from slot to slot; a turn word of 16 bytes comes first. */
static PEAL_HD PEAL_INLINE uint64_t peali_rival_stride(uint32_t bytes)
{
	return ((uint64_t)bytes + 16 + 63) / 64 * 64;
}

/** The same of PEALI_RIVAL_LL, whose slots are payload and flags alone. */
static PEAL_HD PEAL_INLINE uint64_t peali_rival_ll_stride(uint32_t bytes)
{
	return (2 * (uint64_t)bytes + 63) / 64 * 64;
}

/** A report with its samples; these as bench_program.h says. */
struct peali_rival_report {
	struct peali_bench_report head;
	uint32_t samples[PEALI_BENCH_SAMPLES];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_rival_report) <= 4096, "report");

#endif
