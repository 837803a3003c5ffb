/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all benchmarks. */
#include "bench/bench.h"

#include <stddef.h>

const struct peali_bench *const peali_benches[] = {
	&peali_bench_latency,
	&peali_bench_throughput,
	&peali_bench_stream,
	&peali_bench_echo,
	&peali_bench_request,
	&peali_bench_actors,
	&peali_bench_actor_messages,
	&peali_bench_migration,
	&peali_bench_barrier,
	&peali_bench_idle,
	&peali_bench_setup,
	&peali_bench_queues,
	&peali_bench_faults,
	&peali_bench_collectives,
	&peali_bench_transfers,
	&peali_bench_balance,
	&peali_bench_work,
	&peali_bench_tasks,
	NULL,
};
