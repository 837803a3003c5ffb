/* SPDX-License-Identifier: Apache-2.0 */
/* `peal run`: the arguments, and the order of set-up and shutdown. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <peal/metrics.h>
#include "runtime/cli/run.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/cli/command.h"

enum {
	KEY_FORMAT = 256,
	KEY_REQUIRE,
	KEY_VERIFY,
	KEY_CAPACITY,
	KEY_LINE_BYTES,
	KEY_LANES,
	KEY_PROGRESS,
	KEY_PROFILE
};

static const struct argp_option options[] = {
	{ "input", 'i', "FILE", 0,
	  "read FILE; - is standard input, the default", 0 },
	{ "output", 'o', "FILE", 0,
	  "write FILE; - is standard output, and the report then goes to "
	  "standard error; without it nothing is written",
	  0 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "y4m, lines or records:BYTES; without it y4m if the input begins "
	  "like one, else lines",
	  0 },
	{ "require", KEY_REQUIRE, "ROUTE", 0,
	  "links between kernels take this route (local, peer, mapped-host, "
	  "staged) or the run fails",
	  0 },
	{ "verify", KEY_VERIFY, NULL, 0,
	  "compute every item on the host too and compare bit for bit", 0 },
	{ "capacity", KEY_CAPACITY, "N", 0,
	  "slots of each link, a power of two; else by the size of items", 0 },
	{ "line-bytes", KEY_LINE_BYTES, "N", 0,
	  "the longest line of the format lines; 1048576", 0 },
	{ "lanes", KEY_LANES, "N", 0,
	  "lanes of each worker; 1 on emulated devices, 128 on GPUs", 0 },
	{ "progress", KEY_PROGRESS, NULL, 0,
	  "progress on standard error even if that is no terminal", 0 },
	{ "profile", KEY_PROFILE, NULL, 0,
	  "report how busy stages and devices were, and for how long they "
	  "computed, copied and waited",
	  0 },
	{ "json", 'j', NULL, 0, "report as JSON instead of tables", 0 },
	{ 0 },
};

uint64_t peali_run_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void peali_run_fail(struct peali_run *run, const char *format, ...)
{
	va_list arguments;

	pthread_mutex_lock(&run->failing);
	va_start(arguments, format);
	if (!run->failure[0])
		peali_text_vformat(run->failure, sizeof(run->failure), format,
				   arguments);
	va_end(arguments);
	pthread_mutex_unlock(&run->failing);
}

void peali_run_fail_call(struct peali_run *run, const char *doing)
{
	const struct peal_error_info *error = peal_last_error();

	peali_run_fail(run, "cannot %s: %s (%s)", doing,
		       error->text[0] ? error->text :
					peal_error_text(error->code),
		       peal_error_name(error->code));
}

/* ---- arguments ----------------------------------------------------------- */

static void parse_route(struct argp_state *state, const char *text,
			struct peali_run_options *to)
{
	int route = peal_route_parse(text);

	if (route <= 0 || route == PEAL_ROUTE_PROCESS)
		peali_refuse_value(
			state,
			PEALI_REFUSAL(.object = "option", .name = "--require",
				      .problem = "is no route of a stage",
				      .value = text,
				      .allowed =
					      "local, peer, mapped-host or staged",
				      .remedy = "use staged"));
	to->require = (enum peal_route)route;
}

static void parse_capacity(struct argp_state *state, const char *text,
			   struct peali_run_options *to)
{
	to->capacity = (uint32_t)peali_parse_number(state, "--capacity", text,
						    1, 1u << 20);
	if (to->capacity & (to->capacity - 1))
		peali_refuse_value(
			state,
			PEALI_REFUSAL(.object = "option", .name = "--capacity",
				      .number = to->capacity, .least = 1,
				      .most = 1u << 20, .power_of_two = 1));
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct peali_run_options *to = state->input;

	switch (key) {
	case 'i':
		to->input = argument;
		return 0;
	case 'o':
		to->output = argument;
		return 0;
	case 'j':
		to->json = 1;
		return 0;
	case KEY_FORMAT:
		to->format = argument;
		return 0;
	case KEY_REQUIRE:
		parse_route(state, argument, to);
		return 0;
	case KEY_VERIFY:
		to->verify = 1;
		return 0;
	case KEY_CAPACITY:
		parse_capacity(state, argument, to);
		return 0;
	case KEY_LINE_BYTES:
		to->line_bytes = (uint32_t)peali_parse_number(
			state, "--line-bytes", argument, 1,
			PEALI_ITEM_BYTES_MAX);
		return 0;
	case KEY_LANES:
		to->lanes = (uint32_t)peali_parse_number(state, "--lanes",
							 argument, 1, 1024);
		return 0;
	case KEY_PROGRESS:
		to->progress = 1;
		return 0;
	case KEY_PROFILE:
		to->profile = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (to->text)
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "argument",
					      .name = argument,
					      .problem = "is not expected",
					      .value = argument,
					      .allowed = "one pipeline",
					      .remedy =
						      "put the pipeline in quotes"));
		to->text = argument;
		return 0;
	case ARGP_KEY_END:
		if (!to->text)
			peali_refuse_value(
				state,
				PEALI_REFUSAL(.object = "argument",
					      .name = "PIPELINE",
					      .problem = "is missing",
					      .value = "none",
					      .allowed = "one pipeline",
					      .remedy = "use 'blur ! sobel ! "
							"threshold:level=96'"));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Returns 1 if an argument sends the items to standard output. */
static int to_stdout(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "-o-") == 0 ||
		    strcmp(argv[i], "--output=-") == 0 ||
		    (i > 1 && strcmp(argv[i], "-") == 0 &&
		     (strcmp(argv[i - 1], "-o") == 0 ||
		      strcmp(argv[i - 1], "--output") == 0)))
			return 1;
	return 0;
}

/* Lists stages and formats. argp prints the result after the options. */
static char *help_filter(int key, const char *text, void *input)
{
	const struct peali_stage_kind *kinds;
	char *list = NULL;
	size_t size;
	uint32_t n;
	FILE *to;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	to = open_memstream(&list, &size);
	if (!to)
		return NULL;
	kinds = peali_stage_kinds(&n);
	fprintf(to, "Stages:\n");
	for (uint32_t i = 0; i < n; i++) {
		fprintf(to, "  %-10s %s\n", kinds[i].name, kinds[i].help);
		for (const struct peali_stage_key *k = kinds[i].keys; k->name;
		     k++)
			fprintf(to, "  %-10s   %s=%g: %s\n", "", k->name,
				k->value, k->help);
	}
	fprintf(to, "\nFormats:\n");
	for (const struct peali_format *const *f = peali_formats(); *f; f++)
		fprintf(to, "  %s\n", (*f)->help);
	fclose(to);
	return list;
}

/* ---- the run ------------------------------------------------------------- */

/*
 * Parses the pipeline. Returns 0, or PEALI_EXIT_USAGE after an error message.
 * n_devices 0: unknown.
 */
static int parse_pipeline(struct peali_run *run, uint32_t n_devices)
{
	struct peali_pipeline_error error;
	char *place;

	if (peali_pipeline_parse(run->options.text, n_devices, &run->pipeline,
				 &error) == 0)
		return 0;
	place = strchr(error.text, '\n');
	peali_say("pipeline: %.*s", (int)(place - error.text), error.text);
	strcat(place, "\n");
	peali_line_print(stderr, place + 1, strlen(place + 1));
	return PEALI_EXIT_USAGE;
}

/*
 * Opens the input. An unknown format is a usage error; an unreadable input is
 * not.
 */
static int open_input(struct peali_run *run)
{
	const struct peali_reader_options reader = {
		.format = run->options.format,
		.line_bytes_max = run->options.line_bytes,
		.stop_fd = run->stop_fd,
	};
	struct peali_pipeline_error error;
	int result =
		peali_reader_open(&run->reader, run->options.input, &reader);

	if (result) {
		peali_say("%s", run->reader.message);
		return result == -EINVAL ? PEALI_EXIT_USAGE : PEALI_EXIT_FAILED;
	}
	if (peali_pipeline_check_format(&run->pipeline, run->options.text,
					run->reader.stream.format->image,
					&error)) {
		peali_say("pipeline: %s", error.text);
		return PEALI_EXIT_USAGE;
	}
	return 0;
}

static int make_memory(struct peali_run *run)
{
	uint32_t most = run->reader.stream.item_bytes_max;
	uint64_t in_flight = (uint64_t)run->options.capacity * run->n_links +
			     2 * run->n_links;
	int result = 0;

	run->latency = calloc(1, sizeof(*run->latency));
	if (run->options.verify)
		result = peali_verify_init(&run->verify, &run->pipeline, most,
					   in_flight);
	else if (run->reader.stream.format != &peali_format_records)
		run->buffer = aligned_alloc(16, (run->message_bytes + 15) &
							~(uint64_t)15);
	if (run->latency && !result &&
	    (run->buffer || run->options.verify ||
	     run->reader.stream.format == &peali_format_records))
		return 0;
	peali_say("out of memory for items of %u bytes", most);
	return -1;
}

/* Does everything that is necessary before the first item. */
static int set_up(struct peali_run *run)
{
	int status = peali_open_runtime(&run->runtime);

	if (status)
		return status;
	run->emulated = peali_all_emulated(run->runtime);
	status = parse_pipeline(run, (uint32_t)peal_device_count(run->runtime));
	if (status)
		return status;
	peali_pipeline_place(&run->pipeline,
			     (uint32_t)peal_device_count(run->runtime));
	status = open_input(run);
	if (status)
		return status;
	if (peali_run_build(run)) {
		peali_say("%s", run->failure);
		return PEALI_EXIT_FAILED;
	}
	if (make_memory(run))
		return PEALI_EXIT_FAILED;
	/* Last step: an output is not truncated for a run that cannot start. */
	if (run->options.output &&
	    peali_writer_open(&run->writer, run->options.output,
			      &run->reader.stream, run->halt_fd)) {
		peali_say("%s", run->writer.message);
		return PEALI_EXIT_FAILED;
	}
	return 0;
}

static int stream(struct peali_run *run)
{
	if (run->options.profile &&
	    peal_metrics_snapshot(run->runtime, &run->before) < 0)
		return peali_say_error("read the runtime's counters");
	peali_run_monitor_flow(run);
	peali_run_flow(run);
	peali_run_collect(run);
	peali_run_monitor_rest(run);
	if (run->options.output && peali_writer_close(&run->writer) < 0 &&
	    run->writer.result != -EINTR)
		peali_run_fail(run, "%s", run->writer.message);
	return peali_run_report(run);
}

static void tear_down(struct peali_run *run, int *status)
{
	peali_writer_close(&run->writer);
	peali_reader_close(&run->reader);
	if (run->runtime && peal_runtime_shutdown(run->runtime) < 0)
		*status = peali_say_error("shut the runtime down");
	peali_verify_fini(&run->verify);
	free(run->latency);
	free(run->buffer);
}

static struct peali_run *make_run(void)
{
	struct peali_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->reader.fd = -1;
	run->writer.fd = -1;
	run->before.size = sizeof(run->before);
	run->after.size = sizeof(run->after);
	pthread_mutex_init(&run->failing, NULL);
	pthread_mutex_init(&run->sampled, NULL);
	return run;
}

static int run_run(int argc, char **argv)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "'STAGE[@DEVICE][:KEY=VALUE,...] [! STAGE ...]'",
		.doc = "Streams input through one ring kernel per stage. "
		       "Stages without a device take turns.\v-",
		.help_filter = help_filter,
	};
	struct peali_run *run = make_run();
	int status;

	if (!run) {
		peali_say("out of memory");
		return PEALI_EXIT_FAILED;
	}
	if (to_stdout(argc, argv))
		peali_usage_errors_to(stderr);
	peali_parse(&argp, argc, argv, 0, &run->options);
	if (run->options.json)
		peali_json_due(peali_run_report_to(&run->options));
	run->options.progress |= isatty(STDERR_FILENO);
	status = parse_pipeline(run, 0);
	if (!status && peali_run_monitor_start(run)) {
		peali_say("%s", run->failure);
		status = PEALI_EXIT_FAILED;
	} else if (!status) {
		status = set_up(run);
		if (!status)
			status = stream(run);
		tear_down(run, &status);
		peali_run_monitor_stop(run);
	}
	free(run);
	return status;
}

const struct peali_command peali_command_run = {
	.name = "run",
	.help = "streams video, lines or records through ring kernels",
	.run = run_run,
	.takes_signals = 1,
};
