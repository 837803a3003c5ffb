/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_OUTPUT_H
#define PEAL_RUNTIME_CLI_OUTPUT_H

/*
 * What the sub-commands and benchmarks print. A row is a JSON object; a table
 * is an array of them. The same rows are printed as text, by a list of columns,
 * or as JSON with --json. Keys carry the unit: latency_ns_p50.
 *
 *	static const struct peali_column columns[] = {
 *		{ "from", "from", 0 },
 *		{ "latency_ns_p50", "latency p50 [ns]", 1 },
 *		{ NULL, NULL, 0 },
 *	};
 *	json_t *rows = json_array();
 *	json_t *row = peali_row_append(rows);
 *
 *	peali_row_text(row, "from", "device %d", from);
 *	if (n_samples >= 20)
 *		peali_row_real(row, "latency_ns_p50", p50);
 *	else
 *		peali_row_null(row, "latency_ns_p50", "needs 20 samples");
 *	peali_table_print(stdout, "latency, one way", columns, rows);
 *
 * Memory that runs out leaves cells or rows away; nothing here fails else.
 */

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/** Exit statuses of the command. */
enum peali_exit {
	PEALI_EXIT_OK = 0,
	PEALI_EXIT_FAILED = 1,
	PEALI_EXIT_USAGE = 2,
	PEALI_EXIT_WAIVED = 77
};

#define PEALI_AS_BYTES (-1)

/** A column of a table as text; a list ends with a key of NULL. */
struct peali_column {
	const char *key; /* of the rows */
	const char *title; /* with the unit, as in "bandwidth [GB/s]" */
	int decimals; /* of reals; PEALI_AS_BYTES: a size, as "4.0 MiB" */
};

/** A new empty row at the end of rows; belongs to rows. */
json_t *peali_row_append(json_t *rows);

/** Text, as printf; what is not UTF-8 becomes '?'. */
void peali_row_text(json_t *row, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** A whole number; JSON has no more than 2^63 - 1, above that it stays. */
void peali_row_uint(json_t *row, const char *key, uint64_t value);

/** A number; one that is not finite becomes null, "not measured". */
void peali_row_real(json_t *row, const char *key, double value);

/** true or false. */
void peali_row_flag(json_t *row, const char *key, int value);

/** null, and why in `key`_why; a table shows "-". */
void peali_row_null(json_t *row, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Prints rows as aligned columns under a title, numbers to the right. A column
 * that no row has is left out, as is the title if it is NULL.
 */
void peali_table_print(FILE *to, const char *title,
		       const struct peali_column *columns, const json_t *rows);

/** Prints one object, a field a line behind the column's title. */
void peali_record_print(FILE *to, const char *title,
			const struct peali_column *columns, const json_t *row);

/**
 * Prints an object as JSON: one key a line, in an array of objects one object a
 * line.
 *
 * @return 0, or -1 if the output cannot be written.
 */
int peali_json_print(FILE *to, const json_t *object);

/**
 * With --json an object is due, also from a command that fails: whoever prints
 * one by peali_json_print(to, ...) has delivered it.
 */
void peali_json_due(FILE *to);

/**
 * Ends a command: delivers what is due as {"error": what was said last,
 * "exit_status": status}.
 */
void peali_json_settle(int status);

/** A size with the prefix that people read: "4.0 MiB". Returns text. */
const char *peali_bytes_text(uint64_t bytes, char *text, size_t size);

/** "peal: ", the sentence, a newline, on stderr. */
void peali_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * Says what the calling thread's latest failed call of the library recorded.
 *
 * @param doing what was to be done, as in "launch 'blur@0'"; NULL: nothing.
 * @return PEALI_EXIT_FAILED.
 */
int peali_say_error(const char *doing);

/**
 * Ends a command: flushes stdout.
 *
 * @return status, or PEALI_EXIT_FAILED with a message if stdout cannot take
 *         what was printed.
 */
int peali_finish(int status);

#endif
