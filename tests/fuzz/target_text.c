/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for terminals, and numbers. The first byte is the size of the result, the second
 * selects a word for the distance. The rest is the text.
 */
#include "fuzz/fuzz.h"

#include <limits.h>

#include "runtime/base/number.h"
#include "runtime/base/text.h"

static void check_escaped(const char *text, size_t n, size_t size)
{
	char *out = malloc(size), *again = malloc(size);
	size_t length = peali_text_escape(out, size, text, n), i;

	FUZZ_CHECK(length < size && strlen(out) == length);
	for (i = 0; i < length; i++)
		FUZZ_CHECK((unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
	/* a second escape changes nothing */
	FUZZ_CHECK(peali_text_escape(again, size, out, length) == length);
	FUZZ_CHECK(!memcmp(out, again, length));
	free(again);
	free(out);
}

static void check_cut(const char *text, size_t size)
{
	char *copy = malloc(size);
	const char *cut = peali_text_cut(copy, size, text);

	FUZZ_CHECK(strlen(cut) < size);
	FUZZ_CHECK(cut == copy || cut == text);
	peali_text_fit(copy, size, text);
	FUZZ_CHECK(strlen(copy) < size);
	free(copy);
}

/* A number is equal to its printed digits, apart from zeros in front. */
static void check_number(const char *text)
{
	uint64_t value = 7;
	char digits[24];

	if (!peali_number_parse(text, 1, UINT64_MAX - 1, &value)) {
		FUZZ_CHECK(value == 7);
		return;
	}
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	FUZZ_CHECK(!strcmp(digits, text + strspn(text, "0")));
}

FUZZ_TARGET(text)
{
	static const char *const words[] = { "", "a", "PEAL_HOST_DEVICES",
					     "threshold" };
	struct fuzz_input in = { data, size };
	size_t bytes = 1 + fuzz_u8(&in);
	const char *word = words[fuzz_u8(&in) % 4];
	size_t n = in.left;
	char *text = fuzz_text(in.at, n);
	unsigned edits = peali_text_edits(text, n, word);

	FUZZ_CHECK(n < 64 ? edits <= n + strlen(word) : edits == UINT_MAX);
	check_escaped(text, n, bytes);
	check_cut(text, bytes);
	check_number(text);
	free(text);
	return 0;
}
