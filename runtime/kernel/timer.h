/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TIMER_H
#define PEALI_TIMER_H

#include "runtime/runtime.h"

/* Timers and asks of kernels: launch options, and the counts of the workers. */

/* ---- counts of timers and asks ------------------------------------------- */

/* Adds the n counts of a worker to a sum. Reads the last count first. */
void peali_counts_add(uint64_t *sum, const uint64_t *count, uint32_t n);
/*
 * Returns the number of waiting timers or asks of the first worker that has
 * any. waiting_at() counts them for a worker. Returns 0 if there are none, or
 * if an input is open.
 */
uint64_t peali_kernel_keeps(const struct peal_kernel *kernel,
			    uint64_t (*waiting_at)(const struct peal_kernel *,
						   uint32_t worker),
			    uint32_t *worker_out);

/* ---- timers -------------------------------------------------------------- */

/* Checks the options for timers, and sets the kernel's parameters. Returns 0 or
 * PEAL_EINVAL. */
int peali_timers_plan(struct peal_kernel *kernel,
		      const struct peal_kernel_options *options);
/* Adds the counts of a worker's timers. Does nothing in a kernel without
 * timers. */
void peali_timers_add(const struct peal_kernel *kernel, uint32_t worker,
		      struct peal_timer_counts *sum);
/* Returns the number of waiting timers of the first worker that has any.
 * Returns 0 if there are none, or if an input is open. */
uint64_t peali_timers_keep(const struct peal_kernel *kernel,
			   uint32_t *worker_out);

/* ---- asks ---------------------------------------------------------------- */

struct peali_mailbox_spec;

/*
 * Checks the options for asks, and sets the kernel's parameters. `box` is the
 * completed spec of the mailboxes; NULL if there are none. Returns 0 or
 * PEAL_EINVAL.
 */
int peali_asks_plan(struct peal_kernel *kernel,
		    const struct peal_kernel_options *options,
		    struct peali_mailbox_spec *box);
/* Adds the counts of a worker's asks. Does nothing in a kernel without asks. */
void peali_asks_add(const struct peal_kernel *kernel, uint32_t worker,
		    struct peal_ask_counts *sum);
/* Returns the number of open asks of the first worker that has any. Returns 0
 * if there are none, or if an input is open. */
uint64_t peali_asks_keep(const struct peal_kernel *kernel,
			 uint32_t *worker_out);

#endif
