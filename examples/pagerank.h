/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_PAGERANK_H
#define PEAL_EXAMPLES_PAGERANK_H

#include <peal/device/typed_message.h>

/* The types that 13_pagerank.c and programs/pagerank.c share. */

/*
 * Ranks are fixed-point numbers, so a sum does not depend on the order of its
 * terms. A vertex starts with rank 1. In each round it keeps 15 % of 1.
 */
#define RANK_ONE (1ull << 32)
#define RANK_KEPT (RANK_ONE * 15 / 100)

/*
 * Shares that a vertex sends at most for one message. Then its worker takes
 * other messages.
 */
#define AT_ONCE 4

/* Ports of every vertex. */
#define PORT_REMOTE 0 /* to the other kernel */
#define PORT_HOST 1

/**
 * To a vertex from the host: its place in the graph, and the number of rounds.
 */
struct begin {
	uint64_t self; /* the vertex's address */
	uint64_t edges; /* where its device has the neighbours' addresses */
	uint32_t degree; /* number of neighbours */
	uint32_t vertex, rounds, reserved;
};

/** To a vertex from a neighbour: a part of the neighbour's rank. */
struct share {
	uint64_t rank, round;
};

/** To a vertex from itself: send the next shares. */
struct step {
	uint64_t none;
};

/** To the host: the rank after all rounds. */
struct ranked {
	uint64_t vertex, rank;
};

PEAL_TYPED_MESSAGE(begin, struct begin, 1)
PEAL_TYPED_MESSAGE(share, struct share, 2)
PEAL_TYPED_MESSAGE(step, struct step, 3)
PEAL_TYPED_MESSAGE(ranked, struct ranked, 4)

#endif
