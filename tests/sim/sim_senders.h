/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SIM_SENDERS_H
#define PEAL_TESTS_SIM_SENDERS_H

#include <peal/device/platform.h>

/* Shared by the handler of programs/sim_senders.c and the test. */

#define SIM_SENDER_LETTER 1 /* goes from actor to actor, then to the host */
#define SIM_SENDER_POISON 2 /* as SIM_SENDER_LETTER, but the last actor fails */

#define SIM_SENDER_ERROR (-71) /* PEAL_EPROTO */

/** A message that is passed on `hops` times among `actors` actors. */
struct sim_sender_message {
	uint64_t id, random;
	uint32_t hops, actors;
	uint64_t spoilt; /* sum of `spoilt` of the actors on its way */
};

/** A state: begins with zeros, also after a restart. */
struct sim_sender {
	uint64_t seen, spoilt; /* messages, failures */
};

/* Returns a number that selects the next actor. */
static PEAL_HD PEAL_INLINE uint64_t sim_sender_random(uint64_t random)
{
	uint64_t z = random + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return z ^ (z >> 27);
}

#endif
