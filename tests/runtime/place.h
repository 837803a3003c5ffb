/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_PLACE_H
#define PEAL_TESTS_PLACE_H

#include "relay.h"

/* What the handlers of programs/place.c and the test agree on. */

#define PLACE_BURST 16

/* As enum peal_queue_kind, which GPUs' sources cannot include. */
enum { PLACE_LINK = 1, PLACE_MAILBOX, PLACE_WORK, PLACE_TOPIC };

/* Messages' types: makes an end, and says how that went; does a part. */
enum { PLACE_ENTER = 1, PLACE_TURN };

struct place_turn {
	uint64_t queue; /* its address */
	uint64_t each; /* messages that a producer puts in all */
	uint64_t doubled; /* this one is put in place of the next one; ~0 */
	uint32_t kind;
	uint32_t self; /* number of the producer, or of the consumer */
	uint32_t big; /* 1: messages that no slot holds */
	uint32_t reserved;
};

struct place_item {
	struct relay_message m;
	uint64_t missed; /* messages before it, of a topic that overwrites */
};

#define PLACE_WORDS 1000

struct place_big {
	struct relay_message m;
	uint64_t word[PLACE_WORDS]; /* m.check and their index */
};

#endif
