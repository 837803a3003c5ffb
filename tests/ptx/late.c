/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

#include <string.h>
#include <time.h>

/*
 * Late stores. A store goes from its lane to its block, and from there to
 * memory. Stores to shared memory go from the lane to memory. Stores that have a
 * byte in common keep their order, so that each location is coherent.
 */

#define LATE 8 /* one of so many accesses delivers a store */
#define PAUSE 16 /* one of so many stores that pass others */
#define AT_ONCE 3 /* one of so many stores is not late */

static int overlaps(const struct ptx_store *store, uint64_t at, uint32_t bytes)
{
	return store->at < at + bytes && at < store->at + store->bytes;
}

/* Returns the first store that must go before store i, or i. */
static uint32_t first_before(const struct ptx_late *late, uint32_t i)
{
	const struct ptx_store *stores = late->stores;
	uint32_t k = 0;

	while (k < i) {
		if (overlaps(&stores[k], stores[i].at, stores[i].bytes)) {
			i = k;
			k = 0;
		} else {
			k++;
		}
	}
	return i;
}

static void take(struct ptx_late *late, uint32_t i, struct ptx_store *store)
{
	*store = late->stores[i];
	late->n--;
	memmove(&late->stores[i], &late->stores[i + 1],
		(late->n - i) * sizeof(*store));
}

/* ---- deliveries ---------------------------------------------------------- */

/* The host may have freed the memory since the store. */
static void put(struct ptx_lane *lane, const struct ptx_store *store)
{
	const struct ptx_host *host = &lane->block->grid->launch.host;

	if (host->generation &&
	    store->generation != host->generation(host->context) &&
	    !ptx_memory_exists(lane, store->at, store->bytes))
		return;
	ptx_copy_out((void *)(uintptr_t)store->at, store->data, store->bytes);
}

/* A store has passed others. Other blocks get time to see it. */
static void let_others_see(const struct ptx_lane *lane)
{
	const struct timespec t = { 0, 20000 };

	if (lane->block->grid->launch.blocks > 1)
		nanosleep(&t, NULL);
}

/* Delivers the block's store i, or a store that must go before it. */
static void deliver(struct ptx_lane *lane, uint32_t i)
{
	struct ptx_late *late = &lane->block->weak->block;
	struct ptx_store store;

	i = first_before(late, i);
	take(late, i, &store);
	put(lane, &store);
	if (i > 0 && ptx_random(lane->block) % PAUSE == 0)
		let_others_see(lane);
}

static void deliver_some(struct ptx_lane *lane)
{
	struct ptx_block *block = lane->block;

	deliver(lane, (uint32_t)(ptx_random(block) % block->weak->block.n));
}

static struct ptx_late *late_of(const struct ptx_lane *lane)
{
	return &lane->block->weak->lanes[lane->number];
}

/* Shows store i of a lane to its block, or a store that must go before it. */
static void show(struct ptx_lane *lane, uint32_t i)
{
	struct ptx_block *block = lane->block;
	struct ptx_late *late = &block->weak->block;
	struct ptx_store store;

	take(late_of(lane), first_before(late_of(lane), i), &store);
	if (ptx_is_shared(lane, store.at)) {
		ptx_copy_out((void *)(uintptr_t)store.at, store.data,
			     store.bytes);
		return;
	}
	while (late->n == PTX_N_LATE_BLOCK)
		deliver_some(lane);
	late->stores[late->n++] = store;
	ptx_sector_write(block, &store);
}

static void show_some(struct ptx_lane *lane)
{
	show(lane, (uint32_t)(ptx_random(lane->block) % late_of(lane)->n));
}

void ptx_late_to_block(struct ptx_lane *lane)
{
	while (late_of(lane)->n)
		show_some(lane);
}

void ptx_late_to_memory(struct ptx_lane *lane)
{
	ptx_late_to_block(lane);
	while (lane->block->weak->block.n)
		deliver_some(lane);
}

void ptx_late_tick(struct ptx_lane *lane)
{
	struct ptx_block *block = lane->block;

	if (late_of(lane)->n && ptx_random(block) % LATE == 0)
		show_some(lane);
	if (block->weak->block.n && ptx_random(block) % LATE == 0)
		deliver_some(lane);
}

/* ---- accesses ------------------------------------------------------------ */

/* Returns the newest store to one of these bytes, or NULL. */
static const struct ptx_store *newest(const struct ptx_late *late, uint64_t at,
				      uint32_t bytes)
{
	uint32_t i = late->n;

	while (i-- > 0)
		if (overlaps(&late->stores[i], at, bytes))
			return &late->stores[i];
	return NULL;
}

/* Copies bytes out of a store that has them all. */
static int copy(const struct ptx_store *store, uint64_t at, uint32_t bytes,
		uint8_t *data)
{
	if (!store || store->at > at || at + bytes > store->at + store->bytes)
		return 0;
	memcpy(data, store->data + (at - store->at), bytes);
	return 1;
}

/* Shows the lane's stores to these bytes. */
static void show_bytes(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	const struct ptx_late *late = late_of(lane);
	const struct ptx_store *store;

	while ((store = newest(late, at, bytes)))
		show(lane, (uint32_t)(store - late->stores));
}

static void deliver_bytes(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	const struct ptx_late *late = &lane->block->weak->block;
	const struct ptx_store *store;

	while ((store = newest(late, at, bytes)))
		deliver(lane, (uint32_t)(store - late->stores));
}

void ptx_late_flush(struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	show_bytes(lane, at, bytes);
	deliver_bytes(lane, at, bytes);
}

int ptx_late_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		  int of_block, uint8_t *data)
{
	if (copy(newest(late_of(lane), at, bytes), at, bytes, data))
		return 1;
	show_bytes(lane, at, bytes);
	if (!of_block)
		return 0;
	if (copy(newest(&lane->block->weak->block, at, bytes), at, bytes, data))
		return 1;
	deliver_bytes(lane, at, bytes);
	return 0;
}

void ptx_late_add(struct ptx_lane *lane, const struct ptx_store *store)
{
	struct ptx_late *late = late_of(lane);

	while (late->n >= PTX_N_LATE_LANE)
		show_some(lane);
	late->stores[late->n++] = *store;
	if (ptx_random(lane->block) % AT_ONCE == 0)
		show_bytes(lane, store->at, store->bytes);
}
