/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "check.h"

int ptx_check_needed(const struct ptx_options *options)
{
	return options->trace || options->undefined;
}

/* Bits are written before a store and read after a load. So no lane of another
 * block reads new bytes with the bits of old ones. */
static enum ptx_step access(struct ptx_lane *lane,
			    const struct ptx_instruction *in)
{
	uint32_t bytes = (uint32_t)in->size * in->count;
	int is_atom = in->opcode == PTX_ATOM, is_store = ptx_is_store(in);
	void *at = ptx_memory(lane, in, bytes, is_atom || is_store);

	if (!at)
		return PTX_STEP_FAULTED;
	if (is_atom) {
		ptx_undefined_atom(lane, in, at);
		ptx_atom_at(lane, in, at);
	} else if (is_store) {
		ptx_undefined_store(lane, in, at);
		ptx_store_at(lane, in, at);
	} else {
		ptx_load_at(lane, in, at);
		ptx_undefined_load(lane, in, at);
	}
	return PTX_STEP_DONE;
}

enum ptx_step ptx_check(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const struct ptx_options *options = &lane->block->grid->launch.options;

	if (options->trace) {
		ptx_trace_end(lane);
		ptx_trace_begin(lane, in);
	}
	if (options->undefined && !ptx_undefined_check(lane, in))
		return PTX_STEP_FAULTED;
	if (options->undefined && ptx_is_access(in))
		return access(lane, in);
	return PTX_STEP_EXECUTE;
}

/* A lane that waits has no result yet. */
void ptx_check_turn_end(struct ptx_lane *lane)
{
	if (lane->state == PTX_RUNS || lane->state == PTX_SLEEPS ||
	    lane->state == PTX_ENDED)
		ptx_trace_end(lane);
}
