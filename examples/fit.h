/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FIT_H
#define FIT_H

#include <peal/device/typed_message.h>

/* The types that 22_least_squares.c and programs/least_squares.c share. */

#define WEIGHTS 4

/* A row of the data: the inputs x, with 1 as the last one, and the result y. */
struct row {
	double x[WEIGHTS], y;
};

/* State of an actor. All addresses are in the memory of its device. */
struct fit {
	uint64_t rows, n; /* address and number of its rows */
	uint64_t weights; /* address of the model: WEIGHTS doubles */
	uint64_t gradient; /* address of the gradient of its own rows */
	uint64_t sum; /* address of the sum of all devices' gradients */
	double rate; /* factor of a step along the sum */
};

/*
 * To an actor: compute the gradient. Unless the number is 0, change the model
 * first, by a step along the sum of the gradients. The actor answers with the
 * same message.
 */
struct lap {
	uint64_t number;
};

PEAL_TYPED_MESSAGE(lap, struct lap, 1)

#endif
