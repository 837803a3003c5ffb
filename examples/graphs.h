/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_GRAPHS_H
#define PEAL_EXAMPLES_GRAPHS_H

/*
 * Makes the graphs for 13_pagerank.c. They are equal on every machine. Also
 * computes the ranks of the vertices by plain loops, without code of the
 * kernel.
 */

#include "example.h"

#define GRAPHS 3 /* kinds of graphs */

/* An undirected graph: an edge is in the lists of both its ends. */
struct graph {
	const char *name;
	uint32_t n, m; /* vertices, edges */
	uint32_t *end; /* 2 * m vertices: both ends of each edge */
	uint32_t *first; /* n + 1 indexes: where the list of vertex i starts */
	uint32_t *neighbour; /* 2 * m vertices: the lists */
	uint64_t *rank; /* expected rank of each vertex */
	uint64_t noise; /* state of the random generator */
};

/* Returns a random number from 0 to n - 1, by xorshift64. */
static inline uint32_t graph_below(struct graph *g, uint32_t n)
{
	g->noise ^= g->noise << 13;
	g->noise ^= g->noise >> 7;
	g->noise ^= g->noise << 17;
	return (uint32_t)((g->noise >> 32) * n >> 32);
}

/* Adds an edge, unless both its ends are the same vertex. */
static inline void graph_edge(struct graph *g, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	g->end[2 * (uint64_t)g->m] = a;
	g->end[2 * (uint64_t)g->m++ + 1] = b;
}

/* Connects each vertex to the next one, and each odd vertex to a random one. */
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

/*
 * Connects each vertex to two earlier vertices. Picks a random end of an
 * earlier edge, so a vertex with many edges gets even more. A few vertices get
 * very many (preferential attachment).
 */
static inline void graph_hubs(struct graph *g, uint32_t n)
{
	g->name = "random with hubs";
	g->n = n;
	graph_edge(g, 0, 1);
	for (uint32_t i = 2; i < n; i++)
		for (int k = 0; k < 2; k++)
			graph_edge(g, i, g->end[graph_below(g, 2 * g->m)]);
}

/* A square grid with three of ten edges missing. Some vertices have no edge. */
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

/*
 * Builds the lists of neighbours from the edges. First renumbers the vertices
 * without order. Then half of the edges lead from one half of the vertices to
 * the other.
 */
static inline void graph_index(struct graph *g)
{
	uint32_t ends = 2 * g->m;

	for (uint32_t i = 0; i < ends; i++) {
		g->end[i] = (uint32_t)(g->end[i] * 7919ull % g->n);
		g->first[g->end[i]]++;
	}
	for (uint32_t i = 1; i <= g->n; i++)
		g->first[i] += g->first[i - 1];
	/* first[i] is the end of list i here, and its start after the loop */
	for (uint32_t i = 0; i < ends; i++)
		g->neighbour[--g->first[g->end[i]]] = g->end[i ^ 1];
}

/*
 * Computes the ranks after `rounds` rounds, with the rules of pagerank.h. 1 is
 * 2^32, a vertex keeps 15 % of it, and each division rounds down.
 */
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

/*
 * Makes a graph of a kind (0 .. GRAPHS - 1) with side * side vertices. Computes
 * its ranks. The caller frees it by graph_free.
 */
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
