/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_RIVALS_H
#define PEAL_BENCH_RIVALS_H

/*
 * What rows of GPUs are compared with: plain kernels of
 * ringkernels/programs/rivals.c, which are launched for one round and end by
 * themselves. All calls that fail say why on stderr.
 */

#include <peal/peal.h>

#include "bench/stand.h"
#include "ringkernels/rivals_program.h"

/** A worker of a contest: its device, and what it has there. */
struct peali_rival_place {
	int device;
	uint32_t worker; /* in its device's launch */
	uint64_t work;
	uint64_t in; /* as its owner sees it */
	uint64_t out; /* as this side sees it */
	uint64_t mapped; /* that address, if it is a mapping; 0 */
};

/** Two or more workers, and the memory between them. All zero: closed. */
struct peali_rivals {
	struct peal_runtime *runtime;
	struct peali_rival_place place[PEALI_RIVALS_SIDES];
	uint64_t params[PEALI_RIVALS_SIDES]; /* of each device's first side */
	uint64_t bells; /* in host memory */
	uint32_t n_sides;
	uint32_t lanes;
	int memory; /* where `in` lies: PEAL_HOST_MEMORY, else the device */
	int across;
	uint64_t expected; /* of the launch per message: the sum so far */
	struct peali_launch *recorded; /* of it; NULL: nothing is */
};

/** What one round does. */
struct peali_rival_order {
	enum peali_rival_job job;
	uint32_t bytes, batch, warm, samples, slots;
	uint32_t lanes; /* 0: as many as the stand's workers have */
	uint64_t messages;
	uint64_t budget_ns;
};

/** The reports of all sides of a round. */
struct peali_rival_reports {
	struct peali_rival_report side[PEALI_RIVALS_SIDES];
};

/** Loads their code, before the first launch on any device; 0 or -1. */
int peali_rivals_load(struct peal_runtime *runtime);

/**
 * Takes memory, and maps it where sides are on different devices; before the
 * row's own kernels are launched.
 *
 * @param rivals  all zero.
 * @param seats   of the sides; those of a device count up from worker 0.
 * @param n_sides 1 to PEALI_RIVALS_SIDES.
 * @param in_host 1: what they write for each other lies in host memory.
 * @param shared  1: all write for side 0, as in a barrier; else side 0 and 1
 *                for each other.
 * @return 0, or -1; then too the caller closes it.
 */
int peali_rivals_open(struct peali_rivals *rivals,
		      const struct peali_stand *stand,
		      const struct peali_seat *seats, uint32_t n_sides,
		      int in_host, int shared);

/** Frees it all; of a closed one nothing. */
void peali_rivals_close(struct peali_rivals *rivals);

/**
 * Runs one round on all sides and checks that nothing was wrong in it.
 *
 * @return 0 or -1.
 */
int peali_rivals_run(struct peali_rivals *rivals,
		     const struct peali_rival_order *order,
		     struct peali_rival_reports *reports_out);

/**
 * One message by a launch of its own: the payload is written into host memory,
 * a kernel of one worker adds it up, and the host polls for its end. Opened
 * with one side and in_host.
 *
 * @return ns by the host's clock, or a negative number with a message.
 */
double peali_rivals_launch(struct peali_rivals *rivals, uint32_t bytes);

/**
 * Records that launch, to be replayed as a graph, before a kernel is resident on
 * its device; where the driver has no graphs it does nothing. 0 or -1.
 */
int peali_rivals_record(struct peali_rivals *rivals);

/** As peali_rivals_launch, by what was recorded. */
double peali_rivals_replay(struct peali_rivals *rivals, uint32_t bytes);

/** Checks the sum of all messages since the last check; 0 or -1. */
int peali_rivals_check(struct peali_rivals *rivals);

#endif
