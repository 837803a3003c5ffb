/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_OPTIONS_H
#define PEALI_KERNEL_OPTIONS_H

#include "runtime/runtime.h"

/* Options of a launch. */

/* Fills in defaults. Checks ranges, and the features of the program. Returns 0,
 * PEAL_EINVAL or PEAL_ENOTSUP. */
int peali_kernel_options_complete(struct peal_kernel_options *options,
				  const struct peal_runtime *rt,
				  const struct peal_program *program);

/* Refuses an option that needs mailboxes, as mailbox.slots is 0. Returns
 * PEAL_EINVAL. */
int peali_refuse_without_mailboxes(const char *name, uint32_t value);

#endif
