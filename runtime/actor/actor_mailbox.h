/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_MAILBOX_H
#define PEALI_ACTOR_MAILBOX_H

#include "runtime/runtime.h"

/* Limits of mailboxes. */

/* Checks the options for limits. Returns 0 or PEAL_EINVAL. */
int peali_limits_plan(const struct peal_kernel_options *options);
/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_limits_open(struct peal_kernel *kernel);
/* Checks that n actors can have the limit in their options. */
int peali_limits_check(const struct peal_kernel *kernel,
		       const struct peal_actor_options *options, uint32_t n);
/* Takes limits for n actors. peali_limits_check must have passed. */
void peali_limits_take(struct peal_kernel *kernel, const uint32_t *index,
		       uint32_t n);
/* Frees the limit of an actor, if it has one. */
void peali_limit_give(struct peal_kernel *kernel, uint32_t index);

#endif
