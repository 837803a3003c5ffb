/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_DOCTOR_H
#define PEAL_RUNTIME_CLI_DOCTOR_H

#include "runtime/cli/output.h"

struct peal_runtime;

enum peali_health {
	PEALI_HEALTH_PASS,
	PEALI_HEALTH_WARN, /* works, but slower or with less */
	PEALI_HEALTH_FAIL, /* does not work until it is mended */
	PEALI_HEALTH_WAIVED /* does not matter here */
};

/** What the checks found so far. */
struct peali_doctor {
	json_t *rows;
	int n[4]; /* by enum peali_health */
};

/** Adds a finding; `fix` NULL: nothing to do. */
void peali_doctor_add(struct peali_doctor *doctor, const char *check,
		      enum peali_health health, const char *fix,
		      const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/** What the machine offers: cores, limits, system calls, clocks, drivers. */
void peali_doctor_machine(struct peali_doctor *doctor);

#endif
