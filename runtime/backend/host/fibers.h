/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_FIBERS_H
#define PEALI_HOST_FIBERS_H

#include <stdint.h>

/*
 * The lanes of one worker as fibers of one thread. They take turns: a lane runs
 * until it calls peal_host_sync_lanes() or returns, then the next lane goes on.
 * So a lane passes its n-th sync after every other lane has reached its n-th
 * or has returned, which is what a block's barrier promises.
 *
 * Each lane has a stack of its own with a guard page below it.
 */

#define PEALI_LANES_MAX 1024

struct peali_fibers;

typedef int (*peali_lane_fn)(void *context, uint32_t lane);

/* Makes the stacks of that many lanes. PEAL_ENOMEM. */
int peali_fibers_create(uint32_t lanes, struct peali_fibers **out);
/* None of its lanes may be running. NULL does nothing. */
void peali_fibers_destroy(struct peali_fibers *fibers);

/*
 * Runs all lanes to their ends on the calling thread. Returns 1 if each of them
 * returned 1, else 0.
 */
int peali_fibers_run(struct peali_fibers *fibers, peali_lane_fn fn,
		     void *context);

#endif
