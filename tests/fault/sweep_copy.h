/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_COPY_H
#define PEAL_TESTS_SWEEP_COPY_H

/* The copies of a scenario. */

#include <peal/memory.h>
#include <peal/peer.h>

#include "fault/sweep_step.h"

#define SWEEP_BYTES 3000 /* of a copy */

/* Copies from the host by both devices to the host, and compares. */
static inline int sweep_copies(struct peal_runtime *rt)
{
	static uint8_t in[SWEEP_BYTES], out[SWEEP_BYTES];
	uint64_t address[2] = { 0, 0 };
	int i, good = 1;

	harness_fill(in, sizeof(in), 7, 8);
	for (i = 0; i < 2 && good; i++)
		good = STEP(peal_memory_alloc(rt, i, SWEEP_BYTES, &address[i]));
	good = good &&
	       STEP(peal_peer_copy(rt, 0, address[0], PEAL_HOST_MEMORY,
				   (uintptr_t)in, SWEEP_BYTES)) &&
	       STEP(peal_peer_copy(rt, 1, address[1], 0, address[0],
				   SWEEP_BYTES)) &&
	       STEP(peal_peer_copy(rt, PEAL_HOST_MEMORY, (uintptr_t)out, 1,
				   address[1], SWEEP_BYTES));
	sweep->wrong += good && memcmp(in, out, SWEEP_BYTES) != 0;
	for (i = 0; i < 2; i++)
		if (address[i])
			STEP(peal_memory_free(rt, i, address[i]));
	return good;
}

#endif
