/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SHARE_H
#define PEAL_TESTS_SHARE_H

#include <peal/abi/topic.h>
#include <peal/abi/work.h>

/* Messages and states of programs/share.c and its tests. */

/** Most messages that a turn takes, or publishes to a topic. */
#define SHARE_BURST 8
/** Most lanes. In a turn each lane may put one message. */
#define SHARE_LANES 32

enum share_type {
	SHARE_TURN = 0, /* put some, take some, emit the taken ones */
	SHARE_MAKE = 1, /* write the queue's header, emit `each` */
	SHARE_ENTER = 2 /* join the queue, emit `each` */
};

/** A message to a worker. */
struct share_turn {
	uint64_t queue; /* address in device memory, as the next three */
	uint64_t stage; /* a slot's content */
	uint64_t body; /* SHARE_LANES messages, to be put */
	uint64_t buffer; /* SHARE_BURST messages, taken */
	uint64_t each; /* messages that a producer puts in all */
	uint64_t doubled; /* number to send twice, in place of the next
			   * number; ~0 - 1: none */
	uint32_t self; /* number of the worker */
	uint32_t bytes; /* of a message */
	uint8_t header[sizeof(struct peal_work)]; /* for SHARE_MAKE */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic) == sizeof(struct peal_work),
		   "a header of either kind");

/** State of an actor. */
struct share_state {
	uint64_t put; /* messages put so far */
	struct peal_work_producer producer;
	struct peal_work_consumer consumer;
	struct peal_topic_publisher publisher;
	struct peal_topic_subscriber subscriber;
};

#endif
