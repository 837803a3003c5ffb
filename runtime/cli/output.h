/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_OUTPUT_H
#define PEAL_RUNTIME_CLI_OUTPUT_H

/*
 * Output of the sub-commands and benchmarks. A row is a JSON object, a table is
 * an array of rows. Rows are printed as text by a list of columns, or as JSON
 * with --json. Keys contain the unit: latency_ns_p50.
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
 * Without memory, cells or rows are missing. There are no other errors.
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

/** A column of a text table. A key of NULL ends a list of columns. */
struct peali_column {
	const char *key; /* key in the rows */
	const char *title; /* with the unit, as in "bandwidth [GB/s]" */
	int decimals; /* of reals; PEALI_AS_BYTES: a size, as "4.0 MiB" */
};

/** Appends an empty row. `rows` owns it. */
json_t *peali_row_append(json_t *rows);

/** Sets a text, formatted as by printf. Bytes that are not UTF-8 become '?'. */
void peali_row_text(json_t *row, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Sets an integer. Values above the limit of JSON become 2^63 - 1. */
void peali_row_uint(json_t *row, const char *key, uint64_t value);

/** Sets a real number. Infinity and NaN become null, "not measured". */
void peali_row_real(json_t *row, const char *key, double value);

/** Sets true or false. */
void peali_row_flag(json_t *row, const char *key, int value);

/** Sets null, and the reason as `key`_why. A table shows "-". */
void peali_row_null(json_t *row, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Prints rows as aligned columns with numbers to the right. Columns without any
 * cell are left out. A title of NULL is left out.
 */
void peali_table_print(FILE *to, const char *title,
		       const struct peali_column *columns, const json_t *rows);

/** Prints one object, with one line of title and value per column. */
void peali_record_print(FILE *to, const char *title,
			const struct peali_column *columns, const json_t *row);

/**
 * Prints an object as JSON with one key per line. In an array of objects, each
 * object has its own line.
 *
 * @return 0, or -1 if the output cannot be written.
 */
int peali_json_print(FILE *to, const json_t *object);

/**
 * Announces that --json requires an object, even if the command fails later.
 * peali_json_print to the same file fulfils this.
 */
void peali_json_due(FILE *to);

/**
 * Ends a command. If the object of peali_json_due was not printed, prints
 * {"error": the last message, "exit_status": status}.
 */
void peali_json_settle(int status);

/** Writes a size with a binary unit, as in "4.0 MiB". Returns text. */
const char *peali_bytes_text(uint64_t bytes, char *text, size_t size);

/** Prints "peal: ", the message and a newline to stderr. */
void peali_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * Prints the recorded error of the calling thread's last failed library call.
 *
 * @param doing the failed action, as in "launch 'blur@0'"; NULL: none.
 * @return PEALI_EXIT_FAILED.
 */
int peali_say_error(const char *doing);

/**
 * Ends a command: flushes stdout.
 *
 * @return status, or PEALI_EXIT_FAILED with a message if stdout cannot be
 *         written.
 */
int peali_finish(int status);

#endif
