/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_COURIERS_H
#define PEAL_TESTS_COURIERS_H

#include <peal/device/platform.h>

/* What the handlers of programs/couriers.c and the tests agree on. */

#define COURIER_LETTER 1 /* goes from actor to actor, then to the host */
#define COURIER_POISON 2 /* goes as far, and the last one fails on it */

#define COURIER_ERROR (-71) /* PEAL_EPROTO */

/** A message: passed on `hops` times among so many actors. */
struct courier_message {
	uint64_t id, random;
	uint32_t hops, actors;
	uint64_t spoilt; /* of actors on its way: they had failed before */
};

/** A state: begins with zeros. */
struct courier {
	uint64_t seen, spoilt;
};

/* Who is next, from a number that comes with the message. */
static PEAL_HD PEAL_INLINE uint64_t courier_random(uint64_t random)
{
	uint64_t z = random + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return z ^ (z >> 27);
}

#endif
