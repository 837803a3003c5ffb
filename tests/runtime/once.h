/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ONCE_H
#define PEAL_TESTS_ONCE_H

#include <peal/device/once.h>

/* Message types, messages and states of programs/once.c and its tests. */

#define ONCE_SENDERS 3

/** Message types to a keeper or a herald. */
#define ONCE_ADD 1
#define ONCE_FAIL 2 /* notes the number, then fails */
#define ONCE_FORGET 3 /* frees the entry of the sender */
#define ONCE_ANSWER 4 /* answer to a herald's ask */

/** A message to a keeper. A herald passes it on to the keeper `to`. */
struct once_note {
	uint64_t sender, number;
	uint32_t to; /* 1 + number of the keeper; 0: for a keeper */
	uint32_t asks; /* 1: the herald asks; 0: it tells */
};

struct once_keeper {
	struct peal_once_sender senders[ONCE_SENDERS];
	uint64_t count; /* messages that were new */
	uint64_t sum; /* of their numbers */
};

/** A herald's state. */
struct once_herald {
	uint64_t answers, duplicates; /* of its asks */
};

#endif
