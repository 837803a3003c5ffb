/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_DEDUP_H
#define PEAL_TESTS_DEDUP_H

#include <peal/device/dedup.h>

/* Message types, messages and states of programs/dedup.c and its tests. */

#define DEDUP_SENDERS 3

/** Message types to a keeper or a herald. */
#define DEDUP_ADD 1
#define DEDUP_FAIL 2 /* notes the number, then fails */
#define DEDUP_FORGET 3 /* frees the entry of the sender */
#define DEDUP_ANSWER 4 /* answer to a herald's ask */

/** A message to a keeper. A herald passes it on to the keeper `to`. */
struct dedup_note {
	uint64_t sender, number;
	uint32_t to; /* 1 + number of the keeper; 0: for a keeper */
	uint32_t asks; /* 1: the herald asks; 0: it tells */
};

struct dedup_keeper {
	struct peal_dedup_sender senders[DEDUP_SENDERS];
	uint64_t count; /* messages that were new */
	uint64_t sum; /* of their numbers */
};

/** A herald's state. */
struct dedup_herald {
	uint64_t answers, duplicates; /* of its asks */
};

#endif
