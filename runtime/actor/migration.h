/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_ACTOR_MIGRATION_H
#define PEALI_ACTOR_MIGRATION_H

#include "runtime/runtime.h"

/* Migration of actors. */

/* Asks a worker again that has not answered whether an actor has moved. `index`
 * is the newest entry of the actor. */
int peali_move_settle(struct peal_kernel *kernel, uint32_t index,
		      const char *call);
/* Checks that a handler can send by the ports of another handler's actor. */
int peali_schedule_check(const struct peal_handler_info *handler,
			 const struct peal_handler_info *owner,
			 const char *call);

#endif
