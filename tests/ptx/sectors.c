/* SPDX-License-Identifier: Apache-2.0 */
#include "weak.h"

#include <string.h>

/*
 * Sectors of 32 bytes that a block has read, as in a cache without coherence.
 * The block's own stores are in them. An acquire forgets them.
 */

#define FORGETS_OF 64 /* one of so many reads finds no sector */

static struct ptx_sector *sector_of(struct ptx_block *block, uint64_t at)
{
	return &block->weak->sectors[at / PTX_SECTOR % PTX_N_SECTORS];
}

static void fill(struct ptx_lane *lane, struct ptx_sector *sector, uint64_t at)
{
	sector->tag = at / PTX_SECTOR;
	ptx_device_fill(lane, sector);
	ptx_stores_cover(&lane->block->weak->block, sector);
}

void ptx_sector_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		     uint8_t *data)
{
	struct ptx_sector *sector = sector_of(lane->block, at);

	if (sector->tag != at / PTX_SECTOR ||
	    ptx_random(lane->block) % FORGETS_OF == 0)
		fill(lane, sector, at);
	memcpy(data, sector->data + at % PTX_SECTOR, bytes);
}

void ptx_sector_write(struct ptx_block *block, const struct ptx_store *store)
{
	struct ptx_sector *sector = sector_of(block, store->at);

	if (sector->tag == store->at / PTX_SECTOR)
		memcpy(sector->data + store->at % PTX_SECTOR, store->data,
		       store->bytes);
}

void ptx_sector_forget(struct ptx_block *block, uint64_t at)
{
	sector_of(block, at)->tag = 0;
}

void ptx_sectors_forget(struct ptx_block *block)
{
	uint32_t i;

	for (i = 0; i < PTX_N_SECTORS; i++)
		block->weak->sectors[i].tag = 0;
}
