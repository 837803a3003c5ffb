/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COPY_STATS_H
#define PEALI_COPY_STATS_H

#include <pthread.h>
#include <stdint.h>

#include <peal/metrics.h>
#include <peal/transfer.h>

/*
 * Counters of ended copies between each two places, and of threads that waited
 * for copies. The lock of the statistics is the last in the lock order.
 */

/** Counters from one place to another. */
struct peali_copy_stats_pair {
	struct peal_copy_counts direct, staged;
	uint32_t warned; /* 1: peali_warn_staging had the pair */
};

struct peali_copy_stats {
	pthread_mutex_t lock;
	/* one entry per ordered pair; see pair_of */
	struct peali_copy_stats_pair *pair;
	int n_devices;
	struct peal_wait_counts waits;
};

/** Ended copies from one place to another by one way. */
struct peali_copy_stats_entry {
	int to, from; /* devices, or PEALI_HOST */
	int staged; /* 1: through buffers of the host */
	uint32_t copies, failed;
	uint64_t bytes; /* copied bytes, also of failed copies */
	uint64_t ns; /* duration of all copies together */
};

/** Counters of copies from and to the memory of a place. */
struct peali_copy_stats_place {
	struct peal_copy_counts read[PEAL_COPY_KINDS], written[PEAL_COPY_KINDS];
};

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_copy_stats_open(struct peali_copy_stats *stats, int n_devices);
/* Closes statistics. A struct that is all zero and not opened is allowed. */
void peali_copy_stats_close(struct peali_copy_stats *stats);
void peali_copy_stats_add(struct peali_copy_stats *stats,
			  const struct peali_copy_stats_entry *copy);
/* Counts a thread's wait for a copy. */
void peali_copy_stats_add_wait(struct peali_copy_stats *stats, uint64_t ns);
/*
 * Returns 1 on the first call for a pair: the caller then writes the warning
 * about staging.
 */
int peali_copy_stats_warn_once(struct peali_copy_stats *stats, int from,
			       int to);
/*
 * Reads all counters. `out` has the devices first, then the host. `copies`
 * counts each copy once.
 */
void peali_copy_stats_read(struct peali_copy_stats *stats,
			   struct peali_copy_stats_place *out,
			   struct peal_copy_counts copies[PEAL_COPY_KINDS],
			   struct peal_wait_counts *waits);
/* Reads the counters of one pair. */
void peali_copy_stats_read_pair(struct peali_copy_stats *stats, int from,
				int to, struct peal_transfer_counts *out);

#endif
