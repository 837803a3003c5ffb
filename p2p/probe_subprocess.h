/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROBE_SUBPROCESS_H
#define PEALI_PROBE_SUBPROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <peal/errors.h>

/*
 * Runs the probe in a process of its own. A broken pair can permanently destroy
 * a driver's context, and with it all work of the process on the device. The
 * child process is the command `peal probe`. The results come back through the
 * cache.
 */

/*
 * Runs the child process for all `n_pairs` pairs of a backend. Blocks for
 * seconds. Returns 0 if the results are in the cache, or an error:
 *
 * - PEAL_ENOENT: the command is missing, does not start, or reports a failure.
 * - PEAL_EIO: the child crashed or hung; `why` has the text.
 */
int peali_probe_in_subprocess(const char *backend, int n_pairs, char *why,
			      size_t why_bytes);

/*
 * Time limit of the child in ms, plus a time per pair. Tests shorten the limit.
 */
extern uint64_t peali_probe_subprocess_ms;

/*
 * Returns 1 and the path of the command if the command is executable, else 0.
 * Without PEAL_COMMAND it looks at the path of the build. Then it looks in bin/
 * beside the folder of the library, and in PATH.
 */
int peali_probe_command(char *out, size_t bytes);

#endif
