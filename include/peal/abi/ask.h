/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_ASK_H
#define PEAL_ABI_ASK_H

#include <peal/device/platform.h>

/*
 * Asks: requests of an actor to another actor of its kernel (device/ask.h).
 * Each worker has a table with an entry per open ask, and one for the answer
 * being handled. Its mailbox has an extra slot per entry, which admission does
 * not count. So an answer always has a free slot. Zeroed memory is a table
 * without asks.
 */

/*
 * The number of an ask. The request carries it like a number of the host:
 *
 *	bit 63		PEAL_ASK_BIT, never set in a number of the host
 *	bits 47..62	worker of the asking actor
 *	bits 0..46	turn: no two asks of a worker have the same; the index
 *			of the entry is turn modulo the size of the table
 */
#define PEAL_ASK_BIT (1ULL << 63)
#define PEAL_ASK_WORKER_BIT 47
#define PEAL_ASK_TURN(number) ((number) & ((1ULL << PEAL_ASK_WORKER_BIT) - 1))
#define PEAL_ASK_WORKER(number)                                                \
	((uint32_t)((number) >> PEAL_ASK_WORKER_BIT) & 0xffffu)

/** Counters of asks: indices in struct peal_ask_status. */
enum peal_ask_count {
	PEAL_ASKS_ASKED = 0,
	PEAL_ASKS_ANSWERED = 1, /* by a reply */
	PEAL_ASKS_ERROR_REPLIES = 2,
	PEAL_ASKS_TIMED_OUT = 3,
	PEAL_ASKS_FAILED = 4, /* the request was a dead letter */
	PEAL_ASKS_STOPPED = 5, /* open when the worker was stopped or failed */
	PEAL_ASKS_OPEN = 6, /* asked, and none of the above */
	PEAL_ASKS_LATE = 7, /* replies of its actors to asks that were over */
	PEAL_ASKS_COUNT = 8
};

/** Kernel to host, one per worker of a kernel with asks. Only writer: that
 * worker. */
struct peal_ask_status {
	uint64_t count[PEAL_ASKS_COUNT];
	uint8_t reserved[PEAL_SHARED_LINE - 8 * PEAL_ASKS_COUNT];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_ask_status) == PEAL_SHARED_LINE,
		   "ask status size");

/** An entry of the table. Other workers write only `open`. */
struct peal_ask_entry {
	/*
	 * Number of the open ask; 0: none. The table's worker sets it. Any
	 * worker can clear it by compare-and-swap, and so end the ask.
	 */
	uint64_t open;
	uint64_t number; /* of the latest ask here */
	uint64_t timer; /* number of the timer of its timeout */
	uint32_t timer_place; /* entry of that timer */
	uint32_t actor; /* number of the asking actor */
	uint32_t next; /* 1 + the next free entry; 0: none */
	uint16_t type; /* of the answer */
	uint16_t reserved[13];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_ask_entry) == 64, "ask entry size");

/** A worker's table of asks, in device memory; max + 1 entries follow. Only
 * writer: the worker. */
struct peal_asks {
	uint64_t count[PEAL_ASKS_COUNT]; /* as in the status */
	uint32_t max; /* asks that may be open */
	uint32_t used; /* entries of open asks and of the handled answer */
	uint32_t fresh; /* entries that were ever used */
	uint32_t free_first, free_last; /* 1 + entry: ends of the queue of free
					 * entries, oldest first; 0: empty */
	uint8_t reserved[PEAL_SHARED_LINE - 84];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_asks) == PEAL_SHARED_LINE,
		   "table of asks");

#endif
