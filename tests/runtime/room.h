/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ROOM_H
#define PEAL_TESTS_ROOM_H

#include <peal/device/platform.h>

/* What the handlers of programs/room.c and their tests agree on. */

#define ROOM_QUESTION 1
#define ROOM_ANSWER 2
#define ROOM_NOBODY 0xffffffffu
#define ROOM_SHED 4

struct room_actor {
	uint32_t next; /* whom it tells; ROOM_NOBODY. Who tells anyone: how many
			* there are */
	uint32_t reserved;
	uint64_t seen; /* messages, which are numbered from 0 */
	uint64_t misordered;
};

#endif
