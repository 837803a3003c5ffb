/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_PLACE_H
#define PEAL_TESTS_PLACE_H

#include "relay.h"

/* Messages of programs/place.c and its test. */

#define PLACE_BURST 16

/* As enum peal_queue_kind, which device code cannot include. */
enum { PLACE_LINK = 1, PLACE_MAILBOX, PLACE_WORK, PLACE_TOPIC };

/* Message types: PLACE_ENTER joins the queue and emits the result, PLACE_TURN
 * puts or takes some messages. */
enum { PLACE_ENTER = 1, PLACE_TURN };

struct place_turn {
	uint64_t queue; /* address of the queue */
	uint64_t each; /* messages that a producer puts in all */
	uint64_t doubled; /* number to send twice, in place of the next
			   * number; ~0 - 1: none */
	uint32_t kind;
	uint32_t self; /* number of the producer, or of the consumer */
	uint32_t big; /* 1: messages that exceed a slot */
	uint32_t reserved;
};

struct place_item {
	struct relay_message m;
	uint64_t missed; /* messages that a topic overwrote before it */
};

#define PLACE_WORDS 1000

struct place_big {
	struct relay_message m;
	uint64_t word[PLACE_WORDS]; /* word i is m.check + i */
};

#endif
