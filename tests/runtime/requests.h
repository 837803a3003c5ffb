/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_REQUESTS_H
#define PEAL_TESTS_REQUESTS_H

#include <peal/device/message_of.h>

/* What the handlers of programs/requests.c and the test agree on. */

enum asked_for {
	ASK_TWICE, /* a reply: the number, and twice it */
	ASK_REFUSAL, /* with the number as the error */
	ASK_FAILURE, /* the handler fails */
	ASK_NOTHING, /* no reply */
	ASK_LATER, /* the reply comes with that of the next one */
	ASK_PLAIN, /* a message that is no reply */
	ASK_BYTES, /* so many, as reply */
	ASK_BOTH, /* two replies */
	ASK_TOLD /* by the actor that is told it */
};

struct ask {
	uint64_t number;
	uint32_t what; /* enum asked_for */
	uint32_t actor;
};

struct told {
	uint64_t number, twice;
	uint64_t self; /* who replies */
	uint64_t seen; /* payload bytes that the handler saw */
};

PEAL_MESSAGE_OF(ask, struct ask, 3)
PEAL_MESSAGE_OF(told, struct told, 4)

#endif
