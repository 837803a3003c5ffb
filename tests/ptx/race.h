/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_RACE_H
#define PTX_RACE_H

/* Races on the shared memory of a block, between its own lanes. */

#include "check.h"

#define PTX_N_LOCATIONS 1024 /* a power of two */
#define PTX_N_CELLS 8

/* The clocks that an address gives from its writers to its readers. */
struct ptx_location {
	const void *at; /* NULL: unused */
	int is_shared; /* by several addresses */
	uint32_t *clocks;
};

/* An earlier access to a word of 8 bytes. */
struct ptx_cell {
	const struct ptx_function *function;
	const struct ptx_instruction *in; /* NULL: unused */
	uint32_t clock; /* of the lane at the access */
	uint16_t lane;
	uint8_t bytes; /* bit for each byte of the word */
	uint8_t is_store;
};

struct ptx_word {
	struct ptx_cell cells[PTX_N_CELLS];
};

struct ptx_races {
	uint32_t n; /* lanes of the block */
	/* Clocks of each lane: of its past; at its last fence; that its
	 * accesses without an acquire have read. */
	uint32_t **clocks, **fenced, **seen;
	uint32_t **barriers; /* clocks of the lanes that have arrived */
	struct ptx_location *locations;
	struct ptx_word *words; /* of the shared memory */
	void *memory; /* of all of the above */
	size_t bytes;
};

/* ---- race.c -------------------------------------------------------------- */
/* Checks an access to an address of the host. Returns 0 after a fault. */
int ptx_race_access(struct ptx_lane *lane, const struct ptx_instruction *in,
		    const void *at);

/* ---- order.c ------------------------------------------------------------- */
/* An access to an address of the host gives clocks on. */
void ptx_order_access(struct ptx_lane *lane, const struct ptx_instruction *in,
		      const void *at);
void ptx_order_fence(struct ptx_lane *lane);

#endif
