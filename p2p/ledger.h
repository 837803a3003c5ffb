/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LEDGER_H
#define PEALI_LEDGER_H

#include <pthread.h>
#include <stdint.h>

#include <peal/metrics.h>
#include <peal/transfer.h>

/*
 * What was copied between each two places, and for how long threads waited for
 * copies: those of one way are entered when they have ended. Its own lock is taken
 * behind all others.
 */

/** From one place to another. */
struct peali_ledger_pair {
	struct peal_copy_counts direct, staged;
	uint32_t warned; /* that it is staged: 1 */
};

struct peali_ledger {
	pthread_mutex_t lock;
	struct peali_ledger_pair *pair; /* of each two places; see pair_of */
	int n_devices;
	struct peal_wait_counts waits;
};

/** Copies from one place to another, by one way, that have ended. */
struct peali_ledger_copy {
	int to, from; /* devices, or PEALI_HOST */
	int staged; /* 1: through buffers of the host */
	uint32_t copies, failed;
	uint64_t bytes; /* that were copied, of failed ones too */
	uint64_t ns; /* of all of them together */
};

/** Copies from and to the memory of a place. */
struct peali_ledger_place {
	struct peal_copy_counts read[PEAL_COPY_WAYS], written[PEAL_COPY_WAYS];
};

/* PEAL_ENOMEM, without a text. */
int peali_ledger_open(struct peali_ledger *ledger, int n_devices);
/* Also of one that was not opened, all zero. */
void peali_ledger_close(struct peali_ledger *ledger);
void peali_ledger_enter(struct peali_ledger *ledger,
			const struct peali_ledger_copy *copy);
/* A thread has waited for a copy. */
void peali_ledger_waited(struct peali_ledger *ledger, uint64_t ns);
/* Whether nobody was told yet that a pair is staged; now somebody is. */
int peali_ledger_warns(struct peali_ledger *ledger, int from, int to);
/* What there is by now: of all places into `out`, devices first, then the host; each
 * copy once into `copies`; waits. */
void peali_ledger_read(struct peali_ledger *ledger,
		       struct peali_ledger_place *out,
		       struct peal_copy_counts copies[PEAL_COPY_WAYS],
		       struct peal_wait_counts *waits);
/* The same of one pair. */
void peali_ledger_read_pair(struct peali_ledger *ledger, int from, int to,
			    struct peal_transfer_counts *out);

#endif
