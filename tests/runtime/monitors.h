/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_MONITORS_H
#define PEAL_TESTS_MONITORS_H

#include <peal/abi/monitor.h>

/* What the handlers of programs/monitors.c and the tests of monitors agree on. */

/** Types of messages to a member. */
#define MONITORS_COUNT 1 /* counts */
#define MONITORS_FAIL 2 /* fails by MONITORS_ERROR */
#define MONITORS_ASK 3 /* sends its state to port 0 */
#define MONITORS_SET 4 /* sets a monitor; its order comes back, filled in */
#define MONITORS_CANCEL 5 /* takes it off; the same */
#define MONITORS_TELL_AND_FAIL                                                 \
	6 /* tells another one to count, MONITORS_TELLS
				  * times, and fails */
#define MONITORS_EMIT 7 /* sends its state to port 0, once for each */
#define MONITORS_SET_MANY 8 /* sets `tag` of them */
#define MONITORS_DOWN 77 /* as the type of a down message: notes it */
#define MONITORS_LOUD_DOWN 78 /* the same, and sends it to port 0 */

#define MONITORS_ERROR (-71) /* PEAL_EPROTO */
#define MONITORS_TELLS 4

/** The payload of those that want one. */
struct monitors_order {
	uint64_t monitor, tag;
	uint32_t actor, flags;
	uint32_t type;
	int32_t result;
};

/** Its state. */
struct monitors_state {
	uint64_t count; /* messages to count */
	uint64_t downs; /* messages that were known as down messages */
	uint64_t counted_before; /* `count` when the latest came */
	struct peal_down down; /* that one */
};

#endif
