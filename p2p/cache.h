/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CACHE_H
#define PEALI_CACHE_H

#include <stdint.h>

#include <peal/topology.h>

/*
 * What the probe has found, on disk: one file probe.json in PEAL_CACHE_DIR. It
 * holds for one boot of one machine and one version of the library. A file that
 * is damaged or of another boot is as good as none. Nothing here is an error:
 * without a cache the probe runs again.
 */

/** What a proof is about. */
struct peali_cache_key {
	const char *backend;
	const char *from, *to; /* uuids of the devices */
	const char *kind; /* of their link */
	const char *topology; /* of emulated devices, as the user gave it */
};

/* 1 and verdict, latency_ns, bandwidth_bytes_per_s and why of *info; or 0. */
int peali_cache_find(const struct peali_cache_key *key,
		     struct peal_pair_info *info);
/* Adds or replaces. The file is whole at every moment. */
void peali_cache_store(const struct peali_cache_key *key,
		       const struct peal_pair_info *info);

#endif
