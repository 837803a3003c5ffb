/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_DEVICE_QUEUE_H
#define PEAL_TESTS_DEVICE_QUEUE_H

#include "relay.h"

/* Messages of programs/device_queue.c and its test. */

#define DQ_BURST 16

/* As enum peal_queue_kind, which device code cannot include. */
enum { DQ_LINK = 1, DQ_MAILBOX, DQ_WORK, DQ_TOPIC };

/* Message types: DQ_ENTER joins the queue and emits the result, DQ_TURN
 * puts or takes some messages. */
enum { DQ_ENTER = 1, DQ_TURN };

struct dq_turn {
	uint64_t queue; /* address of the queue */
	uint64_t each; /* messages that a producer puts in all */
	uint64_t doubled; /* number to send twice, in place of the next
			   * number; ~0 - 1: none */
	uint32_t kind;
	uint32_t self; /* number of the producer, or of the consumer */
	uint32_t big; /* 1: messages that exceed a slot */
	uint32_t reserved;
};

struct dq_item {
	struct relay_message m;
	uint64_t missed; /* messages that a topic overwrote before it */
};

#define DQ_WORDS 1000

struct dq_big {
	struct relay_message m;
	uint64_t word[DQ_WORDS]; /* word i is m.check + i */
};

#endif
