/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of baselines. PEALI_NO_<PEER> is defined if the build does not
 * have a library. It is the reason.
 */
#include "bench/baseline/cpu/baselines.h"

#include "bench/kinds/kinds.h"

#ifdef PEALI_NO_CK
const struct peali_bench_queue_kind peali_baseline_ck_spsc = {
	.name = "ck_ring spsc",
	.missing = PEALI_NO_CK,
};
const struct peali_bench_queue_kind peali_baseline_ck_mpsc = {
	.name = "ck_ring mpsc",
	.missing = PEALI_NO_CK,
};
const struct peali_bench_queue_kind peali_baseline_ck_mpmc = {
	.name = "ck_ring mpmc",
	.missing = PEALI_NO_CK,
};
#endif
#ifdef PEALI_NO_RTE
const struct peali_bench_queue_kind peali_baseline_rte_spsc = {
	.name = "rte_ring SP/SC",
	.missing = PEALI_NO_RTE,
};
const struct peali_bench_queue_kind peali_baseline_rte_spsc_zc = {
	.name = "rte_ring SP/SC zero-copy",
	.missing = PEALI_NO_RTE,
};
const struct peali_bench_queue_kind peali_baseline_rte_mpsc = {
	.name = "rte_ring MP/SC",
	.missing = PEALI_NO_RTE,
};
const struct peali_bench_queue_kind peali_baseline_rte_mpmc = {
	.name = "rte_ring MP/MC",
	.missing = PEALI_NO_RTE,
};
const struct peali_bench_queue_kind peali_baseline_rte_hts = {
	.name = "rte_ring HTS",
	.missing = PEALI_NO_RTE,
};
#endif
#ifdef PEALI_NO_BOOST
const struct peali_bench_queue_kind peali_baseline_boost_spsc = {
	.name = "boost spsc_queue",
	.missing = PEALI_NO_BOOST,
};
const struct peali_bench_queue_kind peali_baseline_boost_queue = {
	.name = "boost queue",
	.missing = PEALI_NO_BOOST,
};
#endif
#ifdef PEALI_NO_MOODYCAMEL
const struct peali_bench_queue_kind peali_baseline_moodycamel = {
	.name = "moodycamel",
	.missing = PEALI_NO_MOODYCAMEL,
};
#endif

const struct peali_bench_queue_kind *const peali_baselines_pair[] = {
	&peali_baseline_ck_spsc,
	&peali_baseline_rte_spsc,
	&peali_baseline_rte_spsc_zc,
	&peali_baseline_boost_spsc,
	&peali_baseline_moodycamel,
	&peali_baseline_mutex,
	NULL,
};

const struct peali_bench_queue_kind *const peali_baselines_gather[] = {
	&peali_baseline_ck_mpsc,
	&peali_baseline_rte_mpsc,
	&peali_baseline_rte_hts,
	&peali_baseline_boost_queue,
	&peali_baseline_moodycamel,
	&peali_baseline_mutex,
	NULL,
};

const struct peali_bench_queue_kind *const peali_baselines_share[] = {
	&peali_baseline_ck_mpmc,
	&peali_baseline_rte_mpmc,
	&peali_baseline_rte_hts,
	&peali_baseline_boost_queue,
	&peali_baseline_moodycamel,
	&peali_baseline_mutex,
	NULL,
};

/*
 * No other library has a queue that copies a message only once for all readers.
 * So the baseline is our link for each reader.
 */
const struct peali_bench_queue_kind *const peali_baselines_spread[] = {
	&peali_bench_queue_links,
	NULL,
};
