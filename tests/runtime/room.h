/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ROOM_H
#define PEAL_TESTS_ROOM_H

#include <peal/device/platform.h>

/* Message types and states of `programs/room.c`, `programs/roam.c` and
 * tests. */

#define ROOM_QUESTION 1
#define ROOM_ANSWER 2
#define ROOM_NOBODY 0xffffffffu
#define ROOM_SHED 4

struct room_actor {
	uint32_t next; /* next actor of the row or ROOM_NOBODY; for roam.c
			* the number of actors */
	uint32_t reserved;
	uint64_t seen; /* messages, which are numbered from 0 */
	uint64_t misordered;
};

#endif
