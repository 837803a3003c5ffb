/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_REPORTS_H
#define PEALI_REPORTS_H

#include <stdint.h>

/*
 * Waiting for reports of several kernels, some of which may end before: of the members
 * of a group, of the devices of a graph.
 */

/** Whose reports, and how to take them. */
struct peali_reports {
	void *of; /* for the calls below */
	const uint32_t *missing; /* how many are to come; take() counts */
	/* Takes one, and waits so long for it: 0; PEAL_EAGAIN none came; an error. */
	int (*take)(void *of, int64_t timeout_ns);
	/* An error if one of them will never come; 0. */
	int (*ended)(void *of);
	/* Says who is late: PEAL_ETIMEDOUT. */
	int (*late)(void *of, int64_t timeout_ns);
};

/* Takes all: 0; PEAL_ETIMEDOUT of late(); what ended() or take() says. The caller's
 * wait began at that time of peal_clock_ns. */
int peali_reports_await(const struct peali_reports *reports, int64_t timeout_ns,
			uint64_t began);

#endif
