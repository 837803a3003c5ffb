/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SIM_H
#define PEALI_SIM_H

#include <stdint.h>

/*
 * The simulator: all threads of a program, those of the library among them, as
 * fibers of one thread, by a schedule and a time that a seed decides. README.md
 * says what is simulated and what is not.
 *
 * A run begins with peali_sim_begin, or with the first thread that is made and
 * the seed of PEAL_SIM_SEED. The caller is its first task. A run that fails ends
 * the process with status 1, after it has said why, where each task is, and how
 * to see the same again.
 */

/** What a run is like; 0 in a field: the default. */
struct peali_sim_options {
	uint64_t seed;
	uint64_t most_points; /* yield points, then it fails; 100 million */
	uint64_t most_ns; /* of its own time, then it fails; 10 minutes */
	uint64_t stall_ns; /* the longest stall of a task; 1 ms */
	uint64_t tell_from; /* each yield point from this one on is told on
			     * stderr, with its place; 0: none */
};

/** What a run was like. The same seed in the same program gives the same. */
struct peali_sim_report {
	uint64_t seed;
	uint64_t trace; /* a hash of who came to which yield point, in order */
	uint64_t points; /* yield points */
	uint64_t switches; /* of them, those where another task went on */
	uint64_t stalls;
	uint64_t ns; /* of its own time */
	uint32_t tasks; /* that there were, at most at a time */
};

/* The caller's thread, and what it makes from here on, are simulated. */
void peali_sim_begin(const struct peali_sim_options *options);
/* All other tasks must have ended. out may be NULL. */
void peali_sim_end(struct peali_sim_report *out);
/* Ends the process with status 1, as a run that cannot go on does. */
void peali_sim_fail(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/*
 * What a failing run calls to say more; time goes on for it, but no task runs.
 * NULL: nothing.
 */
void peali_sim_on_failure(void (*tell)(void *context), void *context);

#endif
