/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BENCH_BALANCE_H
#define PEALI_BENCH_BALANCE_H

#include "bench/fixture.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"

/* Rows of the benchmark `balance`. */

/** Times of an element, by device: the speeds are 4, 2 and 1. */
extern const struct peali_crawl peali_balance_speeds;

/** What a row by work queues needs. */
struct peali_balance_queues {
	const struct peali_bench_options *options;
	struct peali_fixture *fixture;
	struct peali_report *report;
	uint64_t for_ns;
	int alone; /* 1: this is the only row */
};

/*
 * Runs the row `queues`. All tasks are in the queue of the first device. The
 * forwarders of a share move them. Baseline: the ideal time. Returns 0 or -1.
 */
int peali_balance_queues(const struct peali_balance_queues *what);

/** Returns the ns of n elements if all n_devices finish at once. */
double peali_balance_ideal_ns(uint64_t n, uint32_t n_devices);

#endif
