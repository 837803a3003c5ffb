/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that texts from outside are safe for a terminal, and cuts are marked. */
#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

static void escapes(const char *text, size_t n, const char *expected)
{
	char out[256], again[256];
	size_t length = peali_text_escape(out, sizeof(out), text, n);

	CHECK_EQ(length, strlen(out));
	if (strcmp(out, expected)) {
		fprintf(stderr, "'%s' is not '%s'\n", out, expected);
		exit(1);
	}
	peali_text_escape(again, sizeof(again), out, length);
	CHECK(!strcmp(again, out));
}

PEAL_TEST(control_characters_and_invalid_utf8_are_escaped)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "" },
		{ "plain ~ text \\", "plain ~ text \\" },
		{ "a\nb\rc\td", "a\\nb\\rc\\td" },
		{ "\033[31mred\a\b\177", "\\x1b[31mred\\x07\\x08\\x7f" },
		{ "\xc2\x9b"
		  "31m",
		  "\\xc2\\x9b31m" }, /* CSI of C1 */
		{ "zw\xc3\xb6lf \xe2\x82\xac \xf0\x9f\x99\x82",
		  "zw\xc3\xb6lf \xe2\x82\xac \xf0\x9f\x99\x82" },
		{ "\xc0\xaf", "\\xc0\\xaf" }, /* too long a form of / */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "\xf0\x80\x80\x80", "\\xf0\\x80\\x80\\x80" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xff\xfe\x80", "\\xff\\xfe\\x80" },
		{ "\xc3", "\\xc3" },
		{ "\xe2\x82"
		  "x",
		  "\\xe2\\x82x" },
		{ "\xe2\x80\xae"
		  "cba",
		  "\\xe2\\x80\\xae"
		  "cba" }, /* U+202E */
		{ "\xe2\x81\xa6\xef\xbb\xbf",
		  "\\xe2\\x81\\xa6\\xef\\xbb\\xbf" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		escapes(cases[i].text, strlen(cases[i].text),
			cases[i].expected);
	escapes("a\0b", 3, "a\\x00b");
}

/* Returns 1 if a text is printable UTF-8 without a control character. */
static int is_safe(const char *text)
{
	char again[512];

	peali_text_escape(again, sizeof(again), text, strlen(text));
	return !strcmp(again, text);
}

PEAL_TEST(each_cut_has_a_mark_and_breaks_no_character)
{
	static const char text[] = "\xc3\xa4\xe2\x82\xac\x1b\xf0\x9f\x99\x82"
				   "end of a text \xff";
	const size_t whole =
		peali_text_escape((char[99]){ 0 }, 99, text, sizeof(text) - 1);
	char out[64];
	size_t size;

	for (size = 1; size < sizeof(out); size++) {
		size_t n = peali_text_escape(out, size, text, sizeof(text) - 1);

		CHECK(n < size && n == strlen(out) && is_safe(out));
		if (size > whole)
			CHECK_EQ(n, whole);
		else if (size > 3)
			CHECK(n >= 3 && !strcmp(out + n - 3, "..."));
	}
	CHECK_EQ(peali_text_escape(out, 0, text, 1), 0);
}

PEAL_TEST(format_marks_what_does_not_fit)
{
	char long_text[6000], out[5000], small[12];

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = 0;
	CHECK_EQ(peali_text_format(out, sizeof(out), "%s", long_text),
		 PEALI_TEXT_BYTES - 1);
	CHECK(!strcmp(out + PEALI_TEXT_BYTES - 4, "..."));
	peali_text_format(small, sizeof(small), "%s and %d", "abcdefg", 12);
	CHECK(!strcmp(small, "abcdefg ..."));
	peali_text_format(small, sizeof(small), "<%s>", small);
	CHECK(!strcmp(small, "<abcdefg..."));
}

PEAL_TEST(cut_text_keeps_its_begin_and_its_end)
{
	const char *path = "/a/long/folder/with/the/file.txt";
	char copy[16], fits[64];

	CHECK(peali_text_cut(copy, sizeof(copy), "short") != copy);
	CHECK(!strcmp(PEALI_CUT(15, path), "/a/lon...le.txt"));
	CHECK(PEALI_CUT(32, path) == path);
	CHECK(!strcmp(PEALI_CUT(3, path), "..."));
	CHECK(!strcmp(PEALI_CUT(10, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
				    "\xc3\xa4"),
		      "\xc3\xa4\xc3\xa4...\xc3\xa4"));
	peali_text_fit(fits, sizeof(fits), path);
	CHECK(!strcmp(fits, path));
	peali_text_fit(fits, 16, path);
	CHECK(!strcmp(fits, "/a/lon...le.txt"));
}

PEAL_TEST(error_text_is_escaped_and_marks_its_cut)
{
	char name[400];

	peali_fail(PEAL_ENOENT, "call", "actor '%s': unknown", "a\033]0;x\a\n");
	CHECK(!strcmp(peal_last_error()->text,
		      "actor 'a\\x1b]0;x\\x07\\n': unknown"));
	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	peali_fail(PEAL_ENOENT, "call", "actor '%s': unknown", name);
	CHECK(strlen(peal_last_error()->text) >= 252);
	CHECK(is_safe(peal_last_error()->text));
	CHECK(strstr(peal_last_error()->text, "..."));
	/* a text may be an argument of the next one */
	peali_fail(PEAL_ENOENT, "call", "short");
	peali_fail(PEAL_ENOENT, "call", "again: %s", peal_last_error()->text);
	CHECK(!strcmp(peal_last_error()->text, "again: short"));
}

PEAL_TEST_MAIN(RUN(control_characters_and_invalid_utf8_are_escaped);
	       RUN(each_cut_has_a_mark_and_breaks_no_character);
	       RUN(format_marks_what_does_not_fit);
	       RUN(cut_text_keeps_its_begin_and_its_end);
	       RUN(error_text_is_escaped_and_marks_its_cut);)
