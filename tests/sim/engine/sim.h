/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_SIM_H
#define PEALI_SIM_H

#include <stdint.h>

/*
 * The simulator runs all threads of a program, including the library's, as
 * fibers of one thread. A seed determines schedule and time. README.md lists
 * the simulated calls.
 *
 * A run begins with peali_sim_begin. Without this call, it begins with the
 * first created thread, and the seed is PEAL_SIM_SEED. The caller is the first
 * task. A run that fails prints the reason, the place of each task and how to
 * repeat the run. Then it ends the process with status 1.
 */

/** Options of a run; 0 in a field: its default. */
struct peali_sim_options {
	uint64_t seed;
	uint64_t most_points; /* most yield points of a run; 100 million */
	uint64_t most_ns; /* most simulated ns of a run; 10 minutes */
	uint64_t stall_ns; /* longest stall of a task; 1 ms */
	/*
	 * Print each yield point from this number on to stderr, with its code
	 * address; 0: none.
	 */
	uint64_t tell_from;
};

/** Result of a run. A program gives equal results for equal seeds. */
struct peali_sim_report {
	uint64_t seed;
	uint64_t trace; /* hash of tasks and yield points in order */
	uint64_t points; /* yield points */
	uint64_t switches; /* yield points where another task continued */
	uint64_t stalls;
	uint64_t ns; /* simulated duration */
	uint32_t tasks; /* largest number of tasks at a time */
};

/* Begins a run. The calling thread becomes its first task. */
void peali_sim_begin(const struct peali_sim_options *options);
/* Ends a run. All other tasks must have ended. `out` may be NULL. */
void peali_sim_end(struct peali_sim_report *out);
/* Prints a reason and ends the process with status 1. */
void peali_sim_fail(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/*
 * Sets a function that a failing run calls to print more. During the call, time
 * advances but no other task runs. NULL: no function.
 */
void peali_sim_on_failure(void (*tell)(void *context), void *context);

#endif
