/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_DEVICE_SPAWNED_H
#define PEALI_KERNEL_DEVICE_SPAWNED_H

#include "runtime/runtime.h"

/* Slots for actors that handlers make. */

/* Checks the options for such actors, and sets a default. Returns 0 or
 * PEAL_EINVAL. */
int peali_spawned_check(struct peal_kernel_options *options,
			const struct peal_program *program);
/* Sets the kernel's parameters for such actors. */
void peali_spawned_plan(struct peal_kernel *kernel,
			const struct peal_kernel_options *options);
/* Return the bytes of the slots' words in host memory, and of their states. */
uint64_t peali_spawned_words(const struct peal_kernel_params *params);
uint64_t peali_spawned_states(const struct peal_kernel_params *params);
/* Marks all slots as free. `slots` are their words. */
void peali_spawned_open(struct peal_kernel *kernel, uint64_t *slots);
/* Fills in the table of the program's handlers for the device. */
void peali_spawned_handlers(const struct peal_kernel *kernel,
			    struct peal_handler_entry *out);
/* Returns the live actors of handlers: *spawned minus *retired. */
uint32_t peali_spawned_live(const struct peal_kernel *kernel, uint64_t *spawned,
			    uint64_t *retired);

#endif
