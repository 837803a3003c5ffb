/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PROGRAM_H
#define PEAL_ABI_PROGRAM_H

#include <peal/device/platform.h>

/*
 * What a kernel source says of itself to the host. The only layout of this
 * folder that holds pointers: it never leaves the process.
 */

struct peal_kernel_params;

/** A handler as the host sees it; made by PEAL_PROGRAM. */
struct peal_handler_info {
	const char *name;
	uint32_t state_bytes; /* of an actor's state */
	uint16_t ports; /* it may emit to ports 0 .. ports-1 */
	uint16_t emits; /* at most so many messages per port and input */
	uint16_t tells; /* at most so many mailbox messages per input */
	uint16_t reserved;
	uint32_t input_bytes; /* payload it takes; 0: any length */
	uint32_t output_bytes; /* payload it emits; 0: any length */
};

/**
 * The host image: one lane of one worker runs it to its end. Returns 0 when the
 * worker is done, 1 when its epoch ended and it wants to be called again.
 */
typedef int (*peal_host_entry_fn)(const struct peal_kernel_params *params,
				  uint32_t worker, uint32_t lane);

/**
 * A set of handlers compiled together for every backend. A kernel source makes
 * it with PEAL_PROGRAM(name, ...) as `peal_program_<name>`; static storage,
 * never changed.
 */
struct peal_program {
	uint32_t size; /* sizeof(struct peal_program) */
	uint32_t n_handlers;
	const char *name;
	const struct peal_handler_info *handlers;
	peal_host_entry_fn host_entry; /* any number of lanes */
	peal_host_entry_fn host_entry_single; /* one lane; NULL: use the other */
};

/** Declares a program that another source defines. Host only. */
#define PEAL_DECLARE_PROGRAM(program)                                          \
	PEAL_EXTERN_C const struct peal_program peal_program_##program

#endif
