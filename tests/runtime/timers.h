/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TIMERS_H
#define PEAL_TESTS_TIMERS_H

#include <peal/abi/timer.h>

/* Message types, messages and states of programs/timers.c and its tests. */

#define TIMER_SLOTS 16
#define TIMER_BYTES 48 /* of a message: the mailboxes' limit */

/** Message types of orders to an actor. */
enum timer_order_type {
	TIMER_AFTER = 1, /* n timers that fire once */
	TIMER_EVERY = 2,
	TIMER_CANCEL = 3, /* cancels the timer of `slot` */
	TIMER_MIX = 4, /* as TIMER_AFTER, with delays in any order */
	TIMER_COPY = 5, /* returns the handle of `slot` */
	TIMER_USE = 6, /* cancels `timer` of the order */
	TIMER_PHASE = 7 /* delay ns, then period step_ns */
};

struct timer_order {
	/* delay or period of the first timer; increase for each next timer */
	uint64_t ns, step_ns;
	uint32_t actor, n, slot, bytes;
	struct peal_timer timer;
};

struct timer_answer {
	int64_t result; /* of the latest call */
	uint64_t n; /* calls that were successful */
	struct peal_timer timer;
};

/** Message of a timer. due_ns and number are as in the table of timers. */
struct timer_note {
	uint64_t due_ns, number, period_ns, set_ns;
	/* chain: timers that are still to be set, one after another */
	uint32_t chain, reserved;
	uint64_t check;
};

/** State of an actor that gets messages of timers. */
struct timer_notes {
	uint64_t received, early, misordered, damaged;
	uint64_t last_due_ns, last_number;
	uint64_t ticks, early_ticks;
	uint64_t least_late_ns, epochs, epoch_began_ns;
	struct peal_timer timer[TIMER_SLOTS];
};

/** Message to `churn`, `pass`, `slow` or `hold`. */
struct timer_spin {
	uint64_t gate; /* address of a host word; open when not 0 */
	uint64_t ns; /* ns of work for each message */
	uint32_t actor, reserved; /* receiver, for `pass` */
};

struct timer_spins {
	uint64_t turns;
};

#endif
