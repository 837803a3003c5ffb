/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_PLANT_BATCH_H
#define PTX_PLANT_BATCH_H

#include <peal/device/platform.h>

/* Messages and states of batch.c and its scenes. */

enum batch_handler { BATCH_SHARED, BATCH_EACH };

#define BATCH_MOST 44 /* bytes of a message */
#define BATCH_SENDER 6

/* Returns whether the handler fails for a message. */
static PEAL_HD PEAL_INLINE int batch_fails(uint32_t number)
{
	return number % 11 == 5;
}

/** The state of an actor. */
struct batch_state {
	uint64_t messages; /* that its handler got */
	uint64_t last; /* 1 + the number of the last one, of `each` only */
};

#endif
