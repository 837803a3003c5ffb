/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_OPTIONS_H
#define PEAL_BENCH_OPTIONS_H

/* What every benchmark may be told; rows that were not asked for are left out. */

#include <stdint.h>

#include <peal/topology.h>

struct peali_bench_options {
	double seconds; /* for all rows together, about */
	enum peal_route route; /* only this one; PEAL_ROUTE_NONE: all */
	uint64_t bytes; /* only this message size; 0: all */
	const char *samples_out; /* NULL: none */
	const char *hgrm_out; /* NULL: none */
};

/**
 * Parses a benchmark's arguments; a wrong one ends the process with status 2.
 *
 * @param doc what the benchmark measures, for --help.
 * @param seconds the default.
 */
void peali_bench_parse(int argc, char **argv, const char *doc, double seconds,
		       struct peali_bench_options *options_out);

struct argp;

/**
 * peali_bench_parse with options of the benchmark's own.
 *
 * @param more  their parser.
 * @param input its input.
 */
void peali_bench_parse_more(int argc, char **argv, const char *doc,
			    double seconds, const struct argp *more,
			    void *input,
			    struct peali_bench_options *options_out);

/** Whether a row of this route and size was asked for. */
int peali_bench_wanted(const struct peali_bench_options *options,
		       enum peal_route route, uint64_t bytes);

#endif
