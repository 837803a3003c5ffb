/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_TIMER_H
#define PEAL_ABI_TIMER_H

#include <peal/abi/mailbox.h>

/*
 * Timers of a worker: messages that its actors have sent to later. In its
 * tables lie struct peal_timers and, behind it, a way for each queue that a
 * message may go out by, a heap of those that are not due, and an entry and
 * room for a message for each. Zeroed memory is a table without timers.
 */

/** A timer as its handle. Of one worker no two ever have the same number. */
struct peal_timer {
	uint64_t number; /* from 1; 0: no timer */
	uint32_t place; /* in the worker's table */
	uint32_t worker;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer) == 16, "timer size");

/** What is counted; the words of struct peal_timer_status. */
enum peal_timer_count {
	PEAL_TIMERS_SET = 0,
	PEAL_TIMERS_FIRED = 1, /* those that fire once and have */
	PEAL_TIMERS_CANCELLED = 2,
	PEAL_TIMERS_GONE = 3, /* periodic, and its actor was no more */
	PEAL_TIMERS_DRAINED =
		4, /* periodic, when the kernel's inputs had ended */
	PEAL_TIMERS_STOPPED = 5, /* waited when the worker ended otherwise */
	PEAL_TIMERS_WAITING = 6, /* set, and none of the above */
	PEAL_TIMERS_HELD = 7, /* of those: due, and there is no room */
	PEAL_TIMERS_TICKS = 8, /* messages of periodic ones */
	PEAL_TIMERS_MISSED = 9, /* times at which such a one was due and sent
				 * none: the one before was late */
	PEAL_TIMERS_COUNT = 10
};

/** Kernel to host, one per worker of a kernel that has timers. Only writer: that
 * worker. */
struct peal_timer_status {
	uint64_t count[PEAL_TIMERS_COUNT];
	uint8_t reserved[PEAL_SHARED_LINE - 8 * PEAL_TIMERS_COUNT];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_status) == PEAL_SHARED_LINE,
		   "timer status size");

/** Who is due when; the heap is of these. */
struct peal_timer_due {
	uint64_t due_ns;
	uint32_t place;
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_due) == 16, "timer due size");

/** One place of the table. */
struct peal_timer_entry {
	uint64_t number; /* of its timer; 0: free */
	uint64_t due_ns; /* by the device's clock */
	uint64_t period_ns; /* 0: fires once */
	struct peal_header header; /* of the message */
	uint32_t length;
	uint32_t at; /* its index in the heap; PEAL_TIMER_HELD */
	uint32_t next, prev; /* 1 + the place of who is due after and before it
			      * by the same way, or (next) is free as well */
	uint32_t way; /* that it waits for room of, if it is held */
	uint32_t reserved[3];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_entry) == 64, "timer entry size");

#define PEAL_TIMER_HELD 0xffffffffu

/** Who is due and waits for room in a mailbox or a pool, in their order. */
struct peal_timer_way {
	uint32_t first, last; /* 1 + their places; 0: none */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_way) == 8, "timer way size");

/** A worker's table of timers; in device memory, written by the worker. */
struct peal_timers {
	uint64_t ways; /* struct peal_timer_way[n_ways]: a mailbox for each
			* worker, then the pools */
	uint64_t heap; /* struct peal_timer_due[max] */
	uint64_t entries; /* struct peal_timer_entry[max] */
	uint64_t messages; /* message_step apart */
	uint64_t numbers; /* of timers, given so far */
	uint64_t looked_ns; /* the clock at the last look */
	struct peal_mailbox_lease lease; /* a slot for one that is due */
	uint32_t n_ways, max, message_step;
	uint32_t n_heap; /* timers that are not due */
	uint32_t n_held; /* those that are */
	uint32_t free; /* 1 + a place that was used; 0: there is none */
	uint32_t fresh; /* places that were ever used */
	uint32_t turns; /* since the last look */
	uint32_t every; /* turns from one look to the next */
	uint32_t fired; /* 1: in the turn before */
	uint32_t ticks; /* since it was asked whether all inputs have ended */
	uint32_t quick; /* looks in a row that came soon */
	uint32_t own; /* of `max`, for handlers; the others are for asks */
	uint32_t asking; /* of those that wait, for asks */
	uint64_t count[PEAL_TIMERS_COUNT]; /* as in the status */
	uint8_t worker_reserved[2 * PEAL_SHARED_LINE - 216];
	/* read by the other workers, for the end of their kernel */
	uint64_t open; /* timers that wait and asks that are not over, as last
			* told */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timers) == 3 * PEAL_SHARED_LINE &&
			   offsetof(struct peal_timers, open) ==
				   2 * PEAL_SHARED_LINE,
		   "table of timers");

#endif
