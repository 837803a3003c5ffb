/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_STAGING_WARNING_H
#define PEALI_STAGING_WARNING_H

struct peali_peers;

/*
 * A warning on standard error: copies or links of a pair of devices use host
 * memory. The first slow copy or link of the pair writes the line, over all
 * runtimes of the process.
 */

/*
 * Returns 1 if the caller must write the line of a pair, else 0. Only the first
 * call for a pair returns 1. After PEAL_LOG=0 all calls return 0. The host or one
 * device alone is no pair. Thread-safe.
 */
int peali_staging_is_new(struct peali_peers *peers, int from, int to);

/* Writes the line. `what` says what uses host memory, and `why` is the cause.
 * Thread-safe. */
void peali_warn_staging(int from, int to, const char *what, const char *why);

#endif
