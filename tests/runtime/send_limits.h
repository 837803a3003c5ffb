/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SEND_LIMITS_H
#define PEAL_TESTS_SEND_LIMITS_H

#include <peal/device/platform.h>

/* Orders and states of programs/send_limits.c and its test. */

#define SEND_EMITS 2 /* messages per port that `maker` declares */
#define SEND_TELLS 3 /* messages that `maker` declares to tell */

/** Calls of an order, as its message type. */
enum send_call {
	CALL_EMIT = 1,
	CALL_EMIT_TO,
	CALL_EMIT_DEADLINE,
	CALL_RESERVE, /* with a commit */
	CALL_RESERVE_ONLY, /* without a commit */
	CALL_REPLY,
	CALL_FORWARD_BY_PORT,
	CALL_TELL,
	CALL_TELL_PRIORITY,
	CALL_TELL_DEADLINE,
	CALL_FORWARD,
	CALL_ASK,
	CALL_TIMER,
	CALL_SPAWN,
	CALL_MONITOR,
	CALL_COUNT /* type of the messages that a maker sends */
};

/** Payload of an order: makes the call `times` times. */
struct send_order {
	uint64_t times;
	uint32_t to; /* number of the receiving actor */
	uint16_t port;
	uint16_t both_ports; /* 1: the ports 0 and 1 in turn */
};

/** State of an actor: about its latest order. */
struct send_state {
	uint64_t runs; /* handler runs with an order */
	uint64_t counted; /* messages to a counter */
	uint64_t succeeded; /* calls that returned 0 */
	int32_t result; /* of the first call that failed; 0: none failed */
	uint32_t padding;
};

#endif
