/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_FORWARDING_H
#define PEALI_ACTOR_FORWARDING_H

#include "runtime/runtime.h"

/* Forwarding links between kernels. */

/* Returns the forwarding link from a worker to another kernel, or NULL. */
struct peal_link *peali_fwd_link_find(const struct peal_kernel *from,
				      uint32_t worker,
				      const struct peal_kernel *to);
/* Check that a kernel can forward messages, and that it can forward them to
 * `to`. Return 0 or an error with its text. */
int peali_kernel_can_forward(struct peal_kernel *kernel, const char *call);
int peali_fwd_link_check(struct peal_kernel *from, struct peal_kernel *to,
			 const char *call);
/* Finds or makes the forwarding link. A new link ends at to_worker. */
int peali_fwd_link_make(struct peal_kernel *from, uint32_t worker,
			struct peal_kernel *to, uint32_t to_worker,
			struct peal_link **link_out, const char *call);
/* Removes the forwarding links and entries of a kernel that has ended.
 * PEAL_EBUSY: its messages wait in a link; PEAL_EHUNG: a worker hangs. */
int peali_fwd_links_end(struct peal_kernel *kernel);

#endif
