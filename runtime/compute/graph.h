/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_GRAPH_H
#define PEALI_GRAPH_H

#include <peal/graph.h>
#include "p2p/peer.h"
#include "runtime/runtime.h"

/*
 * Internals of graphs. graph.c adds nodes, runs graphs and reads the results.
 * graph_build.c makes kernels, links and tables on the devices. One thread at a
 * time uses a graph.
 */

/** The host's record of a node. */
struct peali_graph_node {
	uint32_t rank; /* of its device */
	uint32_t number; /* index among the nodes of its device */
	uint32_t handler; /* of a task: index in the program */
	uint64_t to; /* of a message: address of the receiver */
	uint32_t waits; /* number of nodes that it waits for */
	uint32_t messages; /* of the first node of a device with this receiver:
			    * nodes with both; else 0 */
	uint32_t other; /* 1 + the device's next such first node; 0: none */
	struct peal_graph_node image; /* graph_build.c sets port and edges */
	/* memory of a task's arguments, not to be freed */
	struct peali_range kept[PEAL_TASK_ARGUMENTS];
};

struct peali_graph_edge {
	uint32_t before, after;
};

/** The edges from nodes of one device to nodes of another device. */
struct peali_graph_pair {
	uint32_t from, to; /* ranks of the devices */
	uint32_t n_edges;
};

/** A device of a graph. */
struct peali_graph_device {
	int device;
	uint32_t workers; /* workers that run tasks; 0: no tasks */
	uint32_t n_nodes, n_edges, n_tasks; /* its nodes, edges from them,
						* pieces of its tasks */
	struct peal_kernel *tasks; /* kernel that runs tasks; NULL: no tasks */
	struct peal_kernel *scheduler; /* kernel of the scheduler */
	uint64_t address; /* of the scheduler */
	uint64_t *owner; /* by worker: address of the actor that owns the port
			  * of all task actors; 0: none yet */
	uint64_t *pool; /* by handler: address of the pool; 0: none */
	uint32_t *port; /* by handler: scheduler's port to the pool; 0: none */
	/* devices with successors of its nodes, among all pairs. Pair k
	 * of them leaves by port 1 + k. */
	uint32_t first_pair, n_pairs;
	uint32_t receivers; /* 1 + the first node of a list with all its
			     * receivers of messages; 0: none */
	uint32_t n_ports, n_inputs; /* of the scheduler */
	struct peal_graph_node *image; /* its n_nodes nodes before a run */
	/* tables in the device's memory: address (0: none) and size */
	uint64_t memory, memory_bytes;
	int ended; /* 1: it has reported the end of the current run */
};

struct peal_graph {
	struct peal_runtime *rt;
	struct peal_graph *next; /* runtime's list, under rt->lock */
	const struct peal_program *program;
	char name[32];
	uint32_t n, workers, lanes; /* n: devices; workers, lanes 0: default */
	struct peali_graph_device *devices; /* n */
	struct peali_graph_node *nodes;
	struct peali_graph_edge *edges;
	uint32_t n_nodes, max_nodes, n_edges, max_edges;
	struct peali_graph_pair *pairs; /* by from, then by to */
	uint32_t n_pairs;
	struct peal_endpoint *host; /* port i leads to the device of rank i */
	struct peal_link **links;
	uint32_t n_links;
	int made; /* 1: kernels, links and tables exist */
	uint32_t run; /* number of the current or last run; 0: none yet */
	_Atomic uint64_t submission; /* number of that run */
	/* devices that have not ended it; 0: no run */
	_Atomic uint32_t waits_for;
	int to_collect; /* 1: the results of the run are yet to be read */
	int lost; /* 1: the current run can never end */
};

/*
 * Makes kernels, pools, links and tables on all devices. After an error the
 * caller removes them by peali_graph_teardown.
 */
int peali_graph_build(struct peal_graph *graph, const char *call);
/*
 * Ends the kernels and frees everything that peali_graph_build has made.
 * Returns 0, or an error such as PEAL_EHUNG: then the kernels stay.
 */
int peali_graph_teardown(struct peal_graph *graph);
/* Writes all nodes to their devices, in their state before a run. */
int peali_graph_reset(struct peal_graph *graph);

struct peal_graph *peali_graph_next(struct peal_graph *graph);
/* Returns 1 if a run has not ended on all devices and uses a device, or
 * PEAL_ALL_DEVICES. It has a submission number below `before`. The caller holds
 * rt->lock. */
int peali_graph_is_busy(const struct peal_graph *graph, int device,
			uint64_t before);

#endif
