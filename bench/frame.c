/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, measuring and printing of a benchmark: see bench/frame.h. */
#include "bench/frame.h"

int peali_frame_run(const struct peali_frame *frame, int json)
{
	int status = PEALI_EXIT_OK;

	if (peali_stand_open(frame->stand, frame->devices ? frame->devices : 2))
		return PEALI_EXIT_FAILED;
	peali_report_init(frame->report, frame->benchmark,
			  frame->stand->emulated);
	if ((frame->rows ? frame->rows(frame->context) :
			   frame->each_row(frame->context, 0)) < 0)
		status = PEALI_EXIT_FAILED;
	if (peali_stand_close(frame->stand))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(frame->report, json, frame->title,
				    frame->columns, status);
	peali_report_fini(frame->report);
	return status;
}

int peali_frame_main(const struct peali_frame *frame, int argc, char **argv,
		     int json)
{
	peali_bench_parse(argc, argv, frame->about, frame->seconds,
			  frame->options);
	*frame->n_rows = frame->each_row(frame->context, 1);
	if (!*frame->n_rows) {
		peali_say("no row of %s has that route and size",
			  frame->benchmark);
		return PEALI_EXIT_USAGE;
	}
	*frame->row_ns =
		(uint64_t)(frame->options->seconds * 1e9 / *frame->n_rows);
	return peali_frame_run(frame, json);
}

int peali_frame_row(const struct peali_frame_row *row)
{
	struct peali_samples ours = { 0 }, peer = { 0 };
	uint64_t until = peali_bench_now_ns() + row->for_ns;
	int result;

	peali_stand_fit_lanes(row->stand, row->bytes);
	result = row->build(row->context);
	for (int i = 0; !result && (i < PEALI_FRAME_ROUNDS ||
				    peali_bench_now_ns() < until);
	     i++)
		result = row->round(row->context, &ours, &peer);
	if (!result) {
		row->fill(row->context, &ours, &peer);
		result = peali_samples_write(&ours, row->options,
					     row->benchmark, row->label,
					     row->alone);
	}
	if (row->close && row->close(row->context))
		result = -1;
	if (peali_stand_clear(row->stand))
		result = -1;
	peali_samples_fini(&ours);
	peali_samples_fini(&peer);
	return result;
}
