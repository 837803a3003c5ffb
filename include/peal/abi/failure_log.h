/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_FAILURE_LOG_H
#define PEAL_ABI_FAILURE_LOG_H

#include <peal/device/platform.h>

/*
 * Failures that a worker reports to the host's log (impl/worker/failure_log.h).
 * A worker writes here only if something has failed.
 */

/** The kinds of failures. */
enum peal_failure_kind {
	PEAL_FAILED_HANDLER = 1,
	PEAL_FAILED_INIT = 2,
	PEAL_FAILED_EXIT = 3,
	PEAL_FAILED_SUPERVISOR = 4, /* a supervisor has given up: its index in
				     * place of the actor */
	PEAL_FAILED_LETTER = 5 /* a dead letter about a message to the actor did
				* not fit its link */
};

/** Failures of one kind, of one actor. */
struct peal_failure {
	uint64_t failure; /* PEAL_FAILURE; 0: the entry is free */
	uint64_t count; /* PEAL_FAILURE_COUNT since `failure` was written */
};

/** The failing actor or supervisor, the kind, and the first error. An error has
 * 16 bits. One beyond them counts as the nearest one. */
#define PEAL_FAILURE(actor, kind, error)                                       \
	((uint64_t)(uint32_t)(actor) << 32 | (uint64_t)(kind) << 16 |          \
	 ((uint32_t)((error) < -0x8000 ? -0x8000 :                             \
		     (error) > 0x7fff  ? 0x7fff :                              \
					 (error)) &                             \
	  0xffffu))
#define PEAL_FAILURE_ACTOR(failure) ((uint32_t)((failure) >> 32))
#define PEAL_FAILURE_KIND(failure) ((uint32_t)((failure) >> 16) & 0xffffu)
#define PEAL_FAILURE_ERROR(failure) ((int32_t)(int16_t)((failure)&0xffffu))

/** The count of an entry, and below it the actor with the last failure of a
 * supervisor's member (else 0). */
#define PEAL_FAILURE_COUNT(count, member)                                      \
	((uint64_t)(uint32_t)(count) << 32 | (uint32_t)(member))
#define PEAL_FAILURE_TIMES(word) ((uint32_t)((word) >> 32))
#define PEAL_FAILURE_MEMBER(word) ((uint32_t)(word))

#define PEAL_FAILURES 31 /* entries of a worker */

/** Kernel to host, one per worker. Only writer: that worker. */
struct peal_failure_log {
	uint64_t next; /* entries that were ever begun */
	uint64_t replaced; /* failures of entries that were replaced */
	struct peal_failure entry[PEAL_FAILURES]; /* a ring, by `next` */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_failure_log) == 512, "failure log size");

#endif
