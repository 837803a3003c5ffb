/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_STREAM_H
#define PEAL_BENCH_STREAM_H

/* What the two halves of the benchmark `stream` share. */

#include "bench/options.h"
#include "bench/report.h"
#include "bench/stand.h"

struct peali_stream {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_stand stand;
	uint64_t row_ns; /* for each row */
	int n_rows;
};

/** Whether the options ask for the row of video frames. */
int peali_stream_y4m_wanted(const struct peali_stream *stream);

/**
 * The row of video frames through three filters on two devices (stream_y4m.c).
 *
 * @return 0, or -1 with a message.
 */
int peali_stream_y4m(struct peali_stream *stream);

#endif
