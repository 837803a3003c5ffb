/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_GRAPH_H
#define PEAL_EXAMPLES_GRAPH_H

#include <peal/device/message_of.h>

/* What 13_graph.c and programs/graph.c agree on. */

/* Ranks are fixed-point numbers, so that a sum does not depend on its order: a
 * vertex begins with one, and keeps 15 of 100 in every round. */
#define RANK_ONE (1ull << 32)
#define RANK_KEPT (RANK_ONE * 15 / 100)

/* Shares that a vertex sends for one input; then others have their turn. */
#define AT_ONCE 4

/* Ports of every vertex. */
#define PORT_AWAY 0 /* to the other device */
#define PORT_HOST 1

/** To a vertex from the host: who it is, and how many rounds it goes through. */
struct begin {
	uint64_t self; /* its address */
	uint64_t edges; /* where its neighbours' addresses lie on its device */
	uint32_t degree; /* how many these are */
	uint32_t vertex, rounds, reserved;
};

/** To a vertex from a neighbour: its part of that one's rank. */
struct share {
	uint64_t rank, round;
};

/** To a vertex from itself: go on. */
struct step {
	uint64_t none;
};

/** To the host: what came of all rounds. */
struct ranked {
	uint64_t vertex, rank;
};

PEAL_MESSAGE_OF(begin, struct begin, 1)
PEAL_MESSAGE_OF(share, struct share, 2)
PEAL_MESSAGE_OF(step, struct step, 3)
PEAL_MESSAGE_OF(ranked, struct ranked, 4)

#endif
