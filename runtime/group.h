/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GROUP_H
#define PEALI_GROUP_H

#include <peal/group.h>
#include "runtime/runtime.h"

/*
 * The inside of a group, for group.c, which makes it, and collective.c, which uses
 * it. One thread at a time does, but for peal_group_info.
 */

/** A member, by its place in the ring. */
struct peali_member {
	int device;
	uint32_t rank;
	struct peal_kernel *kernel;
	struct peal_link *next; /* of channel 0, to the next place */
	uint64_t done; /* channels that have ended the collective in hand, a bit
			* each; what goes not by the ring is channel 0 */
	/* what the collective in hand keeps allocated */
	struct peali_range in, out;
};

struct peal_group {
	struct peal_runtime *rt;
	struct peal_group *next; /* of the runtime's; its lock guards the list */
	uint32_t n, channels, lanes;
	uint64_t slice_bytes;
	struct peali_member *members; /* n; their kernels are NULL if it is 1 */
	uint32_t place_of[PEAL_GROUP_MAX]; /* by rank */
	struct peal_endpoint *host;
	struct peali_area plan_area;
	struct peal_collective_plan *plan; /* host view; NULL if n is 1 */
	struct peal_link **links;
	uint32_t n_links, max_links;
	uint64_t link_bytes;
	uint32_t waits_for; /* reports that are to come; 0: nothing goes on */
	uint32_t algorithm; /* of the collective in hand */
	_Atomic uint64_t ended; /* collectives */
};

/* The endpoint's port to a member's ring of a channel; of channel g->channels to its
 * exchange. */
static inline uint32_t peali_member_port(const struct peal_group *g,
					 uint32_t place, uint32_t channel)
{
	return place * (g->channels + 1) + channel;
}

/* Lets go of the memory of a collective that is over. */
void peali_collective_let_go(struct peal_group *group);

#endif
