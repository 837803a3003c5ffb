/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COLLECT_REPORTS_H
#define PEALI_COLLECT_REPORTS_H

#include <stdint.h>

/* Waits for reports of several kernels, such as the kernels of a group. A
 * kernel may end without sending its report. */

/** The expected reports, and the calls that take them. */
struct peali_reports {
	void *of; /* first argument of the calls below */
	/* reports to come; take() counts it down */
	const _Atomic uint32_t *missing;
	/* Takes one report, and waits for it for at most timeout_ns. Returns 0,
	 * PEAL_EAGAIN without a report, or an error. */
	int (*take)(void *of, int64_t timeout_ns);
	/* Returns an error if a report will never arrive, else 0. */
	int (*ended)(void *of);
	/* Names the late kernels in the error text. Returns PEAL_ETIMEDOUT. */
	int (*late)(void *of, int64_t timeout_ns);
};

/*
 * Takes all reports. The caller's wait began at `began`, in ns of
 * peal_clock_ns. timeout_ns below 0: no limit. Returns 0, PEAL_ETIMEDOUT of
 * late(), or an error of take() or ended().
 */
int peali_reports_collect(const struct peali_reports *reports,
			  int64_t timeout_ns, uint64_t began);

#endif
