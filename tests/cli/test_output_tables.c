/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the tables and JSON of the command, and the histogram for percentiles.
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "peal_test.h"
#include "runtime/base/text.h"
#include "runtime/cli/histogram.h"
#include "runtime/cli/output.h"

static const struct peali_column columns[] = {
	{ "name", "name", 0 },	   { "size", "size", PEALI_AS_BYTES },
	{ "n", "n", 0 },	   { "x", "x", 2 },
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
				       "name      size      n     x\n"
				       "one    4.0 MiB      7  1.50\n"
				       "zw\xc3\xb6lf     12 B  12345     -\n";
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

/* Prints a table into an allocated text. */
static char *printed(const struct peali_column *list, const json_t *rows)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	peali_table_print(to, NULL, list, rows);
	fclose(to);
	return text;
}

/* Returns the number of characters of the longest line. */
static size_t longest(const char *text)
{
	size_t most = 0;

	for (; *text;
	     text += strcspn(text, "\n") + (text[strcspn(text, "\n")] != 0))
		if (strcspn(text, "\n") > most)
			most = strcspn(text, "\n");
	return most;
}

PEAL_TEST(long_text_continues_below_itself)
{
	static const struct peali_column list[] = { { "n", "n", 0 },
						    { "why", "why", 0 },
						    { NULL, NULL, 0 } };
	json_t *rows = json_array(), *row = peali_row_append(rows);
	char word[161] = "", *text;

	for (int i = 0; i < 40; i++)
		strcat(word, "yes ");
	peali_row_uint(row, "n", 1);
	peali_row_text(row, "why", "%s", word);
	memset(word, 'x', 160);
	row = peali_row_append(rows);
	peali_row_uint(row, "n", 2);
	peali_row_text(row, "why", "%s", word);
	text = printed(list, rows);
	CHECK_EQ(longest(text), 100);
	CHECK_CONTAINS(text, "n  why\n1  yes yes");
	/* at a space, or inside a word that is too long */
	CHECK_CONTAINS(text, "yes yes\n   yes yes");
	CHECK_CONTAINS(text, "x\n   x");
	free(text);
	json_decref(rows);
}

PEAL_TEST(columns_of_a_wide_table_go_on_a_second_line)
{
	static const struct peali_column list[] = { { "a", "first", 0 },
						    PEALI_COLUMN_BREAK,
						    { "b", "second", 0 },
						    { "c", "third", 0 },
						    { NULL, NULL, 0 } };
	json_t *rows = json_array(), *row = peali_row_append(rows);
	char *text;

	peali_row_text(row, "a", "short");
	peali_row_text(row, "b", "%s", "");
	peali_row_uint(row, "c", 7);
	text = printed(list, rows);
	CHECK(!strcmp(text, "first  third\nshort      7\n"));
	free(text);
	peali_row_text(row, "a", "%090d", 0);
	row = peali_row_append(rows);
	peali_row_text(row, "a", "no second line");
	peali_row_null(row, "b", "not measured");
	text = printed(list, rows);
	CHECK_CONTAINS(text, "first\n    second  third\n0000");
	CHECK_CONTAINS(text, "0000\n                7\nno second line\n");
	CHECK_EQ(longest(text), 90);
	free(text);
	json_decref(rows);
}

PEAL_TEST(paragraph_and_record_keep_the_width)
{
	static const struct peali_column list[] = { { "why", "reason", 0 },
						    { NULL, NULL, 0 } };
	char word[241] = "", *text = NULL;
	json_t *row = json_object();
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (int i = 0; i < 60; i++)
		strcat(word, "yes ");
	peali_paragraph_print(to, 10, 2, "%s", word);
	peali_row_null(row, "why", "%s", word);
	peali_record_print(to, NULL, list, row);
	fclose(to);
	CHECK(longest(text) <= 100);
	CHECK_CONTAINS(text, "\n  yes");
	CHECK_CONTAINS(text, "reason  - (yes");
	CHECK_CONTAINS(text, "yes\n        yes");
	free(text);
	json_decref(row);
}

PEAL_TEST(numbers_have_readable_units)
{
	static const struct {
		double value;
		int format;
		const char *expected;
	} cases[] = {
		{ 950, PEALI_AS_NS, "950 ns" },
		{ 0, PEALI_AS_NS, "0 ns" },
		{ 13.6, PEALI_AS_NS, "13.6 ns" },
		{ 999.4, PEALI_AS_NS, "999 ns" },
		{ 999.6, PEALI_AS_NS, "1.0 us" },
		{ 59199, PEALI_AS_NS, "59.2 us" },
		{ 99960, PEALI_AS_NS, "100 us" },
		{ 4437573631.0, PEALI_AS_NS, "4.4 s" },
		{ 3723e9, PEALI_AS_NS, "3723 s" },
		{ 7793.8, PEALI_AS_US, "7.8 ms" },
		{ 1000, PEALI_AS_MS, "1.0 s" },
		{ 0.0011, PEALI_AS_SECONDS, "1.1 ms" },
		{ 351179.6, PEALI_AS_PER_S, "351 k/s" },
		{ 7, PEALI_AS_PER_S, "7.0/s" },
		{ 0.0311, PEALI_AS_MEGA_PER_S, "31.1 k/s" },
		{ 1234567890, PEALI_AS_BYTES_PER_S, "1.2 GB/s" },
		{ 999999999999.0, PEALI_AS_BYTES_PER_S, "1.0 TB/s" },
		{ 6.3, PEALI_AS_MB_PER_S, "6.3 MB/s" },
		{ 0.449, PEALI_AS_GB_PER_S, "449 MB/s" },
		{ 1.5, 2, "1.50" },
		{ 4608, PEALI_AS_SIZE, "4608 B" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct peali_column list[] = {
			{ "x", "", cases[i].format }, { NULL, NULL, 0 }
		};
		json_t *rows = json_array();
		char *table;

		peali_row_real(peali_row_append(rows), "x", cases[i].value);
		table = printed(list, rows);
		CHECK_CONTAINS(table, cases[i].expected);
		CHECK_EQ(peali_cell_width(
				 json_object_get(json_array_get(rows, 0), "x"),
				 cases[i].format),
			 (int)strlen(cases[i].expected));
		free(table);
		json_decref(rows);
	}
	CHECK(!strcmp(peali_size_text(4096, text, sizeof(text)), "4 KiB"));
	CHECK(!strcmp(peali_size_text(460832, text, sizeof(text)), "460832 B"));
	CHECK(!strcmp(peali_size_text(0, text, sizeof(text)), "0 B"));
	CHECK(!strcmp(peali_s(1), "") && !strcmp(peali_s(0), "s"));
}

PEAL_TEST(a_file_gets_no_colour)
{
	FILE *file = tmpfile();
	char text[32] = "";

	CHECK_EQ(setenv("TERM", "xterm", 1), 0);
	CHECK(!peali_colours(file) && !peali_is_terminal(file));
	peali_verdict_print(file, "FAIL");
	rewind(file);
	CHECK(fgets(text, sizeof(text), file) && !strcmp(text, "FAIL"));
	fclose(file);
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
	CHECK_CONTAINS(json_string_value(json_object_get(row, "name")),
		       "a\\xffb");
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

PEAL_TEST(message_is_one_write_and_escaped)
{
	char got[256];
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	/* a pipe of packets returns what one write has written */
	CHECK(saved >= 0 && !pipe2(ends, O_DIRECT | O_CLOEXEC));
	dup2(ends[1], STDERR_FILENO);
	peali_say("cannot read '%s': %d", "a\n\033\xff", 5);
	dup2(saved, STDERR_FILENO);
	n = read(ends[0], got, sizeof(got) - 1);
	CHECK(n > 0);
	got[n] = 0;
	CHECK(!strcmp(got, "peal: cannot read 'a\\n\\x1b\\xff': 5\n"));
	close(ends[0]);
	close(ends[1]);
	close(saved);
}

static void *say_lines(void *number)
{
	for (int i = 0; i < 200; i++)
		peali_say("<%d %.*s>", (int)(size_t)number, i % 30,
			  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqr");
	return NULL;
}

PEAL_TEST(messages_of_many_threads_stay_whole)
{
	char path[] = "/tmp/peal-say-XXXXXX", line[128];
	int made = mkstemp(path), saved = dup(STDERR_FILENO), lines = 0;
	pthread_t thread[8];
	FILE *file;

	CHECK(made >= 0 && saved >= 0);
	dup2(open(path, O_WRONLY | O_APPEND | O_CLOEXEC), STDERR_FILENO);
	for (size_t i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, say_lines, (void *)i);
	for (size_t i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	dup2(saved, STDERR_FILENO);
	file = fopen(path, "r");
	CHECK(file);
	for (; fgets(line, sizeof(line), file); lines++) {
		CHECK(!strncmp(line, "peal: <", 7));
		CHECK(!strcmp(line + 9 +
				      strspn(line + 9,
					     "abcdefghijklmnopqrstuvwxyz"),
			      ">\n"));
	}
	CHECK_EQ(lines, 8 * 200);
	fclose(file);
	close(saved);
	close(made);
	unlink(path);
}

PEAL_TEST(rows_escape_external_text)
{
	static const struct peali_column list[] = { { "name", "name", 0 },
						    { NULL, NULL, 0 } };
	json_t *rows = json_array(), *row = peali_row_append(rows);
	char long_name[600], *text;

	peali_row_text(row, "name", "%s", "a\033[2J\x9b\xc3\xb6\n");
	CHECK(!strcmp(json_string_value(json_object_get(row, "name")),
		      "a\\x1b[2J\\x9b\xc3\xb6\\n"));
	peali_row_null(row, "other", "%s", "\a");
	CHECK(!strcmp(json_string_value(json_object_get(row, "other_why")),
		      "\\x07"));
	/* also a text that bypassed the rows' functions */
	json_object_set_new(row, "name", json_string("b\033\n"));
	text = printed(list, rows);
	CHECK(!strcmp(text, "name\nb\\x1b\\n\n"));
	free(text);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	peali_row_text(row, "name", "%s", long_name);
	text = printed(list, rows);
	CHECK_CONTAINS(text, "xxx...\n");
	free(text);
	json_decref(rows);
}

PEAL_TEST_MAIN(RUN(message_is_one_write_and_escaped);
	       RUN(messages_of_many_threads_stay_whole);
	       RUN(rows_escape_external_text);
	       RUN(table_aligns_columns_and_omits_empty_columns);
	       RUN(long_text_continues_below_itself);
	       RUN(columns_of_a_wide_table_go_on_a_second_line);
	       RUN(paragraph_and_record_keep_the_width);
	       RUN(numbers_have_readable_units); RUN(a_file_gets_no_colour);
	       RUN(json_has_numbers_and_null_with_a_reason);
	       RUN(invalid_utf8_and_nan_are_printed_safely);
	       RUN(percentiles_are_within_a_thousandth_of_sorted_values);
	       RUN(percentile_row_names_missing_sample_count);
	       RUN(histogram_holds_every_value);)
