/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "race.h"

int ptx_check_needed(const struct ptx_options *options)
{
	return options->trace || options->undefined || options->race ||
	       options->weak;
}

static void load(struct ptx_lane *lane, const struct ptx_instruction *in,
		 const void *at)
{
	if (lane->block->weak)
		ptx_weak_load(lane, in, at);
	else
		ptx_load_at(lane, in, at);
}

static void store(struct ptx_lane *lane, const struct ptx_instruction *in,
		  void *at)
{
	if (lane->block->weak)
		ptx_weak_store(lane, in, at);
	else
		ptx_store_at(lane, in, at);
}

static void atom(struct ptx_lane *lane, const struct ptx_instruction *in,
		 void *at)
{
	if (lane->block->weak)
		ptx_weak_atom(lane, in, at);
	else
		ptx_atom_at(lane, in, at);
}

/* Executes an access. Bits are written before a store and read after a load. So
 * no lane of another block reads new bytes with the bits of old ones. */
static void execute(struct ptx_lane *lane, const struct ptx_instruction *in,
		    void *at)
{
	int undefined = lane->slots_undefined != NULL;

	if (in->opcode == PTX_ATOM) {
		if (undefined)
			ptx_undefined_atom(lane, in, at);
		atom(lane, in, at);
	} else if (ptx_is_store(in)) {
		if (undefined)
			ptx_undefined_store(lane, in, at);
		store(lane, in, at);
	} else {
		load(lane, in, at);
		if (undefined)
			ptx_undefined_load(lane, in, at);
	}
}

static enum ptx_step access(struct ptx_lane *lane,
			    const struct ptx_instruction *in)
{
	uint32_t bytes = (uint32_t)in->size * in->count;
	void *at = ptx_memory(lane, in, bytes,
			      in->opcode == PTX_ATOM || ptx_is_store(in));

	if (!at || (lane->block->races && !ptx_race_access(lane, in, at)))
		return PTX_STEP_FAULTED;
	execute(lane, in, at);
	return PTX_STEP_DONE;
}

enum ptx_step ptx_check(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const struct ptx_options *options = &lane->block->grid->launch.options;

	if (options->weak) {
		ptx_loads_before(lane, in);
		if (ptx_weak_waits(lane, in))
			return PTX_STEP_AGAIN;
	}
	if (options->trace) {
		ptx_trace_end(lane);
		ptx_trace_begin(lane, in);
	}
	if (options->undefined && !ptx_undefined_check(lane, in))
		return PTX_STEP_FAULTED;
	if (options->race && in->opcode == PTX_FENCE)
		ptx_order_fence(lane);
	if (ptx_is_access(in))
		return access(lane, in);
	if (options->weak)
		ptx_weak_order(lane, in);
	return PTX_STEP_EXECUTE;
}

/* A lane that waits has no result yet. */
void ptx_check_turn_end(struct ptx_lane *lane)
{
	if (lane->block->weak)
		ptx_weak_turn_end(lane);
	if (lane->state == PTX_RUNS || lane->state == PTX_SLEEPS ||
	    lane->state == PTX_ENDED)
		ptx_trace_end(lane);
}
