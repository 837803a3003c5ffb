/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/histogram.h"

#include <math.h>

/* Each value below 2^11 has its own bucket. */
#define LINEAR_BITS 11

static size_t bucket_of(uint64_t value)
{
	int high;

	if (value >> LINEAR_BITS == 0)
		return (size_t)value;
	if (value >> PEALI_HISTOGRAM_BITS)
		return PEALI_HISTOGRAM_BUCKETS - 1;
	high = 63 - __builtin_clzll(value);
	/* The ten bits after the highest bit; `high` is 11 or more. */
	return 2048 + (size_t)(high - LINEAR_BITS) * 1024 +
	       ((value >> (high - 10)) & 1023);
}

/* Returns the largest value of a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	size_t shift;

	if (bucket < 2048)
		return bucket;
	shift = (bucket - 2048) / 1024 + 1;
	return ((1024 + (uint64_t)(bucket - 2048) % 1024 + 1) << shift) - 1;
}

void peali_histogram_add(struct peali_histogram *histogram, uint64_t value)
{
	if (histogram->n == 0 || value < histogram->least)
		histogram->least = value;
	if (value > histogram->most)
		histogram->most = value;
	histogram->n++;
	histogram->sum += (double)value;
	histogram->counts[bucket_of(value)]++;
}

/* Returns the number of values that a meaningful percentile needs. */
static uint64_t needed(double share)
{
	return (uint64_t)ceil(10 / (1 - share) - 1e-6);
}

int peali_histogram_percentile(const struct peali_histogram *histogram,
			       double share, uint64_t *value_out)
{
	uint64_t rank = (uint64_t)ceil(share * (double)histogram->n);
	uint64_t seen = 0;
	size_t i = 0;

	if (share >= 1 || histogram->n < needed(share))
		return -1;
	for (; i < PEALI_HISTOGRAM_BUCKETS - 1; i++) {
		seen += histogram->counts[i];
		if (seen >= rank && seen)
			break;
	}
	*value_out = bucket_end(i);
	if (*value_out > histogram->most)
		*value_out = histogram->most;
	return 0;
}

void peali_histogram_row(const struct peali_histogram *histogram, json_t *row,
			 const char *prefix)
{
	static const struct {
		const char *suffix;
		double share;
	} points[] = {
		{ "p50", 0.5 },
		{ "p90", 0.9 },
		{ "p99", 0.99 },
		{ "p999", 0.999 },
	};
	char key[64];

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t value;

		snprintf(key, sizeof(key), "%s_%s", prefix, points[i].suffix);
		if (peali_histogram_percentile(histogram, points[i].share,
					       &value) == 0)
			peali_row_uint(row, key, value);
		else
			peali_row_null(
				row, key, "needs %llu samples, there %s %llu",
				(unsigned long long)needed(points[i].share),
				histogram->n == 1 ? "is" : "are",
				(unsigned long long)histogram->n);
	}
	snprintf(key, sizeof(key), "%s_max", prefix);
	if (histogram->n)
		peali_row_uint(row, key, histogram->most);
	else
		peali_row_null(row, key, "there are no samples");
	snprintf(key, sizeof(key), "%s_mean", prefix);
	if (histogram->n)
		peali_row_real(row, key, histogram->sum / (double)histogram->n);
	else
		peali_row_null(row, key, "there are no samples");
	peali_row_uint(row, "n_samples", histogram->n);
}
