/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CARRY_H
#define PEALI_CARRY_H

#include <stdatomic.h>

#include <peal/transfer.h>
#include "p2p/peer.h"

/*
 * Carrying copies out: which way each goes, several at a time, and through the
 * host where there is no other way. All places are known to be right and are
 * kept by the caller; no lock is held.
 */

/** A run of copies. */
struct peali_run {
	const char *call; /* for texts */
	uint32_t routes; /* that it may take; 0: any */
	uint64_t chunk_bytes; /* of staged ones; 0: the default */
	/* of one in the background, else NULL */
	atomic_int *cancel; /* looked at now and then */
	_Atomic uint64_t *done; /* bytes so far */
	struct peal_copy_result result; /* zeroed before; filled here */
};

/* 0; PEAL_ECANCELED; PEAL_ENOPEER; PEAL_ENOMEM; PEAL_EDRIVER. */
int peali_carry(struct peali_peers *peers, const struct peali_move *moves,
		uint32_t n, struct peali_run *run);

/* What a run has come to; whether it is to end. */
void peali_run_add(struct peali_run *run, uint64_t bytes);
int peali_run_cancelled(const struct peali_run *run);

/*
 * stage.c: moves that all go from one place to one other, through the host.
 * Errors as peali_carry.
 */
int peali_stage_run(struct peali_peers *peers, const struct peali_move *moves,
		    uint32_t n, struct peali_run *run);
/* Ends its threads, and gives its memory back. */
void peali_stages_close(struct peali_peers *peers);

#endif
