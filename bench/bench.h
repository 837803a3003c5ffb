/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_BENCH_H
#define PEAL_BENCH_BENCH_H

/*
 * The benchmarks of `peal bench`. Each has a file with its name. All benchmarks
 * take the options of options.h and print rows by report.h.
 */

struct peali_bench {
	const char *name;
	const char *help;
	/* argv[0] is "peal bench NAME"; returns the exit status. */
	int (*run)(int argc, char **argv, int json);
};

/** All benchmarks. NULL ends the list. */
extern const struct peali_bench *const peali_benches[];

extern const struct peali_bench peali_bench_latency;
extern const struct peali_bench peali_bench_throughput;
extern const struct peali_bench peali_bench_stream;
extern const struct peali_bench peali_bench_echo;
extern const struct peali_bench peali_bench_request;
extern const struct peali_bench peali_bench_actors;
extern const struct peali_bench peali_bench_actor_messages;
extern const struct peali_bench peali_bench_migration;
extern const struct peali_bench peali_bench_barrier;
extern const struct peali_bench peali_bench_collectives;
extern const struct peali_bench peali_bench_transfers;
extern const struct peali_bench peali_bench_balance;
extern const struct peali_bench peali_bench_idle;
extern const struct peali_bench peali_bench_setup;
extern const struct peali_bench peali_bench_faults;
extern const struct peali_bench peali_bench_queues;
extern const struct peali_bench peali_bench_work;
extern const struct peali_bench peali_bench_tasks;

#endif
