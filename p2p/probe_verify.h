/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROBE_VERIFY_H
#define PEALI_PROBE_VERIFY_H

#include <peal/topology.h>
#include "p2p/peer.h"

/* Trials of the probe that give a verdict. The caller holds probe_lock. */

/* Time limit of a job, which ends itself, in ns. */
#define PEALI_PROBE_LIMIT_NS 1000000000u

/* Sets the verdict after a backend error, with its text. */
void peali_probe_set_faulted(struct peal_pair_info *info);

/*
 * Verifies one direction, info->from to info->to. If 16-byte stores arrive torn,
 * verifies it again with atoms of 8 bytes. Sets verdict, policies and reason.
 * Returns 0 or PEAL_ENOMEM.
 */
int peali_verify_one(struct peali_peers *peers, struct peal_pair_info *info);

/*
 * Verifies both directions at the same time. A direction without a verdict is
 * verified alone. Returns as peali_verify_one.
 */
int peali_verify_both(struct peali_peers *peers, struct peal_pair_info *there,
		      struct peal_pair_info *back);

#endif
