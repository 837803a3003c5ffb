/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_OBSERVE_STALL_H
#define PEALI_OBSERVE_STALL_H

#include "runtime/runtime.h"

/* Stall reports. */

/* Finds the cause that stalls a worker, as peal_stall_report. Returns 1 with
 * the text, or 0. The caller does not hold rt->lock. */
int peali_stall_why(struct peal_kernel *kernel, uint32_t worker,
		    char text[256]);

/* Logs the causes of peal_stall_report, after a wait that timed out. */
void peali_stall_log(struct peal_runtime *rt);

/* Starts a thread that answers peal_stall_report_pid. Only logs a failure. */
void peali_stall_serve(struct peal_runtime *rt);
/* Ends that thread after the answer in progress. May be called again. */
void peali_stall_unserve(struct peal_runtime *rt);

#endif
