/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_GRAPH_H
#define PEAL_ABI_GRAPH_H

#include <peal/abi/task.h>

/*
 * Graphs of tasks and messages: what the host (peal/graph.h) and the conductors,
 * a resident actor on each device, agree on. A conductor has the nodes of its
 * device in its device's memory. It counts, of each, what that waits for; when
 * nothing is left, it sends the node's tasks to a pool, or its message; when they
 * are over it counts at the nodes behind, of other devices by a word to their
 * conductor.
 */

/** The most ports of a conductor: to the host, to each other conductor, to each
 * handler's pool, to each receiver of messages. */
#define PEAL_GRAPH_PORTS 24

/** Types of messages to and from conductors; reports of tasks are of type 0. */
enum peal_graph_word {
	PEAL_GRAPH_REPORT = 0, /* a struct peal_task_done, by a task */
	PEAL_GRAPH_BEGIN = 1, /* by the host: a struct peal_graph_step */
	PEAL_GRAPH_COUNT =
		2, /* by another conductor: a struct peal_graph_step */
	PEAL_GRAPH_MORE = 3, /* by itself */
	PEAL_GRAPH_DONE = 4 /* to the host: a struct peal_graph_step */
};

struct peal_graph_step {
	uint32_t run; /* number of the run, from 1 */
	uint32_t node; /* of the receiver's; of DONE: the sender's rank */
	int32_t result; /* of the node that is over; of a BEGIN 0; of a DONE 0,
			 * or why the conductor cannot go on */
	uint32_t reserved;
};

enum peal_graph_node_kind { PEAL_GRAPH_TASK = 1, PEAL_GRAPH_MESSAGE = 2 };

enum peal_graph_node_state {
	PEAL_GRAPH_WAITS = 0,
	PEAL_GRAPH_RUNS = 1,
	PEAL_GRAPH_IS_DONE = 2,
	PEAL_GRAPH_FAILED = 3,
	PEAL_GRAPH_SKIPPED = 4 /* one before it has failed, or was skipped */
};

/** A node, in the memory of its device. The host writes it before each run, its
 * conductor alone what is behind `task`. */
struct peal_graph_node {
	uint32_t kind; /* enum peal_graph_node_kind */
	uint32_t port; /* of the conductor */
	uint32_t pieces; /* tasks */
	uint32_t first_edge, n_edges;
	uint32_t type; /* of a message, whose bytes are the parameters */
	uint64_t count; /* elements of all tasks */
	uint64_t element_bytes[PEAL_TASK_ARGUMENTS];
	struct peal_task task; /* what all of them have in common */
	uint32_t left; /* nodes that it waits for, and the begin of the run */
	uint32_t pieces_left; /* not over */
	int32_t result; /* the first error */
	uint32_t state; /* enum peal_graph_node_state */
	uint64_t began_ns, ended_ns; /* the device's clock */
};

/** What is behind a node. */
struct peal_graph_edge {
	uint32_t rank; /* whose it is */
	uint32_t node; /* its number there */
};

/** What a conductor begins with: addresses in its device's memory. */
struct peal_graph_init {
	uint64_t nodes, edges;
	uint64_t ready, over; /* rooms for n_nodes numbers each */
	uint32_t n_nodes;
	uint32_t rank;
	uint32_t self; /* its own number in the kernel */
	uint32_t reserved;
};

#endif
