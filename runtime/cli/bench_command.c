/* SPDX-License-Identifier: Apache-2.0 */
/* `peal bench`: finds benchmarks by name and passes their arguments on. */
#include "runtime/cli/command.h"
#include "runtime/base/refusal.h"
#include "runtime/cli/output.h"

#if PEAL_WITH_BENCH

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

struct arguments {
	const struct peali_bench **chosen;
	int n_chosen;
	int json;
	int rest; /* index of the benchmarks' own arguments */
};

static const struct peali_bench *find(const char *name)
{
	for (int i = 0; peali_benches[i]; i++)
		if (strcmp(peali_benches[i]->name, name) == 0)
			return peali_benches[i];
	return NULL;
}

/* Writes "latency, throughput, ...". */
static void names(char *text, size_t size)
{
	text[0] = 0;
	for (int i = 0; peali_benches[i]; i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", used ? ", " : "",
			 peali_benches[i]->name);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	char list[256];

	switch (key) {
	case 'j':
		arguments->json = 1;
		peali_json_due(stdout);
		return 0;
	case ARGP_KEY_ARG:
		names(list, sizeof(list));
		arguments->chosen[arguments->n_chosen] = find(argument);
		if (!arguments->chosen[arguments->n_chosen])
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "argument",
					      .name = argument,
					      .problem = "is no benchmark",
					      .value = argument,
					      .allowed = list,
					      .remedy = "use latency"));
		arguments->n_chosen++;
		/* The first option after a name belongs to the benchmarks. */
		if (state->next < state->argc &&
		    state->argv[state->next][0] == '-') {
			arguments->rest = state->next;
			state->next = state->argc;
		}
		return 0;
	case ARGP_KEY_END:
		names(list, sizeof(list));
		if (!arguments->n_chosen)
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "argument",
					      .name = "BENCHMARK",
					      .problem = "is missing",
					      .value = "none", .allowed = list,
					      .remedy = "use latency"));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static char *help_filter(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t size;
	FILE *to;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	to = open_memstream(&list, &size);
	if (!to)
		return NULL;
	fprintf(to, "Benchmarks:\n");
	for (int i = 0; peali_benches[i]; i++)
		fprintf(to, "  %-11s %s\n", peali_benches[i]->name,
			peali_benches[i]->help);
	fprintf(to,
		"\n`peal bench NAME --help' lists the options of a benchmark.\n");
	fclose(to);
	return list;
}

/* Removes --json from the benchmarks' arguments. Returns their number. */
static int take_json(int argc, char **argv, int *json)
{
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0 ||
		    strcmp(argv[i], "-j") == 0)
			*json = 1;
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	return kept;
}

/* Runs a benchmark with a copy of argv, because argp reorders argv. */
static int run_one(const struct peali_bench *bench, int argc, char **argv,
		   int json)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));
	char name[48];
	int status;

	if (!copy) {
		peali_say("out of memory");
		return PEALI_EXIT_FAILED;
	}
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	snprintf(name, sizeof(name), "peal bench %s", bench->name);
	copy[0] = name;
	status = bench->run(argc, copy, json);
	free(copy);
	return status;
}

/* Runs a benchmark and parses its output as JSON; NULL: it has none. */
static int run_captured(const struct peali_bench *bench, int argc, char **argv,
			json_t **object_out)
{
	FILE *terminal = stdout;
	char *text = NULL;
	size_t size = 0;
	int status;

	/*
	 * A variable in the GNU C Library. Errors keep the real standard output,
	 * see peali_json_due.
	 */
	stdout = open_memstream(&text, &size);
	if (!stdout) {
		stdout = terminal;
		peali_say("cannot store the output of '%s': %s", bench->name,
			  strerror(errno));
		return PEALI_EXIT_FAILED;
	}
	status = run_one(bench, argc, argv, 1);
	fclose(stdout);
	stdout = terminal;
	*object_out = json_loads(text, 0, NULL);
	free(text);
	return status;
}

/* Appends the rows of `object`. Other existing keys of `all` stay. */
static void merge(json_t *all, json_t *object)
{
	json_t *rows = json_object_get(all, "rows");

	if (rows)
		json_array_extend(rows, json_object_get(object, "rows"));
	json_object_update_missing(all, object);
}

/*
 * Combines exit statuses: failed, else usage error, else OK if any ran, else
 * the new status.
 */
static int combine(int before, int status)
{
	if (before == PEALI_EXIT_FAILED || status == PEALI_EXIT_FAILED)
		return PEALI_EXIT_FAILED;
	if (before == PEALI_EXIT_USAGE || status == PEALI_EXIT_USAGE)
		return PEALI_EXIT_USAGE;
	return before == PEALI_EXIT_OK || status == PEALI_EXIT_OK ?
		       PEALI_EXIT_OK :
		       status;
}

static int run_all(const struct arguments *arguments, int argc, char **argv)
{
	/* `error` and `exit_status` then are of all benchmarks together */
	int together = arguments->json && arguments->n_chosen > 1;
	json_t *all = json_object();
	int status = PEALI_EXIT_WAIVED;

	for (int i = 0; i < arguments->n_chosen; i++) {
		json_t *object = NULL;
		int one;

		if (together)
			one = run_captured(arguments->chosen[i], argc, argv,
					   &object);
		else
			one = run_one(arguments->chosen[i], argc, argv,
				      arguments->json);
		status = combine(status, one);
		if (object)
			merge(all, object);
		json_decref(object);
		if (!arguments->json && i + 1 < arguments->n_chosen)
			printf("\n");
	}
	if (together && status)
		peali_row_error(all, status);
	if (together)
		peali_json_print(stdout, all);
	json_decref(all);
	return status;
}

static int bench_run(int argc, char **argv)
{
	const struct argp argp = {
		.options = peali_json_options,
		.parser = parse,
		.args_doc = "NAME... [OPTION...]",
		.doc = "Runs benchmarks; options behind the names go to each of"
		       " them.\v-",
		.help_filter = help_filter,
	};
	struct arguments arguments = { .rest = argc };
	char *own;
	int status;

	arguments.chosen = calloc((size_t)argc, sizeof(*arguments.chosen));
	if (!arguments.chosen) {
		peali_say("out of memory");
		return PEALI_EXIT_FAILED;
	}
	peali_parse(&argp, argc, argv, ARGP_IN_ORDER, &arguments);
	/* The element before the first argument becomes argv[0]. */
	own = argv[arguments.rest - 1];
	argc = take_json(argc - arguments.rest + 1, argv + arguments.rest - 1,
			 &arguments.json);
	if (arguments.json)
		peali_json_due(stdout);
	status = run_all(&arguments, argc, argv + arguments.rest - 1);
	argv[arguments.rest - 1] = own;
	free(arguments.chosen);
	return status;
}

#else

static int bench_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	peali_say("this build has no benchmarks; configure it with "
		  "-DPEAL_BUILD_BENCH=ON");
	return PEALI_EXIT_WAIVED;
}

#endif

const struct peali_command peali_command_bench = {
	.name = "bench",
	.help = "runs benchmarks and verifies their messages",
	.run = bench_run,
};
