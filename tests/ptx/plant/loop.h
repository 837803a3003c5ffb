/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_PLANT_LOOP_H
#define PTX_PLANT_LOOP_H

#include <stdint.h>

/* Handlers of loop.c by number. */
enum loop_handler {
	LOOP_RELAY,
	LOOP_FINISH,
	LOOP_MEET,
	LOOP_STATE,
	LOOP_SPOIL
};

#define LOOP_NEXT 1 /* the actor that `relay` tells */
#define LOOP_MOST 44 /* bytes of a message */
#define LOOP_SENDER 5
#define LOOP_SPOILED 12 /* messages for `spoil`, before the last one */

/* Bounds of the host's clock that the host publishes for a turn. */
#define LOOP_CLOCK_AT(turn) ((turn)*11)
#define LOOP_CLOCK_LOW(turn) ((turn)*1000003)
#define LOOP_CLOCK_HIGH(turn) ((turn)*1000003 + 500)

/** A message for `meet`. */
struct loop_meeting {
	uint64_t number;
	uint64_t member; /* 0 or 1 */
	uint64_t words; /* uint64_t[4]: two of each member */
	uint64_t event; /* recorded by member 0 */
};

/* Word i of a state with number k. Of numbers 0, 4, 8 and so on, only the first
 * words are not 0: the worker makes the state. Of others, the host writes it. */
#define LOOP_STATE_WORDS 8
#define LOOP_STATE_INIT 2
#define LOOP_STATE_WORD(k, i)                                                  \
	((k) % 4 == 0 && (i) >= LOOP_STATE_INIT ? 0 : (k)*100 + (i))

#endif
