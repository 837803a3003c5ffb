/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_FIBERS_H
#define PEALI_HOST_FIBERS_H

#include <stdint.h>

/*
 * The lanes of one worker as fibers of one thread, one at a time.
 *
 * A lane runs until it calls peal_host_sync_lanes() or returns. Then the next
 * lane runs. So when a lane passes its n-th sync, every other lane has reached
 * its own n-th sync or has returned. A block's barrier guarantees the same
 * order.
 *
 * Each lane has its own stack with a guard page below.
 */

#define PEALI_LANES_MAX 1024

struct peali_fibers;

typedef int (*peali_lane_fn)(void *context, uint32_t lane);

/* Allocates the stacks of `lanes` lanes. Returns NULL with errno if it fails. */
struct peali_fibers *peali_fibers_create(uint32_t lanes);
/* Frees the fibers. None of the lanes may run. NULL does nothing. */
void peali_fibers_destroy(struct peali_fibers *fibers);

/*
 * Runs all lanes to their ends on the calling thread. Returns 1 if each lane
 * returned 1, else 0.
 */
int peali_fibers_run(struct peali_fibers *fibers, peali_lane_fn fn,
		     void *context);

#endif
