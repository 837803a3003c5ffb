/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_KINDS_H
#define PEAL_BENCH_KINDS_H

/* Our own queues, by their device functions and without a runtime. */

#include "bench/queue.h"

extern const struct peali_bench_queue_kind peali_bench_queue_link;
extern const struct peali_bench_queue_kind peali_bench_queue_mailbox;
extern const struct peali_bench_queue_kind peali_bench_queue_work;
extern const struct peali_bench_queue_kind peali_bench_queue_topic;
/* What a topic is compared with. */
extern const struct peali_bench_queue_kind peali_bench_queue_links;

/* The same queue by peal/queue.h, as threads have it. NULL: they do not. */
const struct peali_bench_queue_kind *
peali_bench_queue_front(const struct peali_bench_queue_kind *device);

/* A link that keeps all messages in slots, and one that keeps them in its slab;
 * by policy, from sequence on. NULL ends a list. */
extern const struct peali_bench_queue_kind *const peali_bench_queue_slots[3];
extern const struct peali_bench_queue_kind *const peali_bench_queue_slabs[3][2];

/* What stands for us in rows of a shape. */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_pair; /* 1 -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_gather; /* n -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_share; /* n -> m */
extern const struct peali_bench_queue_kind
	*const peali_bench_queue_spread; /* 1 -> every */

#endif
