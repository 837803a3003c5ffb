/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PIECES_H
#define PIECES_H

#include <peal/device/message_of.h>

/* The messages of 08_pool, for its host side and its kernel. */

/* The numbers first to end - 1. */
struct piece {
	uint64_t first, end;
};

/* How many primes a piece has. */
struct primes {
	uint64_t n;
};

PEAL_MESSAGE_OF(piece, struct piece, 1)
PEAL_MESSAGE_OF(primes, struct primes, 2)

#endif
