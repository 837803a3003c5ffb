/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_PTX_H
#define DOUBLE_PTX_H

#include "double.h"
#include "tests/ptx/machine.h"

/*
 * The PTX machine of tests/ptx as the engine of the CUDA double. The double
 * then executes the PTX of programs. The backend shows the devices as real ones
 * with the name "PTX machine".
 *
 * A fault of a program is an error of the driver. The device is lost, as the
 * context of a GPU is. A line on stderr names the place.
 *
 * Environment:
 *	PEAL_DOUBLE_ENGINE	host: host code runs, the default; ptx
 *	PEAL_DOUBLE_SEED	seed of the order of lanes, 0
 *	PEAL_DOUBLE_WEAK	1: weak memory, 0
 *	PEAL_DOUBLE_RACE	1: finds races on shared memory, 0
 *	PEAL_DOUBLE_UNDEFINED	1: finds uses of undefined values, 0
 *	PEAL_DOUBLE_TRACE	1: prints each instruction, 0
 *	PEAL_DOUBLE_TRACE_FROM	first lane of a block that is traced, 0
 *	PEAL_DOUBLE_TRACE_TO	last lane that is traced; 0: no end
 *	PEAL_DOUBLE_TRACE_LINES	most lines of a kernel; 0: 100000
 *	PEAL_DOUBLE_TRACE_FILE	file that the lines are appended to, else stderr
 *	PEAL_DOUBLE_COUNT	1: prints the executed instructions of each
 *				kernel, 0
 *	PEAL_DOUBLE_QUANTUM	most instructions of a lane in a turn
 *	PEAL_DOUBLE_TIMER	step of the global timer in ns, 1 to 1000000
 *	PEAL_DOUBLE_STALL	seconds after which the lanes of ring kernels
 *				that do not move print their places; 0: never
 */

/* Returns 1 if the PTX machine is the engine. Ends the process for a wrong value
 * of a variable. */
int double_ptx_chosen(void);
/* Loads PTX. Returns 0, or the error of the driver. */
int double_ptx_load(struct ptx_module **out, const void *image, size_t bytes);
/* Keeps a module for a later load of its text, or frees it. */
void double_ptx_unload(struct ptx_module *module);
/* Returns the seconds without a move after which lanes print their places. */
uint32_t double_ptx_stall_s(void);
/* For PEAL_DOUBLE_UNDEFINED: what happens to memory of devices. New memory has no
 * defined value. */
void double_ptx_allocated(uint64_t address, uint64_t bytes);
void double_ptx_freed(uint64_t address, uint64_t bytes);
void double_ptx_copied(uint64_t to, uint64_t from, uint64_t bytes);
void double_ptx_filled(uint64_t address, uint64_t bytes);
/* Makes a grid on the current device. */
struct ptx_grid *double_ptx_grid(struct ptx_function *function,
				 const struct double_shape *shape,
				 uint64_t params);
/* All blocks of a grid have ended. Prints its counts if the option is set. */
void double_ptx_ended(const struct ptx_grid *grid);

#endif
