/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_FRAME_H
#define PEAL_BENCH_FRAME_H

/* What stands around the rows of a benchmark. */

#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/stand.h"

struct peali_frame {
	const char *benchmark;
	const char *title;
	const struct peali_column *columns;
	uint32_t devices; /* of the stand; 0: two */
	struct peali_stand *stand; /* opened and closed here */
	struct peali_report *report; /* filled by the rows */
	int (*rows)(void *context); /* negative: a row failed; NULL: each_row */
	void *context;
	/* for peali_frame_main */
	const char *about; /* for --help */
	double seconds; /* for all rows, if the caller does not say */
	struct peali_bench_options *options;
	/* Runs, or only counts, the rows that were asked for: how many, or -1. */
	int (*each_row)(void *context, int count_only);
	int *n_rows; /* what it counts */
	uint64_t *row_ns; /* for each of them */
};

/** Opens the stand, measures all rows, prints them; the exit status. */
int peali_frame_run(const struct peali_frame *frame, int json);

/** Parses what was asked for, shares the time among the rows that are of that,
 * and runs them; the exit status. */
int peali_frame_main(const struct peali_frame *frame, int argc, char **argv,
		     int json);

/* Rounds of a row that has no end before. */
#define PEALI_FRAME_ROUNDS 5

/** A row of ours and of one peer, measured in the same rounds. */
struct peali_frame_row {
	const char *benchmark;
	const char *label; /* of its samples */
	const struct peali_bench_options *options;
	struct peali_stand *stand;
	uint64_t for_ns; /* then no more rounds begin */
	uint32_t bytes; /* of a message */
	int alone; /* 1: there is no other row */
	/* each 0 or negative, with a message */
	int (*build)(void *context);
	int (*round)(void *context, struct peali_samples *ours,
		     struct peali_samples *peer);
	void (*fill)(void *context, const struct peali_samples *ours,
		     const struct peali_samples *peer);
	int (*close)(void *context); /* before the stand is cleared; NULL */
	void *context;
};

/** Builds it, runs rounds, fills a row of the report, writes the samples, takes
 * all down; 0 or -1. */
int peali_frame_row(const struct peali_frame_row *row);

#endif
