/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_GRAPH_H
#define PEAL_GRAPH_H

#include <stdint.h>

#include <peal/abi/graph.h>
#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_program;
struct peal_runtime;

/*
 * Graphs of tasks and messages that devices execute without the host.
 * A task node runs a handler over elements on one device (peal/device/task.h).
 * A message node sends one message to an actor, a pool or an endpoint.
 * An edge makes one node wait for another node.
 * Typical sequence: peal_graph_create, then peal_graph_add_task,
 * peal_graph_add_message and peal_graph_add_edge for each part.
 * Then peal_graph_run as often as needed, and peal_graph_destroy.
 */

/**
 * A graph.
 *
 * A node begins when all nodes that it waits for are over. A task then sees
 * all memory that those nodes have written.
 *
 * The host sends one message to each device to begin a run. Each device
 * reports the end of the run to the host. In between, a resident actor on each
 * device, the scheduler, starts the nodes. Schedulers exchange messages by
 * links, also between devices.
 *
 * The links between two devices exist only if the graph has an edge between
 * their nodes. So memory and set-up grow with devices, nodes and edges.
 *
 * A device starts its nodes in the order in which they became ready. Tasks of
 * several nodes run concurrently, on as many workers as there are.
 *
 * A message node is over once its link has accepted the message. That link has
 * slots for all messages of one run from the device to the receiver. If the
 * receiver takes no messages for several runs, the link becomes full. A full
 * link stalls all nodes of the sending device until the receiver takes
 * messages. If the receiver's kernel has ended, the message is dead at its link
 * and the node is over.
 *
 * If a task fails, the nodes that depend on its node are skipped, also
 * indirectly. All other nodes run. The run then ends with the task's error.
 *
 * A graph has at most one run at a time. The first run creates kernels, links
 * and tables. They stay until peal_graph_destroy. After the first run no node
 * and no edge can be added.
 */
struct peal_graph;

#define PEAL_GRAPH_NODES_MAX 16384
#define PEAL_GRAPH_EDGES_MAX 262144
#define PEAL_GRAPH_DEVICES_MAX 256
#define PEAL_GRAPH_PIECES_MAX 1024 /* pieces of one node */
#define PEAL_GRAPH_TASKS_MAX 262144 /* pieces of all nodes of one device */

/** Options of a graph. A field with value 0 takes its default. */
struct peal_graph_options {
	uint32_t size; /* sizeof(struct peal_graph_options) */
	/*
	 * Workers of each device that run tasks (1..1024; 0: default).
	 * Default on emulated devices, or with less than 4 compute units: 1.
	 * Default on other devices: half of the compute units.
	 */
	uint32_t workers;
	/*
	 * Lanes of each worker (1..1024; 0: default).
	 * Default on emulated devices: 1.
	 * Default on other devices: 256, or the device's maximum if smaller.
	 */
	uint32_t lanes;
	uint32_t reserved; /* 0 */
	const char *name; /* for error texts (default "graph"); copied, at most
			   * 31 bytes: "..." replaces the middle of more */
};

/** An argument of a task. Exactly one of element_bytes and bytes is 0. */
struct peal_graph_argument {
	/*
	 * Address of element 0, or of the whole argument, as the device sees
	 * it. The allocation must exist as long as the graph.
	 */
	uint64_t address;
	uint64_t element_bytes; /* bytes of one element; 0: all pieces get the
				 * whole argument */
	uint64_t bytes; /* bytes of the whole argument if element_bytes is 0,
			 * else 0 */
};

/** A task node: a handler for elements 0 .. count - 1. */
struct peal_graph_task {
	uint32_t size; /* sizeof(struct peal_graph_task) */
	uint32_t rank; /* rank of its device in the graph */
	const char *handler; /* name of a handler that PEAL_TASK defines */
	uint64_t count; /* elements (1 or more) */
	/*
	 * Pieces into which the elements are split (default 1, at most
	 * PEAL_GRAPH_PIECES_MAX and `count`; 0: default). Each piece is one
	 * task for one worker.
	 */
	uint32_t pieces;
	uint32_t n_arguments; /* 0..PEAL_TASK_ARGUMENTS */
	const struct peal_graph_argument *arguments; /* n_arguments of them */
	const void *parameters; /* parameter_bytes bytes */
	uint32_t parameter_bytes; /* 0..PEAL_TASK_PARAMETERS */
	uint32_t reserved; /* 0 */
};

/** A message node. */
struct peal_graph_message {
	uint32_t size; /* sizeof(struct peal_graph_message) */
	uint32_t rank; /* rank of the device that sends the message */
	/*
	 * Address of an actor, a pool or an endpoint. The first run takes one
	 * input of the receiver for each device that sends to it.
	 */
	uint64_t to;
	uint32_t type; /* message type, defined by the receiver (0..65535) */
	uint32_t bytes; /* payload bytes (0..PEAL_TASK_PARAMETERS) */
	const void *data; /* `bytes` bytes; copied */
};

/** The state of a node after a run. */
struct peal_graph_node_info {
	int device; /* index of its device */
	uint32_t kind; /* enum peal_graph_node_kind */
	uint32_t state; /* enum peal_graph_node_state */
	/*
	 * 0, or an error. A failed node has the first error of its tasks.
	 * PEAL_EHANDLER replaces PEAL_ETIMEDOUT and positive results.
	 * A skipped node has the error of a node that it waited for.
	 */
	int32_t result;
	uint32_t pieces; /* tasks of the node; 0: a message */
	uint32_t waits; /* nodes that it waits for */
	uint64_t began_ns, ended_ns; /* ns of its device's clock */
};

/**
 * Creates a graph without nodes.
 *
 * Thread-safe. May wait for other calls on the runtime.
 *
 * @param runtime   an open runtime.
 * @param devices   n device indexes, each once. devices[i] has rank i.
 * @param n         1 .. PEAL_GRAPH_DEVICES_MAX.
 * @param program   the program with the task handlers. It must exist as long
 *                  as the graph.
 * @param options   NULL for all defaults.
 * @param graph_out the graph. The caller frees it with peal_graph_destroy.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   an argument is NULL, a device is listed twice, or an
 *                       option is out of range (the text names it).
 * @retval PEAL_ENODEV   there is no such device.
 * @retval PEAL_ENOTSUP  the program has no task handler.
 * @retval PEAL_EPROGRAM the program has no usable handlers, or it was compiled
 *                       with other headers.
 * @retval PEAL_ENOMEM   the host is out of memory.
 */
int peal_graph_create(struct peal_runtime *runtime, const int *devices,
		      uint32_t n, const struct peal_program *program,
		      const struct peal_graph_options *options,
		      struct peal_graph **graph_out);

/**
 * Adds a task node.
 *
 * The graph copies the task with its arguments and parameters. Until
 * peal_graph_destroy, peal_memory_free of an argument returns PEAL_EBUSY.
 *
 * One thread at a time for a graph. May wait for other calls on the runtime.
 *
 * @param graph    a graph before its first run.
 * @param task     the task.
 * @param node_out the node's number, counted from 0. NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a field is out of range (the text names it).
 * @retval PEAL_ENOENT  the program has no such handler.
 * @retval PEAL_ENOTSUP the handler is not a task handler.
 * @retval PEAL_EFAULT  an argument is in no allocation that the device sees
 *                      (the text names both).
 * @retval PEAL_ENOSPC  the graph has PEAL_GRAPH_NODES_MAX nodes.
 * @retval PEAL_EBUSY   the graph has run.
 * @retval PEAL_ENOMEM  the host is out of memory.
 */
int peal_graph_add_task(struct peal_graph *graph,
			const struct peal_graph_task *task, uint32_t *node_out);

/**
 * Adds a message node.
 *
 * The graph copies the message with its data.
 *
 * One thread at a time for a graph. May wait for other calls on the runtime.
 *
 * @param graph    a graph before its first run.
 * @param message  the message.
 * @param node_out the node's number, counted from 0. NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL   a field is out of range (the text names it).
 * @retval PEAL_ENOENT   no actor, pool or endpoint has the address.
 * @retval PEAL_ESTOPPED the receiver's kernel has ended.
 * @retval PEAL_ENOSPC   the graph has PEAL_GRAPH_NODES_MAX nodes.
 * @retval PEAL_EBUSY    the graph has run.
 * @retval PEAL_ENOMEM   the host is out of memory.
 */
int peal_graph_add_message(struct peal_graph *graph,
			   const struct peal_graph_message *message,
			   uint32_t *node_out);

/**
 * Makes a node wait for another node.
 *
 * Adding the same edge twice has no further effect.
 *
 * One thread at a time for a graph. Does not block.
 *
 * @param graph  a graph before its first run.
 * @param before the node that must be over first.
 * @param after  the node that waits.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT there is no such node.
 * @retval PEAL_EINVAL graph is NULL, or `before` equals `after`.
 * @retval PEAL_ENOSPC the graph has PEAL_GRAPH_EDGES_MAX edges.
 * @retval PEAL_EBUSY  the graph has run.
 * @retval PEAL_ENOMEM the host is out of memory.
 */
int peal_graph_add_edge(struct peal_graph *graph, uint32_t before,
			uint32_t after);

/**
 * Begins a run without waiting for its end.
 *
 * peal_graph_wait reports the end. A graph without nodes begins nothing.
 * The first run launches one kernel for the scheduler on each device. It also
 * launches one kernel for tasks on each device that has tasks. Then it
 * connects the links. If this fails, the caller can call again.
 *
 * After an error no node has begun, except after PEAL_EABORTED. If a kernel
 * ends during the call, nodes of other devices may have begun.
 *
 * One thread at a time for a graph. The first call blocks until all launches
 * are done. Later calls block for one copy to each device.
 *
 * @param graph a graph.
 * @return as peal_kernel_launch, peal_pool_create, peal_actor_spawn and
 *         peal_connect, and:
 * @retval PEAL_EINVAL   the edges form a cycle (the text names a node of it).
 * @retval PEAL_ENOSPC   a scheduler needs more than PEAL_GRAPH_PORTS ports, or
 *                       a device has more than PEAL_GRAPH_TASKS_MAX tasks.
 *                       The host needs a port. So does each other device with
 *                       successors of the device's nodes, each task handler
 *                       and each receiver.
 * @retval PEAL_EBUSY    peal_graph_wait has not reported the end of the
 *                       previous run.
 * @retval PEAL_EABORTED a kernel of the graph has ended (the text names it), or
 *                       an earlier run was aborted. The graph can only be
 *                       destroyed.
 */
int peal_graph_start(struct peal_graph *graph);

/**
 * Waits for the end of a run.
 *
 * After return value 0 all nodes are done. The host can then read the memory
 * that they have written. The call also returns 0 if there is no run.
 *
 * A code that is not listed below is the error of a failed task. It belongs to
 * the failed node with the lowest number, which the text names. The text also
 * says how many nodes were skipped. PEAL_EHANDLER stands for a task that
 * returned PEAL_ETIMEDOUT or a positive value.
 *
 * One thread at a time for a graph. Blocks for timeout_ns at most. The devices
 * need no progress of the host, except from endpoints that receive messages.
 *
 * @param graph      a graph.
 * @param timeout_ns ns; 0: returns at once, -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT the run goes on. The text names the devices that have
 *                        not ended it.
 * @retval PEAL_EABORTED  a kernel of the graph has ended, a task returned
 *                        PEAL_EABORTED, or a scheduler got an invalid message.
 *                        The graph can only be destroyed.
 * @retval PEAL_ENOMEM    the host has no memory for the results. Call again.
 * @retval PEAL_EDRIVER   the results could not be copied to the host. Call
 *                        again.
 * @retval PEAL_EINVAL    graph is NULL.
 */
int peal_graph_wait(struct peal_graph *graph, int64_t timeout_ns);

/**
 * Begins a run and waits for its end.
 *
 * After PEAL_ETIMEDOUT the run goes on, and peal_graph_wait reports its end.
 *
 * One thread at a time for a graph. Blocks as peal_graph_start and
 * peal_graph_wait.
 *
 * @param graph      a graph.
 * @param timeout_ns ns, for the wait alone; 0: returns at once, -1: no limit.
 * @return as peal_graph_start and peal_graph_wait.
 */
int peal_graph_run(struct peal_graph *graph, int64_t timeout_ns);

/**
 * Gets the state of a node after the last run.
 *
 * Before the first run the state is PEAL_GRAPH_WAITS.
 *
 * One thread at a time for a graph. Does not block.
 *
 * @param graph    a graph.
 * @param node     the node's number.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT   there is no such node.
 * @retval PEAL_EBUSY    peal_graph_wait has not reported the end of the run.
 * @retval PEAL_EABORTED a run was aborted. The graph can only be destroyed.
 * @retval PEAL_EINVAL   an argument is NULL.
 */
int peal_graph_node_info(struct peal_graph *graph, uint32_t node,
			 struct peal_graph_node_info *info_out);

/**
 * Ends a graph and frees it, also during a run.
 *
 * The runtime stops the graph's kernels and aborts them after 2 s.
 *
 * No other call on the graph may run at the same time. Blocks until the
 * kernels have ended: after an abort up to PEAL_CONTROL_TIMEOUT_MS each.
 *
 * @param graph a graph. NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EHUNG a handler does not end, or a receiver of messages does not
 *                    release its link (the text names it). The graph stays, and
 *                    the caller can destroy it again.
 */
int peal_graph_destroy(struct peal_graph *graph);

PEAL_END_C
#endif
