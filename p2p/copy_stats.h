/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COPY_STATS_H
#define PEALI_COPY_STATS_H

#include <pthread.h>
#include <stdint.h>

#include <peal/metrics.h>
#include <peal/transfer.h>

/*
 * Counters of ended copies between each two places, and of threads that waited
 * for copies. The ledger's lock is the last in the lock order.
 */

/** Counters from one place to another. */
struct peali_ledger_pair {
	struct peal_copy_counts direct, staged;
	uint32_t warned; /* 1: a warning about staging was logged */
};

struct peali_ledger {
	pthread_mutex_t lock;
	/* one entry per ordered pair; see pair_of */
	struct peali_ledger_pair *pair;
	int n_devices;
	struct peal_wait_counts waits;
};

/** Ended copies from one place to another by one way. */
struct peali_ledger_copy {
	int to, from; /* devices, or PEALI_HOST */
	int staged; /* 1: through buffers of the host */
	uint32_t copies, failed;
	uint64_t bytes; /* copied bytes, also of failed copies */
	uint64_t ns; /* duration of all copies together */
};

/** Counters of copies from and to the memory of a place. */
struct peali_ledger_place {
	struct peal_copy_counts read[PEAL_COPY_WAYS], written[PEAL_COPY_WAYS];
};

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_ledger_open(struct peali_ledger *ledger, int n_devices);
/* Closes a ledger. A ledger that is all zero and not opened is allowed. */
void peali_ledger_close(struct peali_ledger *ledger);
void peali_ledger_enter(struct peali_ledger *ledger,
			const struct peali_ledger_copy *copy);
/* Counts a thread's wait for a copy. */
void peali_ledger_waited(struct peali_ledger *ledger, uint64_t ns);
/*
 * Returns 1 on the first call for a pair: the caller then logs the staging
 * warning.
 */
int peali_ledger_warns(struct peali_ledger *ledger, int from, int to);
/*
 * Reads all counters. `out` has the devices first, then the host. `copies`
 * counts each copy once.
 */
void peali_ledger_read(struct peali_ledger *ledger,
		       struct peali_ledger_place *out,
		       struct peal_copy_counts copies[PEAL_COPY_WAYS],
		       struct peal_wait_counts *waits);
/* Reads the counters of one pair. */
void peali_ledger_read_pair(struct peali_ledger *ledger, int from, int to,
			    struct peal_transfer_counts *out);

#endif
