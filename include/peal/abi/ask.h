/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_ASK_H
#define PEAL_ABI_ASK_H

#include <peal/device/platform.h>

/*
 * Asks: requests of one actor of a kernel to another. Each worker has a table of
 * those of its actors that are open, a place for each and one for the answer in
 * hand; its mailbox has as many slots more than admission knows of, so that an
 * answer has room whatever else lies there. Zeroed memory is a table without
 * asks.
 */

/*
 * The number of an ask, which its request carries as those of the host do: this
 * bit, which those never have, the worker of who asks, and of that worker's asks
 * one that it has no second time, modulo the size of its table the place there.
 */
#define PEAL_ASK_BIT (1ULL << 63)
#define PEAL_ASK_WORKER_BIT 47
#define PEAL_ASK_TURN(number) ((number) & ((1ULL << PEAL_ASK_WORKER_BIT) - 1))
#define PEAL_ASK_WORKER(number)                                                \
	((uint32_t)((number) >> PEAL_ASK_WORKER_BIT) & 0xffffu)

/** What is counted; the words of struct peal_ask_status. */
enum peal_ask_count {
	PEAL_ASKS_ASKED = 0,
	PEAL_ASKS_ANSWERED = 1, /* by a reply */
	PEAL_ASKS_REFUSED = 2,
	PEAL_ASKS_TIMED_OUT = 3,
	PEAL_ASKS_FAILED = 4, /* nobody could answer it */
	PEAL_ASKS_STOPPED = 5, /* open when the worker ended otherwise */
	PEAL_ASKS_OPEN = 6, /* asked, and none of the above */
	PEAL_ASKS_LATE = 7, /* replies of its actors to asks that were over */
	PEAL_ASKS_COUNT = 8
};

/** Kernel to host, one per worker of a kernel that has asks. Only writer: that
 * worker. */
struct peal_ask_status {
	uint64_t count[PEAL_ASKS_COUNT];
	uint8_t reserved[PEAL_SHARED_LINE - 8 * PEAL_ASKS_COUNT];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_ask_status) == PEAL_SHARED_LINE,
		   "ask status size");

/** One place of the table. Only writer of all but `open`: its worker. */
struct peal_ask_entry {
	uint64_t open; /* the ask's number: nobody has ended it; 0. Its worker
			* sets it, who takes it away has ended it, and is the
			* only one who has */
	uint64_t number; /* of the latest ask here */
	uint64_t timer; /* number of its timeout's timer */
	uint32_t timer_place;
	uint32_t actor; /* who has asked */
	uint32_t next; /* 1 + the place that is free after it; 0: none is */
	uint16_t type; /* with which the answer comes */
	uint16_t reserved[13];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_ask_entry) == 64, "ask entry size");

/** A worker's table of asks; in device memory, written by the worker. Behind it
 * lie max + 1 entries. */
struct peal_asks {
	uint64_t count[PEAL_ASKS_COUNT]; /* as in the status */
	uint32_t max; /* asks that may be open */
	uint32_t used; /* places of those, and of the answer in hand */
	uint32_t fresh; /* places that were ever used */
	uint32_t free_first, free_last; /* 1 + places, in the order in which
					 * they were given back */
	uint8_t reserved[PEAL_SHARED_LINE - 84];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_asks) == PEAL_SHARED_LINE,
		   "table of asks");

#endif
