/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PIECES_H
#define PIECES_H

#include <peal/device/typed_message.h>

/* The messages between 08_pool.c and programs/pool.c. */

/* To an actor: count the primes among the numbers first to end - 1. */
struct piece {
	uint64_t first, end;
};

/* To the host: the number of primes in a piece. */
struct primes {
	uint64_t n;
};

PEAL_TYPED_MESSAGE(piece, struct piece, 1)
PEAL_TYPED_MESSAGE(primes, struct primes, 2)

#endif
