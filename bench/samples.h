/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_SAMPLES_H
#define PEAL_BENCH_SAMPLES_H

/*
 * The samples of one row. They come in rounds, in which ours and the baseline
 * are measured in turn. A round has one ratio, and a tag for its conditions,
 * such as the distance of the cores. Only rounds with the most frequent tag are
 * kept, so that the rounds are comparable.
 */

#include <stddef.h>
#include <stdint.h>

#include "bench/options.h"
#include "runtime/cli/output.h"

/**
 * Tag of a round in which the conditions changed. Such a round is never kept.
 */
#define PEALI_TAG_MIXED (-1)

struct peali_round {
	int tag;
	double ratio; /* above 1: ours is better; NAN: no baseline */
	size_t first, n; /* its samples */
};

/** Samples and rounds. All zero: empty. One thread at a time. */
struct peali_samples {
	double *values;
	size_t n_values, max_values;
	struct peali_round *rounds;
	size_t n_rounds, max_rounds;
	size_t open; /* first sample of the round that is not closed */
	int failed; /* 1: out of memory, some samples are missing */
};

void peali_samples_fini(struct peali_samples *samples);

/** Adds a sample to the open round. */
void peali_samples_add(struct peali_samples *samples, double value);

/** Returns the median of the open round, or NAN if it is empty. */
double peali_samples_open_median(const struct peali_samples *samples);

/** Closes the open round with a tag and a ratio. */
void peali_samples_close(struct peali_samples *samples, int tag, double ratio);

/** Returns the most frequent tag, or PEALI_TAG_MIXED if there is none. */
int peali_samples_tag(const struct peali_samples *samples);

/** Return the number of samples, or of rounds, with the most frequent tag. */
size_t peali_samples_kept(const struct peali_samples *samples);
size_t peali_samples_rounds_kept(const struct peali_samples *samples);

/** Returns the median of n values, or NAN if n is 0. Sorts the values. */
double peali_median(double *values, size_t n);

/** Median, least and most of n numbers. */
struct peali_spread {
	double median, least, most;
	size_t n;
};

/**
 * Return the spread of the kept samples, or of the kept rounds' ratios. n may
 * be 0.
 */
struct peali_spread peali_samples_spread(const struct peali_samples *samples);
struct peali_spread peali_samples_ratio(const struct peali_samples *samples);

/**
 * Returns the spread of the ratios with this tag, among n rounds from `first`
 * on.
 */
struct peali_spread peali_samples_ratio_of(const struct peali_samples *samples,
					   size_t first, size_t n, int tag);

/**
 * Fill in cells of a row.
 *
 *	_durations	PREFIX_p50 .. PREFIX_max, n_samples; percentiles without
 *			enough samples are null with the reason
 *	_rates		KEY, KEY_min, KEY_max: median and spread; n_samples
 *	_versus		versus, ratio, ratio_min, ratio_max, n_rounds,
 *			n_rounds_dropped; versus NULL: null with `why`
 *	_cores		core_distance: the most frequent tag; `why` not NULL:
 *			null with that reason
 */
void peali_samples_row_durations(const struct peali_samples *samples,
				 json_t *row, const char *prefix);
void peali_samples_row_rates(const struct peali_samples *samples, json_t *row,
			     const char *key);
void peali_samples_row_versus(const struct peali_samples *samples, json_t *row,
			      const char *versus, const char *why);
void peali_samples_row_cores(const struct peali_samples *samples, json_t *row,
			     const char *why);

/**
 * Writes the kept samples to the files that the options name.
 *
 * @param benchmark first column of the CSV.
 * @param label names the row in the CSV and in file names; no spaces.
 * @param alone 1: no other row of this run goes to --hgrm-out.
 * @return 0, or -1 with a message.
 */
int peali_samples_write(const struct peali_samples *samples,
			const struct peali_bench_options *options,
			const char *benchmark, const char *label, int alone);

/**
 * Writes the kept samples as HdrHistogram's percentile text. Returns 0 or -1.
 */
int peali_samples_hgrm(const struct peali_samples *samples, FILE *to);

#endif
