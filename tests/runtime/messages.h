/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_MESSAGES_H
#define PEAL_TESTS_MESSAGES_H

#include <peal/device/message_of.h>

/* What the handlers of programs/messages.c and the test agree on. */

struct question {
	uint64_t number;
	uint32_t ways; /* how it is answered: 0 emit, 1 in place, 2 told */
	uint32_t ask; /* the actor that is told */
};

/* As long as a question: only the number tells them apart. */
struct answer {
	uint64_t number, twice;
};

PEAL_MESSAGE_OF(question, struct question, 7)
PEAL_MESSAGE_OF(answer, struct answer, 65535)

#endif
