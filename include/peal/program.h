/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROGRAM_H
#define PEAL_PROGRAM_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;
struct peal_kernel_params;

/** A handler as the host sees it; made by PEAL_PROGRAM. */
struct peal_handler_info {
	const char *name;
	uint32_t state_bytes; /* of an actor's state */
	uint16_t ports; /* it may emit to ports 0 .. ports-1 */
	uint16_t emits; /* at most so many messages per port and input */
	uint16_t tells; /* at most so many mailbox messages per input */
	uint16_t reserved;
};

/** The host image: one lane of one worker runs it to its end. */
typedef void (*peal_host_entry_fn)(const struct peal_kernel_params *params,
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

/**
 * Makes a program known to a runtime by its name.
 *
 * @param runtime an open runtime.
 * @param program a program with static storage; not copied.
 * @return 0; PEAL_EEXIST another program has the name; PEAL_EALREADY it is
 *         known; PEAL_EPROGRAM the struct is of another version or has no
 *         handler; PEAL_EINVAL. Thread-safe.
 */
int peal_program_add(struct peal_runtime *runtime,
		     const struct peal_program *program);

/**
 * Finds a program by name: the built-in ones and those that were added.
 *
 * @param runtime an open runtime.
 * @param name    its name.
 * @return the program, or NULL with the names there are in peal_last_error().
 *         Thread-safe.
 */
const struct peal_program *peal_program_find(struct peal_runtime *runtime,
					     const char *name);

/**
 * The number of a handler in its program.
 *
 * @param program a program.
 * @param handler its handler's name.
 * @return the number; PEAL_ENOENT no such handler (the text lists those there
 *         are); PEAL_EINVAL a NULL pointer. Thread-safe, wait-free.
 */
int peal_program_handler(const struct peal_program *program,
			 const char *handler);

#ifdef __cplusplus
}
#endif
#endif
