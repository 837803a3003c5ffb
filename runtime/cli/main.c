/* SPDX-License-Identifier: Apache-2.0 */
/* The command `peal`: finds the sub-command and runs it. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/runtime.h>

#include "runtime/cli/command.h"
#include "runtime/base/refusal.h"
#include "runtime/cli/interrupt.h"
#include "runtime/cli/output.h"

#define NAMES "info, topo, run, bench, spawn, doctor, probe and help"

static const struct peali_command *const commands[] = {
	&peali_command_info,  &peali_command_topo,
	&peali_command_run,   &peali_command_bench,
	&peali_command_spawn, &peali_command_doctor,
	&peali_command_probe, NULL,
};

/* Result of the parser: the sub-command and the index of its arguments. */
struct found {
	const struct peali_command *command;
	int at;
	int help; /* 1: `peal help COMMAND` */
};

static const struct peali_command *find(const char *name)
{
	for (int i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* Takes the name of a command, or `help` and the name of a command. */
static void take_name(struct found *found, struct argp_state *state,
		      const char *name)
{
	if (strcmp(name, "help") == 0) {
		if (found->help || state->next == state->argc)
			argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		found->help = 1;
		return;
	}
	found->command = find(name);
	if (!found->command)
		peali_refuse_value(
			state, PEALI_REFUSAL(.object = "command", .name = name,
					     .problem = "does not exist",
					     .value = name, .allowed = NAMES,
					     .remedy = "use peal --help"));
	found->at = state->next - 1;
	state->next = state->argc;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		take_name(state->input, state, argument);
		return 0;
	case ARGP_KEY_NO_ARGS:
		peali_refuse_value(
			state,
			PEALI_REFUSAL(.object = "argument", .name = "COMMAND",
				      .problem = "is missing", .value = "none",
				      .allowed = NAMES,
				      .remedy = "use peal --help"));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_version(FILE *to, struct argp_state *state)
{
	(void)state;
	fprintf(to, "peal %s\n", peal_version());
}

/* Lists the commands. argp prints the result after the options of --help. */
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
	fprintf(to, "Commands:\n");
	for (int i = 0; commands[i]; i++)
		fprintf(to, "  %-8s %s\n", commands[i]->name,
			commands[i]->help);
	fprintf(to, "  %-8s %s\n", "help",
		"`peal help COMMAND' prints the help of a command\n");
	fprintf(to, "`peal COMMAND --help' prints it, too. Settings come from "
		    "the environment;\n`peal info' lists them. Exit status: 0 "
		    "ok, 1 failed, 2 usage, 77 waived,\n130 ended by "
		    "SIGINT.\n");
	fclose(to);
	return list;
}

/*
 * Opens closed standard descriptors on /dev/null in the wrong direction. So no
 * later open gets such a descriptor, and its use still fails.
 */
static void hold_standard_descriptors(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			_exit(PEALI_EXIT_FAILED);
}

/* Sets what drivers, the C library and system calls read. */
static void prepare(void)
{
	hold_standard_descriptors();
	/*
	 * CUDA's driver may load functions at their first use, and this may
	 * wait for a resident kernel. The library loads all functions that it
	 * knows before a launch. EAGER covers all other functions. The driver
	 * reads it when it is loaded.
	 */
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	/* Only for the width of characters; numbers keep the decimal point. */
	setlocale(LC_CTYPE, "");
	/* A closed pipe or a size limit then causes an error, not a signal. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	argp_err_exit_status = PEALI_EXIT_USAGE;
	argp_program_version_hook = print_version;
}

/* Runs a command with its arguments, and with --help for `peal help`. */
static int run(const struct found *found, int argc, char **argv)
{
	char **own = calloc((size_t)argc + 2, sizeof(*own));
	char name[32], help[] = "--help";
	int status = PEALI_EXIT_FAILED;

	if (!own) {
		peali_say("out of memory");
		return status;
	}
	memcpy(own, argv, (size_t)argc * sizeof(*own));
	snprintf(name, sizeof(name), "peal %s", found->command->name);
	own[0] = name;
	if (found->help)
		own[argc++] = help;
	if (found->command->takes_signals || peali_interrupt_start() == 0)
		status = found->command->run(argc, own);
	free(own);
	return status;
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]\nhelp [COMMAND]",
		.doc = "Actors in persistent GPU kernels: checks the machine,"
		       " streams input through ring kernels, measures.\v-",
		.help_filter = help_filter,
	};
	struct found found = { NULL, 0, 0 };
	char name[] = "peal";
	int status;

	prepare();
	if (argc)
		argv[0] = name; /* --help prints it, and the caller chose it */
	peali_parse(&argp, argc, argv, ARGP_IN_ORDER, &found);
	status = run(&found, argc - found.at, argv + found.at);
	peali_json_settle(status);
	return peali_finish(status);
}
