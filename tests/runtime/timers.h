/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TIMERS_H
#define PEAL_TESTS_TIMERS_H

#include <peal/abi/timer.h>

/* What the handlers of programs/timers.c and the tests agree on. */

#define TIMER_SLOTS 16
#define TIMER_BYTES 48 /* of a message, the mailboxes' most */

/** What an actor is ordered to do, as type of a message. */
enum timer_order_type {
	TIMER_AFTER = 1, /* n timers that fire once */
	TIMER_EVERY = 2,
	TIMER_CANCEL = 3, /* the one of the slot */
	TIMER_MIX = 4, /* as TIMER_AFTER, with delays in any order */
	TIMER_COPY = 5, /* says the handle of the slot */
	TIMER_USE = 6 /* cancels the handle of the order */
};

struct timer_order {
	uint64_t ns, step_ns; /* delay or period of the first; from one to the
			       * next */
	uint32_t actor, n, slot, bytes;
	struct peal_timer timer;
};

struct timer_answer {
	int64_t result; /* of the latest call */
	uint64_t n; /* calls that were successful */
	struct peal_timer timer;
};

/** The message of a timer; the table says when it is due. */
struct timer_note {
	uint64_t due_ns, number, period_ns, set_ns;
	uint32_t chain, reserved; /* so many more, each set by the one before */
	uint64_t check;
};

/** What an actor has got of them. */
struct timer_notes {
	uint64_t received, early, misordered, damaged;
	uint64_t last_due_ns, last_number;
	uint64_t ticks, early_ticks;
	uint64_t least_late_ns, epochs, epoch_began_ns;
	struct peal_timer timer[TIMER_SLOTS];
};

/** An actor that tells itself, for so long each. */
struct timer_spin {
	uint64_t gate; /* address of a host word: over when it is not 0 */
	uint64_t ns; /* each takes */
	uint32_t actor, reserved; /* who is told */
};

struct timer_spins {
	uint64_t turns;
};

#endif
