/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all benchmarks: see bench/options.h. */
#include "bench/options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <peal/errors.h>

#include "runtime/base/number.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"

#define SIZES_MAX 32 /* more sizes are not listed */

/* The rows that a benchmark has. */
static struct {
	uint32_t routes; /* mask */
	uint64_t bytes[SIZES_MAX];
	size_t n;
} offered;

static const struct argp_option list[] = {
	{ "seconds", 's', "N", 0, "Measure for about this time, in all", 0 },
	{ "route", 'r', "NAME", 0,
	  "Only rows of this route: local, peer, mapped-host or staged", 0 },
	{ "bytes", 'b', "N", 0, "Only rows of this message size", 0 },
	{ "samples-out", 'o', "FILE", 0, "Write every kept sample as CSV", 0 },
	{ "hgrm-out", 'H', "FILE", 0,
	  "Write distributions as HdrHistogram text; with several rows each one "
	  "goes to a FILE of its own, its label before the suffix",
	  0 },
	{ 0 },
};

static double number(struct argp_state *state, const char *name,
		     const char *text, double least, double most)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || *end || errno || !(value >= least && value <= most))
		peali_refuse_value(
			state,
			PEALI_REFUSAL(.object = "option",
				      .name = PEALI_PRINT("--%s", name),
				      .problem = end == text || *end ?
							 "is no number" :
							 NULL,
				      .value = text,
				      .allowed = PEALI_PRINT("%g..%g", least,
							     most),
				      .remedy = PEALI_PRINT(
					      "use %g",
					      value < least ? least : most)));
	return value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct peali_bench_options *options = state->input;
	int route;

	switch (key) {
	case 's':
		options->seconds =
			number(state, "seconds", argument, 0.01, 86400);
		return 0;
	case 'r':
		route = peal_route_parse(argument);
		if (route <= 0 || route == PEAL_ROUTE_PROCESS)
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "option",
					      .name = "--route",
					      .problem =
						      "is no route within a process",
					      .value = argument,
					      .allowed =
						      "local, peer, mapped-host or "
						      "staged",
					      .remedy = "use peer"));
		options->route = (enum peal_route)route;
		return 0;
	case 'b':
		if (!peali_number_parse(argument, 1, 1u << 28, &options->bytes))
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "option",
					      .name = "--bytes",
					      .problem =
						      peali_number_parse(
							      argument, 0,
							      UINT64_MAX,
							      &options->bytes) ?
							      NULL :
							      "is no whole number",
					      .value = argument,
					      .allowed = PEALI_PRINT("1..%u",
								     1u << 28),
					      .remedy =
						      "leave it out for all sizes"));
		return 0;
	case 'o':
		options->samples_out = argument;
		return 0;
	case 'H':
		options->hgrm_out = argument;
		return 0;
	case ARGP_KEY_ARG:
		peali_refuse_argument(state, argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Inputs of both parsers. */
struct both {
	struct peali_bench_options *options;
	void *more; /* input of the benchmark's own parser */
};

static error_t parse_both(int key, char *argument, struct argp_state *state)
{
	struct both *both = state->input;
	error_t error;

	if (key == ARGP_KEY_INIT) {
		if (both->more)
			state->child_inputs[0] = both->more;
		return 0;
	}
	state->input = both->options;
	error = parse(key, argument, state);
	state->input = both;
	return error;
}

void peali_bench_parse_more(int argc, char **argv, const char *doc,
			    double seconds, const struct argp *more,
			    void *input,
			    struct peali_bench_options *options_out)
{
	const struct argp_child children[] = { { more, 0, NULL, 0 }, { 0 } };
	const struct argp argp = {
		.options = list,
		.parser = parse_both,
		.doc = doc,
		.children = more ? children : NULL,
	};
	struct both both = { options_out, input };

	memset(&offered, 0, sizeof(offered));
	*options_out = (struct peali_bench_options){ .seconds = seconds };
	peali_parse(&argp, argc, argv, 0, &both);
}

void peali_bench_parse(int argc, char **argv, const char *doc, double seconds,
		       struct peali_bench_options *options_out)
{
	peali_bench_parse_more(argc, argv, doc, seconds, NULL, NULL,
			       options_out);
}

static void remember(enum peal_route route, uint64_t bytes)
{
	size_t at = 0;

	offered.routes |= (uint32_t)route;
	while (at < offered.n && offered.bytes[at] < bytes)
		at++;
	if (offered.n == SIZES_MAX ||
	    (at < offered.n && offered.bytes[at] == bytes))
		return;
	memmove(offered.bytes + at + 1, offered.bytes + at,
		(offered.n - at) * sizeof(*offered.bytes));
	offered.bytes[at] = bytes;
	offered.n++;
}

int peali_bench_refuse(const char *benchmark,
		       const struct peali_bench_options *options)
{
	char allowed[PEALI_REFUSAL_BYTES], routes[96] = "",
					   sizes[24 * SIZES_MAX] = "";
	size_t used = 0;

	for (uint32_t bit = 1; bit && bit <= offered.routes; bit <<= 1)
		if (offered.routes & bit)
			used += (size_t)snprintf(
				routes + used, sizeof(routes) - used, "%s%s",
				used ? ", " : "",
				peal_route_name((enum peal_route)bit));
	used = 0;
	for (size_t i = 0; i < offered.n; i++)
		used += (size_t)snprintf(sizes + used, sizeof(sizes) - used,
					 "%s%llu", i ? ", " : "",
					 (unsigned long long)offered.bytes[i]);
	snprintf(allowed, sizeof(allowed), "%.96s%s%.250s bytes", routes,
		 *routes ? "; " : "", sizes);
	peali_say_refused(
		PEALI_REFUSAL(.object = "benchmark", .name = benchmark,
			      .problem = "has no such row",
			      .value = PEALI_PRINT(
				      "%s, %llu bytes",
				      options->route ?
					      peal_route_name(options->route) :
					      "any route",
				      (unsigned long long)options->bytes),
			      .allowed = allowed,
			      .remedy = "leave out --route and --bytes"));
	return PEALI_EXIT_USAGE;
}

int peali_bench_wanted(const struct peali_bench_options *options,
		       enum peal_route route, uint64_t bytes)
{
	remember(route, bytes);
	if (options->route && options->route != route)
		return 0;
	return !options->bytes || options->bytes == bytes;
}
