/* SPDX-License-Identifier: Apache-2.0 */
#include "queues.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "double.h"

/* See queues.h. */

#define DEVICES 64

static struct {
	atomic_uint entered, left;
	atomic_int rings; /* ring kernels that have not ended */
} queues[DEVICES][DOUBLE_STREAMS];

int double_queue_of(int stream)
{
	const char *list = getenv("PEAL_DOUBLE_ALIAS");
	int a, b, used;

	for (; list && sscanf(list, "%d:%d%n", &a, &b, &used) == 2;
	     list += used + (list[used] == ',')) {
		if (a < 0 || b < 0 || a >= DOUBLE_STREAMS ||
		    b >= DOUBLE_STREAMS || a == b)
			double_refuse("PEAL_DOUBLE_ALIAS",
				      "no pair of streams (%d:%d, allowed two "
				      "numbers 0..%d); use 1:0",
				      a, b, DOUBLE_STREAMS - 1);
		if (stream == (a > b ? a : b))
			return double_queue_of(a > b ? b : a);
	}
	if (list && *list)
		double_refuse("PEAL_DOUBLE_ALIAS",
			      "is no list of pairs (%s); use 1:0,3:2", list);
	return stream;
}

static void check_wait(int device, int queue, const char *what)
{
	if (atomic_load(&queues[device][queue].rings))
		double_broken("%s on device %d waits for a ring kernel: their "
			      "streams share hardware queue %d",
			      what, device, queue);
}

struct double_turn double_queue_enter(int device, int queue, int is_ring)
{
	struct double_turn turn = { device, queue, 0, is_ring };

	check_wait(device, queue, "a kernel");
	turn.number = atomic_fetch_add(&queues[device][queue].entered, 1);
	if (is_ring)
		atomic_fetch_add(&queues[device][queue].rings, 1);
	return turn;
}

int double_queue_is_turn(const struct double_turn *turn)
{
	return (int32_t)(atomic_load(&queues[turn->device][turn->queue].left) -
			 turn->number) >= 0;
}

void double_queue_leave(const struct double_turn *turn)
{
	if (turn->is_ring)
		atomic_fetch_sub(&queues[turn->device][turn->queue].rings, 1);
	atomic_fetch_add(&queues[turn->device][turn->queue].left, 1);
}

struct double_turn double_queue_end(int device, int queue)
{
	check_wait(device, queue, "a copy");
	return (struct double_turn){
		device, queue, atomic_load(&queues[device][queue].entered), 0
	};
}
