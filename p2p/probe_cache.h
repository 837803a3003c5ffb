/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROBE_CACHE_H
#define PEALI_PROBE_CACHE_H

#include <stdint.h>

#include <peal/topology.h>

/*
 * Results of the probe on disk: the file probe.json in PEAL_CACHE_DIR. The file
 * is valid for one boot of one machine and one version of the library. A
 * damaged or outdated file counts as missing. No function here fails: without a
 * cache the probe runs again.
 */

/** The key of a result: the pair, its link and its driver. */
struct peali_probe_cache_key {
	const char *backend;
	const char *from, *to; /* uuids of the devices */
	const char *kind; /* of their link */
	const char *driver; /* driver version; "" for emulated devices */
	/* the user's text for emulated devices; else "" */
	const char *topology;
};

/**
 * The cache of one runtime; all zero at first. Not thread-safe.
 *
 * The first find reads the file. A store writes the file if the last
 * write is at least a second ago. Else a later store or the close writes the
 * result.
 */
struct peali_probe_cache {
	char *path; /* NULL: not opened yet, or no folder for the file */
	int opened;
	struct json_t *index; /* results on disk, by key text */
	struct json_t *mine; /* results that are not written yet, by key text */
	uint64_t written_ns; /* time of the last write; 0: none yet */
};

/*
 * Looks a pair up. Returns 1 and sets `verdict`, `latency_ns`,
 * `bandwidth_bytes_per_s` and `why` of *info. Returns 0 if there is no result.
 * *measured_out is 0 if the pair was verified but not measured.
 */
int peali_probe_cache_find(struct peali_probe_cache *cache,
			   const struct peali_probe_cache_key *key,
			   struct peal_pair_info *info, int *measured_out);
/* Adds or replaces a result. */
void peali_probe_cache_store(struct peali_probe_cache *cache,
			     const struct peali_probe_cache_key *key,
			     const struct peal_pair_info *info, int measured);
/*
 * Writes the remaining results. The file also keeps the results of other
 * processes. A reader never sees a partly written file.
 */
void peali_probe_cache_close(struct peali_probe_cache *cache);

#endif
