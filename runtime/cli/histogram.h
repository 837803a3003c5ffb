/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_HISTOGRAM_H
#define PEAL_RUNTIME_CLI_HISTOGRAM_H

/*
 * A histogram of durations of fixed size, with three significant digits. It has
 * the buckets of HdrHistogram (http://hdrhistogram.org). The first 2,048
 * buckets have width 1. Each power of two above has 1,024 buckets.
 */

#include <stddef.h>
#include <stdint.h>

#include "runtime/cli/output.h"

/* Values 0 .. 2^42 - 1; in nanoseconds more than an hour. */
#define PEALI_HISTOGRAM_BITS 42
#define PEALI_HISTOGRAM_BUCKETS (2048 + (PEALI_HISTOGRAM_BITS - 11) * 1024)

/** All zero: empty. One thread at a time uses it. */
struct peali_histogram {
	uint64_t n;
	uint64_t least;
	uint64_t most;
	double sum;
	uint64_t counts[PEALI_HISTOGRAM_BUCKETS];
};

/** Counts a value. Too large values count as the largest value. Wait-free. */
void peali_histogram_add(struct peali_histogram *histogram, uint64_t value);

/**
 * Computes the value that a given share of all values does not exceed.
 *
 * @param share from 0 to 1.
 * @param value_out the largest value of its bucket, at most 0.1 % too large.
 * @return 0, or -1 if there are fewer than 10 / (1 - share) values.
 */
int peali_histogram_percentile(const struct peali_histogram *histogram,
			       double share, uint64_t *value_out);

/**
 * Sets `prefix`_p50, _p90, _p99, _p999, _max, _mean and n_samples of a row.
 * With too few values, a percentile is null with the reason.
 */
void peali_histogram_row(const struct peali_histogram *histogram, json_t *row,
			 const char *prefix);

#endif
