/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ONCE_H
#define PEAL_TESTS_ONCE_H

#include <peal/device/once.h>

/* What the handlers of programs/once.c and the tests of duplicates agree on. */

#define ONCE_SENDERS 3

/** Types of messages to a keeper. */
#define ONCE_ADD 1
#define ONCE_FAIL 2 /* notes it, and fails then */
#define ONCE_FORGET 3 /* the sender: its place is free */
#define ONCE_ANSWER 4 /* of a herald's ask */

/** To a keeper; a herald hands it on to the one in `to`. */
struct once_note {
	uint64_t sender, number;
	uint32_t to; /* 1 + its number; 0: it is for a keeper */
	uint32_t asks; /* 1: the herald asks, rather than tells */
};

struct once_keeper {
	struct peal_once_sender senders[ONCE_SENDERS];
	uint64_t count; /* messages that were new */
	uint64_t sum; /* of their numbers */
};

/** A herald's state. */
struct once_herald {
	uint64_t answers, duplicates; /* that its asks came to */
};

#endif
