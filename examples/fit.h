/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FIT_H
#define FIT_H

#include <peal/device/message_of.h>

/* What the host side of 22_least_squares and its kernel agree on. */

#define WEIGHTS 4

/* A row of the data: what is known of it, the last a one, and what it came to. */
struct row {
	double x[WEIGHTS], y;
};

/* What an actor begins with: all of it in the memory of its device. */
struct fit {
	uint64_t rows, n; /* struct row */
	uint64_t weights; /* of the model, WEIGHTS of them */
	uint64_t gradient; /* of its own rows */
	uint64_t sum; /* of the gradients of all devices */
	double rate; /* how far a step goes along that */
};

/* To an actor: take a step, but in the first round, and say where it is steep. */
struct lap {
	uint64_t number;
};

PEAL_MESSAGE_OF(lap, struct lap, 1)

#endif
