/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_DEADLINES_H
#define PEAL_TESTS_DEADLINES_H

#include <peal/device/platform.h>

/* Messages of programs/deadlines.c, deadline_pools.c and their tests. */

/** A message of type 0 or DEADLINE_AFTER. */
struct deadline_order {
	uint64_t number;
	int64_t lifetime_ns; /* of the sent message, for DEADLINE_AFTER */
	uint64_t actor; /* number of the receiver */
	uint64_t gate; /* address of two words; 0: no gate. The handler sets
			* the second word, then waits for the first word */
};

/** Report of `mark` about a message. */
struct deadline_report {
	uint64_t number;
	uint64_t deadline; /* of the message; 0: none */
	uint64_t device_ns; /* the device's clock when the handler began */
	uint64_t low, high; /* bounds of the host's clock */
	uint64_t common, uncertainty; /* of peal_host_time_ns() */
	int64_t result; /* always 0 */
};

/** A message that collects words of hybrid logical clocks. */
struct deadline_words {
	uint64_t word[4]; /* of the sender, then of each receiver */
	uint64_t n;
	int64_t refused; /* result of the latest merge */
};

/** Sends of `refuse`, each with options that its call does not support. */
#define DEADLINE_REFUSALS (510 + 510 + 499 + 509)

#define DEADLINE_AFTER 0x100 /* a type: a deadline after lifetime_ns */

#endif
