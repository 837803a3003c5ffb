/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_STREAM_H
#define PEAL_BENCH_STREAM_H

/* Declarations that both files of the benchmark `stream` use. */

#include "bench/options.h"
#include "bench/report.h"
#include "bench/fixture.h"

struct peali_stream {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
};

/** Returns 1 if the options select the row of video frames. */
int peali_stream_y4m_wanted(const struct peali_stream *stream);

/** Measures the row of video frames (stream_y4m.c). */
int peali_stream_y4m(struct peali_stream *stream);

#endif
