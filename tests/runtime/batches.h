/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BATCHES_H
#define PEAL_TESTS_BATCHES_H

#include <peal/device/platform.h>

/* Messages and states of batch_handlers.h and of the tests of batches. */

#define BATCH_EMITS 2 /* messages per port that the handlers declare */
#define BATCH_TELLS 2 /* messages that `teller` declares for a letter */
#define BATCH_FLOOD 32 /* messages that `flood` tells at most for a letter */
#define BATCH_ERROR (-77)
#define BATCH_TEXT_MOST 200 /* bytes of the longest text */

/** What a handler does with an item, as its message type. */
enum batch_action {
	BATCH_ECHO = 1, /* emits it */
	BATCH_FAIL, /* returns BATCH_ERROR and emits nothing */
	BATCH_SILENT, /* emits nothing */
	BATCH_TWICE, /* emits it twice */
	BATCH_TOO_OFTEN, /* emits it three times */
	BATCH_TOO_LONG, /* emits a longer message than the link takes */
	BATCH_WRONG_PORT, /* emits by a port that the actor lacks */
	BATCH_HOLD, /* waits until its gate is open or the kernel is aborted */
	BATCH_COUNT /* counts the messages of the batch in the first word of
		     * its gate */
};

/** The payload of a message to `each`, `shared` and `plain`, and of its echo. */
struct batch_item {
	uint64_t number;
	uint64_t gate; /* address of two words */
	uint64_t check; /* batch_check(number) */
};

/** The payload of a message to `teller` and `flood`, which tell items. */
struct batch_letter {
	struct batch_item item; /* flood: the first one */
	uint32_t to; /* number of the actor or pool that gets the items */
	uint32_t times; /* items to tell */
	uint64_t bytes; /* of each item */
};

/** How `flood` tells, as the type of its message. */
enum batch_flood {
	BATCH_FLOOD_PLAIN = 1,
	BATCH_FLOOD_HIGH, /* with high priority */
	/* each eighth one from 1 on has a deadline, each eighth one from 5 on has
	 * a sender */
	BATCH_FLOOD_MIXED
};

static PEAL_HD PEAL_INLINE uint64_t batch_check(uint64_t number)
{
	return (number + 1) * 0x9e3779b97f4a7c15ULL;
}

/** The state of their actors. */
struct batch_state {
	uint64_t handled; /* messages that reached the handler */
	uint64_t last; /* 1 + the number of the last one; only of `each` */
	uint64_t disorder; /* messages of `each` with a lower number than before */
	uint64_t corrupt; /* messages with a wrong check or length */
	uint64_t largest; /* messages of the largest batch */
	uint64_t inits;
	uint64_t self; /* number of the actor, by peal_batch_self */
};

/** The state of an actor that notes the counts of BATCH_COUNT. */
struct batch_notes {
	uint64_t notes; /* messages that it got */
	uint64_t before; /* the count at the last of them */
	uint64_t most_between; /* most counted messages between two of them */
};

#endif
