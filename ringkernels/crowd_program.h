/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_CROWD_PROGRAM_H
#define PEAL_RINGKERNELS_CROWD_PROGRAM_H

/*
 * A crowd: as many workers as a row has, which do one job together. The crowd is
 * of actors of `programs/bench.c`, or of baseline kernels. Each member writes a
 * line. Device dialect.
 */

#include <peal/device/platform.h>

/** What a member of a crowd has done in a round, in a shared line of its own. */
struct peali_crowd_line {
	uint64_t put_ns; /* work queue: time of the puts */
	uint64_t elapsed_ns; /* time of the takes, or of the phases */
	uint64_t messages; /* work queue: messages taken; copies: bytes */
	uint64_t sum; /* work queue: sum of their numbers */
	uint64_t wrong; /* wrong messages or phases */
	/*
	 * Seeds of rounds. `done`, member: its copies have begun; behind the
	 * last member: the round has ended. `stop`, behind the last member: the
	 * host ends the copies.
	 */
	uint64_t done, stop;
	uint8_t reserved[PEAL_SHARED_LINE - 56];
};

PEAL_STATIC_ASSERT(sizeof(struct peali_crowd_line) == PEAL_SHARED_LINE, "line");

/** A message of a work queue. */
struct peali_crowd_item {
	PEAL_ALIGNED(16) uint64_t number;
	uint64_t check; /* number xor seed */
};

#endif
