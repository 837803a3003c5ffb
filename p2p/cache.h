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
	const char *driver; /* its version; "" for emulated devices */
	const char *topology; /* of emulated devices, as the user gave it */
};

/**
 * The cache of one runtime; all zero at first. It reads the file once, at the
 * first find, and writes a proof at once if a second has passed since it last
 * wrote, else with a later one or at close. Not thread-safe.
 */
struct peali_cache {
	char *path; /* NULL: not opened yet, or there is no place for a file */
	int opened;
	struct json_t *index; /* proofs on disk, by the text of their key */
	struct json_t *mine; /* those that are not written yet, likewise */
	uint64_t written_ns; /* when it last wrote; 0: not yet */
};

/*
 * 1 and verdict, latency_ns, bandwidth_bytes_per_s and why of *info; or 0.
 * *measured_out 0: the pair was proved only.
 */
int peali_cache_find(struct peali_cache *cache,
		     const struct peali_cache_key *key,
		     struct peal_pair_info *info, int *measured_out);
/* Adds or replaces. */
void peali_cache_store(struct peali_cache *cache,
		       const struct peali_cache_key *key,
		       const struct peal_pair_info *info, int measured);
/* Writes what is left: with what others have written, whole at every moment. */
void peali_cache_close(struct peali_cache *cache);

#endif
