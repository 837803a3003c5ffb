/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_RUN_VERIFY_H
#define PEAL_RUNTIME_CLI_RUN_VERIFY_H

/*
 * Reference data for `peal run --verify`.
 *
 * 1. The sender reads every item into a ring of originals and sends it from
 *    there.
 * 2. The receiver removes the original and computes every stage by the host
 *    reference.
 * 3. It compares the result with the received item, bit for bit.
 *
 * One thread reserves and commits, one thread checks. No function allocates
 * memory after peali_verify_init.
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
	size_t stride; /* size of the largest record */
	uint64_t reserved; /* sender: position of the open record */
	atomic_ullong tail; /* written by the sender */
	atomic_ullong head; /* written by the receiver */
	atomic_int waiting; /* 1: the sender sleeps */
	pthread_mutex_t mutex;
	pthread_cond_t space;
	/* receiver */
	unsigned char *scratch[2]; /* results of stages, used alternately */
	int floats; /* 1: bodies are compared as floats */
	uint64_t n_checked;
	uint64_t n_mismatches;
	double difference; /* the largest difference */
	uint64_t crc_sum[PEALI_STAGES_MAX]; /* expected sums of crc32c stages */
};

/**
 * Creates the ring.
 *
 * @param pipeline has to stay valid until fini.
 * @param item_bytes_max the largest body.
 * @param n_in_flight items that the pipeline may hold; the ring may hold fewer.
 * @return 0, or -1: out of memory.
 */
int peali_verify_init(struct peali_verify *verify,
		      const struct peali_pipeline *pipeline,
		      uint32_t item_bytes_max, uint64_t n_in_flight);

void peali_verify_fini(struct peali_verify *verify);

/**
 * Returns memory for the next item: its head, then its body. Waits while the
 * ring is full.
 *
 * @param halt checked during the wait.
 * @return the memory; NULL once *halt is set.
 */
struct peal_item *peali_verify_reserve(struct peali_verify *verify,
				       const atomic_int *halt);

/**
 * Passes the reserved item to the receiver. Call it before the item is sent.
 */
void peali_verify_commit(struct peali_verify *verify);

/**
 * Compares a received item with its expected value. Removes its original and
 * all older originals.
 *
 * @param body aligned to 4.
 * @return 0: equal. 1: different. PEAL_ENOENT: there is no original with its
 *         sequence. Or the error of a reference.
 */
int peali_verify_check(struct peali_verify *verify,
		       const struct peal_item *item, const void *body);

#endif
