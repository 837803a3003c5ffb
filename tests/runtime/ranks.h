/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_RANKS_H
#define PEAL_TESTS_RANKS_H

#include <peal/device/platform.h>

/* What the handlers of rank_handlers.h and the tests agree on. */

#define RANK_LIST 16384

/** Bits of messages' types: waits until the word is not 0, else it is written
 * down; is told on with high priority. */
#define RANK_GATE 1
#define RANK_HIGH 2

/** Written by one worker, in host memory: what its handlers got, in turn. */
struct rank_list {
	uint64_t word; /* the gate */
	uint64_t waits; /* 1: somebody waits at it */
	uint64_t n;
	uint8_t from[RANK_LIST];
	/* messages that it had put into mailboxes and pools by then */
	uint32_t told[RANK_LIST];
};

/** A message. */
struct rank_note {
	uint64_t list; /* struct rank_list */
	uint32_t from; /* who has sent it; 0: it is not written down */
	uint32_t to; /* whom `pass_on` tells it */
	uint32_t then; /* and whom that one, if it is another `pass_on` */
	uint32_t reserved;
};

#endif
