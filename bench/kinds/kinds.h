/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_KINDS_H
#define PEAL_BENCH_KINDS_H

/* Our queues by their device functions, without a runtime. */

#include "bench/queue.h"

extern const struct peali_bench_queue_kind peali_bench_queue_link;
extern const struct peali_bench_queue_kind peali_bench_queue_mailbox;
extern const struct peali_bench_queue_kind peali_bench_queue_work;
extern const struct peali_bench_queue_kind peali_bench_queue_topic;
/* Baseline of the topic: a link for each reader. */
extern const struct peali_bench_queue_kind peali_bench_queue_links;

/* Returns the kind by peal/queue.h, or NULL if threads do not have it. */
const struct peali_bench_queue_kind *
peali_bench_queue_front(const struct peali_bench_queue_kind *device);

/*
 * Links with all messages in slots, and links with all messages in the slab.
 * The index is the policy, from sequence on. NULL ends a list of slabs.
 */
extern const struct peali_bench_queue_kind *const peali_bench_queue_slots[3];
extern const struct peali_bench_queue_kind *const peali_bench_queue_slabs[3][2];

/* Our kind for rows of each shape: producers -> consumers. */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_pair; /* 1 -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_gather; /* n -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_share; /* n -> m */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_spread; /* 1 -> every */

#endif
