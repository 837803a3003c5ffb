/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROBE_H
#define PEALI_PROBE_H

#include <peal/program.h>
#include "p2p/peer.h"

/*
 * Probes pairs of devices. Checks that stores of one device reach the other
 * device's memory, in order and intact. Also measures the speed. Each pair is
 * probed on first demand.
 */

/*
 * Determines the verdict of a pair without new measurements, for the choice of
 * a link's route. `route` and `why` say peer only if both directions are
 * verified: credits return on the way back. Latency and bandwidth are 0 unless
 * known from before. A pair that was not measured is not slow.
 *
 * Probes only unknown pairs; concurrent callers wait. The cache on disk keeps
 * all verdicts except faulted (p2p/probe_cache.h, PEAL_PROBE).
 *
 * Returns 0, or an error. A broken pair is a verdict, not an error:
 *
 * - PEAL_ENODEV: no such device.
 * - PEAL_EINVAL: a setting is not allowed.
 * - PEAL_ENOMEM: no memory.
 */
int peali_probe_verify(struct peali_peers *peers, int from, int to,
		       struct peal_pair_info *out);

/*
 * Determines verdict and measurements of a pair. The verdict can then be slow.
 * Returns as peali_probe_verify.
 */
int peali_probe_pair(struct peali_peers *peers, int from, int to,
		     struct peal_pair_info *out);

/*
 * Probes all pairs of a backend's devices, before the first of them has a
 * kernel. With a command, uses a subprocess (probe_subprocess.h), else this
 * process. A failure is a verdict.
 */
void peali_probe_backend(struct peali_peers *peers,
			 struct peali_backend *backend);

/* No probe runs between hold and release. Hold waits for a running probe. */
void peali_probes_hold(struct peali_peers *peers);
void peali_probes_release(struct peali_peers *peers);

/* Returns the program of the probe's two kernels. Load it before any launch. */
const struct peal_program *peali_probe_program(void);

#endif
