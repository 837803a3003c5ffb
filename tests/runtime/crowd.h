/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_CROWD_H
#define PEAL_TESTS_CROWD_H

#include <peal/device/platform.h>

/* Messages and states of programs/crowd.c and its test: messages to all actors
 * of a kernel. */

#define CROWD_SENDERS 4

/** Types of messages. */
#define CROWD_NOTE 1 /* struct crowd_note, to all */
#define CROWD_CALL 2 /* struct crowd_note, to a caller: tells it to all */
#define CROWD_CALL_TWICE 3 /* as CALL; then tells `to` the next number */
#define CROWD_CALL_HIGH 4 /* as CALL, with high priority */
#define CROWD_TOO_LONG 5 /* to a caller: a message that is too long */
#define CROWD_BAD_OPTION 6 /* to a caller: an option that is not supported */
#define CROWD_TOO_OFTEN 7 /* to a caller: two messages to all */

#define CROWD_LONG 4096

struct crowd_note {
	uint64_t sender;
	uint64_t number; /* grows with each note of the sender */
	uint64_t fails; /* 1 + the id of a member that fails; 0: none */
	uint64_t to; /* number of an actor */
};

/** State of all handlers. */
struct crowd_member {
	uint64_t id;
	uint64_t to; /* of a `chatter`: the actor that it tells each note */
	uint64_t seen; /* notes */
	uint64_t sum; /* of the numbers of the notes */
	uint64_t disorder; /* notes with a number that is too low */
	uint64_t next[CROWD_SENDERS]; /* least number of the next note */
	uint64_t begun; /* init hooks */
	int64_t result; /* of the latest call */
};

#endif
