/* SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

#include <string.h>

/*
 * The order of what the lanes of a block do, by vector clocks (Lamport 1978;
 * Flanagan and Freund, PLDI 2009). A lane's own clock counts its releases. Its
 * other clocks say up to which release of each lane its past reaches.
 *
 * Barriers, bar.warp.sync, fences and accesses with an order give clocks on.
 * Only lanes of one block do.
 */

static void join(uint32_t *to, const uint32_t *from, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (to[i] < from[i])
			to[i] = from[i];
}

/* What the lane does from now on is behind its release. */
static void released(struct ptx_lane *lane)
{
	lane->block->races->clocks[lane->number][lane->number]++;
}

/* ---- accesses and fences ------------------------------------------------- */

/* Finds the clocks that an address gives on. Addresses that share a place join
 * their clocks: then the lanes seem to be in order more often. */
static struct ptx_location *location_of(struct ptx_races *races, const void *at)
{
	uint64_t h = (uintptr_t)at / 4 * 0x9e3779b97f4a7c15ULL;
	struct ptx_location *location =
		&races->locations[h >> 32 & (PTX_N_LOCATIONS - 1)];

	if (!location->at)
		location->at = at;
	if (location->at != at)
		location->is_shared = 1;
	return location;
}

static int acquires(const struct ptx_instruction *in)
{
	return in->order == PTX_ACQUIRE || in->order == PTX_ACQ_REL;
}

static int releases(const struct ptx_instruction *in)
{
	return in->order == PTX_RELEASE || in->order == PTX_ACQ_REL;
}

static void read_from(struct ptx_lane *lane, const struct ptx_instruction *in,
		      const struct ptx_location *location)
{
	struct ptx_races *races = lane->block->races;
	uint32_t i = lane->number;

	join(acquires(in) ? races->clocks[i] : races->seen[i], location->clocks,
	     races->n);
}

/* An atomic continues the release that it reads from. */
static void write_to(struct ptx_lane *lane, const struct ptx_instruction *in,
		     struct ptx_location *location)
{
	struct ptx_races *races = lane->block->races;
	uint32_t i = lane->number;
	const uint32_t *from = releases(in) ? races->clocks[i] :
					      races->fenced[i];

	if (ptx_is_store(in) && !location->is_shared)
		memset(location->clocks, 0, races->n * sizeof(*from));
	join(location->clocks, from, races->n);
	if (releases(in))
		released(lane);
}

void ptx_order_access(struct ptx_lane *lane, const struct ptx_instruction *in,
		      const void *at)
{
	struct ptx_location *location;

	if (in->order == PTX_WEAK)
		return;
	location = location_of(lane->block->races, at);
	if (!ptx_is_store(in))
		read_from(lane, in, location);
	if (ptx_is_store(in) || in->opcode == PTX_ATOM)
		write_to(lane, in, location);
}

void ptx_order_fence(struct ptx_lane *lane)
{
	struct ptx_races *races = lane->block->races;
	uint32_t i = lane->number;

	join(races->clocks[i], races->seen[i], races->n);
	memcpy(races->fenced[i], races->clocks[i],
	       races->n * sizeof(**races->clocks));
	released(lane);
}

/* An arrival gives clocks on. A test takes them, if the phase has ended. */
void ptx_order_mbarrier(struct ptx_lane *lane, const struct ptx_instruction *in,
			const void *at)
{
	struct ptx_races *races = lane->block->races;
	struct ptx_location *location;

	if (!races)
		return;
	location = location_of(races, at);
	if (!ptx_is_phase_test(in))
		write_to(lane, in, location);
	else if (lane->registers[in->d])
		read_from(lane, in, location);
}

/* ---- barriers ------------------------------------------------------------ */

void ptx_order_arrive(struct ptx_lane *lane, uint32_t barrier)
{
	struct ptx_races *races = lane->block->races;

	if (!races)
		return;
	join(races->barriers[barrier], races->clocks[lane->number], races->n);
	released(lane);
}

void ptx_order_leave(struct ptx_lane *lane, uint32_t barrier)
{
	struct ptx_races *races = lane->block->races;

	if (races)
		join(races->clocks[lane->number], races->barriers[barrier],
		     races->n);
}

void ptx_order_reset(struct ptx_block *block, uint32_t barrier)
{
	struct ptx_races *races = block->races;

	if (races)
		memset(races->barriers[barrier], 0,
		       races->n * sizeof(**races->barriers));
}

void ptx_order_warp(struct ptx_block *block, uint32_t first, uint32_t group)
{
	struct ptx_races *races = block->races;
	uint32_t i, leader;

	if (!races)
		return;
	leader = first + (uint32_t)__builtin_ctz(group);
	for (i = 0; i < PTX_WARP; i++)
		if (group >> i & 1)
			join(races->clocks[leader], races->clocks[first + i],
			     races->n);
	for (i = 0; i < PTX_WARP; i++) {
		if (!(group >> i & 1))
			continue;
		join(races->clocks[first + i], races->clocks[leader], races->n);
		released(&block->lanes[first + i]);
	}
}
