/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_STAGING_WARNING_H
#define PEALI_STAGING_WARNING_H

struct peali_peers;

/*
 * Warns on standard error that copies or links of a pair of devices use host
 * memory. Only the first call of the process for a pair writes a line, over all
 * runtimes. PEAL_LOG=0 disables it. The host or one device alone is no pair.
 * `what` says what uses host memory, and `why` is the cause. Thread-safe.
 */
void peali_warn_staging(struct peali_peers *peers, int from, int to,
			const char *what, const char *why);

#endif
