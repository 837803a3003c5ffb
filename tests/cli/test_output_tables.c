/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the tables and JSON of the command, and the histogram for percentiles.
 */
#include <math.h>

#include "peal_test.h"
#include "runtime/cli/histogram.h"
#include "runtime/cli/output.h"

static const struct peali_column columns[] = {
	{ "name", "name", 0 },	   { "size", "size", PEALI_AS_BYTES },
	{ "n", "n", 0 },	   { "x", "x [ns]", 2 },
	{ "absent", "absent", 0 }, { NULL, NULL, 0 },
};

static json_t *two_rows(void)
{
	json_t *rows = json_array();
	json_t *row = peali_row_append(rows);

	peali_row_text(row, "name", "%s", "one");
	peali_row_uint(row, "size", 4u << 20);
	peali_row_uint(row, "n", 7);
	peali_row_real(row, "x", 1.5);
	row = peali_row_append(rows);
	peali_row_text(row, "name", "%s", "zw\xc3\xb6lf");
	peali_row_uint(row, "size", 12);
	peali_row_uint(row, "n", 12345);
	peali_row_null(row, "x", "needs %d samples", 20);
	return rows;
}

PEAL_TEST(table_aligns_columns_and_omits_empty_columns)
{
	static const char expected[] = "title\n"
				       "name      size      n  x [ns]\n"
				       "one    4.0 MiB      7    1.50\n"
				       "zw\xc3\xb6lf     12 B  12345       -\n";
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	json_t *rows = two_rows();

	peali_table_print(to, "title", columns, rows);
	fclose(to);
	CHECK(strcmp(text, expected) == 0);
	json_decref(rows);
	free(text);
}

PEAL_TEST(json_has_numbers_and_null_with_a_reason)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	json_t *object = json_object();
	json_t *again;
	const json_t *row;

	peali_row_flag(object, "emulated", 1);
	json_object_set_new(object, "rows", two_rows());
	CHECK_EQ(peali_json_print(to, object), 0);
	fclose(to);
	again = json_loads(text, 0, NULL);
	CHECK(again && json_equal(again, object));
	row = json_array_get(json_object_get(again, "rows"), 1);
	CHECK(json_is_null(json_object_get(row, "x")));
	CHECK_CONTAINS(json_string_value(json_object_get(row, "x_why")),
		       "needs 20 samples");
	/* one object per line */
	CHECK_CONTAINS(text, "\n    {\"name\": \"one\"");
	json_decref(again);
	json_decref(object);
	free(text);
}

PEAL_TEST(invalid_utf8_and_nan_are_printed_safely)
{
	json_t *row = json_object();

	peali_row_text(row, "name", "a%cb", 0xff);
	CHECK_CONTAINS(json_string_value(json_object_get(row, "name")), "a?b");
	peali_row_real(row, "x", NAN);
	CHECK(json_is_null(json_object_get(row, "x")));
	CHECK_CONTAINS(json_string_value(json_object_get(row, "x_why")),
		       "not measured");
	peali_row_uint(row, "n", UINT64_MAX);
	CHECK_EQ(json_integer_value(json_object_get(row, "n")), INT64_MAX);
	json_decref(row);
}

static struct peali_histogram histogram;

PEAL_TEST(percentiles_are_within_a_thousandth_of_sorted_values)
{
	unsigned long long seed = 1;
	static uint64_t values[20000];
	const int n = 20000;
	const double shares[] = { 0.5, 0.9, 0.99, 0.999 };

	memset(&histogram, 0, sizeof(histogram));
	for (int i = 0; i < n; i++) {
		/* Values of all sizes, each once. */
		uint64_t v = (uint64_t)i * 977 + test_random(&seed) % 900;

		values[i] = v;
		peali_histogram_add(&histogram, v);
	}
	for (int i = 0; i < 4; i++) {
		uint64_t exact = values[(int)ceil(shares[i] * n) - 1];
		uint64_t value = 0;

		CHECK_EQ(peali_histogram_percentile(&histogram, shares[i],
						    &value),
			 0);
		CHECK(value >= exact);
		CHECK((double)value <= (double)exact * 1.001);
	}
	CHECK_EQ(histogram.most, values[n - 1]);
}

PEAL_TEST(percentile_row_names_missing_sample_count)
{
	json_t *row = json_object();

	memset(&histogram, 0, sizeof(histogram));
	for (int i = 0; i < 99; i++)
		peali_histogram_add(&histogram, 5);
	peali_histogram_row(&histogram, row, "latency_ns");
	CHECK_EQ(json_integer_value(json_object_get(row, "latency_ns_p50")), 5);
	CHECK(json_is_null(json_object_get(row, "latency_ns_p90")));
	CHECK_CONTAINS(
		json_string_value(json_object_get(row, "latency_ns_p90_why")),
		"needs 100 samples, there are 99");
	json_object_clear(row);
	peali_histogram_add(&histogram, 5);
	peali_histogram_row(&histogram, row, "latency_ns");
	CHECK_EQ(json_integer_value(json_object_get(row, "latency_ns_p90")), 5);
	json_decref(row);
}

PEAL_TEST(histogram_holds_every_value)
{
	const uint64_t edges[] = { 0,	       2047,
				   2048,       2049,
				   4095,       4096,
				   1ull << 41, (1ull << 42) - 1,
				   1ull << 42, UINT64_MAX };

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		uint64_t value = 0;

		memset(&histogram, 0, sizeof(histogram));
		for (int k = 0; k < 20; k++)
			peali_histogram_add(&histogram, edges[i]);
		CHECK_EQ(peali_histogram_percentile(&histogram, 0.5, &value),
			 0);
		if (edges[i] < 1ull << 42)
			CHECK_EQ(value, edges[i]);
	}
}

PEAL_TEST_MAIN(RUN(table_aligns_columns_and_omits_empty_columns);
	       RUN(json_has_numbers_and_null_with_a_reason);
	       RUN(invalid_utf8_and_nan_are_printed_safely);
	       RUN(percentiles_are_within_a_thousandth_of_sorted_values);
	       RUN(percentile_row_names_missing_sample_count);
	       RUN(histogram_holds_every_value);)
