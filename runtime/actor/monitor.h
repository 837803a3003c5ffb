/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_MONITOR_H
#define PEALI_ACTOR_MONITOR_H

#include "runtime/runtime.h"

/* Monitors. */

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_monitors_open(struct peal_kernel *kernel);
/* Checks that down messages fit into the mailboxes of the options. */
int peali_monitors_plan(const struct peal_kernel *kernel,
			const struct peal_kernel_options *options);
/* Removes the kernel's monitors from all endpoints. */
void peali_monitors_close(struct peal_kernel *kernel);
/* Takes off all monitors of an endpoint. The caller holds rt->lock. */
void peali_monitors_leave(struct peal_endpoint *endpoint);
/* Takes the next down message for an endpoint. Returns 1 with it, or 0. */
int peali_monitors_look(struct peal_endpoint *endpoint, struct peal_down *out,
			uint16_t *type_out);

#endif
