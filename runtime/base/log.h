/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LOG_H
#define PEALI_LOG_H

/* Returns 1 if PEAL_LOG enables messages of the level, else 0. */
int peali_log_wanted(int level);
/*
 * Writes a line to stderr if PEAL_LOG enables the level (1 problems .. 3 all).
 */
void peali_log(int level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
