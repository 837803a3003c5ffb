/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/frame.h"

int peali_frame_run(const struct peali_frame *frame, int json)
{
	int status = PEALI_EXIT_OK;

	if (peali_stand_open(frame->stand, 2))
		return PEALI_EXIT_FAILED;
	peali_report_init(frame->report, frame->benchmark,
			  frame->stand->emulated);
	if (frame->rows(frame->context) < 0)
		status = PEALI_EXIT_FAILED;
	if (peali_stand_close(frame->stand))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(frame->report, json, frame->title,
				    frame->columns, status);
	peali_report_fini(frame->report);
	return status;
}
