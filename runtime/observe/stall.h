/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_OBSERVE_STALL_H
#define PEALI_OBSERVE_STALL_H

#include "runtime/runtime.h"

/* Stall reports. */

/* Finds the cause that stalls a worker, as peal_stuck does. Returns 1 with the
 * text, or 0. The caller does not hold rt->lock. */
int peali_stuck_why(struct peal_kernel *kernel, uint32_t worker,
		    char text[256]);

/* Logs the causes of peal_stuck, after a wait that timed out. */
void peali_stuck_log(struct peal_runtime *rt);

/* Starts a thread that answers peal_stuck_of. Only logs a failure. */
void peali_stuck_serve(struct peal_runtime *rt);
/* Ends that thread after the answer in progress. May be called again. */
void peali_stuck_unserve(struct peal_runtime *rt);

#endif
