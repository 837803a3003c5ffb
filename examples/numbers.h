/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <peal/device/message_of.h>

/* What the host side of 09_own_queue and its kernel agree on. */

/* First bytes of every actor's state, which the host fills in. */
struct place {
	uint64_t queue; /* the address of the queue */
	uint32_t index; /* of those who take: which one it is */
	uint32_t entered; /* 1: its end is made */
};

/* To an actor: begin. To who puts: with the numbers first to end - 1. */
struct range {
	uint64_t first, end;
};

/* From an actor to itself: go on. */
struct step {
	uint64_t none;
};

/* To the host: what was taken in a step. */
struct taken {
	uint64_t n, sum;
};

PEAL_MESSAGE_OF(range, struct range, 1)
PEAL_MESSAGE_OF(step, struct step, 2)
PEAL_MESSAGE_OF(taken, struct taken, 3)

#endif
