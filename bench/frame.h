/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_FRAME_H
#define PEAL_BENCH_FRAME_H

/* What stands around the rows of a benchmark that needs two devices. */

#include "bench/report.h"
#include "bench/stand.h"

struct peali_frame {
	const char *benchmark;
	const char *title;
	const struct peali_column *columns;
	struct peali_stand *stand; /* opened and closed here */
	struct peali_report *report; /* filled by the rows */
	int (*rows)(void *context); /* negative: a row failed */
	void *context;
};

/** Opens the stand, measures all rows, prints them; the exit status. */
int peali_frame_run(const struct peali_frame *frame, int json);

#endif
