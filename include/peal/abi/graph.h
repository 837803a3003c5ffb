/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_GRAPH_H
#define PEAL_ABI_GRAPH_H

#include <peal/abi/task.h>

/*
 * Graphs of tasks and messages: the data that the host (peal/graph.h) shares
 * with the schedulers. A scheduler is a resident actor on a device. The nodes
 * of the device lie in the device's memory.
 *
 * 1. Each node counts the predecessors that are not over.
 * 2. At 0 the scheduler sends the node's tasks to a pool, or its message.
 * 3. When the node is over, the scheduler counts down each successor. For a
 *    successor on another device it sends a COUNT to that scheduler.
 */

/** The most ports of a scheduler. They lead to the host, each device with
 * successors, each handler's pool and each receiver of messages. */
#define PEAL_GRAPH_PORTS 128

/** Types of messages to and from schedulers. */
enum peal_graph_word {
	PEAL_GRAPH_REPORT = 0, /* from a task: a struct peal_task_done */
	PEAL_GRAPH_BEGIN = 1, /* from the host: a struct peal_graph_step */
	PEAL_GRAPH_COUNT =
		2, /* from another scheduler: a struct peal_graph_step */
	PEAL_GRAPH_MORE = 3, /* from the scheduler itself: continue */
	PEAL_GRAPH_DONE = 4 /* to the host: a struct peal_graph_step */
};

struct peal_graph_step {
	uint32_t run; /* number of the run, from 1 */
	uint32_t node; /* COUNT: the receiver's node; DONE: the sender's rank */
	int32_t result; /* COUNT: of the ended node; DONE: 0, or the error of
			 * the scheduler; BEGIN: 0 */
	uint32_t reserved;
};

enum peal_graph_node_kind { PEAL_GRAPH_TASK = 1, PEAL_GRAPH_MESSAGE = 2 };

enum peal_graph_node_state {
	PEAL_GRAPH_WAITS = 0,
	PEAL_GRAPH_RUNS = 1,
	PEAL_GRAPH_IS_DONE = 2,
	PEAL_GRAPH_FAILED = 3,
	PEAL_GRAPH_SKIPPED = 4 /* a predecessor has failed or was skipped */
};

/** A node, in the memory of its device. The host writes it before each run.
 * During a run the scheduler writes the fields after `task`. */
struct peal_graph_node {
	uint32_t kind; /* enum peal_graph_node_kind */
	uint32_t port; /* of the scheduler */
	uint32_t pieces; /* number of tasks */
	uint32_t first_edge, n_edges; /* to its successors */
	uint32_t type; /* of the message; `task.parameter` has its bytes */
	uint64_t count; /* elements of all tasks */
	uint64_t element_bytes[PEAL_TASK_ARGUMENTS];
	struct peal_task task; /* the common part of all tasks */
	uint32_t left; /* predecessors that are not over, and 1 until BEGIN */
	uint32_t pieces_left; /* tasks that are not over */
	int32_t result; /* the first error; 0: none */
	uint32_t state; /* enum peal_graph_node_state */
	uint64_t began_ns, ended_ns; /* by the device's clock */
};

/** An edge to a successor. */
struct peal_graph_edge {
	uint32_t port; /* to the successor's scheduler; 0: the same scheduler */
	uint32_t node; /* the successor's number on its device */
};

/** First bytes of a scheduler's state. Addresses are in device memory. */
struct peal_graph_init {
	uint64_t nodes, edges;
	uint64_t ready, over; /* queues of n_nodes uint32_t node numbers */
	uint32_t n_nodes;
	uint32_t rank;
	uint32_t self; /* the scheduler's number in its kernel */
	uint32_t reserved;
};

#endif
