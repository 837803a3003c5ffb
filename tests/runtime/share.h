/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SHARE_H
#define PEAL_TESTS_SHARE_H

#include <peal/abi/topic.h>
#include <peal/abi/work.h>

/* What the handlers of programs/share.c and the tests agree on. */

/** Most messages of a turn that are taken, and that a topic is given. */
#define SHARE_BURST 8
/** Most lanes, of which each may put one message in a turn. */
#define SHARE_LANES 32

enum share_type {
	SHARE_TURN = 0, /* put some, take some, emit what was taken */
	SHARE_MAKE = 1, /* write the queue's header; emits the message */
	SHARE_ENTER = 2 /* make one's place at the queue; emits the message */
};

/** A message to a worker. */
struct share_turn {
	uint64_t queue; /* in memory of its device, as all that follows */
	uint64_t stage; /* a slot's content */
	uint64_t body; /* SHARE_LANES messages, to be put */
	uint64_t room; /* SHARE_BURST messages, taken */
	uint64_t each; /* messages that a producer puts in all */
	uint64_t doubled; /* this one is put in place of the next one; ~0 */
	uint32_t self; /* which of the workers it is */
	uint32_t bytes; /* of a message */
	uint8_t header[sizeof(struct peal_work)]; /* for SHARE_MAKE */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic) == sizeof(struct peal_work),
		   "a header of either kind");

/** State of an actor. */
struct share_state {
	uint64_t put; /* messages it has put */
	struct peal_work_producer producer;
	struct peal_work_consumer consumer;
	struct peal_topic_publisher publisher;
	struct peal_topic_subscriber subscriber;
};

#endif
