/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_REQUESTS_H
#define PEAL_TESTS_REQUESTS_H

#include <peal/device/typed_message.h>

/* Messages of programs/requests.c and its test. */

enum asked_for {
	ASK_TWICE, /* reply: the number and its double */
	ASK_REFUSAL, /* refusal with the number as its error */
	ASK_FAILURE, /* the handler fails */
	ASK_NOTHING, /* no reply */
	ASK_KEPT, /* no reply; the handler asks for the number */
	ASK_CHECKED, /* no reply; the handler asks whether it is a request */
	ASK_REPLY_FAILURE, /* reply, then the handler fails */
	ASK_LATER, /* reply at the next request */
	ASK_PLAIN, /* a message that is not a reply */
	ASK_BYTES, /* reply of `number` bytes */
	ASK_BOTH, /* two replies */
	ASK_TOLD /* delegation to `actor`, which replies */
};

struct ask {
	uint64_t number;
	uint32_t what; /* enum asked_for */
	uint32_t actor;
};

struct told {
	uint64_t number, twice;
	uint64_t self; /* number of the actor that replies */
	uint64_t seen; /* payload bytes that the handler saw */
};

PEAL_TYPED_MESSAGE(ask, struct ask, 3)
PEAL_TYPED_MESSAGE(told, struct told, 4)

#endif
