/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LOG_H
#define PEALI_LOG_H

/* Whether PEAL_LOG asks for that level. */
int peali_log_wanted(int level);
/* A log line on stderr if PEAL_LOG asks for that level (0 none .. 3 debug). */
void peali_log(int level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
