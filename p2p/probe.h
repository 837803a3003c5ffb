/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROBE_H
#define PEALI_PROBE_H

#include <peal/program.h>
#include "p2p/peer.h"

/*
 * Whether the stores of one device really reach another one's memory, in order
 * and unharmed, and how fast. Nothing is tried before it is asked for.
 */

/*
 * The proof alone, which is what a link needs that may choose: `route` and
 * `why` are peer only if this direction is proved and the way back, by which
 * credits come, is proved too. Latency and bandwidth are 0 unless they are
 * known from before; a pair that was not measured is not slow. Tries what is
 * not known yet; whoever asks meanwhile waits. Never asks a machine twice: see
 * p2p/cache.h, PEAL_PROBE.
 *
 * 0; PEAL_ENODEV; PEAL_EINVAL a setting is not allowed; PEAL_ENOMEM. What is
 * wrong with the pair itself is a verdict, not an error.
 */
int peali_probe_prove(struct peali_peers *peers, int from, int to,
		      struct peal_pair_info *out);

/* The same and the measurements, of which slow may be the verdict. */
int peali_probe_pair(struct peali_peers *peers, int from, int to,
		     struct peal_pair_info *out);

/*
 * Proves all pairs of devices of that backend, before the first of them has a
 * kernel: in a process of its own where there is the command for it (child.h),
 * else here. What fails is a verdict.
 */
void peali_probe_backend(struct peali_peers *peers,
			 struct peali_backend *backend);

/* No probe runs from the one to the other; waits for one that does. */
void peali_probes_hold(struct peali_peers *peers);
void peali_probes_release(struct peali_peers *peers);

/* The program of the probe's two kernels, to be loaded before any launch. */
const struct peal_program *peali_probe_program(void);

#endif
