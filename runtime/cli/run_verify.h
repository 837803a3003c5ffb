/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_RUN_VERIFY_H
#define PEAL_RUNTIME_CLI_RUN_VERIFY_H

/*
 * What `peal run --verify` compares with. The sender reads every item into a
 * ring of originals and sends it from there; the receiver takes the original
 * out again, computes every stage of it by the host reference, and compares
 * with what arrived, bit for bit.
 *
 * One thread reserves and commits, one thread checks; nothing is allocated
 * after the init.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <peal/abi/stage.h>

#include "runtime/cli/pipeline.h"

struct peali_verify {
	const struct peali_pipeline *pipeline;
	unsigned char *bytes; /* the ring */
	size_t size;
	size_t stride; /* the largest record */
	uint64_t reserved; /* sender: where the open record stands */
	atomic_ullong tail; /* written by the sender */
	atomic_ullong head; /* written by the receiver */
	atomic_int waiting; /* the sender sleeps */
	pthread_mutex_t mutex;
	pthread_cond_t room;
	/* receiver */
	unsigned char *scratch[2]; /* results of stages, by turns */
	int floats; /* bodies are compared as floats */
	uint64_t n_checked;
	uint64_t n_mismatches;
	double difference; /* the largest one */
	uint64_t crc_sum[PEALI_STAGES_MAX]; /* expected of crc32c stages */
};

/**
 * Makes the ring.
 *
 * @param pipeline has to live until fini.
 * @param item_bytes_max the largest body.
 * @param n_in_flight how many items the pipeline may hold; fewer may fit.
 * @return 0 or -1: out of memory.
 */
int peali_verify_init(struct peali_verify *verify,
		      const struct peali_pipeline *pipeline,
		      uint32_t item_bytes_max, uint64_t n_in_flight);

void peali_verify_fini(struct peali_verify *verify);

/**
 * Gives the place for the next item: its head, then its body.
 *
 * @param halt looked at while the ring is full.
 * @return the place; NULL once *halt is set.
 */
struct peal_item *peali_verify_reserve(struct peali_verify *verify,
				       const atomic_int *halt);

/** Hands the reserved item to the receiver; before it is sent. */
void peali_verify_commit(struct peali_verify *verify);

/**
 * Compares an item that arrived with what it should be, and forgets its
 * original and those of items before it.
 *
 * @param body aligned to 4.
 * @return 0; 1 if it differs; PEAL_ENOENT if there is no original of its
 *         sequence; or what a reference returned.
 */
int peali_verify_check(struct peali_verify *verify,
		       const struct peal_item *item, const void *body);

#endif
