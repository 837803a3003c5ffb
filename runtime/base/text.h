/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TEXT_H
#define PEALI_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Texts for people: messages, log lines, tables. File names, names of actors
 * and devices, environment variables and received texts may have any bytes.
 * These functions make each text safe for a terminal, and mark each cut.
 *
 * Each byte of some characters becomes \n, \r, \t or \xHH. These are control
 * characters, and characters that change the direction of text. Bytes that are
 * not UTF-8 become \xHH, too. A backslash stays a backslash. So a second escape
 * changes nothing. Thread-safe.
 */

/* Longest result of peali_text_format with its 0, and longest line. */
#define PEALI_TEXT_BYTES 4096

/*
 * Writes n bytes of a text, escaped, and a 0. A text that does not fit ends
 * with "...". Returns the length of the result.
 */
size_t peali_text_escape(char *out, size_t size, const char *text, size_t n);

/*
 * Formats as snprintf, then works as peali_text_escape. An argument may be a
 * part of `out`.
 */
size_t peali_text_format(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t peali_text_vformat(char *out, size_t size, const char *format,
			  va_list arguments)
	__attribute__((format(printf, 3, 0)));

/*
 * Returns the number of edits from n bytes to a word: Levenshtein's distance,
 * where upper and lower case are equal. UINT_MAX: one has 64 bytes or more.
 */
unsigned peali_text_edits(const char *text, size_t n, const char *word);

/*
 * Returns `text` if it has less than `size` bytes. Else returns `copy` with the
 * begin and the end of the text, and "..." between them. Escapes nothing.
 */
const char *peali_text_cut(char *copy, size_t size, const char *text);

/* Copies a text, cut as by peali_text_cut if it does not fit. */
void peali_text_fit(char *out, size_t size, const char *text);

/* Formats as snprintf, and returns `out`. A text that does not fit ends with
 * "...". Escapes nothing. */
const char *peali_text_make(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns the ending of a noun behind a number: "" for 1, else "s". */
const char *peali_s(uint64_t n);

/* Cuts a text to a number of bytes. The result is valid in its block. */
#define PEALI_CUT(bytes, text)                                                 \
	peali_text_cut((char[(bytes) + 1]){ 0 }, (bytes) + 1, text)

/* Formats up to 127 bytes. The result is valid in its block. */
#define PEALI_PRINT(...) peali_text_make((char[128]){ 0 }, 128, __VA_ARGS__)

#endif
