/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <peal/device/typed_message.h>

/* The types that 09_own_queue.c and programs/own_queue.c share. */

/* The first bytes of every actor's state. The host fills in queue and index. */
struct place {
	uint64_t queue; /* the address of the queue */
	/* the actor's index among the actors that pop (from 0) */
	uint32_t index;
	uint32_t entered; /* 1: the actor has opened its end of the queue */
};

/*
 * From the host: start. An actor that pushes takes the numbers first to end -
 * 1.
 */
struct range {
	uint64_t first, end;
};

/* From an actor to itself: continue. */
struct step {
	uint64_t none;
};

/* To the host: count and sum of the numbers popped in one step. */
struct taken {
	uint64_t n, sum;
};

PEAL_TYPED_MESSAGE(range, struct range, 1)
PEAL_TYPED_MESSAGE(step, struct step, 2)
PEAL_TYPED_MESSAGE(taken, struct taken, 3)

#endif
