/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_RUNNER_H
#define PEAL_BENCH_RUNNER_H

/*
 * The parts that most benchmarks have in common: open the fixture, run the
 * rows, print the report.
 */

#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"

/* A benchmark. */
struct peali_runner {
	const char *benchmark;
	const char *title;
	const struct peali_column *columns;
	uint32_t devices; /* devices of the fixture; 0: 2 */
	struct peali_fixture *fixture; /* opened, closed by peali_runner_run */
	struct peali_report *report; /* filled by the rows */
	/* runs all rows; negative: a row failed; NULL: each_row runs them */
	int (*rows)(void *context);
	void *context;
	/* The fields from here on are for peali_runner_main. */
	const char *about; /* text for --help */
	double seconds; /* default of the time for all rows */
	struct peali_bench_options *options;
	/*
	 * Runs the selected rows, or only counts them. Returns their number, or
	 * -1.
	 */
	int (*each_row)(void *context, int count_only);
	int *n_rows; /* receives the number of rows */
	uint64_t *row_ns; /* receives the time for each row, ns */
};

/** Initializers of a runner for a benchmark with the state `b`. */
#define PEALI_RUNNER_STATE(b)                                                  \
	.fixture = &(b).fixture, .report = &(b).report, .context = &(b),       \
	.options = &(b).options, .n_rows = &(b).n_rows, .row_ns = &(b).row_ns

/**
 * Opens the fixture, measures all rows and prints them. Returns the exit
 * status.
 */
int peali_runner_run(const struct peali_runner *runner, int json);

/**
 * Parses the options, divides the time among the selected rows, and runs them.
 * Returns the exit status.
 */
int peali_runner_main(const struct peali_runner *runner, int argc, char **argv,
		      int json);

/* Least number of rounds of a row. */
#define PEALI_RUNNER_ROUNDS 5

/** A row with one baseline, which is measured in the same rounds. */
struct peali_runner_row {
	const char *benchmark;
	const char *label; /* label of the row's samples */
	const struct peali_bench_options *options;
	struct peali_fixture *fixture;
	uint64_t for_ns; /* ns after which no new round begins */
	uint32_t bytes; /* bytes of a message */
	int alone; /* 1: this is the only row */
	/*
	 * Functions of the row. They return 0, or a negative value with a
	 * message.
	 */
	int (*build)(void *context);
	int (*round)(void *context, struct peali_samples *ours,
		     struct peali_samples *peer);
	void (*fill)(void *context, const struct peali_samples *ours,
		     const struct peali_samples *peer);
	/* called before the fixture is cleared; NULL: none */
	int (*close)(void *context);
	void *context;
};

/**
 * Builds a row, runs its rounds, fills in its row of the report, writes the
 * samples and clears the fixture. Returns 0 or -1.
 */
int peali_runner_row(const struct peali_runner_row *row);

#endif
