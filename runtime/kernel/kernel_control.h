/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_CONTROL_H
#define PEALI_KERNEL_CONTROL_H

#include "runtime/runtime.h"

/* Control messages to workers, and the state of a kernel. */

/* Returns 1 if every worker has ended for good. */
int peali_kernel_ended(struct peal_kernel *kernel);
/* Returns 1 if every worker has ended by a drain. */
int peali_kernel_drained(struct peal_kernel *kernel);
/* Stops a kernel, and aborts it after the deadline. Returns 0 or PEAL_EHUNG. */
int peali_kernel_end(struct peal_kernel *kernel, uint64_t deadline);
/* Sends a control message to a worker and waits for its answer. */
int peali_kernel_tell(struct peal_kernel *kernel, uint32_t worker,
		      uint16_t type, const void *data, uint32_t bytes,
		      const char *call);
/* Like peali_kernel_tell, up to a deadline. Sets no error text. */
int peali_kernel_try(struct peal_kernel *kernel, uint32_t worker, uint16_t type,
		     const void *data, uint32_t bytes, uint64_t deadline);
/* Return the address of the report area for a worker, and copy the report once
 * the worker has answered. */
uint64_t peali_report_view(const struct peal_kernel *kernel);
void peali_report_read(const struct peal_kernel *kernel, void *out,
		       size_t bytes);
/*
 * Returns a worker for a question that any worker can answer. It is the first
 * live one from `worker` on that runs no handler. If all live workers run
 * handlers, it is the first of these.
 */
uint32_t peali_kernel_answerer(const struct peal_kernel *kernel,
			       uint32_t worker);
/* Sends n messages, laid out one after another, and waits for all answers.
 * worker[i] gets message i. */
int peali_kernel_tell_workers(struct peal_kernel *kernel,
			      const uint32_t *worker, uint16_t type,
			      const void *data, uint32_t bytes, uint32_t n,
			      const char *call);
/* Sends a message without waiting. Returns PEAL_EAGAIN if its link is full. */
int peali_kernel_post(struct peal_kernel *kernel, uint32_t worker,
		      uint16_t type, const void *data, uint32_t bytes);
/* Like peali_kernel_post, with the number of the message. The worker's
 * control_done reaches the number once the message is handled. */
int peali_kernel_post_number(struct peal_kernel *kernel, uint32_t worker,
			     uint16_t type, const void *data, uint32_t bytes,
			     uint64_t *number_out);
/* Continues to reclaim mailbox slots that dead workers hold. Never waits. The
 * caller holds rt->lock. */
void peali_kernel_reclaim(struct peal_kernel *kernel);
/* Tells the workers that gates up to a number are open. The caller holds
 * rt->lock. */
void peali_kernel_open_gates(struct peal_kernel *kernel, uint64_t number);
/* Returns the address of a worker's bell. */
uint64_t peali_kernel_bell(const struct peal_kernel *kernel, uint32_t worker);
/* Writes why a kernel has failed, after the end of its launch. Returns its error
 * and the driver's code, or 0 if it has not failed. */
int peali_kernel_failure(struct peal_kernel *kernel, int *driver_code_out,
			 char *out, size_t bytes);
/* Returns the state of a kernel. *result_out is the first failure or 0. */
enum peal_kernel_state peali_kernel_state(struct peal_kernel *kernel,
					  int *result_out);
const char *peali_phase_name(uint64_t phase);

#endif
