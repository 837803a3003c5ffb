/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_WEAK_H
#define PTX_WEAK_H

/*
 * Weak memory. A store is first late: only its lane sees it. Then its block sees
 * it. Then it is in memory. Stores to different bytes pass each other. Weak
 * loads of device memory read sectors that may be stale.
 */

#include "check.h"

#define PTX_N_LATE_LANE 16
#define PTX_N_LATE_BLOCK 64
#define PTX_SECTOR 32 /* bytes */
#define PTX_N_SECTORS 512

/* A store that is not in memory yet. */
struct ptx_store {
	uint64_t at;
	uint64_t generation; /* of host.range() at the store */
	uint32_t bytes;
	uint8_t data[16] __attribute__((aligned(16)));
};

/* Late stores, the oldest one first. */
struct ptx_late {
	uint32_t n;
	struct ptx_store stores[PTX_N_LATE_BLOCK];
};

struct ptx_sector {
	uint64_t tag; /* number of the sector; 0: unused */
	uint8_t data[PTX_SECTOR];
};

struct ptx_weak {
	struct ptx_late block;
	struct ptx_sector sectors[PTX_N_SECTORS];
	struct ptx_late lanes[];
};

/* ---- late.c -------------------------------------------------------------- */
/* Adds a store of a lane. */
void ptx_late_add(struct ptx_lane *lane, const struct ptx_store *store);
/* Reads bytes from the late stores that a lane sees. Returns 1 if one store has
 * them all. Else delivers stores to them: none is late for the lane then.
 * `of_block`: of the block's stores, too. */
int ptx_late_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		  int of_block, uint8_t *data);
/* Shows all late stores of a lane to its block. */
void ptx_late_to_block(struct ptx_lane *lane);
/* Delivers all late stores of a lane and its block to memory. */
void ptx_late_to_memory(struct ptx_lane *lane);
/* Delivers the late stores to these bytes to memory. */
void ptx_late_flush(struct ptx_lane *lane, uint64_t at, uint32_t bytes);
/* Delivers a late store now and then. */
void ptx_late_tick(struct ptx_lane *lane);

/* ---- sectors.c ----------------------------------------------------------- */
/* Reads bytes of device memory, which may be stale. */
void ptx_sector_read(struct ptx_block *block, uint64_t at, uint32_t bytes,
		     uint8_t *data);
/* The block sees a store. */
void ptx_sector_write(struct ptx_block *block, const struct ptx_store *store);
/* The sector of an address, or all sectors, are read again. */
void ptx_sector_forget(struct ptx_block *block, uint64_t at);
void ptx_sectors_forget(struct ptx_block *block);

#endif
