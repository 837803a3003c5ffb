/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_STALL_H
#define DOUBLE_STALL_H

#include <peal/abi/control.h>

#include "ptx.h"

/*
 * Finds that no ring kernel on the PTX machine moves. A kernel moves if a status
 * word of one of its workers changes, apart from heartbeats and clocks. After
 * PEAL_DOUBLE_STALL seconds without a move, each lane prints its place.
 */

/** A ring kernel that runs. */
struct double_watched {
	struct double_watched *next;
	struct ptx_grid *grid;
	const struct peal_kernel_params *params;
};

/* Watches a kernel from now on, if the variable is set. */
void double_stall_watch(struct double_watched *watched);
/* Ends the watch, at the latest when the kernel ends. */
void double_stall_leave(struct double_watched *watched);
/* Prints the place of a lane. */
void double_stall_print(const struct ptx_report *lane, int device);

#endif
