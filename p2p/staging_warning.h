/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_STAGING_WARNING_H
#define PEALI_STAGING_WARNING_H

struct peali_peers;

/*
 * Warns on standard error that a pair of devices has staged copies or links. Only
 * the first call for a pair writes a line. PEAL_LOG=0 disables it.
 * The host or one device alone is no pair. `what` is "copies" or "links".
 * Thread-safe.
 */
void peali_warn_staging(struct peali_peers *peers, int from, int to,
			const char *what, const char *why);

#endif
