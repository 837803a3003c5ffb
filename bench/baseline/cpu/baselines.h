/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_BASELINES_H
#define PEAL_BENCH_BASELINES_H

/*
 * Queues of other libraries, as baselines. Each has a file of its own with a
 * struct peali_bench_queue_kind. The configuration of the build finds the
 * libraries. A queue of a missing library has the reason in `missing`.
 */

#include "bench/queue.h"

PEAL_BEGIN_C

/*
 * The baselines of rows of each shape (producers -> consumers), in their best
 * form. NULL ends each list.
 */
/* 1 -> 1 */
extern const struct peali_bench_queue_kind *const peali_baselines_pair[];
extern const struct peali_bench_queue_kind
	*const peali_baselines_gather[]; /* n -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_baselines_share[]; /* n -> m */
extern const struct peali_bench_queue_kind
	*const peali_baselines_spread[]; /* every */

extern const struct peali_bench_queue_kind peali_baseline_mutex;
extern const struct peali_bench_queue_kind peali_baseline_ck_spsc;
extern const struct peali_bench_queue_kind peali_baseline_ck_mpsc;
extern const struct peali_bench_queue_kind peali_baseline_ck_mpmc;
extern const struct peali_bench_queue_kind peali_baseline_rte_spsc;
extern const struct peali_bench_queue_kind peali_baseline_rte_spsc_zc;
extern const struct peali_bench_queue_kind peali_baseline_rte_mpsc;
extern const struct peali_bench_queue_kind peali_baseline_rte_mpmc;
extern const struct peali_bench_queue_kind peali_baseline_rte_hts;
extern const struct peali_bench_queue_kind peali_baseline_boost_spsc;
extern const struct peali_bench_queue_kind peali_baseline_boost_queue;
extern const struct peali_bench_queue_kind peali_baseline_moodycamel;

PEAL_END_C

#endif
