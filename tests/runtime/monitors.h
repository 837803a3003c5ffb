/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_MONITORS_H
#define PEAL_TESTS_MONITORS_H

#include <peal/abi/monitor.h>

/* Message types, messages and states of programs/monitors.c and its tests. */

/** Message types to a member. It emits at port 0. */
#define MONITORS_COUNT 1 /* counts */
#define MONITORS_FAIL 2 /* fails with MONITORS_ERROR */
#define MONITORS_ASK 3 /* emits its state */
#define MONITORS_SET 4 /* sets a monitor, emits the completed order */
#define MONITORS_CANCEL 5 /* cancels a monitor, emits the order */
#define MONITORS_TELL_AND_FAIL                                                 \
	6 /* MONITORS_TELLS times tells an actor to count, then fails */
#define MONITORS_EMIT 7 /* emits its state */
#define MONITORS_SET_MANY 8 /* sets `tag` monitors, emits their number */
#define MONITORS_DOWN 77 /* type of a down message: notes it */
#define MONITORS_LOUD_DOWN 78 /* notes a down message, and emits it */

#define MONITORS_ERROR (-71) /* PEAL_EPROTO */
#define MONITORS_TELLS 4

/** Payload of messages to a member. */
struct monitors_order {
	uint64_t monitor, tag;
	uint32_t actor, flags;
	uint32_t type;
	int32_t result;
};

/** State of a member. */
struct monitors_state {
	uint64_t count; /* messages of type MONITORS_COUNT */
	uint64_t downs; /* down messages */
	uint64_t counted_before; /* `count` at the latest down message */
	struct peal_down down; /* the latest down message */
};

#endif
