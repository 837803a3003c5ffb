/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a row: see bench/samples.h. */
#include "bench/samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cacheline_bounce.h"
#include "runtime/cli/histogram.h"

void peali_samples_fini(struct peali_samples *samples)
{
	free(samples->values);
	free(samples->rounds);
	memset(samples, 0, sizeof(*samples));
}

/* Makes sure that *items has capacity for one more item. Returns 0 or -1. */
static int grow(void **items, size_t n, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 1024;
	void *bigger;

	if (n < *capacity)
		return 0;
	bigger = realloc(*items, more * size);
	if (!bigger)
		return -1;
	*items = bigger;
	*capacity = more;
	return 0;
}

void peali_samples_add(struct peali_samples *samples, double value)
{
	void *values = samples->values;

	if (grow(&values, samples->n_values, &samples->max_values,
		 sizeof(double))) {
		samples->failed = 1;
		return;
	}
	samples->values = values;
	samples->values[samples->n_values++] = value;
}

void peali_samples_close(struct peali_samples *samples, int tag, double ratio)
{
	void *rounds = samples->rounds;
	struct peali_round *round;

	if (grow(&rounds, samples->n_rounds, &samples->max_rounds,
		 sizeof(*round))) {
		samples->failed = 1;
		return;
	}
	samples->rounds = rounds;
	round = samples->rounds + samples->n_rounds++;
	round->tag = tag;
	round->ratio = ratio;
	round->first = samples->open;
	round->n = samples->n_values - samples->open;
	samples->open = samples->n_values;
}

int peali_samples_tag(const struct peali_samples *samples)
{
	int best = PEALI_TAG_MIXED;
	size_t most = 0;

	for (size_t i = 0; i < samples->n_rounds; i++) {
		int tag = samples->rounds[i].tag;
		size_t same = 0;

		if (tag == PEALI_TAG_MIXED)
			continue;
		for (size_t k = 0; k < samples->n_rounds; k++)
			same += samples->rounds[k].tag == tag;
		if (same > most) {
			most = same;
			best = tag;
		}
	}
	return best;
}

static int is_kept(const struct peali_round *round, int tag)
{
	return tag != PEALI_TAG_MIXED && round->tag == tag;
}

size_t peali_samples_kept(const struct peali_samples *samples)
{
	int tag = peali_samples_tag(samples);
	size_t n = 0;

	for (size_t i = 0; i < samples->n_rounds; i++)
		if (is_kept(samples->rounds + i, tag))
			n += samples->rounds[i].n;
	return n;
}

size_t peali_samples_rounds_kept(const struct peali_samples *samples)
{
	int tag = peali_samples_tag(samples);
	size_t n = 0;

	for (size_t i = 0; i < samples->n_rounds; i++)
		n += is_kept(samples->rounds + i, tag);
	return n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double peali_median(double *values, size_t n)
{
	if (!n)
		return NAN;
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Sorts the values. Returns their median, least and most. */
static struct peali_spread spread_of(double *values, size_t n)
{
	struct peali_spread spread = { NAN, NAN, NAN, n };

	if (!n)
		return spread;
	spread.median = peali_median(values, n);
	spread.least = values[0];
	spread.most = values[n - 1];
	return spread;
}

/* Returns the kept samples, sorted. The caller frees them. */
static double *kept_values(const struct peali_samples *samples, size_t *n_out)
{
	int tag = peali_samples_tag(samples);
	double *values = malloc((samples->n_values + 1) * sizeof(*values));
	size_t n = 0;

	for (size_t i = 0; values && i < samples->n_rounds; i++) {
		const struct peali_round *round = samples->rounds + i;

		if (!is_kept(round, tag))
			continue;
		memcpy(values + n, samples->values + round->first,
		       round->n * sizeof(*values));
		n += round->n;
	}
	if (n)
		qsort(values, n, sizeof(*values), compare);
	*n_out = n;
	return values;
}

double peali_samples_open_median(const struct peali_samples *samples)
{
	size_t n = samples->n_values - samples->open;
	double *values = malloc((n + 1) * sizeof(*values));
	double median = NAN;

	if (values && n) {
		memcpy(values, samples->values + samples->open,
		       n * sizeof(*values));
		median = peali_median(values, n);
	}
	free(values);
	return median;
}

struct peali_spread peali_samples_spread(const struct peali_samples *samples)
{
	size_t n;
	double *values = kept_values(samples, &n);
	struct peali_spread spread = spread_of(values, n);

	free(values);
	return spread;
}

struct peali_spread peali_samples_ratio_of(const struct peali_samples *samples,
					   size_t first, size_t n, int tag)
{
	double *ratios = malloc((n + 1) * sizeof(*ratios));
	struct peali_spread spread;
	size_t kept = 0;

	for (size_t i = first; ratios && i < first + n; i++)
		if (is_kept(samples->rounds + i, tag) &&
		    isfinite(samples->rounds[i].ratio))
			ratios[kept++] = samples->rounds[i].ratio;
	spread = spread_of(ratios, kept);
	free(ratios);
	return spread;
}

struct peali_spread peali_samples_ratio(const struct peali_samples *samples)
{
	return peali_samples_ratio_of(samples, 0, samples->n_rounds,
				      peali_samples_tag(samples));
}

/* ---- cells --------------------------------------------------------------- */

void peali_samples_row_durations(const struct peali_samples *samples,
				 json_t *row, const char *prefix)
{
	struct peali_histogram *histogram = calloc(1, sizeof(*histogram));
	size_t n;
	double *values = kept_values(samples, &n);

	if (histogram) {
		for (size_t i = 0; i < n; i++)
			peali_histogram_add(histogram,
					    (uint64_t)llround(values[i]));
		peali_histogram_row(histogram, row, prefix);
	}
	free(values);
	free(histogram);
}

static void row_spread(json_t *row, const char *key,
		       const struct peali_spread *spread, const char *why)
{
	char least[64], most[64];

	snprintf(least, sizeof(least), "%s_min", key);
	snprintf(most, sizeof(most), "%s_max", key);
	if (spread->n) {
		peali_row_real(row, key, spread->median);
		peali_row_real(row, least, spread->least);
		peali_row_real(row, most, spread->most);
		return;
	}
	peali_row_null(row, key, "%s", why);
	peali_row_null(row, least, "%s", why);
	peali_row_null(row, most, "%s", why);
}

void peali_samples_row_rates(const struct peali_samples *samples, json_t *row,
			     const char *key)
{
	struct peali_spread spread = peali_samples_spread(samples);

	row_spread(row, key, &spread, "there are no samples");
	peali_row_uint(row, "n_samples", spread.n);
}

void peali_samples_row_cores(const struct peali_samples *samples, json_t *row,
			     const char *why)
{
	if (why)
		peali_row_null(row, "core_distance", "%s", why);
	else
		peali_row_text(row, "core_distance", "%s",
			       peali_distance_name(peali_samples_tag(samples)));
}

void peali_samples_row_versus(const struct peali_samples *samples, json_t *row,
			      const char *versus, const char *why)
{
	struct peali_spread ratio = peali_samples_ratio(samples);
	size_t kept = peali_samples_rounds_kept(samples);

	if (versus)
		peali_row_text(row, "versus", "%s", versus);
	else
		peali_row_null(row, "versus", "%s", why);
	row_spread(row, "ratio", &ratio,
		   versus ? "no round was measured with both" : why);
	peali_row_uint(row, "n_rounds", kept);
	peali_row_uint(row, "n_rounds_dropped", samples->n_rounds - kept);
}

/* ---- files --------------------------------------------------------------- */

/* HdrHistogram prints five lines for each halving of the remaining part. */
#define TICKS_PER_HALF 5

int peali_samples_hgrm(const struct peali_samples *samples, FILE *to)
{
	size_t n, at = 0;
	double *values = kept_values(samples, &n);
	double mean = 0, squares = 0, level = 0;

	if (!values || !n) {
		free(values);
		return -1;
	}
	fprintf(to, "%12s %14s %10s %14s\n\n", "Value", "Percentile",
		"TotalCount", "1/(1-Percentile)");
	while (level < 1) {
		size_t rank = (size_t)ceil(level * (double)n);
		double step = pow(2, floor(log2(1 / (1 - level))) + 1);

		rank = rank ? rank : 1;
		at = rank - 1;
		while (at + 1 < n && values[at + 1] <= values[at])
			at++;
		if (at + 1 >= n)
			break;
		fprintf(to, "%12.3f %2.12f %10zu %14.2f\n", values[at], level,
			at + 1, 1 / (1 - level));
		level += 1 / (step * TICKS_PER_HALF);
	}
	fprintf(to, "%12.3f %2.12f %10zu\n", values[n - 1], 1.0, n);
	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	fprintf(to, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean,
		sqrt(squares / (double)n));
	fprintf(to, "#[Max     = %12.3f, Total count    = %12zu]\n",
		values[n - 1], n);
	fprintf(to, "#[Buckets = %12d, SubBuckets     = %12d]\n",
		PEALI_HISTOGRAM_BITS - 10, 2048);
	free(values);
	return ferror(to) ? -1 : 0;
}

/* Makes the name STEM.LABEL.SUFFIX of the path STEM.SUFFIX. */
static void labelled(const char *path, const char *label, char *out,
		     size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(path, '.');
	size_t stem;

	if (!dot || (slash && dot < slash))
		dot = path + strlen(path);
	stem = (size_t)(dot - path);
	snprintf(out, size, "%.*s.%s%s", (int)stem, path, label, dot);
}

static int write_hgrm(const struct peali_samples *samples, const char *path,
		      const char *label, int alone)
{
	char name[4096];
	FILE *file;
	int result;

	if (!peali_samples_kept(samples))
		return 0;
	if (alone)
		snprintf(name, sizeof(name), "%s", path);
	else
		labelled(path, label, name, sizeof(name));
	errno = 0;
	file = fopen(name, "w");
	result = file ? peali_samples_hgrm(samples, file) : -1;
	if (file && fclose(file))
		result = -1;
	if (result)
		peali_say("cannot write '%s': %s", name,
			  errno ? strerror(errno) : "no memory");
	return result;
}

static int write_raw(const struct peali_samples *samples, const char *path,
		     const char *benchmark, const char *label)
{
	static int begun; /* later rows of this process append to the file */
	int tag = peali_samples_tag(samples);
	FILE *file = fopen(path, begun ? "a" : "w");
	int result = 0;

	if (file && !begun)
		fprintf(file, "benchmark,row,round,value\n");
	begun = 1;
	for (size_t i = 0; file && i < samples->n_rounds; i++) {
		const struct peali_round *round = samples->rounds + i;

		if (!is_kept(round, tag))
			continue;
		for (size_t k = 0; k < round->n; k++)
			fprintf(file, "%s,%s,%zu,%.9g\n", benchmark, label, i,
				samples->values[round->first + k]);
	}
	if (!file || ferror(file))
		result = -1;
	if (file && fclose(file))
		result = -1;
	if (result)
		peali_say("cannot write '%s': %s", path, strerror(errno));
	return result;
}

int peali_samples_write(const struct peali_samples *samples,
			const struct peali_bench_options *options,
			const char *benchmark, const char *label, int alone)
{
	int result = 0;

	if (options->samples_out)
		result |= write_raw(samples, options->samples_out, benchmark,
				    label);
	if (options->hgrm_out)
		result |= write_hgrm(samples, options->hgrm_out, label, alone);
	return result;
}
