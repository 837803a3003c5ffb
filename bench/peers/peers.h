/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_PEERS_H
#define PEAL_BENCH_PEERS_H

/*
 * The queues of others, each in a file of its own behind struct
 * peali_bench_queue_kind. Which of them this build has was found out when it was
 * configured; the others stand in the tables with what was missing.
 */

#include "bench/queue.h"

PEAL_BEGIN_C

/* Those of a shape, in their best form for it; NULL ends each list. */
extern const struct peali_bench_queue_kind *const peali_peers_pair[]; /* 1 -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_peers_gather[]; /* n -> 1 */
extern const struct peali_bench_queue_kind
	*const peali_peers_share[]; /* n -> m */
extern const struct peali_bench_queue_kind
	*const peali_peers_spread[]; /* every */

extern const struct peali_bench_queue_kind peali_peer_mutex;
extern const struct peali_bench_queue_kind peali_peer_ck_spsc;
extern const struct peali_bench_queue_kind peali_peer_ck_mpsc;
extern const struct peali_bench_queue_kind peali_peer_ck_mpmc;
extern const struct peali_bench_queue_kind peali_peer_rte_spsc;
extern const struct peali_bench_queue_kind peali_peer_rte_spsc_zc;
extern const struct peali_bench_queue_kind peali_peer_rte_mpsc;
extern const struct peali_bench_queue_kind peali_peer_rte_mpmc;
extern const struct peali_bench_queue_kind peali_peer_rte_hts;
extern const struct peali_bench_queue_kind peali_peer_boost_spsc;
extern const struct peali_bench_queue_kind peali_peer_boost_queue;
extern const struct peali_bench_queue_kind peali_peer_moodycamel;

PEAL_END_C

#endif
