/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_COURIERS_H
#define PEAL_TESTS_COURIERS_H

#include <peal/device/platform.h>

/* Shared by the handler of programs/couriers.c and the test. */

#define COURIER_LETTER 1 /* goes from actor to actor, then to the host */
#define COURIER_POISON 2 /* as COURIER_LETTER, but the last actor fails */

#define COURIER_ERROR (-71) /* PEAL_EPROTO */

/** A message that is passed on `hops` times among `actors` actors. */
struct courier_message {
	uint64_t id, random;
	uint32_t hops, actors;
	uint64_t spoilt; /* sum of `spoilt` of the actors on its way */
};

/** A state: begins with zeros, also after a restart. */
struct courier {
	uint64_t seen, spoilt; /* messages, failures */
};

/* Returns a number that selects the next actor. */
static PEAL_HD PEAL_INLINE uint64_t courier_random(uint64_t random)
{
	uint64_t z = random + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return z ^ (z >> 27);
}

#endif
