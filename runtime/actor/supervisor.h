/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_SUPERVISOR_H
#define PEALI_ACTOR_SUPERVISOR_H

#include "runtime/runtime.h"

/* Supervisors and their members. */

struct peali_inits;

/** The supervision of an actor. */
struct peali_supervised {
	struct peal_supervisor *supervisor; /* NULL: the actor has none */
	struct peali_inits *inits; /* NULL: the actor starts with zeros */
	uint64_t init_offset; /* of its state in inits->area */
};

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_supervisors_open(struct peal_kernel *kernel);
void peali_supervisors_close(struct peal_kernel *kernel);
/* Checks that n actors of the kernel can join a supervisor. */
int peali_supervisor_check(const struct peal_supervisor *supervisor,
			   const struct peal_kernel *kernel, uint32_t n,
			   const char *call);
/* Returns the control message that makes actors from number `at` on
 * supervised. */
struct peal_control_supervise
peali_supervision_message(const struct peal_supervisor *supervisor,
			  const struct peali_inits *inits,
			  const struct peal_actor_options *options,
			  uint32_t at);
/* Record that n actors have joined, and that an actor has left. */
void peali_supervisor_add_member(struct peal_supervisor *supervisor,
				 struct peali_inits *inits,
				 const uint32_t *index, uint32_t n);
void peali_supervisor_remove_member(struct peal_kernel *kernel, uint32_t index);

#endif
