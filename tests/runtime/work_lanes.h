/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_WORK_LANES_H
#define PEAL_TESTS_WORK_LANES_H

#include <peal/device/platform.h>

/* Messages of programs/work_lanes.c and its test. */

#define WL_ROUNDS 3 /* calls of a queue function in a turn */
#define WL_WORDS 6

/* Message types. */
enum wl_type {
	WL_ENTER = 1, /* makes an end of the queue, and emits the result */
	WL_TURN, /* puts or takes some messages, and emits their number */
	WL_WRONG /* puts or takes with wrong arguments, and emits the number of
		  * lanes with the expected error */
};

struct wl_turn {
	uint64_t queue; /* its address */
	uint64_t seen; /* address of a count for each message number */
	uint64_t each; /* messages that a producer puts in all */
	uint32_t self; /* number of the producer, or of the consumer */
	uint32_t bytes; /* of a message */
};

/** A message. A shorter one has its first bytes. */
struct wl_item {
	uint64_t word[WL_WORDS]; /* word i is wl_word(number, i) */
};

/** What a turn emits. */
struct wl_report {
	uint64_t moved; /* messages */
	uint64_t wrong; /* messages with wrong bytes, lengths or headers */
	int64_t result; /* the first error but PEAL_EAGAIN */
};

/* Word 0 is the number of the message. */
static PEAL_HD PEAL_INLINE uint64_t wl_word(uint64_t number, uint32_t i)
{
	return number + i * 0x9e3779b97f4a7c15ULL * (number + 1);
}

#endif
