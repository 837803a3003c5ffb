/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_REPORT_H
#define PEAL_BENCH_REPORT_H

/* The rows of one benchmark and what stands around them. */

#include "runtime/cli/output.h"

#define PEALI_BENCH_SCHEMA 1

struct peali_report {
	const char *benchmark;
	int emulated; /* the devices are CPU threads */
	json_t *object; /* schema_version, machine, emulated, rows */
	json_t *rows;
};

void peali_report_init(struct peali_report *report, const char *benchmark,
		       int emulated);
void peali_report_fini(struct peali_report *report);

/** A new row; `subject` says what was measured. */
json_t *peali_report_row(struct peali_report *report, const char *subject);

/**
 * Prints all rows: as JSON, or as a table under a title that names the machine.
 *
 * @param status of the benchmark so far.
 * @return the exit status.
 */
int peali_report_print(const struct peali_report *report, int json,
		       const char *title, const struct peali_column *columns,
		       int status);

/** Also writes all rows to a file that is open; closes it. 0 or -1. */
int peali_report_write(const struct peali_report *report, FILE *to,
		       const char *path);

/** Cores that this process may run on. */
int peali_report_cores(void);

#endif
