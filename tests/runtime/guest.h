/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_GUEST_H
#define PEAL_TESTS_GUEST_H

#include <peal/device/platform.h>

/*
 * Messages and states of programs/guest.c, programs/players.c and their tests.
 * Guests migrate while other actors send them notes. Players migrate while they
 * send balls to each other.
 */

#define GUEST_SENDERS 8

/** Types of messages. */
#define GUEST_NOTE 1 /* struct guest_note, to a guest */
#define GUEST_ASK 2 /* to a porter: any request gets its count of notes */
#define GUEST_FAIL 3 /* to a guest: fails */
#define GUEST_TELL 4 /* to a herald: tells the guest a note */
#define GUEST_TIME 5 /* to a herald: sends a note by a timer */
#define GUEST_DELEGATE 6 /* to a herald: forwards the message */
#define GUEST_QUERY 7 /* to a herald: asks the guest, which fails */
#define GUEST_ANSWERED 8 /* to a herald: the answer to its ask */
#define GUEST_BREED                                                            \
	9 /* to a herald: spawns a porter with the ports of an actor. The
	   * payload is a uint64_t: the number of the actor */

#define GUEST_ERROR (-71) /* PEAL_EPROTO */

#define GUEST_BALL 10 /* struct ball, to a player */

#define BALL_SENDERS 4
#define BALL_HOPS 16

struct guest_note {
	uint64_t sender;
	uint64_t number; /* index among the notes of its sender, from 0 */
};

struct guest {
	uint64_t id; /* constant, but a failing handler adds 1 */
	uint64_t notes;
	uint64_t disorder; /* notes that were not the next of their sender */
	uint64_t next[GUEST_SENDERS];
};

struct herald {
	uint64_t guest; /* number of the guest */
	uint64_t sender, number;
};

/** A player tells a ball to its partner until no hops are left. */
struct ball {
	uint64_t sender, number, hops;
};

struct player {
	uint64_t partner; /* number of the other player */
	uint64_t balls;
	uint64_t disorder; /* balls out of order, among the balls of one
			    * sender with equal hops */
	uint64_t next[BALL_SENDERS][BALL_HOPS];
};

#endif
