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
#include "runtime/cli/output.h"

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
};

static const struct peali_command *find(const char *name)
{
	for (int i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct found *found = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		found->command = find(argument);
		if (!found->command)
			argp_error(state,
				   "there is no command '%s'; there are info, "
				   "topo, run, bench, spawn, doctor and probe",
				   argument);
		found->at = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a command is missing; there are info, topo, "
				  "run, bench, spawn, doctor and probe");
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
	fprintf(to, "\n`peal COMMAND --help' says more of each. Settings come "
		    "from the environment;\n`peal info' lists them. Exit "
		    "status: 0 ok, 1 failed, 2 usage, 77 waived.\n");
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

int main(int argc, char **argv)
{
	const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = "Actors in persistent GPU kernels: looks at the machine,"
		       " streams input through ring kernels, measures.\v-",
		.help_filter = help_filter,
	};
	struct found found = { NULL, 0 };
	char name[32];
	int status;

	hold_standard_descriptors();
	/*
	 * CUDA's driver may load functions at their first use, and this may
	 * wait for a resident kernel. The library loads all functions that it
	 * knows before a launch. EAGER covers all other functions. The driver
	 * reads it when it is loaded.
	 */
	setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	/* Streams in one hardware queue would wait for each other's kernels. */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	/* Only for the width of characters; numbers keep the decimal point. */
	setlocale(LC_CTYPE, "");
	/* A closed pipe or a size limit then causes an error, not a signal. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	argp_err_exit_status = PEALI_EXIT_USAGE;
	argp_program_version_hook = print_version;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &found);
	snprintf(name, sizeof(name), "peal %s", found.command->name);
	argv[found.at] = name;
	status = found.command->run(argc - found.at, argv + found.at);
	peali_json_settle(status);
	return peali_finish(status);
}
