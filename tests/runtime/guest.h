/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_GUEST_H
#define PEAL_TESTS_GUEST_H

#include <peal/device/platform.h>

/* What the handlers of programs/guest.c and court.c and the tests agree on: guests
 * move, and others send them notes; players move, and send each other balls. */

#define GUEST_SENDERS 8

/** Types of messages. */
#define GUEST_NOTE 1 /* struct guest_note, to a guest */
#define GUEST_ASK 2 /* to a porter, who answers all requests: how many notes? */
#define GUEST_FAIL 3 /* to a guest */
#define GUEST_TELL 4 /* to a herald: a note, by mailbox */
#define GUEST_TIME 5 /* to a herald: one by a timer */
#define GUEST_DELEGATE 6 /* to a herald: the message, as it is */
#define GUEST_QUERY 7 /* to a herald: it asks the guest, who fails on that */
#define GUEST_ANSWERED 8 /* to a herald: by its ask */
#define GUEST_BREED                                                            \
	9 /* to a herald: it makes a porter with the ports of the one
		       * whose number follows, a uint64_t */

#define GUEST_ERROR (-71) /* PEAL_EPROTO */

#define GUEST_BALL 10 /* struct ball, to a player */

#define BALL_SENDERS 4
#define BALL_HOPS 16

struct guest_note {
	uint64_t sender;
	uint64_t number; /* the so manyth of its sender's, from 0 */
};

struct guest {
	uint64_t id; /* nobody changes it, but who fails */
	uint64_t notes;
	uint64_t disorder; /* notes that were not their sender's next */
	uint64_t next[GUEST_SENDERS];
};

struct herald {
	uint64_t guest; /* whom it tells: the number */
	uint64_t sender, number;
};

/** Is told by players to their partners, until it has no hops left. */
struct ball {
	uint64_t sender, number, hops;
};

struct player {
	uint64_t partner; /* whom it tells: the number */
	uint64_t balls;
	uint64_t disorder; /* balls that were not the next of their sender's
			    * with so many hops left */
	uint64_t next[BALL_SENDERS][BALL_HOPS];
};

#endif
