/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CHILD_H
#define PEALI_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

/*
 * Proving pairs in a process of its own: a pair that is broken can end a
 * driver's context for good, and with it all that the process does on a device.
 * The process is `peal prove`; what it finds comes back by the cache.
 */

/*
 * Runs it for all pairs of a backend, that many. 0: what it could say is in the
 * cache now; PEAL_ENOENT: there is no such command, it does not start, or it
 * says that it failed; PEAL_EIO: it crashed or hung, `why` says which. Blocks
 * for seconds.
 */
int peali_probe_in_child(const char *backend, int n_pairs, char *why,
			 size_t why_bytes);

/* How long it may take, beside a time for each pair. Tests shorten it. */
extern uint64_t peali_probe_child_ms;

/* 1 and the command's path if there is one that can be run. */
int peali_probe_command(char *out, size_t bytes);

#endif
