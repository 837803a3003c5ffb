/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TALLY_H
#define PEAL_TESTS_TALLY_H

#include <peal/device/typed_message.h>

/* Messages and states of programs/tally.c and its tests. */

/** State of an actor that counts its messages. */
struct tally {
	uint64_t id;
	uint64_t next; /* number of the next message */
	uint64_t zero; /* must stay 0 */
};

/** A message to the actor with this id. Its messages are numbered from 0. */
struct tally_message {
	uint64_t id, number;
	uint64_t actor; /* index, for `post` */
};

/** State of `mourn`. It fails on letters about messages of this type. */
#define TALLY_TOO_MUCH 13
struct tally_mourner {
	/* mistaken: letters that were taken for a tally_parcel */
	uint64_t letters, others, mistaken;
	uint64_t numbers; /* sum of the numbers of the dead messages */
};

/** A message of the length and type of a letter about a tally_message. */
struct tally_parcel {
	struct peal_dead_letter first;
	struct tally_message second;
};
PEAL_TYPED_MESSAGE(parcel, struct tally_parcel, 0)

/** A state that is too large for a control message or for a worker to fill. */
#define TALLY_LARGE_BYTES 100000
struct tally_large {
	struct tally tally;
	uint8_t bytes[TALLY_LARGE_BYTES - sizeof(struct tally)];
};

#endif
