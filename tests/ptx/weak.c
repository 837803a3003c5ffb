/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

#include <stdlib.h>
#include <string.h>

/*
 * What the instructions do to weak memory.
 *
 * A fence or an atomic with a release shows all stores that the lane sees to its
 * scope. Scope .cta is the block, .gpu the device, .sys memory. A store with a
 * release is late, and goes after these stores. An acquire forgets the sectors. A vector
 * that is weak or volatile is one access for each element. A relaxed vector is
 * one access: ptxas makes one instruction of it. .b128 is one access.
 */

/* Stores of a block are less or more late: one of 4, 8, 16 or 32 accesses shows
 * one. */
#define LATE_MIN 4
#define LATE_STEPS 4

int ptx_weak_create(struct ptx_block *block)
{
	uint32_t n = block->grid->launch.threads;

	block->weak = calloc(1, sizeof(*block->weak) +
					n * sizeof(*block->weak->lanes));
	if (!block->weak)
		return 0;
	block->weak->late = LATE_MIN << ptx_random(block) % LATE_STEPS;
	block->weak->loads = calloc(n, sizeof(*block->weak->loads));
	return block->weak->loads != NULL;
}

void ptx_weak_destroy(struct ptx_block *block)
{
	uint32_t i;

	for (i = 0; block->weak && i < block->grid->launch.threads; i++)
		ptx_late_to_memory(&block->lanes[i]);
	if (block->weak)
		free(block->weak->loads);
	free(block->weak);
	block->weak = NULL;
}

/* ---- orders -------------------------------------------------------------- */

static void release(struct ptx_lane *lane, int scope)
{
	ptx_loads_complete(lane);
	if (scope == PTX_SCOPE_CTA)
		ptx_late_to_block(lane);
	else if (scope == PTX_SCOPE_SYS)
		ptx_late_to_memory(lane);
	else
		ptx_late_to_device(lane);
}

static void acquire(struct ptx_lane *lane, int scope)
{
	if (scope != PTX_SCOPE_CTA)
		ptx_sectors_forget(lane->block);
}

static int acquires(const struct ptx_instruction *in)
{
	return in->order == PTX_ACQUIRE || in->order == PTX_ACQ_REL;
}

static int releases(const struct ptx_instruction *in)
{
	return in->order == PTX_RELEASE || in->order == PTX_ACQ_REL;
}

void ptx_weak_acquire(struct ptx_lane *lane)
{
	if (lane->block->weak)
		acquire(lane, PTX_SCOPE_CLUSTER);
}

void ptx_weak_order(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	switch (in->opcode) {
	case PTX_FENCE:
		release(lane, in->scope);
		acquire(lane, in->scope);
		break;
	case PTX_BARRIER:
	case PTX_WARP_BARRIER:
	case PTX_EXIT:
		ptx_loads_complete(lane);
		ptx_late_to_block(lane);
		break;
	case PTX_MBARRIER:
		if (releases(in))
			release(lane, in->scope);
		if (acquires(in))
			acquire(lane, in->scope);
		break;
	case PTX_CLUSTER_ARRIVE:
		if (in->order != PTX_RELAXED)
			release(lane, PTX_SCOPE_CLUSTER);
		break;
	default:
		/* lanes that the lane waits for may wait for its atomics */
		if (ptx_is_warp(in) || in->opcode == PTX_CLUSTER_WAIT)
			ptx_loads_complete(lane);
		break;
	}
}

int ptx_weak_waits(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	if (!lane->block->together)
		return 0;
	if (in->opcode != PTX_FENCE &&
	    !(in->opcode == PTX_ATOM && releases(in)))
		return 0;
	ptx_loads_complete(lane);
	return ptx_late_step(lane, in->scope);
}

int ptx_weak_drain(struct ptx_block *block)
{
	return block->weak && ptx_late_step(&block->lanes[0], PTX_SCOPE_SYS);
}

void ptx_weak_written(struct ptx_block *block, uint64_t at, uint32_t bytes)
{
	uint64_t end = at + bytes;

	for (at -= at % PTX_SECTOR; block->weak && at < end; at += PTX_SECTOR)
		ptx_sector_forget(block, at);
}

/* Other blocks on this thread have turns between the late stores. */
static void show_some(struct ptx_lane *lane)
{
	if (lane->block->together)
		ptx_late_step(lane, PTX_SCOPE_SYS);
	else
		ptx_late_to_memory(lane);
}

void ptx_weak_turn_end(struct ptx_lane *lane)
{
	ptx_late_tick(lane);
	ptx_loads_tick(lane);
	if (lane->state == PTX_SLEEPS && ptx_random(lane->block) % 4 == 0)
		show_some(lane);
}

void ptx_weak_idle(struct ptx_block *block)
{
	uint32_t i;

	for (i = 0; block->weak && i < block->grid->launch.threads; i++) {
		ptx_loads_complete(&block->lanes[i]);
		show_some(&block->lanes[i]);
	}
}

/* ---- accesses ------------------------------------------------------------ */

static int is_local(const struct ptx_lane *lane, uint64_t at)
{
	return at - (uintptr_t)lane->local < PTX_LOCAL_BYTES;
}

int ptx_is_shared(const struct ptx_lane *lane, uint64_t at)
{
	const struct ptx_grid *grid = lane->block->grid;

	return at - (uintptr_t)grid->shared <
	       (uint64_t)grid->launch.blocks * grid->shared_stride;
}

/* Returns the bytes of each access that an instruction makes. */
static uint32_t part_bytes(const struct ptx_instruction *in)
{
	return (in->order == PTX_WEAK || in->order == PTX_VOLATILE) &&
			       !in->whole ?
		       in->size :
		       (uint32_t)in->size * in->count;
}

static void load_part(struct ptx_lane *lane, const struct ptx_instruction *in,
		      uint64_t at, uint32_t bytes, uint8_t *data)
{
	int stale = in->order == PTX_WEAK && !ptx_is_shared(lane, at);

	if (ptx_late_read_own(lane, at, bytes, data))
		return;
	if (stale)
		ptx_sector_read(lane, at, bytes, data);
	else if (!ptx_late_read(lane, at, bytes, data))
		ptx_copy_in(data, (const void *)(uintptr_t)at, bytes);
}

void ptx_weak_read(struct ptx_lane *lane, const struct ptx_instruction *in,
		   const void *at)
{
	uint8_t data[16] __attribute__((aligned(16)));
	uint32_t n = part_bytes(in), all = (uint32_t)in->size * in->count, i;

	for (i = 0; i < all; i += n)
		load_part(lane, in, (uintptr_t)at + i, n, data + i);
	ptx_load_at(lane, in, data);
}

/* Returns the bytes of an access. */
static uint32_t all_bytes(const struct ptx_instruction *in)
{
	return (uint32_t)in->size * in->count;
}

void ptx_weak_load(struct ptx_lane *lane, const struct ptx_instruction *in,
		   const void *at)
{
	if (is_local(lane, (uintptr_t)at)) {
		ptx_load_at(lane, in, at);
		return;
	}
	ptx_loads_before_access(lane, (uintptr_t)at, all_bytes(in));
	ptx_late_tick(lane);
	ptx_loads_tick(lane);
	ptx_weak_read(lane, in, at);
	ptx_loads_add(lane, in, at);
	if (acquires(in))
		acquire(lane, in->scope);
}

void ptx_weak_store(struct ptx_lane *lane, const struct ptx_instruction *in,
		    void *at)
{
	const struct ptx_host *host = &lane->block->grid->launch.host;
	uint8_t data[16] __attribute__((aligned(16)));
	uint32_t all = (uint32_t)in->size * in->count, i;
	uint32_t n = ptx_tears(lane, (uintptr_t)at, part_bytes(in)) ?
			     8 :
			     part_bytes(in);
	struct ptx_store store = { .bytes = n };

	if (is_local(lane, (uintptr_t)at)) {
		ptx_store_at(lane, in, at);
		return;
	}
	ptx_loads_before_access(lane, (uintptr_t)at, all);
	if (releases(in)) {
		ptx_loads_complete(lane);
		store.scope = in->scope;
	}
	ptx_late_tick(lane);
	ptx_loads_tick(lane);
	ptx_store_at(lane, in, data);
	if (host->generation)
		store.generation = host->generation(host->context);
	store.is_variable = ptx_is_variable(lane, (uintptr_t)at);
	for (i = 0; i < all; i += n) {
		store.at = (uintptr_t)at + i;
		memcpy(store.data, data + i, n);
		ptx_late_add(lane, &store);
	}
}

void ptx_weak_modify(struct ptx_lane *lane, const struct ptx_instruction *in,
		     void *at)
{
	ptx_late_flush(lane, (uintptr_t)at, all_bytes(in));
	ptx_atom_at(lane, in, at);
	ptx_sector_forget(lane->block, (uintptr_t)at);
}

void ptx_weak_atom(struct ptx_lane *lane, const struct ptx_instruction *in,
		   void *at)
{
	ptx_loads_before_access(lane, (uintptr_t)at, all_bytes(in));
	ptx_late_tick(lane);
	ptx_loads_tick(lane);
	if (releases(in))
		release(lane, in->scope);
	if (ptx_loads_add(lane, in, at))
		return;
	ptx_weak_modify(lane, in, at);
	if (acquires(in))
		acquire(lane, in->scope);
}
