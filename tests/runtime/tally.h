/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TALLY_H
#define PEAL_TESTS_TALLY_H

#include <peal/device/message_of.h>

/* What the handlers of programs/tally.c and the tests agree on. */

/** An actor's state: whose messages it gets, and how many it had. */
struct tally {
	uint64_t id;
	uint64_t next; /* number of the message that has to come */
	uint64_t zero; /* nobody writes it */
};

/** For the actor of that id, its so manyth. */
struct tally_message {
	uint64_t id, number;
	uint64_t actor; /* index, for `post` */
};

/** What a mourner has seen; it fails on letters about messages of this type. */
#define TALLY_TOO_MUCH 13
struct tally_mourner {
	uint64_t letters, others, mistaken; /* for a tally_parcel */
	uint64_t numbers; /* the sum over the messages that letters are about */
};

/** As long as a letter about a tally_message, with its number, and none. */
struct tally_parcel {
	struct peal_dead_letter first;
	struct tally_message second;
};
PEAL_MESSAGE_OF(parcel, struct tally_parcel, 0)

/** A state too large for a control message, and for a worker to fill. */
#define TALLY_LARGE_BYTES 100000
struct tally_large {
	struct tally tally;
	uint8_t bytes[TALLY_LARGE_BYTES - sizeof(struct tally)];
};

#endif
