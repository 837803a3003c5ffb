/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

int ptx_check_needed(const struct ptx_options *options)
{
	return options->trace;
}

enum ptx_step ptx_check(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const struct ptx_options *options = &lane->block->grid->launch.options;

	if (options->trace) {
		ptx_trace_end(lane);
		ptx_trace_begin(lane, in);
	}
	return PTX_STEP_EXECUTE;
}

/* A lane that waits has no result yet. */
void ptx_check_turn_end(struct ptx_lane *lane)
{
	if (lane->state == PTX_RUNS || lane->state == PTX_SLEEPS ||
	    lane->state == PTX_ENDED)
		ptx_trace_end(lane);
}
