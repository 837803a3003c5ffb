/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_TIMER_H
#define PEAL_ABI_TIMER_H

#include <peal/abi/mailbox.h>

/*
 * The timers of a worker (device/timer.h): messages to send later. The table is
 * struct peal_timers, followed by:
 *
 * - a list of due timers for each destination queue
 * - a heap of the timers that are not due
 * - an entry and a message buffer for each timer
 *
 * Zeroed memory is a table without timers.
 */

/** The handle of a timer. A worker never reuses a number. */
struct peal_timer {
	uint64_t number; /* from 1; 0: no timer */
	uint32_t place; /* index of the entry in the worker's table */
	uint32_t worker;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer) == 16, "timer size");

/** Counters of timers: indices in struct peal_timer_status. */
enum peal_timer_count {
	PEAL_TIMERS_SET = 0,
	PEAL_TIMERS_FIRED = 1, /* one-shot: its message was sent */
	PEAL_TIMERS_CANCELLED = 2,
	PEAL_TIMERS_GONE = 3, /* periodic: its actor was gone */
	PEAL_TIMERS_DRAINED = 4, /* periodic: the kernel's inputs had ended */
	PEAL_TIMERS_STOPPED = 5, /* pending when the worker ended early */
	PEAL_TIMERS_WAITING = 6, /* set, and none of the above */
	PEAL_TIMERS_HELD = 7, /* of WAITING: due, but no slot is free */
	PEAL_TIMERS_TICKS = 8, /* messages of periodic timers */
	PEAL_TIMERS_MISSED = 9, /* due times of periodic timers without a
				 * message: the one before was late */
	PEAL_TIMERS_COUNT = 10
};

/** Kernel to host, one per worker of a kernel with timers. Only writer: that
 * worker. */
struct peal_timer_status {
	uint64_t count[PEAL_TIMERS_COUNT];
	uint8_t reserved[PEAL_SHARED_LINE - 8 * PEAL_TIMERS_COUNT];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_status) == PEAL_SHARED_LINE,
		   "timer status size");

/** An element of the heap. */
struct peal_timer_due {
	uint64_t due_ns;
	uint32_t place;
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_due) == 16, "timer due size");

/** An entry of the table. */
struct peal_timer_entry {
	uint64_t number; /* of its timer; 0: free */
	uint64_t due_ns; /* by the device's clock */
	uint64_t period_ns; /* 0: one-shot */
	struct peal_header header; /* of the message */
	uint32_t length; /* bytes of the message */
	uint32_t at; /* index in the heap; PEAL_TIMER_HELD: in a list */
	uint32_t next, prev; /* 1 + entry of the neighbours in the list, or
			      * (next) in the list of free entries; 0: none */
	uint32_t way; /* index of its list, if it is in a list */
	uint32_t setter; /* the actor that set it, by its handler */
	uint64_t setter_restarts; /* of the setter, when it set the timer */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_entry) == 64, "timer entry size");

#define PEAL_TIMER_HELD 0xffffffffu

/** A list of due timers that wait for a free slot in a mailbox or a pool. */
struct peal_timer_way {
	uint32_t first, last; /* 1 + entry; 0: empty */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timer_way) == 8, "timer way size");

/** A worker's table of timers; in device memory, written by the worker. */
struct peal_timers {
	uint64_t ways; /* struct peal_timer_way[n_ways]: for each worker's
			* mailbox, then for the pools */
	uint64_t heap; /* struct peal_timer_due[max] */
	uint64_t entries; /* struct peal_timer_entry[max] */
	uint64_t messages; /* message buffers, message_step bytes apart */
	uint64_t numbers; /* numbers of timers used so far */
	uint64_t polled_ns; /* time of the last look at the clock */
	struct peal_mailbox_lease lease; /* a slot for a due timer */
	uint32_t n_ways, max, message_step;
	uint32_t n_heap; /* timers that are not due */
	uint32_t n_held; /* due timers in lists */
	uint32_t free; /* 1 + first of the freed entries; 0: none */
	uint32_t fresh; /* entries that were ever used */
	uint32_t turns; /* since the last look at the clock */
	uint32_t every; /* turns from a look to the next */
	uint32_t fired; /* 1: the turn before sent due messages */
	uint32_t ticks; /* since the last check for the end of all inputs */
	uint32_t quick; /* successive looks within a short time */
	uint32_t own; /* of `max`: for handlers; the others are for asks */
	uint32_t asking; /* pending timers of asks */
	uint64_t count[PEAL_TIMERS_COUNT]; /* as in the status */
	uint8_t worker_reserved[2 * PEAL_SHARED_LINE - 216];
	/* read by the other workers before the end of the kernel */
	uint64_t open; /* pending timers and open asks, as published */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_timers) == 3 * PEAL_SHARED_LINE &&
			   offsetof(struct peal_timers, open) ==
				   2 * PEAL_SHARED_LINE,
		   "table of timers");

#endif
