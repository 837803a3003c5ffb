/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PROBE_H
#define PEAL_ABI_PROBE_H

#include <peal/device/platform.h>

/*
 * The probe of a pair of devices: data shared by the host and two kernels. The
 * writer runs on the device that accesses the other device's memory. The reader
 * runs on that other device, the owner of the memory.
 *
 *	area	in the owner's memory: ping word, slot under pressure, ring,
 *		pattern
 *	words	in host memory: reports of both kernels
 *	pong	answers of the reader; in the writer's or in host memory
 *
 * The reader reports through host memory, so that the verdict covers only one
 * direction. Only `pong` during a latency job can be an exception.
 *
 * Each worker of a launch does one job. So a kernel with two workers on each
 * device probes both directions of a pair at the same time.
 */

#define PEAL_PROBE_MAGIC 0x45424f52504c4550ULL /* "PELPROBE" */

/** Jobs of the two kernels. */
enum peal_probe_job {
	/* slots and pattern, every byte checked; then one slot under pressure */
	PEAL_PROBE_VERIFY = 1,
	PEAL_PROBE_LATENCY = 2, /* ping-pong, timed by the writer */
	PEAL_PROBE_BANDWIDTH = 3 /* writes of the pattern until acknowledged */
};

enum peal_probe_role { PEAL_PROBE_WRITER = 0, PEAL_PROBE_READER = 1 };

#define PEAL_PROBE_SLOTS 2048 /* slots of the ring */
#define PEAL_PROBE_SLOT_BYTES 64
/* Most words in a slot; the first: its number. Atoms leave space for fewer. */
#define PEAL_PROBE_STAMP_WORDS 7
#define PEAL_PROBE_CREDIT_EVERY 1024 /* slots per report, with a bell */
/* Pressure: overwrites between two looks of the writer at the reader. */
#define PEAL_PROBE_OVERWRITES 32
#define PEAL_PROBE_BATCHES 16 /* batches of round trips */
#define PEAL_PROBE_ROUNDS 12 /* writes of the pattern */

/*
 * The area. A machine that maps pages wrongly writes to wrong addresses. A
 * margin on both sides protects other memory.
 */
#define PEAL_PROBE_MARGIN 8192
#define PEAL_PROBE_PING_OFFSET PEAL_PROBE_MARGIN
#define PEAL_PROBE_PRESSURE_OFFSET (PEAL_PROBE_PING_OFFSET + 2048) /* a slot */
#define PEAL_PROBE_RING_OFFSET (PEAL_PROBE_PING_OFFSET + 4096)
#define PEAL_PROBE_PATTERN_OFFSET                                              \
	(PEAL_PROBE_RING_OFFSET + PEAL_PROBE_SLOTS * PEAL_PROBE_SLOT_BYTES)
#define PEAL_PROBE_AREA_BYTES(pattern_bytes)                                   \
	(PEAL_PROBE_PATTERN_OFFSET + (pattern_bytes) + PEAL_PROBE_MARGIN)

/** As a credit or a ping: its writer has stopped, do not wait. */
#define PEAL_PROBE_GAVE_UP (~(uint64_t)0)

/** In host memory; zero before each launch. */
struct peal_probe_words {
	/* only writer: the writing kernel; two full lines */
	uint64_t published; /* slots stored, with the END mark */
	uint64_t round_trips; /* completed round trips */
	uint64_t rounds; /* acknowledged writes of the pattern */
	uint64_t writer_done; /* 1: it has returned */
	uint64_t batch_ns[PEAL_PROBE_BATCHES]; /* per batch of round trips */
	uint64_t round_ns[PEAL_PROBE_ROUNDS]; /* per write of the pattern */
	/* only writer: the reading kernel */
	uint64_t credit; /* slots that it has checked */
	uint64_t pong; /* its answers, unless params.pong is elsewhere */
	uint64_t seen; /* slots that became visible */
	uint64_t wrong; /* slots with wrong content, or at a wrong place */
	uint64_t missing; /* slots that did not become visible */
	uint64_t pattern_words; /* checked words of 8 bytes */
	uint64_t pattern_wrong; /* of those: wrong */
	uint64_t late; /* 1: the time limit passed before a result */
	uint64_t reader_done; /* 1: it has returned */
	uint64_t atoms; /* under pressure: atoms that it has read */
	uint64_t torn; /* of those: with parts of two stores */
	uint8_t reader_reserved[PEAL_SHARED_LINE - 96];
	/* only writer: the host */
	uint64_t alone; /* 1: the other kernel has failed, do not wait */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_probe_words) == 3 * PEAL_SHARED_LINE,
		   "probe words size");
PEAL_STATIC_ASSERT(offsetof(struct peal_probe_words, credit) ==
			   2 * PEAL_SHARED_LINE,
		   "probe words layout");

/** Parameters of a kernel. Addresses are as its device sees them. */
struct peal_probe_params {
	uint64_t magic;
	uint32_t job; /* enum peal_probe_job */
	uint32_t role; /* enum peal_probe_role */
	uint64_t area;
	uint64_t words; /* struct peal_probe_words */
	uint64_t pong; /* one word */
	uint64_t scratch; /* two words of this kernel, zero */
	uint64_t bell; /* host only: this kernel's struct peal_bell */
	uint64_t partner_bell; /* host only: the other kernel's */
	uint64_t seed;
	uint64_t pattern_bytes; /* multiple of 8 */
	uint64_t limit_ns; /* the job ends after this time at the latest */
	uint64_t visible_limit_ns; /* a slot not visible by then is missing */
	uint32_t n_messages; /* slots, a multiple of the ring, before END */
	uint32_t batch; /* round trips in each batch */
	uint32_t lanes;
	uint32_t policy; /* of the ring: enum peal_slot_policy */
	uint64_t next; /* struct peal_probe_params of the next worker; 0: none */
	/* of the slot under pressure: PEAL_POLICY_ATOM16 or PEAL_POLICY_ATOM8 */
	uint16_t atom_policy;
	/* emulated only, 1: the writer's stores of 16 bytes arrive in two parts */
	uint16_t tears;
	uint32_t n_changes; /* of that slot, until the reader has seen enough */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_probe_params) == 128, "probe params");
PEAL_STATIC_ASSERT(offsetof(struct peal_probe_params, n_messages) == 96,
		   "probe params layout");

#endif
