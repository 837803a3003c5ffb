/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RING_ORDER_H
#define PEALI_RING_ORDER_H

#include <peal/abi/collective.h>

/* The order of members in a ring: the search for good routes. */

/** The most members with a search of all rings. It needs n << n bytes. */
#define PEALI_RING_EXACT_MAX 16

/*
 * Arranges n members in a ring, 2 or more. `way` has the worth of the route
 * from each rank to each other rank, at most 15. A ring is better if its steps
 * are worth more in total.
 *
 * Up to PEALI_RING_EXACT_MAX members get the best ring. Of equal rings it is
 * the first by ranks. More members get a ring that no single move improves.
 * ring_out[place] is a rank, and ring_out[0] is 0. Returns 0 or PEAL_ENOMEM.
 */
int peali_ring_order(uint32_t n, uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
		     uint32_t *ring_out, const char *call);
/* Arranges as for more than PEALI_RING_EXACT_MAX members. */
void peali_ring_improve(uint32_t n, uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
			uint32_t *ring_out);
/* Returns the worth of all steps of a ring. */
uint32_t peali_ring_worth(uint32_t n,
			  uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
			  const uint32_t *ring);

#endif
