/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PROGRAM_H
#define PEAL_PROGRAM_H

#include <stdint.h>

#include <peal/abi/program.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

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
