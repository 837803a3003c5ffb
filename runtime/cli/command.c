/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/command.h"

#include <stdlib.h>
#include <string.h>

#include <peal/device.h>
#include <peal/runtime.h>

#include "runtime/base/number.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/cli/output.h"

/* ---- messages of argp ---------------------------------------------------- */

/* While it parses, argp prints to this text in place of the terminal. So its
 * messages are escaped, and are in the object of --json. */
static struct {
	FILE *to, *terminal;
	char *text;
	size_t size;
	FILE *object_to; /* NULL: stdout */
	int json; /* 1: the message goes into an object */
} argp_says;

void peali_usage_errors_to(FILE *to)
{
	argp_says.object_to = to;
}

/* Returns 1 if an option takes the next argument as its value. */
static int takes_next(const struct argp *argp, const char *argument)
{
	const struct argp_option *o = argp->options;

	for (; o && (o->name || o->key); o++) {
		if (!o->arg)
			continue;
		if (o->name && argument[1] == '-' &&
		    strcmp(argument + 2, o->name) == 0)
			return 1;
		if (argument[1] == o->key && !argument[2])
			return 1;
	}
	return 0;
}

/* Returns 1 if --json is among the options, also behind a wrong one. */
static int wants_json(const struct argp *argp, int argc, char **argv, int own)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], "--json", 6) == 0 ||
		    strncmp(argv[i], "-j", 2) == 0)
			return 1;
		if (argv[i][0] == '-' && takes_next(argp, argv[i]))
			i++;
		else if (argv[i][0] != '-' && own)
			break;
	}
	return 0;
}

/*
 * Splits argp's text into the message, which may have newlines of an argument,
 * and the advice behind it. Returns the advice; "": there is none.
 */
static const char *split(char *text)
{
	static const char advice[] = "\nTry `";
	char *found = NULL, *at = text;

	text[strlen(text) - (text[strlen(text) - 1] == '\n')] = 0;
	while ((at = strstr(at, advice)))
		found = at++;
	if (!found)
		return "";
	*found = 0;
	return found + 1;
}

/* Removes the name of the command from argp's message. */
static const char *message_of(const char *text)
{
	const char *name_end = strstr(text, ": ");

	return name_end ? name_end + 2 : text;
}

/* Prints argp's message and its advice to the terminal, by one write. */
static void print_as_text(const char *message, const char *advice)
{
	char text[PEALI_TEXT_BYTES - 256], line[PEALI_TEXT_BYTES];
	int n;

	peali_text_escape(text, sizeof(text), message, strlen(message));
	n = snprintf(line, sizeof(line), "%s\n%.200s%s", text, advice,
		     *advice ? "\n" : "");
	peali_line_print(stderr, line, (size_t)n);
}

static void stop_listening(void)
{
	stderr = argp_says.terminal;
	fclose(argp_says.to);
	argp_says.to = NULL;
}

/* Runs when argp ends the process, after an error or --help. */
static void print_message(void)
{
	const char *advice;

	if (!argp_says.to)
		return;
	stop_listening();
	if (argp_says.size) {
		advice = split(argp_says.text);
		if (!argp_says.json) {
			print_as_text(argp_says.text, advice);
		} else {
			if (!peali_json_is_due())
				peali_json_due(argp_says.object_to ?
						       argp_says.object_to :
						       stdout);
			print_as_text(argp_says.text, "");
			peali_say_to_json(message_of(argp_says.text));
			peali_json_settle(PEALI_EXIT_USAGE);
		}
	}
	free(argp_says.text);
}

void peali_parse(const struct argp *argp, int argc, char **argv,
		 unsigned int flags, void *input)
{
	static int registered;

	int program = (flags & PEALI_PROGRAM_FOLLOWS) != 0;

	flags &= ~(unsigned int)PEALI_PROGRAM_FOLLOWS;
	argp_says.json = peali_json_is_due() ||
			 wants_json(argp, argc, argv, program);
	argp_says.to = open_memstream(&argp_says.text, &argp_says.size);
	if (!argp_says.to) {
		argp_parse(argp, argc, argv, flags, NULL, input);
		return;
	}
	if (!registered++)
		atexit(print_message);
	argp_says.terminal = stderr;
	peali_say_to(stderr);
	/* a variable in the GNU C Library, as argp is a part of this library */
	stderr = argp_says.to;
	argp_parse(argp, argc, argv, flags, NULL, input);
	stop_listening();
	free(argp_says.text);
}

const struct argp_option peali_json_options[] = {
	{ "json", 'j', NULL, 0, "print an object as JSON instead of tables",
	  0 },
	{ 0 },
};

void peali_refuse_value(struct argp_state *state,
			const struct peali_refusal *refusal)
{
	char text[PEALI_REFUSAL_BYTES];

	argp_error(state, "%s", peali_refusal_text(refusal, text));
}

void peali_say_refused(const struct peali_refusal *refusal)
{
	char text[PEALI_REFUSAL_BYTES];

	peali_say("%s", peali_refusal_text(refusal, text));
}

void peali_refuse_argument(struct argp_state *state, const char *argument)
{
	peali_refuse_value(state,
			   PEALI_REFUSAL(.object = "argument", .name = argument,
					 .problem = "is not expected",
					 .value = argument,
					 .allowed = "options only",
					 .remedy = "leave it out"));
}

uint64_t peali_parse_number(struct argp_state *state, const char *option,
			    const char *text, uint64_t least, uint64_t most)
{
	uint64_t value = 0, any = 0;
	int is_number;

	if (peali_number_parse(text, least, most, &value))
		return value;
	/* without a number the remedy is the least value */
	is_number = peali_number_parse(text, 0, UINT64_MAX, &any);
	peali_refuse_value(
		state,
		PEALI_REFUSAL(.object = "option", .name = option,
			      .problem = is_number ? NULL :
						     "is no whole number",
			      .value = text, .number = any, .least = least,
			      .most = most));
	return value;
}

error_t peali_json_parse(int key, char *argument, struct argp_state *state)
{
	if (key == ARGP_KEY_ARG)
		peali_refuse_argument(state, argument);
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	*(int *)state->input = 1;
	peali_json_due(stdout);
	return 0;
}

int peali_parse_json_only(int argc, char **argv, const char *help)
{
	struct argp argp = {
		.options = peali_json_options,
		.parser = peali_json_parse,
		.doc = help,
	};
	int json = 0;

	peali_parse(&argp, argc, argv, 0, &json);
	return json;
}

int peali_open_runtime(struct peal_runtime **runtime_out)
{
	if (peal_runtime_open(NULL, runtime_out) < 0)
		return peali_say_error(NULL);
	return 0;
}

int peali_is_gpu(const struct peal_device_info *device)
{
	static const char machine[] = "PTX machine";

	return !device->emulated &&
	       strncmp(device->name, machine, strlen(machine)) != 0;
}

int peali_all_emulated(struct peal_runtime *runtime)
{
	int n = peal_device_count(runtime);

	for (int i = 0; i < n; i++) {
		struct peal_device_info device;

		if (peal_device_info(runtime, i, &device) < 0 ||
		    peali_is_gpu(&device))
			return 0;
	}
	return 1;
}
