/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_OPTIONS_H
#define PEAL_BENCH_OPTIONS_H

/* Options of every benchmark. They select rows and the time to measure. */

#include <stdint.h>

#include <peal/topology.h>

struct peali_bench_options {
	double seconds; /* approximate time for all rows together */
	/* only rows of this route; PEAL_ROUTE_NONE: all */
	enum peal_route route;
	uint64_t bytes; /* only rows of this message size; 0: all */
	const char *samples_out; /* path; NULL: no file */
	const char *hgrm_out; /* path; NULL: no file */
};

/**
 * Parses a benchmark's arguments. A wrong argument ends the process with status
 * 2.
 *
 * @param doc text for --help: what the benchmark measures.
 * @param seconds the default of --seconds.
 */
void peali_bench_parse(int argc, char **argv, const char *doc, double seconds,
		       struct peali_bench_options *options_out);

struct argp;

/**
 * Parses as peali_bench_parse, with options of the benchmark's own.
 *
 * @param more parser of these options; NULL: none.
 * @param input input of that parser.
 */
void peali_bench_parse_more(int argc, char **argv, const char *doc,
			    double seconds, const struct argp *more,
			    void *input,
			    struct peali_bench_options *options_out);

/**
 * Returns 1 if the options select rows of this route and size. Remembers both
 * for peali_bench_refuse.
 */
int peali_bench_wanted(const struct peali_bench_options *options,
		       enum peal_route route, uint64_t bytes);

/**
 * Prints that the options select no row, and the routes and sizes that
 * peali_bench_wanted was asked for since the parse.
 *
 * @return PEALI_EXIT_USAGE.
 */
int peali_bench_refuse(const char *benchmark,
		       const struct peali_bench_options *options);

#endif
