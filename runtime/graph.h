/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GRAPH_H
#define PEALI_GRAPH_H

#include <peal/graph.h>
#include "runtime/runtime.h"

/*
 * The inside of a graph, for graph.c, which says what is in it and runs it, and
 * graph_make.c, which makes what that needs. One thread at a time uses it.
 */

/** A node, as it was asked for. */
struct peali_graph_node {
	uint32_t rank; /* of its device */
	uint32_t number; /* among those of its device */
	uint32_t handler; /* of a task */
	uint64_t to; /* of a message */
	uint32_t waits; /* nodes before it */
	struct peal_graph_node image; /* its `left` and edges come later */
	struct peali_range kept[PEAL_TASK_ARGUMENTS];
};

struct peali_graph_edge {
	uint32_t before, after;
};

/** A device of a graph. */
struct peali_graph_place {
	int device;
	uint32_t workers; /* that do tasks */
	uint32_t n_nodes, n_edges, n_tasks; /* what its nodes have */
	struct peal_kernel *tasks; /* NULL: it has none to do */
	struct peal_kernel *conductor;
	uint64_t address; /* of the conductor */
	uint64_t *owner; /* of each worker the actor whose ports all use; 0 */
	uint64_t *pool; /* by handler; 0: none */
	uint32_t *port; /* by handler: the conductor's */
	uint32_t n_ports;
	struct peal_graph_node *image; /* of all its nodes, n_nodes */
	/* in its memory; 0: none */
	uint64_t memory, memory_bytes;
	int ended; /* of the run in hand: it has said so */
};

struct peal_graph {
	struct peal_runtime *rt;
	struct peal_graph *next; /* of the runtime's; its lock guards the list */
	const struct peal_program *program;
	char name[32];
	uint32_t n, workers, lanes;
	struct peali_graph_place *places; /* n */
	struct peali_graph_node *nodes;
	struct peali_graph_edge *edges;
	uint32_t n_nodes, max_nodes, n_edges, max_edges;
	struct peal_endpoint *host; /* port: rank */
	struct peal_link **links;
	uint32_t n_links;
	int made;
	uint32_t run; /* number of the one in hand, or of the last one */
	uint32_t waits_for; /* devices that have not ended it; 0: none goes on */
	int to_collect; /* what became of its nodes is yet to be read */
	int lost; /* a run can never end */
};

/* Makes kernels, pools, links and tables of all devices: 0; or what there is can be
 * unmade. */
int peali_graph_make(struct peal_graph *graph, const char *call);
/* Ends what was made: 0, or PEAL_EHUNG and it stays. */
int peali_graph_unmake(struct peal_graph *graph);
/* Puts all nodes into their devices' memory as they are before a run. */
int peali_graph_reset(struct peal_graph *graph);

#endif
