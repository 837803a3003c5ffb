/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_COMMAND_H
#define PEAL_RUNTIME_CLI_COMMAND_H

/*
 * The sub-commands. Each one parses its own arguments (argv[0] is "peal NAME")
 * and returns the exit status.
 */

#include <argp.h>
#include <stdint.h>
#include <stdio.h>

struct peal_runtime;
struct peali_refusal;
struct peal_device_info;

struct peali_command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
	/* 1: it takes SIGINT and SIGTERM itself, else interrupt.h does */
	int takes_signals;
};

extern const struct peali_command peali_command_info;
extern const struct peali_command peali_command_topo;
extern const struct peali_command peali_command_run;
extern const struct peali_command peali_command_bench;
extern const struct peali_command peali_command_spawn;
extern const struct peali_command peali_command_doctor;
extern const struct peali_command peali_command_probe;

/**
 * A flag of peali_parse: the first argument that is no option is a program. All
 * arguments behind it are the program's.
 */
#define PEALI_PROGRAM_FOLLOWS 0x10000u

/**
 * Parses arguments as argp_parse. A wrong argument ends the process with status
 * 2 and a message. With --json, or if an object is due, the message is in the
 * object of peali_json_settle.
 */
void peali_parse(const struct argp *argp, int argc, char **argv,
		 unsigned int flags, void *input);

/** Sets the stream of the objects of peali_parse, by default stdout. */
void peali_usage_errors_to(FILE *to);

/** Refuses an argument in a parser of argp, for a command with options only. */
void peali_refuse_argument(struct argp_state *state, const char *argument);

/** Refuses a value in a parser of argp, and ends the process. */
void peali_refuse_value(struct argp_state *state,
			const struct peali_refusal *refusal);

/** Prints a text about a value that another place than a parser refuses. */
void peali_say_refused(const struct peali_refusal *refusal);

/**
 * Parses a whole number. Refuses another text, and ends the process.
 *
 * @param option the option with its dashes, for the message.
 */
uint64_t peali_parse_number(struct argp_state *state, const char *option,
			    const char *text, uint64_t least, uint64_t most);

/** argp options of a sub-command that has only --json; `input` is an int. */
extern const struct argp_option peali_json_options[];
error_t peali_json_parse(int key, char *argument, struct argp_state *state);

/**
 * Parses arguments that may only contain --json.
 *
 * @param help description of the sub-command.
 * @return 1 if --json was given, else 0. A wrong argument ends the process.
 */
int peali_parse_json_only(int argc, char **argv, const char *help);

/**
 * Opens the runtime with default options. Prints an error if that fails.
 *
 * @return 0 or PEALI_EXIT_FAILED.
 */
int peali_open_runtime(struct peal_runtime **runtime_out);

/**
 * Returns 1 for a GPU and 0 for an emulated device. Returns 0 for a device of
 * the PTX machine (tests/ptx), too: it executes device code on the CPU.
 */
int peali_is_gpu(const struct peal_device_info *device);

/** Returns 1 if no device of the runtime is a GPU. */
int peali_all_emulated(struct peal_runtime *runtime);

#endif
