/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_LINK_COUNTS_H
#define PEALI_KERNEL_LINK_COUNTS_H

#include "runtime/runtime.h"

/* Counters of links. */

/* Returns the messages that the receiver has handled or dropped. */
uint64_t peali_counts_done(const struct peal_link_counts *counts);
/* Returns the messages that are neither delivered nor dead. Of a link within
 * this process both arguments are equal. */
uint64_t peali_counts_queued(const struct peal_link_counts *sent,
			     const struct peal_link_counts *received);

#endif
