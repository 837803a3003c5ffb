/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

/* ---- barriers of a block ------------------------------------------------- */

static void fault_barrier(struct ptx_lane *lane,
			  const struct ptx_instruction *in, const char *text,
			  uint32_t value)
{
	ptx_fault(lane, in, PTX_FAULT_BARRIER, 0, "%s (%u)", text, value);
	lane->state = PTX_ENDED;
}

static int waits_at(const struct ptx_lane *lane, uint32_t barrier)
{
	return lane->state == PTX_AT_BARRIER && lane->barrier == barrier;
}

/* The instruction at which a lane waits: it is the one before the next. */
static const struct ptx_instruction *waiting_in(const struct ptx_lane *lane)
{
	return lane->in - 1;
}

/* Computes bar.red over the lanes at a barrier. */
static uint32_t reduce(const struct ptx_block *block, uint32_t barrier,
		       enum ptx_mode mode)
{
	uint32_t i, n = 0, all = 1;

	for (i = 0; i < block->grid->launch.threads; i++) {
		const struct ptx_lane *lane = &block->lanes[i];

		if (!waits_at(lane, barrier))
			continue;
		if (lane->registers[waiting_in(lane)->c] & 1)
			n++;
		else
			all = 0;
	}
	return mode == PTX_MODE_POPC ? n : mode == PTX_MODE_AND ? all : n > 0;
}

static int is_reduction(const struct ptx_instruction *in)
{
	return in->mode != PTX_MODE_NONE && in->mode != PTX_MODE_ARRIVE;
}

/* The lanes of a warp must be at one instruction, if it is .aligned. Lanes at a
 * barrier must all reduce alike. Returns a lane that differs from an earlier
 * one, or NULL. */
static struct ptx_lane *find_stray(struct ptx_block *block, uint32_t barrier)
{
	const struct ptx_instruction *first = NULL, *of_warp = NULL;
	uint32_t i;

	for (i = 0; i < block->grid->launch.threads; i++) {
		struct ptx_lane *lane = &block->lanes[i];
		const struct ptx_instruction *in = waiting_in(lane);

		if (i % PTX_WARP == 0)
			of_warp = NULL;
		if (!waits_at(lane, barrier))
			continue;
		first = first ? first : in;
		of_warp = of_warp ? of_warp : in;
		if ((in->aligned && in != of_warp) || in->mode != first->mode)
			return lane;
	}
	return NULL;
}

/* All lanes at a barrier continue. */
static void leave(struct ptx_block *block, uint32_t barrier)
{
	uint32_t n = block->grid->launch.threads, i;

	for (i = 0; i < n; i++)
		if (block->lanes[i].state == PTX_ENDED)
			ptx_order_arrive(&block->lanes[i], barrier);
	for (i = 0; i < n; i++) {
		if (!waits_at(&block->lanes[i], barrier))
			continue;
		ptx_order_leave(&block->lanes[i], barrier);
		block->lanes[i].state = PTX_RUNS;
	}
	ptx_order_reset(block, barrier);
}

static void release(struct ptx_block *block, uint32_t barrier)
{
	struct ptx_lane *stray = find_stray(block, barrier);
	uint32_t i, result = 0;
	int known = 0;

	block->barriers[barrier].arrived = 0;
	block->barriers[barrier].needed = 0;
	if (stray) {
		fault_barrier(stray, waiting_in(stray),
			      "lanes wait for a barrier at different "
			      "instructions",
			      barrier);
		return;
	}
	for (i = 0; i < block->grid->launch.threads; i++) {
		struct ptx_lane *lane = &block->lanes[i];
		const struct ptx_instruction *in = waiting_in(lane);

		if (!waits_at(lane, barrier))
			continue;
		if (is_reduction(in) && !known)
			result =
				reduce(block, barrier, (enum ptx_mode)in->mode);
		known = 1;
		if (is_reduction(in))
			lane->registers[in->d] = result;
	}
	leave(block, barrier);
}

static int is_complete(const struct ptx_block *block, uint32_t barrier)
{
	const struct ptx_barrier *b = &block->barriers[barrier];

	return b->arrived &&
	       b->arrived >= (b->needed ? b->needed : block->live);
}

/* Returns the number of lanes that a barrier waits for, 0 for all. */
static int needed_lanes(struct ptx_lane *lane, const struct ptx_instruction *in,
			uint32_t *needed_out)
{
	uint32_t n = (uint32_t)lane->registers[in->b];

	*needed_out = 0;
	if (!in->count)
		return 1;
	if (!n || n % PTX_WARP || n > PTX_MAX_THREADS) {
		fault_barrier(lane, in,
			      "a barrier's number of lanes is no multiple of "
			      "32 up to 1024",
			      n);
		return 0;
	}
	*needed_out = n;
	return 1;
}

int ptx_barrier_arrive(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	struct ptx_block *block = lane->block;
	uint32_t barrier = (uint32_t)lane->registers[in->a], needed;
	struct ptx_barrier *b;

	if (barrier >= PTX_N_BARRIERS) {
		fault_barrier(lane, in, "a barrier's number is above 15",
			      barrier);
		return 0;
	}
	if (!needed_lanes(lane, in, &needed))
		return 0;
	b = &block->barriers[barrier];
	if (b->arrived && b->needed != needed) {
		fault_barrier(lane, in,
			      "lanes give a barrier different numbers of "
			      "lanes",
			      barrier);
		return 0;
	}
	b->needed = needed;
	b->arrived++;
	ptx_order_arrive(lane, barrier);
	if (in->mode != PTX_MODE_ARRIVE) {
		lane->state = PTX_AT_BARRIER;
		lane->barrier = barrier;
	}
	if (is_complete(block, barrier))
		release(block, barrier);
	return lane->state == PTX_RUNS;
}

void ptx_barrier_lane_ended(struct ptx_block *block)
{
	uint32_t i;

	for (i = 0; i < PTX_N_BARRIERS; i++)
		if (is_complete(block, i))
			release(block, i);
}

/* ---- barriers of a cluster ----------------------------------------------- */

/* Ends the phase if all live lanes have arrived. The caller has the lock. */
static void end_phase(struct ptx_cluster *cluster)
{
	if (!cluster->live || cluster->arrived < cluster->live)
		return;
	cluster->arrived = 0;
	cluster->phase++;
}

int ptx_cluster_arrive(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	struct ptx_cluster *cluster = lane->block->cluster;

	if (lane->has_arrived) {
		ptx_fault(lane, in, PTX_FAULT_BARRIER, 0,
			  "the lane arrives twice at the cluster's barrier "
			  "and has not waited");
		return 0;
	}
	pthread_mutex_lock(&cluster->lock);
	lane->has_arrived = 1;
	lane->cluster_phase = cluster->phase;
	ptx_order_arrive(lane, ptx_cluster_barrier(cluster->phase));
	cluster->arrived++;
	end_phase(cluster);
	pthread_mutex_unlock(&cluster->lock);
	return 1;
}

int ptx_cluster_passed(struct ptx_lane *lane)
{
	struct ptx_cluster *cluster = lane->block->cluster;
	int passed;

	pthread_mutex_lock(&cluster->lock);
	passed = !lane->has_arrived || lane->cluster_phase != cluster->phase;
	pthread_mutex_unlock(&cluster->lock);
	if (passed && lane->has_arrived) {
		ptx_order_leave(lane, ptx_cluster_barrier(lane->cluster_phase));
		ptx_weak_acquire(lane);
	}
	if (passed)
		lane->has_arrived = 0;
	return passed;
}

void ptx_cluster_lane_ended(struct ptx_lane *lane)
{
	struct ptx_cluster *cluster = lane->block->cluster;

	pthread_mutex_lock(&cluster->lock);
	cluster->live--;
	if (lane->has_arrived && lane->cluster_phase == cluster->phase)
		cluster->arrived--;
	end_phase(cluster);
	pthread_mutex_unlock(&cluster->lock);
}
