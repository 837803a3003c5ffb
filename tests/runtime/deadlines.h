/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_DEADLINES_H
#define PEAL_TESTS_DEADLINES_H

#include <peal/device/platform.h>

/* What the handlers of programs/deadlines.c, the same with pools, and the tests
 * agree on. */

/** A message; its type says what its handler does, if that does several things. */
struct deadline_order {
	uint64_t number;
	int64_t lifetime_ns; /* of what is sent for it */
	uint64_t actor; /* who is told */
	uint64_t gate; /* address of two words: the handler sets the second one,
			* then waits until the first one is set; 0: no gate */
};

/** What a handler says of a message that it has had. */
struct deadline_report {
	uint64_t number;
	uint64_t deadline; /* of the message */
	uint64_t device_ns; /* the device's clock at its begin */
	uint64_t low, high; /* the host's, as the worker knew it */
	uint64_t common, uncertainty; /* the same as handlers get it */
	int64_t result; /* of what it has sent */
};

/** A message that collects words of hybrid logical clocks. */
struct deadline_words {
	uint64_t word[4]; /* of who sent it first, then of each who had it */
	uint64_t n;
	int64_t refused; /* what the latest who did not take it said */
};

#define DEADLINE_AFTER 0x100 /* a type: a deadline of its own, by lifetime_ns */

#endif
