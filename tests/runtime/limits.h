/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIMITS_H
#define PEAL_TESTS_LIMITS_H

#include <peal/device/typed_message.h>

/* Message types, messages and states of programs/limits.c and its tests. */

#define LIMITS_LOG 64
#define LIMITS_BURST 16 /* most messages of one order */

/** State of `note`: counts of the handled messages, and the first numbers. */
struct limits_note {
	uint64_t seen, sum, began; /* began: set by the test's init bytes */
	uint64_t log[LIMITS_LOG];
};

/** State of `teller`: its messages by result. */
struct limits_teller {
	uint64_t told, refused, odd;
};

/** Actions of a teller. */
enum limits_what {
	LIMITS_TELL = 0,
	LIMITS_BEFORE = 1, /* with the deadline `ns` */
	LIMITS_AFTER = 2, /* by a timer, after ns */
	LIMITS_DELEGATE = 3, /* forwards the message, usually a request */
	LIMITS_MONITOR = 4 /* monitors `actor` */
};

/** An order: n messages to an actor, numbered from `number` on. */
struct limits_order {
	uint32_t actor, n;
	uint32_t what, reserved;
	uint64_t number, ns;
};
PEAL_TYPED_MESSAGE(limits_order, struct limits_order, 1)

/** Type of a message on which `note` fails. */
#define LIMITS_FAIL 9

#endif
