/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LINK_COUNTERS_H
#define PEALI_LINK_COUNTERS_H

#include "runtime/runtime.h"

struct peali_counters;
struct peali_kept;

/*
 * Adds queued messages times elapsed ns to each link. The caller holds the
 * runtime's lock, also for the other functions.
 */
void peali_links_sample(struct peal_runtime *rt, uint64_t now);
/* Adds the counts of a link to the entries of its sender and its receiver. The
 * table `to` has an entry for each device, then an entry for the host. */
void peali_kept_add_link(const struct peali_counters *counters,
			 struct peali_kept *to, const struct peal_link *link);
/* Keeps the counts of a link that is about to be freed. */
void peali_link_keep(const struct peal_link *link);

#endif
