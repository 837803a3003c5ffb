/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_REPORT_H
#define PEAL_BENCH_REPORT_H

/* The report of a benchmark: its rows and the machine. */

#include "runtime/cli/output.h"

#define PEALI_BENCH_SCHEMA 1

/*
 * The last columns of a table: the baseline, its value and the ratio. `key` and
 * `unit` are of the baseline's value, `name` is its heading.
 */
#define PEALI_COLUMNS_VERSUS(key, name, unit)                                  \
	PEALI_COLUMN_BREAK, { "versus", "versus", 0 }, { key, name, unit },    \
		{ "ratio", "ratio", 2 }, { "ratio_min", "min", 2 },            \
		{ "ratio_max", "max", 2 },                                     \
	{                                                                      \
		NULL, NULL, 0                                                  \
	}

/* A report. */
struct peali_report {
	const char *benchmark;
	int emulated; /* 1: the devices are CPU threads */
	json_t *object; /* schema_version, machine, emulated, rows */
	json_t *rows;
};

void peali_report_init(struct peali_report *report, const char *benchmark,
		       int emulated);
void peali_report_fini(struct peali_report *report);

/** Appends a row. `subject` names the measurement. */
json_t *peali_report_row(struct peali_report *report, const char *subject);

/**
 * Prints all rows as JSON, or as a table below the machine and the title.
 *
 * @param status status of the benchmark so far.
 * @return the exit status.
 */
int peali_report_print(const struct peali_report *report, int json,
		       const char *title, const struct peali_column *columns,
		       int status);

/** Writes all rows to an open file and closes it. Returns 0 or -1. */
int peali_report_write(const struct peali_report *report, FILE *to,
		       const char *path);

/** Returns the number of cores that this process may run on. */
int peali_report_cores(void);

#endif
