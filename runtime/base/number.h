/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_NUMBER_H
#define PEALI_NUMBER_H

#include <stdint.h>

/*
 * Parses a decimal number of digits only: without a sign, blanks or a fraction,
 * which strtoull and strtod accept. Writes *out if the number is in its range.
 * Returns 1, or 0 if the text is no such number. Thread-safe.
 */
int peali_number_parse(const char *text, uint64_t least, uint64_t most,
		       uint64_t *out);

#endif
