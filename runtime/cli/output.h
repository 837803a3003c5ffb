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
 *		{ "latency_ns_p50", "latency p50", PEALI_AS_NS },
 *		{ NULL, NULL, 0 },
 *	};
 *	json_t *rows = json_array();
 *	json_t *row = peali_row_append(rows);
 *
 *	peali_row_text(row, "from", "device %d", from);
 *	if (n_samples >= 20)
 *		peali_row_uint(row, "latency_ns_p50", p50);
 *	else
 *		peali_row_null(row, "latency_ns_p50", "needs 20 samples");
 *	peali_table_print(stdout, "latency, one way", columns, rows);
 *
 * Without memory, cells or rows are missing. There are no other errors.
 */

#include <stdarg.h>
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

/** Formats of a column with a unit. The name has the unit of the row's value. */
enum peali_column_format {
	PEALI_AS_BYTES = -1, /* 4.0 MiB */
	PEALI_AS_SIZE = -2, /* exact: 4 MiB, 4095 B */
	PEALI_AS_NS = -3, /* 950 ns, 4.4 s */
	PEALI_AS_US = -4,
	PEALI_AS_MS = -5,
	PEALI_AS_SECONDS = -6,
	PEALI_AS_PER_S = -7, /* 35.2 M/s */
	PEALI_AS_MEGA_PER_S = -8,
	PEALI_AS_BYTES_PER_S = -9, /* 1.2 GB/s */
	PEALI_AS_MB_PER_S = -10,
	PEALI_AS_GB_PER_S = -11,
	PEALI_AS_VERDICT = -12 /* PASS, WARN or FAIL, in colour */
};

/** A column of a text table. A key of NULL ends a list of columns. */
struct peali_column {
	const char *key; /* key in the rows */
	const char *title;
	int decimals; /* of reals, or an enum peali_column_format */
};

/** Columns behind it begin a new line if the table is too wide. */
#define PEALI_COLUMN_BREAK                                                     \
	{                                                                      \
		"", "", 0                                                      \
	}

/** Most columns of a line of text. */
#define PEALI_LINE_MAX 100

/** Appends an empty row. `rows` owns it. */
json_t *peali_row_append(json_t *rows);

/**
 * Sets a text, formatted as by printf. Control characters and bytes that are
 * not UTF-8 are escaped, see runtime/base/text.h.
 */
void peali_row_text(json_t *row, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Sets an integer. Values above the limit of JSON become 2^63 - 1. */
void peali_row_uint(json_t *row, const char *key, uint64_t value);

/** Sets a real number. Infinity and NaN become null, "not measured". */
void peali_row_real(json_t *row, const char *key, double value);

/** Sets true or false. */
void peali_row_flag(json_t *row, const char *key, int value);

/**
 * Sets "policies": the names of the bits 1 << enum peal_slot_policy of a mask,
 * with blanks between them. No bit: null.
 */
void peali_row_policies(json_t *row, uint32_t mask);

/** Sets null, and the reason as `key`_why. A table shows "-". */
void peali_row_null(json_t *row, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- table.c ------------------------------------------------------------- */

/**
 * Prints rows as aligned columns with numbers to the right. Columns without any
 * cell are left out. A title of NULL is left out. No line has more than
 * PEALI_LINE_MAX characters. Long text continues below itself. Other columns
 * continue on a second, indented line of the row.
 */
void peali_table_print(FILE *to, const char *title,
		       const struct peali_column *columns, const json_t *rows);

/** Prints one object, with one line of title and value per column. */
void peali_record_print(FILE *to, const char *title,
			const struct peali_column *columns, const json_t *row);

/**
 * Prints a text and a newline. Its lines end at PEALI_LINE_MAX.
 *
 * @param used characters of the line that stand before the text.
 * @param indent of the lines behind the first one.
 */
void peali_paragraph_print(FILE *to, int used, int indent, const char *format,
			   ...) __attribute__((format(printf, 4, 5)));

/** Prints PASS, WARN or FAIL, in colour if peali_colours(to). */
void peali_verdict_print(FILE *to, const char *text);

/** Returns the width of a value in a column of this format. */
int peali_cell_width(const json_t *value, int format);

/* ---- units.c ------------------------------------------------------------- */

/**
 * Write a number with a unit. Return text.
 *
 *	_bytes		4.0 MiB
 *	_size		4 MiB, or 4095 B: exact
 *	_duration	950 ns, 4.4 s
 *	_rate		1.2 GB/s; `unit` is B, or "" for 1.2 G/s
 */
const char *peali_bytes_text(uint64_t bytes, char *text, size_t size);
const char *peali_size_text(uint64_t bytes, char *text, size_t size);
const char *peali_duration_text(double ns, char *text, size_t size);
const char *peali_rate_text(double per_s, const char *unit, char *text,
			    size_t size);

/** Appends an entry such as "8" or "0-3" to a list. `between` separates entries.
 * An entry that does not fit is left out. */
void peali_range_append(char *text, size_t size, const char *between, int first,
			int last);

/* ---- output.c ------------------------------------------------------------ */

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

/** Returns 1 if an object is announced and not yet printed. */
int peali_json_is_due(void);

/** Sets `error` to the last message and `exit_status` to the status. */
void peali_row_error(json_t *object, int status);

/**
 * Ends a command. If the object of peali_json_due was not printed, prints
 * {"error": the last message, "exit_status": status}.
 */
void peali_json_settle(int status);

/** Returns 1 if a stream is a terminal that obeys control sequences. */
int peali_is_terminal(FILE *to);

/** Returns 1 if a stream gets colours: a terminal, and NO_COLOR is not set. */
int peali_colours(FILE *to);

/**
 * Sets the stream of peali_say. A caller that replaces stderr sets the former
 * stderr before: another thread may print at any time.
 */
void peali_say_to(FILE *to);

/** Prints a line by one write, after the output that the stream holds. */
void peali_line_print(FILE *to, const char *line, size_t n);

/**
 * Formats a text as peali_row_text does.
 *
 * @return a text that the caller frees; NULL: no memory.
 */
char *peali_text_print(const char *format, va_list arguments)
	__attribute__((format(printf, 1, 0)));

/**
 * Prints "peal: ", the escaped message and a newline to stderr, by one write. A
 * message of more than 4 KiB is cut.
 */
void peali_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Sets the message of the JSON object of an error. Prints nothing. */
void peali_say_to_json(const char *message);

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
