/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows PageRank by actors: each vertex of a graph is an actor. Each of two
 * kernels has half of the vertices, and a device of its own if there are two. A
 * vertex tells neighbours in its own kernel. It emits to the other kernel by a
 * link that leads to all vertices there. There are no global phases: a vertex
 * continues when it has heard all its neighbours. The ranks must equal the ranks
 * from plain loops, bit by bit. The handler is in programs/pagerank.c. The
 * graphs and the plain loops are in graphs.h.
 *
 * Prints the routes, then the size of each graph after its ranks were compared.
 */
#include <peal/device/kernel.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/typed_endpoint.h>

#include "example.h"
#include "pagerank.h"
#include "graphs.h"

PEAL_DECLARE_PROGRAM(pagerank);
PEAL_TYPED_ENDPOINT(ranked)

#define ROUNDS 12
#define SIDE 100 /* of the grid; the other graphs have as many vertices */
#define HALF (SIDE * SIDE / 2)
#define EDGES (4 * SIDE * SIDE) /* maximum; an edge counts at both its ends */
/*
 * Slots of every queue that vertices send to: enough for all messages that can
 * be in flight. These are two shares for each end of an edge, and a step or a
 * rank of each vertex. 64 more slots hold the messages that a worker has
 * fetched ahead. So no worker ever waits for a free slot. Two workers that
 * waited for each other would never continue.
 */
#define SLOTS (1u << 17)
PEAL_STATIC_ASSERT(SLOTS >= 2 * EDGES + 2 * HALF + 64, "all fits");

static uint64_t actor[2 * HALF]; /* addresses, in the order of vertices */
static uint64_t edge[EDGES]; /* addresses, in the order of g.neighbour */
static int device[2]; /* of each kernel */

/*
 * Spawns the vertices of a graph in a kernel. They use the ports of the actor
 * `gate`, which is not a vertex of any graph.
 */
static void enlist(struct peal_kernel *kernel, uint64_t gate, uint64_t *to)
{
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.share_ports_with = gate,
	};

	check(peal_actor_spawn_many(kernel, "vertex", &options, HALF, to),
	      "spawn vertices");
}

/* Starts all vertices, then receives and compares their ranks. */
static void rank(struct peal_runtime *runtime, struct peal_endpoint *host,
		 struct graph *g, const uint64_t *edges)
{
	struct begin begin = { .rounds = ROUNDS };
	struct peal_received got;
	struct ranked r;

	/* Copy the neighbours' addresses to the memory of each kernel. */
	for (uint32_t i = 0; i < 2 * g->m; i++)
		edge[i] = actor[g->neighbour[i]];
	for (int i = 0; i < 2; i++)
		check(peal_peer_copy(runtime, device[i], edges[i],
				     PEAL_HOST_MEMORY, (uintptr_t)edge,
				     sizeof(edge)),
		      "copy edges");
	/* Tell each vertex its address and its part of that list. */
	for (uint32_t i = 0; i < g->n; begin.vertex = ++i) {
		begin.self = actor[i];
		begin.edges = edges[i / HALF] + sizeof(*edge) * g->first[i];
		begin.degree = g->first[i + 1] - g->first[i];
		check(peal_send_to(host, i / HALF, actor[i], begin_number,
				   &begin, sizeof(begin), SECOND, NULL),
		      "begin");
	}
	for (uint32_t i = 0; i < g->n; i++) {
		check(peal_receive(host, &r, sizeof(r), &got, 60 * SECOND),
		      "receive");
		expect(ranked_received(&got) && r.vertex < g->n,
		       "the vertex of the rank");
		expect(r.rank == g->rank[r.vertex], "a rank");
		/* no rank is 0, so a second answer fails */
		g->rank[r.vertex] = 0;
	}
	printf("%s: %u vertices, %u edges, ranks equal after %d rounds\n",
	       g->name, g->n, g->m, ROUNDS);
}

int main(void)
{
	const struct peal_kernel_options o = { .size = sizeof(o),
					       .max_actors = HALF + 1,
					       .arena_bytes = HALF * 128,
					       .mailbox.slots = SLOTS };
	struct peal_runtime *runtime = open_runtime(2);
	struct peal_kernel *kernel[2];
	struct peal_endpoint *host;
	uint64_t gate[2], edges[2], at;
	struct graph g;

	check(peal_endpoint_create(runtime, NULL, &host), "make an endpoint");
	at = peal_endpoint_address(host);
	/* In each kernel the actor `gate` has the ports of all vertices. */
	for (int i = 0; i < 2; i++) {
		device[i] = device_of_part(runtime, i);
		kernel[i] = launch_as(runtime, device[i],
				      &peal_program_pagerank, &o);
		gate[i] = spawn(kernel[i], "vertex");
		check(peal_memory_alloc(runtime, device[i], sizeof(edge),
					&edges[i]),
		      "take memory");
	}
	for (uint32_t i = 0; i < 2; i++) {
		link_up(runtime, "begins", at, i, gate[i], 0);
		link_of(runtime, "ranks", gate[i], PORT_HOST, at, 0, SLOTS);
		link_of(runtime, "shares", gate[i], PORT_REMOTE, gate[!i], 0,
			SLOTS);
	}
	/* The links stay. Each graph gets new actors. */
	for (int kind = 0; kind < GRAPHS; kind++) {
		graph_make(&g, kind, SIDE, ROUNDS);
		for (int i = 0; i < 2; i++)
			enlist(kernel[i], gate[i], actor + i * HALF);
		rank(runtime, host, &g, edges);
		for (int i = 0; i < 2; i++)
			check(peal_actor_retire_many(runtime, actor + i * HALF,
						     HALF),
			      "retire");
		graph_free(&g);
	}
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
