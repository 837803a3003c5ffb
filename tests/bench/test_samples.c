/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the arithmetic of the benchmarks: percentiles, ratios, kept rounds. */
#include "peal_test.h"

#include <math.h>
#include <unistd.h>

#include "bench/samples.h"

/* Adds a round with the samples 1 to n. */
static void add_round(struct peali_samples *s, int n, int tag, double ratio)
{
	for (int i = 1; i <= n; i++)
		peali_samples_add(s, i);
	peali_samples_close(s, tag, ratio);
}

static int near_to(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

PEAL_TEST(median_of_even_and_odd_counts)
{
	double odd[] = { 9, 1, 5 };
	double even[] = { 4, 1, 3, 2 };

	CHECK(near_to(peali_median(odd, 3), 5));
	CHECK(near_to(peali_median(even, 4), 2.5));
	CHECK(isnan(peali_median(odd, 0)));
}

PEAL_TEST(percentile_is_printed_only_from_enough_samples)
{
	static const struct {
		const char *key;
		int needs;
	} points[] = { { "ns_p50", 20 },
		       { "ns_p90", 100 },
		       { "ns_p99", 1000 },
		       { "ns_p999", 10000 } };

	for (int i = 0; i < 4; i++) {
		for (int less = 0; less < 2; less++) {
			struct peali_samples s = { 0 };
			json_t *row = json_object();
			char why[32];

			add_round(&s, points[i].needs - less, 0, NAN);
			peali_samples_row_durations(&s, row, "ns");
			snprintf(why, sizeof(why), "%s_why", points[i].key);
			CHECK_EQ(json_is_null(
					 json_object_get(row, points[i].key)),
				 less);
			CHECK_EQ(json_is_string(json_object_get(row, why)),
				 less);
			json_decref(row);
			peali_samples_fini(&s);
		}
	}
}

PEAL_TEST(percentile_is_the_nearest_rank)
{
	struct peali_samples s = { 0 };
	json_t *row = json_object();

	add_round(&s, 1000, 0, NAN);
	peali_samples_row_durations(&s, row, "ns");
	CHECK_EQ(json_integer_value(json_object_get(row, "ns_p50")), 500);
	CHECK_EQ(json_integer_value(json_object_get(row, "ns_p90")), 900);
	CHECK_EQ(json_integer_value(json_object_get(row, "ns_p99")), 990);
	CHECK_EQ(json_integer_value(json_object_get(row, "ns_max")), 1000);
	CHECK_EQ(json_integer_value(json_object_get(row, "n_samples")), 1000);
	json_decref(row);
	peali_samples_fini(&s);
}

PEAL_TEST(ratio_is_the_median_of_pairs_with_its_spread)
{
	struct peali_samples s = { 0 };
	struct peali_spread ratio;

	add_round(&s, 3, 0, 0.5);
	add_round(&s, 3, 0, 2.0);
	add_round(&s, 3, 0, 0.75);
	add_round(&s, 3, 0, NAN); /* no peer: no pair */
	ratio = peali_samples_ratio(&s);
	CHECK_EQ(ratio.n, 3);
	CHECK(near_to(ratio.median, 0.75));
	CHECK(near_to(ratio.least, 0.5));
	CHECK(near_to(ratio.most, 2.0));
	peali_samples_fini(&s);
}

PEAL_TEST(only_rounds_of_the_most_frequent_tag_are_kept)
{
	struct peali_samples s = { 0 };
	struct peali_spread ratio;

	add_round(&s, 10, 2, 9.0);
	add_round(&s, 4, 1, 1.0);
	add_round(&s, 50, PEALI_TAG_MIXED, 9.0);
	add_round(&s, 5, 1, 3.0);
	add_round(&s, 50, PEALI_TAG_MIXED, 9.0);
	add_round(&s, 50, PEALI_TAG_MIXED, 9.0);
	CHECK_EQ(peali_samples_tag(&s), 1);
	CHECK_EQ(peali_samples_rounds_kept(&s), 2);
	CHECK_EQ(peali_samples_kept(&s), 9);
	ratio = peali_samples_ratio(&s);
	CHECK(near_to(ratio.median, 2.0) && ratio.n == 2);
	CHECK(near_to(peali_samples_spread(&s).most, 5));
	peali_samples_fini(&s);
}

PEAL_TEST(mixed_rounds_alone_keep_no_samples)
{
	struct peali_samples s = { 0 };
	json_t *row = json_object();

	add_round(&s, 5, PEALI_TAG_MIXED, 1.0);
	CHECK_EQ(peali_samples_tag(&s), PEALI_TAG_MIXED);
	CHECK_EQ(peali_samples_kept(&s), 0);
	peali_samples_row_versus(&s, row, "a peer", NULL);
	CHECK(json_is_null(json_object_get(row, "ratio")));
	CHECK(json_is_string(json_object_get(row, "ratio_why")));
	CHECK_EQ(json_integer_value(json_object_get(row, "n_rounds_dropped")),
		 1);
	json_decref(row);
	peali_samples_fini(&s);
}

PEAL_TEST(open_median_uses_only_the_open_round)
{
	struct peali_samples s = { 0 };

	add_round(&s, 100, 0, 1);
	CHECK(isnan(peali_samples_open_median(&s)));
	peali_samples_add(&s, 7);
	peali_samples_add(&s, 9);
	peali_samples_add(&s, 8);
	CHECK(near_to(peali_samples_open_median(&s), 8));
	peali_samples_fini(&s);
}

/*
 * Percentiles rise to 1, counts rise to all samples. The last lines have their
 * number.
 */
PEAL_TEST(hgrm_counts_rise_to_all_samples)
{
	struct peali_samples s = { 0 };
	char line[256];
	double value, level, before = -1;
	unsigned long count = 0, last = 0;
	int lines = 0, foot = 0;
	FILE *file = tmpfile();

	CHECK(file);
	add_round(&s, 1000, 0, 1);
	CHECK_EQ(peali_samples_hgrm(&s, file), 0);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, "Total count"))
			foot = strstr(line, " 1000]") != NULL;
		if (line[0] == '#' ||
		    sscanf(line, "%lf %lf %lu", &value, &level, &count) != 3)
			continue;
		CHECK(level > before && count >= last);
		CHECK(near_to(value, (double)count));
		CHECK((double)count >= level * 1000 - 1e-6);
		before = level;
		last = count;
		lines++;
	}
	CHECK(lines > 20 && foot);
	CHECK(near_to(before, 1) && last == 1000);
	fclose(file);
	peali_samples_fini(&s);
}

PEAL_TEST(files_hold_the_kept_samples)
{
	char folder[] = "/tmp/peal-samples-XXXXXX";
	char raw[64], hgrm[64], named[64], line[128];
	struct peali_bench_options options = { .samples_out = raw,
					       .hgrm_out = hgrm };
	struct peali_samples s = { 0 };
	int n = 0;
	FILE *file;

	CHECK(mkdtemp(folder));
	snprintf(raw, sizeof(raw), "%s/raw.csv", folder);
	snprintf(hgrm, sizeof(hgrm), "%s/all.hgrm", folder);
	snprintf(named, sizeof(named), "%s/all.row-48.hgrm", folder);
	add_round(&s, 4, 1, 1);
	add_round(&s, 9, 2, 1);
	add_round(&s, 4, 1, 1);
	CHECK_EQ(peali_samples_write(&s, &options, "latency", "row-48", 0), 0);
	CHECK_EQ(access(named, R_OK), 0);
	CHECK_EQ(peali_samples_write(&s, &options, "latency", "again", 1), 0);
	CHECK_EQ(access(hgrm, R_OK), 0);
	file = fopen(raw, "r");
	CHECK(file && fgets(line, sizeof(line), file));
	CHECK_EQ(strcmp(line, "benchmark,row,round,value\n"), 0);
	while (fgets(line, sizeof(line), file))
		n++;
	CHECK_EQ(n, 16);
	fclose(file);
	options.hgrm_out = "/nowhere/at/all";
	CHECK_EQ(peali_samples_write(&s, &options, "latency", "x", 1), -1);
	unlink(raw);
	unlink(hgrm);
	unlink(named);
	CHECK_EQ(rmdir(folder), 0);
	peali_samples_fini(&s);
}

PEAL_TEST_MAIN(RUN(median_of_even_and_odd_counts);
	       RUN(percentile_is_printed_only_from_enough_samples);
	       RUN(percentile_is_the_nearest_rank);
	       RUN(ratio_is_the_median_of_pairs_with_its_spread);
	       RUN(only_rounds_of_the_most_frequent_tag_are_kept);
	       RUN(mixed_rounds_alone_keep_no_samples);
	       RUN(open_median_uses_only_the_open_round);
	       RUN(hgrm_counts_rise_to_all_samples);
	       RUN(files_hold_the_kept_samples);)
