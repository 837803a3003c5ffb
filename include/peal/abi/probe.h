/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PROBE_H
#define PEAL_ABI_PROBE_H

#include <peal/device/platform.h>

/*
 * What the host and the two kernels of the probe share. The writer runs on the
 * device whose access is tried, the reader on the owner of the memory:
 *
 *	area	in the owner's memory: ping word, ring, pattern
 *	words	in host memory: what either side says of itself
 *	pong	where the reader answers; in the writer's or in host memory
 *
 * What the reader says goes through host memory, so that the verdict is about
 * one direction alone. The exception is `pong` while latency is measured.
 *
 * One launch can do several jobs, one after the other: both directions of a
 * pair are proved by one kernel on each of the two devices.
 */

#define PEAL_PROBE_MAGIC 0x45424f52504c4550ULL /* "PELPROBE" */

/** What a launch of the two is for. */
enum peal_probe_job {
	PEAL_PROBE_VERIFY = 1, /* slots and pattern, every byte checked */
	PEAL_PROBE_LATENCY = 2, /* ping-pong, timed by the writer alone */
	PEAL_PROBE_BANDWIDTH = 3 /* writes of the pattern until acknowledged */
};

enum peal_probe_role { PEAL_PROBE_WRITER = 0, PEAL_PROBE_READER = 1 };

#define PEAL_PROBE_SLOTS 2048 /* of the ring */
#define PEAL_PROBE_SLOT_BYTES 64
#define PEAL_PROBE_STAMP_WORDS 7 /* content of a slot; the first: its number */
#define PEAL_PROBE_CREDIT_EVERY 1024 /* slots, and so often a bell is rung */
#define PEAL_PROBE_BATCHES 16 /* of round trips */
#define PEAL_PROBE_ROUNDS 12 /* of writing the pattern */

/*
 * The area. A machine that mixes up pages writes beside what it aims at: a
 * margin on both sides keeps other memory out of its way.
 */
#define PEAL_PROBE_MARGIN 8192
#define PEAL_PROBE_PING_OFFSET PEAL_PROBE_MARGIN
#define PEAL_PROBE_RING_OFFSET (PEAL_PROBE_PING_OFFSET + 4096)
#define PEAL_PROBE_PATTERN_OFFSET                                              \
	(PEAL_PROBE_RING_OFFSET + PEAL_PROBE_SLOTS * PEAL_PROBE_SLOT_BYTES)
#define PEAL_PROBE_AREA_BYTES(pattern_bytes)                                   \
	(PEAL_PROBE_PATTERN_OFFSET + (pattern_bytes) + PEAL_PROBE_MARGIN)

/** As a credit or a ping: its writer has stopped, wait no longer. */
#define PEAL_PROBE_GAVE_UP (~(uint64_t)0)

/** In host memory; zero before each launch. */
struct peal_probe_words {
	/* only writer: the writing kernel; two lines, all in use */
	uint64_t published; /* slots that it has stored, the END mark too */
	uint64_t round_trips; /* that came to an end */
	uint64_t rounds; /* of the pattern that were acknowledged */
	uint64_t writer_done; /* 1: it has returned */
	uint64_t batch_ns[PEAL_PROBE_BATCHES]; /* for a batch of round trips */
	uint64_t round_ns[PEAL_PROBE_ROUNDS];
	/* only writer: the reading kernel */
	uint64_t credit; /* slots that it has checked */
	uint64_t pong; /* its answers, unless they go another way */
	uint64_t seen; /* slots that became visible */
	uint64_t wrong; /* not what was written, or not where */
	uint64_t missing; /* slots that are written but not visible */
	uint64_t pattern_words; /* of 8 bytes, that were checked */
	uint64_t pattern_wrong;
	uint64_t late; /* 1: the limit passed before anything was proved */
	uint64_t reader_done; /* 1: it has returned */
	uint8_t reader_reserved[PEAL_SHARED_LINE - 80];
	/* only writer: the host */
	uint64_t alone; /* 1: the other kernel has failed, wait no longer */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_probe_words) == 3 * PEAL_SHARED_LINE,
		   "probe words size");
PEAL_STATIC_ASSERT(offsetof(struct peal_probe_words, credit) ==
			   2 * PEAL_SHARED_LINE,
		   "probe words layout");

/** What each of the two is launched with; addresses as its device sees them. */
struct peal_probe_params {
	uint64_t magic;
	uint32_t job; /* enum peal_probe_job */
	uint32_t role; /* enum peal_probe_role */
	uint64_t area;
	uint64_t words; /* struct peal_probe_words */
	uint64_t pong; /* one word */
	uint64_t scratch; /* two words of its own, zero */
	uint64_t bell; /* host only: its own struct peal_bell */
	uint64_t partner_bell; /* host only: the other one's */
	uint64_t seed;
	uint64_t pattern_bytes; /* multiple of 8 */
	uint64_t limit_ns; /* it returns after that time at the latest */
	uint64_t patience_ns; /* what is written is visible after that time */
	uint32_t n_messages; /* whole rings full; then comes the END mark */
	uint32_t batch; /* round trips in each batch */
	uint32_t lanes;
	uint32_t reserved;
	uint64_t next; /* struct peal_probe_params of the job after it, or 0 */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_probe_params) == 120, "probe params");
PEAL_STATIC_ASSERT(offsetof(struct peal_probe_params, n_messages) == 96,
		   "probe params layout");

#endif
