/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DOUBLE_FUNCTION_H
#define DOUBLE_FUNCTION_H

#include <peal/abi/program.h>

#include "ptx.h"
#include "units.h"

/* Functions of modules, for their launches. */

struct double_function {
	struct double_function *next;
	peal_host_entry_fn entry, single;
	struct ptx_function *ptx; /* NULL: runs the host entry */
	int is_probe;
	unsigned shared_most;
	int local_bytes; /* of a lane */
	int carveout; /* percent; -1: the driver chooses */
	/*
	 * ns of a tick of the device's clock, and the rest in units of 2^-64.
	 * NULL: the code does not know them.
	 */
	const uint64_t *scale;
};

/* Finds a symbol in the executable or in a program file. Returns NULL if there
 * is none. */
void *double_anywhere(const char *name);
/* As double_anywhere(). Ends the process if there is none. */
void *double_exported(const char *name);
/* Returns what a block of the function takes of its multiprocessor. */
struct double_need double_need_of(const struct double_function *function,
				  uint32_t threads, size_t shared_bytes);

#endif
