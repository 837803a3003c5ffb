/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIMITS_H
#define PEAL_TESTS_LIMITS_H

#include <peal/device/message_of.h>

/* What the handlers of programs/limits.c and the tests agree on. */

#define LIMITS_LOG 64
#define LIMITS_BURST 16 /* messages that one order can make */

/** The state of `note`: what it has handled, the first of it by number. */
struct limits_note {
	uint64_t seen, sum, began; /* began: set by the test's init bytes */
	uint64_t log[LIMITS_LOG];
};

/** The state of `teller`: what became of what it told. */
struct limits_teller {
	uint64_t told, refused, odd;
};

/** What a teller does. */
enum limits_what {
	LIMITS_TELL = 0,
	LIMITS_BEFORE = 1, /* with the deadline `ns` */
	LIMITS_AFTER = 2, /* by a timer, after ns */
	LIMITS_DELEGATE = 3, /* hands the message on, a request mostly */
	LIMITS_MONITOR = 4 /* `teller` hears of the end of actor */
};

/** An order: n messages to an actor, numbered from `number` on. */
struct limits_order {
	uint32_t actor, n;
	uint32_t what, reserved;
	uint64_t number, ns;
};
PEAL_MESSAGE_OF(limits_order, struct limits_order, 1)

/** As the type of a message to `note`: it fails on it. */
#define LIMITS_FAIL 9

#endif
