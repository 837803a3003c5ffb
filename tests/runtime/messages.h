/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_MESSAGES_H
#define PEAL_TESTS_MESSAGES_H

#include <peal/device/typed_message.h>

/* Messages of programs/messages.c and its test. */

struct question {
	uint64_t number;
	uint32_t ways; /* answer by 0: emit, 1: reserve, 2: tell */
	uint32_t ask; /* receiver of a told answer */
};

/* As long as a question: only the type differs. */
struct answer {
	uint64_t number, twice;
};

PEAL_TYPED_MESSAGE(question, struct question, 7)
PEAL_TYPED_MESSAGE(answer, struct answer, 65535)

#endif
