/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_UNITS_H
#define DOUBLE_UNITS_H

#include <stdint.h>

/*
 * The multiprocessors of the devices. A block takes threads, registers and
 * shared memory of one multiprocessor until it ends.
 */

#define DOUBLE_REGISTERS 65536 /* of a multiprocessor */

/** What a block takes of its multiprocessor. */
struct double_need {
	uint32_t threads;
	uint32_t registers;
	uint32_t shared_bytes; /* with the memory that the driver takes */
	/*
	 * Shared memory that the multiprocessor has to be divided for, in KiB.
	 * Another division needs an empty multiprocessor. 0: any.
	 */
	uint32_t carveout;
};

/* Returns the registers of a block. A warp gets a multiple of 256. */
uint32_t double_registers(uint32_t of_thread, uint32_t threads);
/* Returns the number of such blocks that fit on an empty multiprocessor. */
uint32_t double_unit_blocks(const struct double_need *need);
/** Multiprocessors of a device. */
struct double_range {
	uint32_t first, n; /* n 0: all */
};

/*
 * Places the blocks of a grid breadth first, as GPUs do: each goes to a
 * multiprocessor with the fewest blocks. Sets the multiprocessor of each block.
 * Returns 1, or 0 if a block would wait for the end of another kernel.
 */
int double_units_take(int device, struct double_range range,
		      const struct double_need *need, uint32_t blocks,
		      uint16_t *unit_out);
/* Ends a block on a multiprocessor. */
void double_unit_give(int device, uint16_t unit,
		      const struct double_need *need);
/* Reserves n multiprocessors for a part of a device. Returns the first one; -1:
 * no n neighbours are free. */
int double_units_reserve(int device, uint32_t n);
void double_units_release(int device, struct double_range range);

#endif
