/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LOG_H
#define PEALI_LOG_H

#include <stdarg.h>
#include <stddef.h>

/* Lines on stderr. Thread-safe. */

/* Bytes of a line with its newline and a 0; a longer line is cut. */
#define PEALI_LOG_BYTES 4096

/* Returns 1 if PEAL_LOG enables messages of the level, else 0. */
int peali_log_wanted(int level);
/* Returns 1 if PEAL_LOG enables warnings, which is the default, else 0. */
int peali_warnings_wanted(void);
/*
 * Writes a line to stderr if PEAL_LOG enables the level (1 problems .. 3 all).
 * It is "peal: ", the escaped text and a newline, by one write.
 */
void peali_log(int level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a line as peali_log if peali_warnings_wanted. It is for facts that an
 * operator must know without a question, once each. */
void peali_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes a line as peali_log writes it, and a 0. Returns its bytes. */
size_t peali_line_format(char line[PEALI_LOG_BYTES], const char *format,
			 va_list arguments)
	__attribute__((format(printf, 2, 0)));

/*
 * Writes a line by one write call. So lines of several threads and processes
 * stay whole, in a file with O_APPEND and in a pipe. It writes again only the
 * bytes that were not taken. After an error it drops the rest, because it has no
 * other place for a report. Returns 0, or -1 after an error. Keeps errno.
 */
int peali_line_write(int fd, const char *line, size_t bytes);

#endif
