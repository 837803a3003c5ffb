/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TIMER_H
#define PEALI_TIMER_H

#include "runtime/runtime.h"

/* Timers and asks of kernels: what they need, and what workers count of them. */

/* ---- what workers count of timers and asks ---------------------------------- */

/* Adds a worker's n counts, the last one first. */
void peali_counts_add(uint64_t *sum, const uint64_t *count, uint32_t n);
/* Where all inputs have ended: how many wait at the first worker at which some do.
 * 0: none, or inputs are open. */
uint64_t peali_kernel_keeps(const struct peal_kernel *kernel,
			    uint64_t (*waiting_at)(const struct peal_kernel *,
						   uint32_t worker),
			    uint32_t *worker_out);

/* ---- timers ----------------------------------------------------------------- */

/* What a kernel's options say of timers, into its parameters. */
int peali_timers_plan(struct peal_kernel *kernel,
		      const struct peal_kernel_options *options);
/* Adds what is known of a worker's timers; nothing where there are none. */
void peali_timers_add(const struct peal_kernel *kernel, uint32_t worker,
		      struct peal_timer_counts *sum);
/* Where all inputs have ended: timers that wait, of the first worker that has
 * some. 0: none, or inputs are open. */
uint64_t peali_timers_keep(const struct peal_kernel *kernel,
			   uint32_t *worker_out);

/* ---- asks ------------------------------------------------------------------- */

struct peali_mailbox_spec;

/* What a kernel's options say of asks, into its parameters and, as more slots,
 * into a completed spec of its mailboxes. */
int peali_asks_plan(struct peal_kernel *kernel,
		    const struct peal_kernel_options *options,
		    struct peali_mailbox_spec *box);
/* Adds what is known of a worker's asks; nothing where there are none. */
void peali_asks_add(const struct peal_kernel *kernel, uint32_t worker,
		    struct peal_ask_counts *sum);
/* Where all inputs have ended: asks that are open, of the first worker that has
 * some. 0: none, or inputs are open. */
uint64_t peali_asks_keep(const struct peal_kernel *kernel,
			 uint32_t *worker_out);

#endif
