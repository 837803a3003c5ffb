/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_QUEUES_H
#define DOUBLE_QUEUES_H

#include <stdint.h>

/*
 * The hardware queues of the devices. The streams of a device are numbered from
 * 0 in the order of their creation. Each stream has a queue of its own, unless
 * PEAL_DOUBLE_ALIAS names a pair. The work of a queue runs in the order of its
 * launches, whatever its streams are.
 */

#define DOUBLE_STREAMS 64 /* most streams of a device */

/** A place in a queue. */
struct double_turn {
	int device, queue;
	uint32_t number;
	int is_ring; /* 1: work that does not end by itself */
};

/* Returns the queue of a stream. */
int double_queue_of(int stream);
/*
 * Puts work into a queue. If the work would wait for a ring kernel, this breaks
 * the contract.
 */
struct double_turn double_queue_enter(int device, int queue, int is_ring);
/* Returns 1 if all earlier work of the queue has ended. */
int double_queue_is_turn(const struct double_turn *turn);
/* Ends the work. */
void double_queue_leave(const struct double_turn *turn);
/* Returns a turn behind all work of the queue, which takes no place. */
struct double_turn double_queue_end(int device, int queue);

#endif
