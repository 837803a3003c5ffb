/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_SAMPLES_H
#define PEAL_BENCH_SAMPLES_H

/*
 * The samples of one row. They come in rounds, in which ours and the peer were
 * measured one right after the other; a round has one ratio, and a tag that
 * says under which conditions it ran. Only the rounds of the most frequent tag
 * are kept, so that like is compared with like.
 */

#include <stddef.h>
#include <stdint.h>

#include "bench/options.h"
#include "runtime/cli/output.h"

/** A round with this tag is never kept: conditions changed while it ran. */
#define PEALI_TAG_MIXED (-1)

struct peali_round {
	int tag;
	double ratio; /* above 1: ours is better; NAN: there was no peer */
	size_t first, n; /* its samples */
};

/** All zero is an empty one. One thread at a time. */
struct peali_samples {
	double *values;
	size_t n_values, room_values;
	struct peali_round *rounds;
	size_t n_rounds, room_rounds;
	size_t open; /* first sample of the round that is not closed */
	int failed; /* out of memory: some are missing */
};

void peali_samples_fini(struct peali_samples *samples);

/** Adds a sample to the open round. */
void peali_samples_add(struct peali_samples *samples, double value);

/** The median of the open round's samples; NAN if there are none. */
double peali_samples_open_median(const struct peali_samples *samples);

/** Closes the open round. */
void peali_samples_close(struct peali_samples *samples, int tag, double ratio);

/** The tag that most rounds have; PEALI_TAG_MIXED if none has any. */
int peali_samples_tag(const struct peali_samples *samples);

/** How many samples, or rounds, have that tag. */
size_t peali_samples_kept(const struct peali_samples *samples);
size_t peali_samples_rounds_kept(const struct peali_samples *samples);

/** The median of n values, which are sorted by it; NAN if n is 0. */
double peali_median(double *values, size_t n);

/** Median, least and most of a few numbers. */
struct peali_spread {
	double median, least, most;
	size_t n;
};

/** Of the kept samples, and of the kept rounds' ratios; n may be 0. */
struct peali_spread peali_samples_spread(const struct peali_samples *samples);
struct peali_spread peali_samples_ratio(const struct peali_samples *samples);

/** The ratios of those of n rounds from `first` on that have the tag. */
struct peali_spread peali_samples_ratio_of(const struct peali_samples *samples,
					   size_t first, size_t n, int tag);

/**
 * Fills cells of a row.
 *
 * _durations	PREFIX_p50 .. PREFIX_max, n_samples; percentiles without enough
 *		samples are null with the reason
 * _rates	KEY, KEY_min, KEY_max: median and spread, n_samples
 * _versus	versus, ratio, ratio_min, ratio_max, n_rounds,
 *		n_rounds_dropped; versus NULL: null, and `why`
 * _cores	core_distance, the tag of most rounds; null, and `why`, if that
 *		is not NULL
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
 * Writes the kept samples where the options say.
 *
 * @param benchmark first column of the CSV.
 * @param label     names the row in it, and in file names; no spaces.
 * @param alone     1: no other row of this run goes to --hgrm-out.
 * @return 0, or -1 with a message.
 */
int peali_samples_write(const struct peali_samples *samples,
			const struct peali_bench_options *options,
			const char *benchmark, const char *label, int alone);

/** HdrHistogram's percentile text of the kept samples; 0, or -1. */
int peali_samples_hgrm(const struct peali_samples *samples, FILE *to);

#endif
