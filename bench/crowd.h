/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_CROWD_H
#define PEAL_BENCH_CROWD_H

/*
 * A crowd of actors, one per worker of a kernel. The actors have a barrier, and
 * all begin with one message of the host. Handlers: ringkernels/bench_crowd.h.
 */

#include "bench/fixture.h"
#include "ringkernels/crowd_program.h"

/** Most members: those of a barrier. */
#define PEALI_CROWD_MOST 256

struct peali_crowd {
	struct peali_fixture *fixture;
	int kernel; /* its index in the fixture */
	int port; /* port of the host that leads to member 0 */
	uint32_t n; /* members */
	/* in host memory: of each member, and one more */
	struct peali_crowd_line *lines;
};

/**
 * Launches a kernel on device 0, and spawns and joins the members. Takes the
 * memory and the barrier of the fixture, which peali_fixture_clear frees.
 *
 * @param lanes of each worker.
 * @return 0 or -1.
 */
int peali_crowd_build(struct peali_crowd *crowd, struct peali_fixture *fixture,
		      const char *handler, uint32_t members, uint32_t lanes);

/**
 * Begins a round: completes START and sends it. peali_crowd_wait waits for its
 * end. Both return 0, or -1 with a message.
 */
int peali_crowd_begin(const struct peali_crowd *crowd,
		      struct peali_bench_start *start);
int peali_crowd_wait(const struct peali_crowd *crowd,
		     const struct peali_bench_start *start);

/**
 * Runs a round: peali_crowd_begin, then peali_crowd_wait.
 *
 * @param start receives address, participants and seed.
 * @return 0, or -1 with a message.
 */
int peali_crowd_run(const struct peali_crowd *crowd,
		    struct peali_bench_start *start);

/** The lines of a round, added up. */
struct peali_crowd_total {
	uint64_t put_ns, elapsed_ns; /* of the slowest member */
	uint64_t messages, sum, wrong;
};

/** Adds up n lines. */
struct peali_crowd_total peali_crowd_add(const struct peali_crowd_line *lines,
					 uint32_t n);

#endif
