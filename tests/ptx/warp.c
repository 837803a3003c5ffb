/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

/* Opcodes that the lanes of a mask execute together. */

/* The lanes of one warp, by number in the warp. */
struct warp {
	struct ptx_lane *lanes;
	uint32_t n; /* the last warp of a block may have fewer than 32 */
};

static struct warp warp_of(const struct ptx_lane *lane)
{
	const struct ptx_block *block = lane->block;
	uint32_t first = lane->number - lane->number % PTX_WARP;
	uint32_t left = block->grid->launch.threads - first;
	struct warp warp = { block->lanes + first,
			     left < PTX_WARP ? left : PTX_WARP };

	return warp;
}

static uint32_t bit_of(const struct ptx_lane *lane)
{
	return lane->number % PTX_WARP;
}

/* Returns the lanes of a mask that have not ended. */
static uint32_t live_in(const struct warp *warp, uint32_t mask)
{
	uint32_t i, live = 0;

	for (i = 0; i < warp->n; i++)
		if (warp->lanes[i].state != PTX_ENDED)
			live |= mask & 1u << i;
	return live;
}

/* ---- results ------------------------------------------------------------- */

static uint64_t source(const struct ptx_lane *lane)
{
	return lane->registers[lane->in->a];
}

static void give(struct ptx_lane *lane, uint64_t result, int second)
{
	const struct ptx_instruction *in = lane->in;

	lane->registers[in->d] = result;
	if (in->v[2] != PTX_NO_SLOT)
		lane->registers[in->v[2]] = (uint64_t)second;
}

/* The source lane of shfl, and whether it is in range. */
static uint32_t shfl_source(const struct ptx_lane *lane, int *in_range)
{
	const struct ptx_instruction *in = lane->in;
	uint32_t b = (uint32_t)lane->registers[in->b] & 31;
	uint32_t c = (uint32_t)lane->registers[in->v[0]];
	uint32_t segment = c >> 8 & 31, i = bit_of(lane);
	int max = (int)((i & segment) | (c & 31 & ~segment));
	int from;

	if (in->mode == PTX_MODE_UP)
		from = (int)i - (int)b;
	else if (in->mode == PTX_MODE_DOWN)
		from = (int)(i + b);
	else if (in->mode == PTX_MODE_BFLY)
		from = (int)(i ^ b);
	else
		from = (int)((i & segment) | (b & ~segment));
	*in_range = in->mode == PTX_MODE_UP ? from >= max : from <= max;
	return *in_range ? (uint32_t)from : i;
}

static void shfl(const struct warp *warp, uint32_t group)
{
	uint64_t values[PTX_WARP] = { 0 }, undefined[PTX_WARP];
	uint32_t i, from;
	int in_range;

	for (i = 0; i < warp->n; i++) {
		struct ptx_lane *lane = &warp->lanes[i];
		int is_in = group >> i & 1;

		/* what a lane outside of the group gives is undefined */
		values[i] = is_in ? source(lane) : ptx_random(lane->block);
		undefined[i] = is_in ? ptx_undefined_get(lane, lane->in->a) :
				       ~0ULL;
	}
	for (i = 0; i < warp->n; i++) {
		if (!(group >> i & 1))
			continue;
		from = shfl_source(&warp->lanes[i], &in_range);
		ptx_undefined_set(&warp->lanes[i], warp->lanes[i].in->d,
				  from < warp->n ? undefined[from] : ~0ULL);
		give(&warp->lanes[i],
		     from < warp->n ? (uint32_t)values[from] :
				      (uint32_t)ptx_random(warp->lanes->block),
		     in_range);
	}
}

static void vote(const struct warp *warp, uint32_t group)
{
	uint32_t ballot = 0, i, result;

	for (i = 0; i < warp->n; i++)
		if (group >> i & 1 &&
		    (source(&warp->lanes[i]) & 1) !=
			    warp->lanes[i].in->count) /* negated */
			ballot |= 1u << i;
	for (i = 0; i < warp->n; i++) {
		if (!(group >> i & 1))
			continue;
		switch (warp->lanes[i].in->mode) {
		case PTX_MODE_ALL:
			result = ballot == group;
			break;
		case PTX_MODE_ANY:
			result = ballot != 0;
			break;
		case PTX_MODE_UNI:
			result = !ballot || ballot == group;
			break;
		default:
			result = ballot;
		}
		give(&warp->lanes[i], result, 0);
	}
}

static uint64_t match_value(const struct ptx_lane *lane)
{
	uint64_t value = source(lane);

	return lane->in->size == 8 ? value : (uint32_t)value;
}

/* Returns the lanes of a group that have the value of lane i. */
static uint32_t equal_to(const struct warp *warp, uint32_t group, uint32_t i)
{
	uint64_t value = match_value(&warp->lanes[i]);
	uint32_t k, equal = 0;

	for (k = 0; k < warp->n; k++)
		if (group >> k & 1 && match_value(&warp->lanes[k]) == value)
			equal |= 1u << k;
	return equal;
}

static void match(const struct warp *warp, uint32_t group)
{
	uint32_t equal[PTX_WARP] = { 0 }, i;

	for (i = 0; i < warp->n; i++)
		if (group >> i & 1)
			equal[i] = equal_to(warp, group, i);
	for (i = 0; i < warp->n; i++) {
		if (!(group >> i & 1))
			continue;
		if (warp->lanes[i].in->mode == PTX_MODE_ANY)
			give(&warp->lanes[i], equal[i], 0);
		else
			give(&warp->lanes[i], equal[i] == group ? group : 0,
			     equal[i] == group);
	}
}

static uint32_t combine(const struct ptx_instruction *in, uint32_t a,
			uint32_t b)
{
	int less = in->kind == PTX_TYPE_SIGNED ? (int32_t)a < (int32_t)b :
						 a < b;

	switch (in->mode) {
	case PTX_MODE_ADD:
		return a + b;
	case PTX_MODE_MIN:
		return less ? a : b;
	case PTX_MODE_MAX:
		return less ? b : a;
	case PTX_MODE_AND:
		return a & b;
	case PTX_MODE_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void redux(const struct warp *warp, uint32_t group)
{
	uint32_t i, result = 0, n = 0;

	for (i = 0; i < warp->n; i++) {
		const struct ptx_lane *lane = &warp->lanes[i];
		uint32_t value;

		if (!(group >> i & 1))
			continue;
		value = (uint32_t)source(lane);
		result = n++ ? combine(lane->in, result, value) : value;
	}
	for (i = 0; i < warp->n; i++)
		if (group >> i & 1)
			give(&warp->lanes[i], result, 0);
}

static void elect(const struct warp *warp, uint32_t group)
{
	uint32_t i, leader = (uint32_t)__builtin_ctz(group);

	for (i = 0; i < warp->n; i++)
		if (group >> i & 1)
			give(&warp->lanes[i], leader, i == leader);
}

static void execute(const struct warp *warp, uint32_t group, uint16_t opcode)
{
	uint32_t i;

	switch (opcode) {
	case PTX_SHFL:
		shfl(warp, group);
		break;
	case PTX_VOTE:
		vote(warp, group);
		break;
	case PTX_MATCH:
		match(warp, group);
		break;
	case PTX_REDUX:
		redux(warp, group);
		break;
	case PTX_ELECT:
		elect(warp, group);
		break;
	default: /* PTX_WARP_BARRIER */
		ptx_order_warp(warp->lanes->block, warp->lanes->number, group);
		break;
	}
	for (i = 0; i < warp->n; i++) {
		if (!(group >> i & 1))
			continue;
		warp->lanes[i].in++;
		warp->lanes[i].state = PTX_RUNS;
	}
}

/* ---- waiting ------------------------------------------------------------- */

static void fault_mask(struct ptx_lane *lane, const char *text)
{
	ptx_fault(lane, lane->in, PTX_FAULT_MASK, 0, "mask %#x: %s", lane->mask,
		  text);
	lane->state = PTX_ENDED;
}

/* Executes the opcode at which a lane waits, if all lanes of its mask wait with
 * the mask. Lanes that have ended count as present. */
static void try_group(const struct warp *warp, struct ptx_lane *lane)
{
	uint32_t group = live_in(warp, lane->mask), i;
	const struct ptx_instruction *in = lane->in;

	for (i = 0; i < warp->n; i++)
		if (group >> i & 1 && (warp->lanes[i].state != PTX_AT_WARP ||
				       warp->lanes[i].mask != lane->mask))
			return;
	for (i = 0; i < warp->n; i++) {
		const struct ptx_instruction *other = warp->lanes[i].in;

		if (group >> i & 1 &&
		    (other->opcode != in->opcode || other->mode != in->mode)) {
			fault_mask(&warp->lanes[i],
				   "its lanes wait at different opcodes");
			return;
		}
	}
	execute(warp, group, in->opcode);
}

void ptx_warp_arrive(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	struct warp warp = warp_of(lane);

	lane->in = in;
	lane->mask = (uint32_t)lane->registers[in->c];
	if (!(lane->mask >> bit_of(lane) & 1)) {
		fault_mask(lane, "the lane that executes it is not in it");
		return;
	}
	lane->state = PTX_AT_WARP;
	try_group(&warp, lane);
}

void ptx_warp_lane_ended(struct ptx_lane *lane)
{
	struct warp warp = warp_of(lane);
	uint32_t i;

	for (i = 0; i < warp.n; i++)
		if (warp.lanes[i].state == PTX_AT_WARP)
			try_group(&warp, &warp.lanes[i]);
}

void ptx_warp_activemask(struct ptx_lane *lane)
{
	struct warp warp = warp_of(lane);
	const struct ptx_instruction *in = lane->in;
	uint32_t i, mask = 0;

	for (i = 0; i < warp.n; i++)
		if (warp.lanes[i].state == PTX_AT_ACTIVEMASK &&
		    warp.lanes[i].in == in)
			mask |= 1u << i;
	for (i = 0; i < warp.n; i++) {
		if (!(mask >> i & 1))
			continue;
		warp.lanes[i].registers[in->d] = mask;
		warp.lanes[i].in = in + 1;
		warp.lanes[i].state = PTX_RUNS;
	}
}
