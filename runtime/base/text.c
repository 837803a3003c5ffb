/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MARK "..."
#define MARK_BYTES (sizeof(MARK) - 1)
#define WORD_BYTES 64 /* a longer word is similar to none */
#define PIECE_BYTES 17 /* four bytes as \xHH, and a 0 */

/* ---- characters ---------------------------------------------------------- */

/*
 * Decodes the UTF-8 character at the begin of a text (RFC 3629). Returns its
 * bytes, or 0 if there is none.
 */
static size_t decode(const unsigned char *text, size_t n, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = *text < 0x80	  ? 1 :
		       *text >> 5 == 0x6  ? 2 :
		       *text >> 4 == 0xe  ? 3 :
		       *text >> 3 == 0x1e ? 4 :
					    0;
	uint32_t c = bytes < 2 ? *text : *text & (0x7fu >> bytes);

	if (!bytes || bytes > n)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (text[i] & 0x3fu);
	}
	if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*out = c;
	return bytes;
}

/* Returns 1 for a character that controls a terminal or reorders its text. */
static int is_control(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	{ 0x61c, 0x61c },
		{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return 1;
	return 0;
}

/* Writes a byte as \n, \r, \t or \xHH. Returns the length. */
static size_t escape_byte(unsigned char byte, char *out)
{
	static const char bytes[] = "\n\r\t", letters[] = "nrt";
	const char *found = byte ? strchr(bytes, byte) : NULL;

	return (size_t)(found ? snprintf(out, 5, "\\%c",
					 letters[found - bytes]) :
				snprintf(out, 5, "\\x%02x", byte));
}

/*
 * Writes the first character of a text, or escapes it. Returns the length of
 * the piece. *used_out receives the length of the character.
 */
static size_t take(const char *text, size_t n, char piece[PIECE_BYTES],
		   size_t *used_out)
{
	uint32_t c = 0;
	size_t bytes = decode((const unsigned char *)text, n, &c);
	size_t length = 0;

	*used_out = bytes ? bytes : 1;
	if (bytes && !is_control(c)) {
		memcpy(piece, text, bytes);
		return bytes;
	}
	for (size_t i = 0; i < *used_out; i++)
		length += escape_byte((unsigned char)text[i], piece + length);
	return length;
}

/* Returns 1 if a text has only printable ASCII characters. */
static int is_plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return 0;
	return 1;
}

/* ---- texts --------------------------------------------------------------- */

/* Ends a text with the mark of a cut. `at` is the length before the mark. */
static size_t end_with_mark(char *out, size_t size, size_t at)
{
	size_t bytes = size - 1 - at < MARK_BYTES ? size - 1 - at : MARK_BYTES;

	memcpy(out + at, MARK, bytes);
	out[at + bytes] = 0;
	return at + bytes;
}

size_t peali_text_escape(char *out, size_t size, const char *text, size_t n)
{
	size_t length = 0, with_mark = 0, used, bytes;
	char piece[PIECE_BYTES];

	if (!size)
		return 0;
	if (n < size && is_plain(text, n)) {
		memcpy(out, text, n);
		out[n] = 0;
		return n;
	}
	for (; n; text += used, n -= used) {
		bytes = take(text, n, piece, &used);
		if (length + bytes >= size)
			return end_with_mark(out, size, with_mark);
		memcpy(out + length, piece, bytes);
		length += bytes;
		if (length + MARK_BYTES < size)
			with_mark = length;
	}
	out[length] = 0;
	return length;
}

size_t peali_text_vformat(char *out, size_t size, const char *format,
			  va_list arguments)
{
	char raw[PEALI_TEXT_BYTES];
	int n = vsnprintf(raw, sizeof(raw), format, arguments);

	if (n < 0)
		raw[0] = 0;
	if (n >= (int)sizeof(raw))
		end_with_mark(raw, sizeof(raw), sizeof(raw) - 1 - MARK_BYTES);
	return peali_text_escape(out, size, raw, strlen(raw));
}

size_t peali_text_format(char *out, size_t size, const char *format, ...)
{
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	length = peali_text_vformat(out, size, format, arguments);
	va_end(arguments);
	return length;
}

const char *peali_text_make(char *out, size_t size, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(out, size, format, arguments);
	va_end(arguments);
	if (n < 0)
		*out = 0;
	if (n >= (int)size)
		end_with_mark(out, size, size - 1 - MARK_BYTES);
	return out;
}

/* Returns 1 for a byte inside a UTF-8 character, but not its first byte. */
static int is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

const char *peali_text_cut(char *copy, size_t size, const char *text)
{
	size_t n = strlen(text), rest, begin, end;

	if (n < size)
		return text;
	if (size <= MARK_BYTES + 1) {
		end_with_mark(copy, size, 0);
		return copy;
	}
	rest = size - 1 - MARK_BYTES;
	begin = rest - rest / 2;
	end = n - rest / 2;
	while (begin && is_inside(text[begin]))
		begin--;
	while (end < n && is_inside(text[end]))
		end++;
	memcpy(copy, text, begin);
	memcpy(copy + begin, MARK, MARK_BYTES);
	memcpy(copy + begin + MARK_BYTES, text + end, n - end + 1);
	return copy;
}

void peali_text_fit(char *out, size_t size, const char *text)
{
	const char *fits = peali_text_cut(out, size, text);

	if (fits != out)
		memmove(out, fits, strlen(fits) + 1);
}

/* ---- similar words ------------------------------------------------------- */

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned peali_text_edits(const char *text, size_t n, const char *word)
{
	unsigned row[WORD_BYTES], corner, next;
	size_t n_word = strlen(word), i, j;

	if (n >= WORD_BYTES || n_word >= WORD_BYTES)
		return UINT_MAX;
	for (j = 0; j <= n_word; j++)
		row[j] = (unsigned)j;
	for (i = 1; i <= n; i++) {
		corner = row[0];
		row[0] = (unsigned)i;
		for (j = 1; j <= n_word; j++) {
			next = row[j];
			row[j] = least_of(
				row[j] + 1, row[j - 1] + 1,
				corner + (tolower((unsigned char)text[i - 1]) !=
					  tolower((unsigned char)word[j - 1])));
			corner = next;
		}
	}
	return row[n_word];
}

const char *peali_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}
