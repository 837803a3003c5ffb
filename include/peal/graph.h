/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_GRAPH_H
#define PEAL_GRAPH_H

#include <stdint.h>

#include <peal/abi/graph.h>
#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_program;
struct peal_runtime;

/*
 * Graphs of tasks and messages, which devices resolve by themselves. A node is a
 * handler for some elements on one device, a one-shot job (peal/device/task.h), or a
 * message to an actor; an edge says that a node begins when another one is over, and
 * sees what that has written. The host begins a run by a message to each device,
 * and hears of its end; all that is between, also from device to device, goes by
 * links between resident actors, the conductors, one on each device.
 *
 * The nodes of a device that can begin do so in the order in which that came to be;
 * tasks of several nodes run beside each other, as far as there are workers. A
 * message is over when it is sent: its link has taken it. That has room for all that
 * the device sends to its receiver in a run; one that takes none for longer holds up
 * all of the device, until it does. What is sent to one whose kernel has ended is
 * dead, as what any handler sends there, and the node is over.
 *
 * If a task fails, the nodes behind its node are not done (nor what is behind them),
 * all others are, and the run ends with that error. A graph runs as often as it is
 * asked to, once at a time, and is made before the first run: what it needs on each
 * device stays.
 */
struct peal_graph;

#define PEAL_GRAPH_NODES_MAX 16384
#define PEAL_GRAPH_EDGES_MAX 262144
#define PEAL_GRAPH_DEVICES_MAX 16
#define PEAL_GRAPH_PIECES_MAX 1024 /* of a node */
#define PEAL_GRAPH_TASKS_MAX 262144 /* of a device, all pieces counted */

/** Zero in a field: its default. */
struct peal_graph_options {
	uint32_t size; /* sizeof(struct peal_graph_options) */
	uint32_t workers; /* of each device for tasks; as peal_executor_options */
	uint32_t lanes; /* of each of them; likewise */
	uint32_t reserved; /* 0 */
	const char *name; /* for texts; "graph". Copied, at most 31 bytes. */
};

/** What a task works on. */
struct peal_graph_argument {
	uint64_t address; /* as its device sees it; allocated as long as the
			   * graph is there */
	uint64_t element_bytes; /* of one element; 0: the same for all pieces */
	uint64_t bytes; /* of one that is the same for all; else 0 */
};

/** A handler, for elements 0 .. count - 1. */
struct peal_graph_task {
	uint32_t size; /* sizeof(struct peal_graph_task) */
	uint32_t rank; /* of its device in the graph */
	const char *handler; /* its name; PEAL_TASK defines it */
	uint64_t count; /* elements, 1 or more */
	uint32_t pieces; /* into which it is cut, for as many workers; 1 */
	uint32_t n_arguments; /* up to PEAL_TASK_ARGUMENTS */
	const struct peal_graph_argument *arguments;
	const void *parameters;
	uint32_t parameter_bytes; /* up to PEAL_TASK_PARAMETERS */
	uint32_t reserved; /* 0 */
};

/** A message. */
struct peal_graph_message {
	uint32_t size; /* sizeof(struct peal_graph_message) */
	uint32_t rank; /* of the device that sends it */
	uint64_t to; /* address of an actor, a pool or an endpoint, which takes
		      * one input for each device that sends there */
	uint32_t type; /* the receiver's own number, up to 65535 */
	uint32_t bytes; /* up to PEAL_TASK_PARAMETERS */
	const void *data; /* copied */
};

/** A node, after a run. */
struct peal_graph_node_info {
	int device;
	uint32_t kind; /* enum peal_graph_node_kind */
	uint32_t state; /* enum peal_graph_node_state */
	int32_t result; /* 0; of FAILED its first error, PEAL_EHANDLER for
			 * PEAL_ETIMEDOUT and what is above 0; of SKIPPED that
			 * of a node before it */
	uint32_t pieces;
	uint32_t waits; /* nodes that it waits for */
	uint64_t began_ns, ended_ns; /* by its device's clock */
};

/**
 * Makes a graph without nodes.
 *
 * @param runtime   an open runtime.
 * @param devices   n indexes, each once: the i-th has rank i.
 * @param n         1 .. PEAL_GRAPH_DEVICES_MAX.
 * @param program   whose handlers do tasks.
 * @param options   NULL for all defaults.
 * @param graph_out the graph; the caller destroys it.
 * @return 0; PEAL_EINVAL a device twice, or an option out of its range (named);
 *         PEAL_ENODEV; PEAL_ENOTSUP the program has no tasks; PEAL_ENOMEM.
 *         Thread-safe.
 */
int peal_graph_create(struct peal_runtime *runtime, const int *devices,
		      uint32_t n, const struct peal_program *program,
		      const struct peal_graph_options *options,
		      struct peal_graph **graph_out);

/**
 * Adds a task.
 *
 * @param graph    a graph that never ran.
 * @param task     what it is; copied, with its parameters.
 * @param node_out its number, from 0 on.
 * @return 0; PEAL_EINVAL a field is out of its range (named); PEAL_ENOENT no such
 *         handler; PEAL_ENOTSUP it does no tasks; PEAL_EFAULT an argument is in no
 *         allocation that the device sees (both named); PEAL_ENOSPC there are
 *         PEAL_GRAPH_NODES_MAX; PEAL_EBUSY the graph has run; PEAL_ENOMEM. One
 *         thread at a time for a graph.
 */
int peal_graph_add_task(struct peal_graph *graph,
			const struct peal_graph_task *task, uint32_t *node_out);

/**
 * Adds a message.
 *
 * @param graph    a graph that never ran.
 * @param message  what it is; copied.
 * @param node_out its number, from 0 on.
 * @return 0; PEAL_EINVAL a field is out of its range (named); PEAL_ENOENT nobody has
 *         that address; PEAL_ENOSPC; PEAL_EBUSY the graph has run; PEAL_ENOMEM.
 *         One thread at a time for a graph.
 */
int peal_graph_add_message(struct peal_graph *graph,
			   const struct peal_graph_message *message,
			   uint32_t *node_out);

/**
 * Has a node wait for another one. The same edge twice is one.
 *
 * @param graph  a graph that never ran.
 * @param before the node that is to be over.
 * @param after  the one that then begins.
 * @return 0; PEAL_ENOENT no such node; PEAL_EINVAL a node cannot wait for itself;
 *         PEAL_ENOSPC there are PEAL_GRAPH_EDGES_MAX; PEAL_EBUSY the graph has run;
 *         PEAL_ENOMEM. One thread at a time for a graph.
 */
int peal_graph_add_edge(struct peal_graph *graph, uint32_t before,
			uint32_t after);

/**
 * Begins a run and returns; peal_graph_wait ends it. The first one launches two
 * kernels on each device, and makes links.
 *
 * @param graph a graph.
 * @return 0; PEAL_EINVAL nodes wait for each other in a circle (one is named);
 *         PEAL_ENOSPC a device's conductor needs more than PEAL_GRAPH_PORTS ports,
 *         or it has more than PEAL_GRAPH_TASKS_MAX tasks;
 *         PEAL_EBUSY the run before has not been waited for to its end; PEAL_EABORTED
 *         a kernel of it has ended (named); what peal_kernel_launch,
 *         peal_pool_create and peal_connect say. Then nothing has begun, unless a
 *         kernel ended just now: then others may have, and the graph can only be
 *         destroyed. One that could not be made can be tried again. One thread at a
 *         time for a graph.
 */
int peal_graph_start(struct peal_graph *graph);

/**
 * Waits for the end of a run.
 *
 * @param graph      a graph.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return 0 all nodes are done, and what they have written can be read; 0 too if
 *         there is no run; PEAL_ETIMEDOUT it goes on (the text names devices that
 *         have not ended it). Else it is over: the error of the first node that
 *         failed (named, with how many were not done behind those that did);
 *         PEAL_EABORTED a kernel of it has ended or a handler says that it is about
 *         to (named), or a conductor got what makes no sense, and the graph can only
 *         be destroyed. One thread at a time for a graph.
 */
int peal_graph_wait(struct peal_graph *graph, int64_t timeout_ns);

/**
 * Both: begins a run and waits for it.
 *
 * @param graph      a graph.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return as the two.
 */
int peal_graph_run(struct peal_graph *graph, int64_t timeout_ns);

/**
 * What became of a node in the last run.
 *
 * @param graph    a graph.
 * @param node     its number.
 * @param info_out filled on success; before the first run state WAITS.
 * @return 0; PEAL_ENOENT no such node; PEAL_EBUSY a run goes on; PEAL_EABORTED one
 *         can never end; PEAL_EINVAL. One thread at a time for a graph.
 */
int peal_graph_node_info(struct peal_graph *graph, uint32_t node,
			 struct peal_graph_node_info *info_out);

/**
 * Ends a graph, whatever it is doing.
 *
 * @param graph a graph; NULL does nothing.
 * @return 0; PEAL_EHUNG a handler does not end, or a receiver of messages does not let
 *         go of its link (named): it stays, and may be destroyed again. No other call
 *         on it may run at the same time.
 */
int peal_graph_destroy(struct peal_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
