/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

#include <time.h>

/*
 * The way of a store: from its lane to its block, to its device, to memory.
 * Stores to shared memory go from the lane to memory.
 */

#define PAUSE 64 /* one of so many stores that pass others */
#define PAUSE_TOGETHER 3 /* one of so many stores ends a turn */
#define AT_ONCE 3 /* one of so many stores is not late for the block */

static struct ptx_late *late_of(const struct ptx_lane *lane)
{
	return &lane->block->weak->lanes[lane->number];
}

static struct ptx_late *late_of_block(const struct ptx_lane *lane)
{
	return &lane->block->weak->block;
}

void ptx_let_others_see(const struct ptx_lane *lane)
{
	const struct timespec t = { 0, 20000 };

	if (lane->block->together)
		lane->block->turn_over |= ptx_random(lane->block) % 2 == 0;
	else if (ptx_random(lane->block) % PAUSE == 0)
		nanosleep(&t, NULL);
}

int ptx_is_shown(const struct ptx_lane *lane)
{
	return ptx_random(lane->block) % lane->block->weak->late == 0;
}

/* Shows a store of the block to its device. A store that must go before store i
 * takes its place. */
static void show_device(struct ptx_lane *lane, uint32_t i)
{
	struct ptx_store store;
	int passed = ptx_stores_take(late_of_block(lane), i, &store);

	if (store.scope != PTX_SCOPE_SYS)
		store.scope = 0;
	ptx_device_add(lane, &store);
	if (passed)
		ptx_let_others_see(lane);
}

static uint32_t some(struct ptx_lane *lane, const struct ptx_late *late)
{
	return (uint32_t)(ptx_random(lane->block) % late->n);
}

/* Shows a store of the lane to its block. */
static void show_block(struct ptx_lane *lane, uint32_t i)
{
	struct ptx_late *late = late_of_block(lane);
	struct ptx_store store;

	ptx_stores_take(late_of(lane), i, &store);
	if (ptx_is_shared(lane, store.at)) {
		ptx_copy_out((void *)(uintptr_t)store.at, store.data,
			     store.bytes);
		return;
	}
	while (late->n == PTX_N_LATE)
		show_device(lane, some(lane, late));
	if (store.scope == PTX_SCOPE_CTA)
		store.scope = 0;
	late->stores[late->n++] = store;
	ptx_sector_write(lane->block, &store);
}

void ptx_late_to_block(struct ptx_lane *lane)
{
	while (late_of(lane)->n)
		show_block(lane, some(lane, late_of(lane)));
}

void ptx_late_to_device(struct ptx_lane *lane)
{
	ptx_late_to_block(lane);
	while (late_of_block(lane)->n)
		show_device(lane, some(lane, late_of_block(lane)));
}

void ptx_late_to_memory(struct ptx_lane *lane)
{
	ptx_late_to_device(lane);
	ptx_device_drain(lane);
}

void ptx_late_tick(struct ptx_lane *lane)
{
	struct ptx_late *own = late_of(lane), *late = late_of_block(lane);

	if (own->n && ptx_is_shown(lane))
		show_block(lane, some(lane, own));
	if (late->n && ptx_is_shown(lane))
		show_device(lane, some(lane, late));
	ptx_device_tick(lane);
}

/* Shows one late store that is not visible in a scope. Returns 0 if there is
 * none. */
static int show_one(struct ptx_lane *lane, int scope)
{
	struct ptx_late *own = late_of(lane), *late = late_of_block(lane);

	if (own->n)
		show_block(lane, some(lane, own));
	else if (scope != PTX_SCOPE_CTA && late->n)
		show_device(lane, some(lane, late));
	else
		return scope == PTX_SCOPE_SYS && ptx_device_step(lane);
	return 1;
}

int ptx_late_step(struct ptx_lane *lane, int scope)
{
	while (show_one(lane, scope))
		if (ptx_random(lane->block) % PAUSE_TOGETHER == 0)
			return 1;
	return 0;
}

/* ---- accesses ------------------------------------------------------------ */

/* Shows the lane's stores to these bytes to the block. */
static void bytes_to_block(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	int i;

	while ((i = ptx_stores_find(late_of(lane), at, bytes)) >= 0)
		show_block(lane, (uint32_t)i);
}

/* Shows the block's stores to these bytes to the device. */
static void bytes_to_device(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	int i;

	while ((i = ptx_stores_find(late_of_block(lane), at, bytes)) >= 0)
		show_device(lane, (uint32_t)i);
}

void ptx_late_flush(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	bytes_to_block(lane, at, bytes);
	bytes_to_device(lane, at, bytes);
	ptx_device_flush(lane, at, bytes);
}

int ptx_late_read_own(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		      uint8_t *data)
{
	if (ptx_stores_read(late_of(lane), at, bytes, data))
		return 1;
	bytes_to_block(lane, at, bytes);
	return 0;
}

int ptx_late_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		  uint8_t *data)
{
	if (ptx_stores_read(late_of_block(lane), at, bytes, data))
		return 1;
	bytes_to_device(lane, at, bytes);
	return ptx_device_read(lane, at, bytes, data);
}

void ptx_late_add(struct ptx_lane *lane, const struct ptx_store *store)
{
	struct ptx_late *late = late_of(lane);

	while (late->n >= PTX_N_LATE_LANE)
		show_block(lane, some(lane, late));
	late->stores[late->n++] = *store;
	if (ptx_random(lane->block) % AT_ONCE == 0)
		bytes_to_block(lane, store->at, store->bytes);
}
