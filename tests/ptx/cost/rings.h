/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_COST_RINGS_H
#define PTX_COST_RINGS_H

/*
 * Layout of the rings in rings.cu. Zeroed memory is an empty ring. Words with
 * different writers are 128 bytes apart.
 */

#include <stdint.h>

#define RING_SLOTS 1024
#define RING_PAYLOAD 64 /* most bytes of a message */

struct ring_slot {
	uint64_t turn; /* 2 * lap: free; 2 * lap + 1: full */
	uint64_t reserved;
	uint64_t payload[RING_PAYLOAD / 8]; /* aligned to 16 bytes */
};

struct ring {
	uint64_t tail; /* the next message to put */
	uint64_t tail_reserved[15];
	uint64_t head; /* the next message to take */
	uint64_t head_reserved[15];
	uint64_t count; /* broker queue: messages and claims, two's complement */
	uint64_t count_reserved[15];
	struct ring_slot slots[RING_SLOTS];
};

#endif
