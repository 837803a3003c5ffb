/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_RANKS_H
#define PEAL_TESTS_RANKS_H

#include <peal/device/platform.h>

/* Messages and lists of rank_handlers.h and the tests. */

#define RANK_LIST 16384

/** Bits of message types. RANK_GATE: the handler waits at the gate and does not
 * note the message. RANK_HIGH: `pass_on` tells it with high priority.
 * RANK_TIMED: also with a deadline. RANK_FORWARD: it forwards the message. */
#define RANK_GATE 1
#define RANK_HIGH 2
#define RANK_TIMED 4
#define RANK_FORWARD 8

/** Noted messages in order, in host memory. One worker writes the list. */
struct rank_list {
	uint64_t word; /* the gate; not 0: open */
	uint64_t waits; /* 1: a handler waits at the gate */
	uint64_t n;
	uint8_t from[RANK_LIST];
	/* messages told until then, to actors and pools */
	uint32_t told[RANK_LIST];
};

/** A message. */
struct rank_note {
	uint64_t list; /* struct rank_list */
	uint32_t from; /* number of the sender; 0: not noted */
	uint32_t to; /* receiver, for `pass_on` */
	uint32_t then; /* receiver after `to`, if that is a `pass_on` */
	uint32_t reserved;
};

#endif
