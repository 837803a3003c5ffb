/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_WEAK_H
#define PTX_WEAK_H

/*
 * Weak memory. A store is late: first only its lane sees it, then its block,
 * then its device. At last it is in memory. Stores to different bytes pass each
 * other. Weak loads of device memory read sectors that may be stale. A load may
 * read memory late. An atomic without an acquire may act late.
 */

#include "check.h"

#define PTX_N_LATE_LANE 16
#define PTX_N_LATE 64 /* of a block or a device */
#define PTX_N_LATE_LOADS 4 /* of a lane */
#define PTX_SECTOR 32 /* bytes */
#define PTX_N_SECTORS 512

/* A store that is not in memory yet. */
struct ptx_store {
	uint64_t at;
	uint64_t generation; /* of host.range() at the store */
	int is_variable; /* of a module: the host cannot free it */
	int scope; /* of a release that is not visible in it yet; 0: none */
	uint32_t bytes;
	uint8_t data[16] __attribute__((aligned(16)));
};

/* Late stores, the oldest one first. */
struct ptx_late {
	uint32_t n;
	struct ptx_store stores[PTX_N_LATE];
};

struct ptx_sector {
	uint64_t tag; /* number of the sector; 0: unused */
	uint8_t data[PTX_SECTOR];
};

/* A load that reads memory again when it completes, or an atomic. */
struct ptx_late_load {
	const struct ptx_instruction *in;
	const void *at;
	uint64_t *registers; /* of its frame */
	uint64_t generation; /* of host.range() at the load */
};

struct ptx_late_loads {
	uint32_t n;
	struct ptx_late_load loads[PTX_N_LATE_LOADS];
};

struct ptx_weak {
	struct ptx_late block;
	struct ptx_late_loads *loads; /* of the lanes */
	uint32_t late; /* one of so many accesses shows a store */
	struct ptx_sector sectors[PTX_N_SECTORS];
	struct ptx_late lanes[];
};

/* ---- stores.c ------------------------------------------------------------ */
/* Takes store i from a list, or a store that must go before it. Returns 1 if the
 * store passes others. */
int ptx_stores_take(struct ptx_late *late, uint32_t i, struct ptx_store *store);
/* Returns the number of the newest store to one of these bytes, or -1. */
int ptx_stores_find(const struct ptx_late *late, uint64_t at, uint32_t bytes);
/* Reads bytes. Returns 0 if the newest store to one of them lacks others. */
int ptx_stores_read(const struct ptx_late *late, uint64_t at, uint32_t bytes,
		    uint8_t *data);
/* Writes the stores to a sector. */
void ptx_stores_cover(const struct ptx_late *late, struct ptx_sector *sector);

/* ---- late.c -------------------------------------------------------------- */
/* Adds a store of a lane. */
void ptx_late_add(struct ptx_lane *lane, const struct ptx_store *store);
/* Each reads bytes from late stores: from those of the lane, or from those of its
 * block and its device. Returns 0 if the bytes are elsewhere. */
int ptx_late_read_own(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		      uint8_t *data);
int ptx_late_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		  uint8_t *data);
/* Each shows all late stores that the lane sees to a scope. */
void ptx_late_to_block(struct ptx_lane *lane);
void ptx_late_to_device(struct ptx_lane *lane);
void ptx_late_to_memory(struct ptx_lane *lane);
/* Delivers the late stores to these bytes to memory. */
void ptx_late_flush(struct ptx_lane *lane, uint64_t at, uint32_t bytes);
/* Shows some late stores to a scope. Returns 1 if some are left. */
int ptx_late_step(struct ptx_lane *lane, int scope);
/* Moves a late store now and then. */
void ptx_late_tick(struct ptx_lane *lane);

/* Returns 1 if an access of the lane shows a late store. */
int ptx_is_shown(const struct ptx_lane *lane);
/* A store has passed others. Other threads, or other blocks on this thread,
 * sometimes get time to see that. */
void ptx_let_others_see(const struct ptx_lane *lane);

/* ---- loads.c ------------------------------------------------------------- */
/* Makes a load or an atomic of a lane late, now and then. Returns 1 if it is. */
int ptx_loads_add(struct ptx_lane *lane, const struct ptx_instruction *in,
		  const void *at);
/* Completes the late loads of a lane: all, or those of bytes that it accesses
 * next. */
void ptx_loads_complete(struct ptx_lane *lane);
void ptx_loads_before_access(struct ptx_lane *lane, uint64_t at,
			     uint32_t bytes);
/* Completes late atomics of a lane now and then. */
void ptx_loads_tick(struct ptx_lane *lane);
/* Executes an atomic on memory, in weak.c. */
void ptx_weak_modify(struct ptx_lane *lane, const struct ptx_instruction *in,
		     void *at);
/* Reads memory for a load, in weak.c. */
void ptx_weak_read(struct ptx_lane *lane, const struct ptx_instruction *in,
		   const void *at);

/* ---- device.c ------------------------------------------------------------ */
/* Returns 1 if the host has freed the memory of a store since the store. */
int ptx_store_is_freed(const struct ptx_lane *lane,
		       const struct ptx_store *store);
/* The late stores of the lane's device. */
void ptx_device_add(struct ptx_lane *lane, const struct ptx_store *store);
int ptx_device_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		    uint8_t *data);
/* Reads a sector as the device sees it. */
void ptx_device_fill(struct ptx_lane *lane, struct ptx_sector *sector);
/* Each delivers stores to memory: those to some bytes, all, one, or one now and
 * then. The step returns 0 if there is none. */
void ptx_device_flush(struct ptx_lane *lane, uint64_t at, uint32_t bytes);
void ptx_device_drain(struct ptx_lane *lane);
int ptx_device_step(struct ptx_lane *lane);
void ptx_device_tick(struct ptx_lane *lane);

/* ---- sectors.c ----------------------------------------------------------- */
/* Reads bytes of device memory, which may be stale. */
void ptx_sector_read(struct ptx_lane *lane, uint64_t at, uint32_t bytes,
		     uint8_t *data);
/* The block sees a store. */
void ptx_sector_write(struct ptx_block *block, const struct ptx_store *store);
/* The sector of an address, or all sectors, are read again. */
void ptx_sector_forget(struct ptx_block *block, uint64_t at);
void ptx_sectors_forget(struct ptx_block *block);

#endif
