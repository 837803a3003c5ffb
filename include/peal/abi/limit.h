/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_LIMIT_H
#define PEAL_ABI_LIMIT_H

#include <peal/device/platform.h>

/*
 * Limits in a kernel's memory: how many messages may wait for an actor in a
 * mailbox, and what becomes of one more; and how a worker says that a request of
 * the host has no answer. See device/limit.h.
 */

/** What becomes of a message for an actor whose limit is reached. */
enum peal_mailbox_full {
	PEAL_FULL_WAIT = 0, /* there is no limit: who sends waits for slots */
	PEAL_FULL_FAIL = 1, /* peal_tell returns PEAL_ENOSPC; what comes by a
			     * link is dead */
	PEAL_FULL_DROP_NEWEST = 2, /* it is dead, reason "full"; of an ask
				    * who asks is told, as above */
	PEAL_FULL_DROP_OLDEST = 3 /* of those that wait for the actor the first
				   * that its worker comes to, one of high
				   * priority before others, is dead, reason
				   * "full" */
};

/** The largest limit. */
#define PEAL_LIMIT_MAX (1u << 20)

/** A record's word: which actor in turn has the record, messages that have been
 * dropped and lie in the mailbox yet, messages that wait. */
#define PEAL_LIMIT_DROPPED_ONE (1ULL << 24)
#define PEAL_LIMIT_TURN_ONE (1ULL << 48)
#define PEAL_LIMIT_TURN(word) ((word) >> 48)
#define PEAL_LIMIT_DROPPED(word) ((uint32_t)((word) >> 24) & 0xffffffu)
#define PEAL_LIMIT_WAITING(word) ((uint32_t)(word)&0xffffffu)

/** An actor's limit. */
struct peal_limit_record {
	/* written by the actor's worker before `word` says so */
	uint32_t actor; /* its number */
	uint32_t limit; /* messages that may wait */
	uint32_t full; /* enum peal_mailbox_full */
	uint32_t reserved;
	/* changed by any worker, by comparing first */
	uint64_t word;
	uint64_t most; /* that ever waited */
	/* added to by any worker */
	uint64_t dropped; /* messages that are dead, or will be, for it */
	uint64_t refused; /* that a handler got PEAL_ENOSPC for */
	uint64_t line_reserved[2];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_limit_record) == 64, "limit size");

/** What a worker says of an actor's limit. */
struct peal_limit_report {
	uint64_t waiting, most, dropped, refused;
};

/** Control message: asks for that. */
struct peal_control_limit {
	uint32_t index; /* of the record */
	uint32_t reserved;
	uint64_t report; /* address of a struct peal_limit_report */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_limit) == 16, "limit message");

/* ---- requests that nobody answers ------------------------------------------ */

/** Boards of a runtime, at most. */
#define PEAL_BOARDS_MAX 1024u

/** A request's number: which of the requester's, its board (1 + its number; 0:
 * none), its place there (1 + its index). */
#define PEAL_REQUEST_NUMBER(nth, board, place)                                 \
	((uint64_t)((uint32_t)(nth)&0x7fffffffu) << 32 |                       \
	 (uint64_t)(board) << 16 | (place))
#define PEAL_REQUEST_BOARD(number) ((uint32_t)((number) >> 16) & 0xffffu)
#define PEAL_REQUEST_PLACE(number) ((uint32_t)(number)&0xffffu)

/** A place of a board. Only writer: the worker at which the request has ended. */
struct peal_refusal {
	uint64_t number; /* of the request */
	uint64_t error; /* -PEAL_E... */
};

/** A requester's board, in host memory; its places follow. */
struct peal_board {
	/* written by any worker; another number each time */
	uint64_t latest; /* of the request whose place was written last */
	uint8_t latest_reserved[PEAL_SHARED_LINE - 8];
	/* written by the host before any worker knows of it */
	uint32_t places;
	uint8_t host_reserved[PEAL_SHARED_LINE - 4];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_board) == 2 * PEAL_SHARED_LINE,
		   "board size");

#endif
