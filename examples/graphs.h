/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_GRAPHS_H
#define PEAL_EXAMPLES_GRAPHS_H

/*
 * Graphs for 13_graph.c, the same on every machine, and the ranks of their
 * vertices by plain loops, which share no code with the kernel.
 */

#include "example.h"

#define GRAPHS 3 /* kinds */

/* Without direction: an edge is in the lists of both its ends. */
struct graph {
	const char *name;
	uint32_t n, m; /* vertices, edges */
	uint32_t *end; /* two for each edge */
	uint32_t *first; /* of the neighbours of vertex i; n + 1 */
	uint32_t *neighbour; /* 2 * m */
	uint64_t *rank; /* of each vertex, that it should come to */
	uint64_t noise; /* state of the generator */
};

/* xorshift64: a number from 0 to n - 1. */
static inline uint32_t graph_below(struct graph *g, uint32_t n)
{
	g->noise ^= g->noise << 13;
	g->noise ^= g->noise >> 7;
	g->noise ^= g->noise << 17;
	return (uint32_t)((g->noise >> 32) * n >> 32);
}

static inline void graph_edge(struct graph *g, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	g->end[2 * (uint64_t)g->m] = a;
	g->end[2 * (uint64_t)g->m++ + 1] = b;
}

/* Every vertex knows the next one, every other one some more far away. */
static inline void graph_ring(struct graph *g, uint32_t n)
{
	g->name = "ring with chords";
	g->n = n;
	for (uint32_t i = 0; i < n; i++) {
		graph_edge(g, i, (i + 1) % n);
		if (i % 2)
			graph_edge(g, i, graph_below(g, n));
	}
}

/* Every vertex knows two earlier ones, rather one that many know: the ends of an
 * edge are picked, not vertices. So few have very many neighbours. */
static inline void graph_hubs(struct graph *g, uint32_t n)
{
	g->name = "random with hubs";
	g->n = n;
	graph_edge(g, 0, 1);
	for (uint32_t i = 2; i < n; i++)
		for (int k = 0; k < 2; k++)
			graph_edge(g, i, g->end[graph_below(g, 2 * g->m)]);
}

/* A square of which three edges of ten are not there; some vertices have none. */
static inline void graph_grid(struct graph *g, uint32_t side)
{
	g->name = "grid with gaps";
	g->n = side * side;
	for (uint32_t i = 0; i < g->n; i++) {
		if (i % side + 1 < side && graph_below(g, 10) >= 3)
			graph_edge(g, i, i + 1);
		if (i + side < g->n && graph_below(g, 10) >= 3)
			graph_edge(g, i, i + side);
	}
}

static inline void *graph_memory(uint64_t n, uint64_t bytes)
{
	void *memory = calloc(n ? n : 1, bytes);

	expect(memory != NULL, "memory for a graph");
	return memory;
}

/* The lists of neighbours, out of the edges. Vertices are numbered anew, in no
 * order, so that half of the edges lead from one half of them to the other. */
static inline void graph_index(struct graph *g)
{
	uint32_t ends = 2 * g->m;

	for (uint32_t i = 0; i < ends; i++) {
		g->end[i] = (uint32_t)(g->end[i] * 7919ull % g->n);
		g->first[g->end[i]]++;
	}
	for (uint32_t i = 1; i <= g->n; i++)
		g->first[i] += g->first[i - 1];
	/* from where a list ends to where it begins */
	for (uint32_t i = 0; i < ends; i++)
		g->neighbour[--g->first[g->end[i]]] = g->end[i ^ 1];
}

/* The ranks of all vertices after so many rounds. As in graph.h: 1 is 2^32, a
 * vertex keeps 15 of 100, and each division rounds down. */
static inline void graph_rank(struct graph *g, int rounds)
{
	uint64_t *sum = graph_memory(g->n, sizeof(*sum));

	for (uint32_t i = 0; i < g->n; i++)
		g->rank[i] = 1ull << 32;
	for (int r = 0; r < rounds; r++) {
		for (uint32_t i = 0; i < g->n; i++)
			sum[i] = 0;
		for (uint32_t i = 0; i < g->n; i++)
			for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
				sum[g->neighbour[k]] +=
					g->rank[i] /
					(g->first[i + 1] - g->first[i]);
		for (uint32_t i = 0; i < g->n; i++)
			g->rank[i] =
				(1ull << 32) * 15 / 100 + sum[i] * 85 / 100;
	}
	free(sum);
}

/* One of a kind, from 0 on, with side * side vertices, which are ranked. */
static inline void graph_make(struct graph *g, int kind, uint32_t side,
			      int rounds)
{
	const struct graph empty = { .noise = 88172645463325252ull };
	uint32_t n = side * side;

	*g = empty;
	g->end = graph_memory(4ull * n, sizeof(*g->end));
	g->neighbour = graph_memory(4ull * n, sizeof(*g->neighbour));
	g->first = graph_memory(n + 1, sizeof(*g->first));
	g->rank = graph_memory(n, sizeof(*g->rank));
	if (kind == 0)
		graph_ring(g, n);
	else if (kind == 1)
		graph_hubs(g, n);
	else
		graph_grid(g, side);
	graph_index(g);
	graph_rank(g, rounds);
}

static inline void graph_free(struct graph *g)
{
	free(g->end);
	free(g->neighbour);
	free(g->first);
	free(g->rank);
}

#endif
