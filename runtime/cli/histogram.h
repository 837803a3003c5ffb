/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_HISTOGRAM_H
#define PEAL_RUNTIME_CLI_HISTOGRAM_H

/*
 * A histogram of durations with three significant digits, of fixed size: the
 * buckets of HdrHistogram (http://hdrhistogram.org), 2,048 of width 1, then
 * 1,024 to each power of two.
 */

#include <stddef.h>
#include <stdint.h>

#include "runtime/cli/output.h"

/* Values from 0 to 2^42 - 1: as nanoseconds more than an hour. */
#define PEALI_HISTOGRAM_BITS 42
#define PEALI_HISTOGRAM_BUCKETS (2048 + (PEALI_HISTOGRAM_BITS - 11) * 1024)

/** All zero is an empty one. One thread at a time. */
struct peali_histogram {
	uint64_t n;
	uint64_t least;
	uint64_t most;
	double sum;
	uint64_t counts[PEALI_HISTOGRAM_BUCKETS];
};

/** Counts a value; one that is too large counts as the largest. Wait-free. */
void peali_histogram_add(struct peali_histogram *histogram, uint64_t value);

/**
 * The value that a share of all values does not exceed.
 *
 * @param share from 0 to 1.
 * @param value_out the largest value of its bucket, at most 0.1 % too large.
 * @return 0, or -1 if there are fewer than 10 / (1 - share) values.
 */
int peali_histogram_percentile(const struct peali_histogram *histogram,
			       double share, uint64_t *value_out);

/**
 * Sets `prefix`_p50, _p90, _p99, _p999 (null with the reason where there are
 * too few values), _max, _mean and n_samples of a row.
 */
void peali_histogram_row(const struct peali_histogram *histogram, json_t *row,
			 const char *prefix);

#endif
