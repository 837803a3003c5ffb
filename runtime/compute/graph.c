/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: adds nodes and edges, runs graphs, reads the results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "runtime/base/collect_reports.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/graph.h"
#include "runtime/compute/task.h"
#include "runtime/device/devices.h"
#include "runtime/device/program.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"

#define CREATE "peal_graph_create"
#define TASK "peal_graph_add_task"
#define MESSAGE "peal_graph_add_message"
#define EDGE "peal_graph_add_edge"
#define START "peal_graph_start"
#define WAIT "peal_graph_wait"
#define INFO "peal_graph_node_info"
#define WORKERS_MAX 1024
#define LANES_MAX 1024

struct peal_graph *peali_graph_next(struct peal_graph *g)
{
	return g->next;
}

/* Returns 1 if the graph uses a device, and none of its kernels has ended. */
static int is_live_on(const struct peal_graph *g, int device)
{
	uint32_t i;
	int found = 0;

	for (i = 0; i < g->n; i++) {
		const struct peali_graph_device *p = &g->devices[i];

		if (!p->scheduler || peali_kernel_ended(p->scheduler) ||
		    (p->tasks && peali_kernel_ended(p->tasks)))
			return 0;
		found |= device == PEAL_ALL_DEVICES || p->device == device;
	}
	return found;
}

int peali_graph_is_busy(const struct peal_graph *g, int device, uint64_t before)
{
	uint32_t left = atomic_load(&g->waits_for);

	return left && atomic_load(&g->submission) < before &&
	       is_live_on(g, device) && peali_endpoint_queued(g->host) < left;
}

/* ---- create, destroy ----------------------------------------------------- */

static void free_all(struct peal_graph *g)
{
	uint32_t i;

	for (i = 0; g->devices && i < g->n; i++) {
		free(g->devices[i].pool);
		free(g->devices[i].port);
	}
	free(g->devices);
	free(g->nodes);
	free(g->edges);
	free(g->pairs);
	free(g);
}

static void enlist(struct peal_graph *g)
{
	pthread_mutex_lock(&g->rt->lock);
	g->next = g->rt->graphs;
	g->rt->graphs = g;
	pthread_mutex_unlock(&g->rt->lock);
}

static void unlist(struct peal_graph *g)
{
	struct peal_graph **at;

	pthread_mutex_lock(&g->rt->lock);
	for (at = &g->rt->graphs; *at && *at != g; at = &(*at)->next)
		;
	if (*at)
		*at = g->next;
	pthread_mutex_unlock(&g->rt->lock);
}

static int check_create(struct peal_runtime *rt, const int *devices, uint32_t n,
			const struct peal_program *program,
			const struct peal_graph_options *o)
{
	int result = peali_program_check(program, CREATE);

	if (result)
		return result;
	if (!n || n > PEAL_GRAPH_DEVICES_MAX)
		return peali_refuse_range(CREATE, "argument", "n", n, 1,
					  PEAL_GRAPH_DEVICES_MAX);
	if (o->workers > WORKERS_MAX)
		return peali_refuse_option(CREATE, "workers", o->workers, 0,
					   WORKERS_MAX);
	if (o->lanes > LANES_MAX)
		return peali_refuse_option(CREATE, "lanes", o->lanes, 0,
					   LANES_MAX);
	if (!peali_task_count(program))
		return peali_fail(PEAL_ENOTSUP, CREATE,
				  "no handler of '%s' does tasks; "
				  "peal/device/task.h describes handlers "
				  "that do",
				  program->name);
	return peali_devices_check_ranks(&rt->devices, devices, n, "a graph",
					 CREATE);
}

int peal_graph_create(struct peal_runtime *rt, const int *devices, uint32_t n,
		      const struct peal_program *program,
		      const struct peal_graph_options *options,
		      struct peal_graph **graph_out)
{
	struct peal_graph_options o;
	struct peal_graph *g;
	uint32_t i;
	int result, full;

	if (!rt || !devices || !program || !graph_out)
		return peali_refuse_null(
			CREATE, "runtime, devices, program or graph_out");
	if (peali_foreign(&rt->owner, CREATE))
		return PEAL_EFORKED;
	result = peali_options_copy(&o, sizeof(o), options, CREATE);
	if (!result)
		result = check_create(rt, devices, n, program, &o);
	if (result)
		return result;
	g = calloc(1, sizeof(*g));
	full = g && (g->devices = calloc(n, sizeof(*g->devices)));
	for (i = 0; full && i < n; i++) {
		struct peali_graph_device *p = &g->devices[i];

		p->device = devices[i];
		p->pool = calloc(program->n_handlers, sizeof(*p->pool));
		p->port = calloc(program->n_handlers, sizeof(*p->port));
		full = p->pool && p->port;
		g->n = i + 1;
	}
	if (!full) {
		if (g)
			free_all(g);
		return peali_fail(PEAL_ENOMEM, CREATE, "no memory for a graph");
	}
	g->rt = rt;
	g->program = program;
	g->workers = o.workers;
	g->lanes = o.lanes;
	peali_text_fit(g->name, sizeof(g->name), o.name ? o.name : "graph");
	enlist(g);
	*graph_out = g;
	return 0;
}

static void let_go(struct peal_graph *g, struct peali_graph_node *node)
{
	uint32_t k;

	for (k = 0; k < node->image.task.n_arguments; k++)
		peali_range_let_go(g->rt->peers, &node->kept[k]);
}

int peal_graph_destroy(struct peal_graph *g)
{
	uint32_t i;
	int result;

	if (!g)
		return 0;
	if (peali_foreign(&g->rt->owner, "peal_graph_destroy"))
		return PEAL_EFORKED;
	unlist(g);
	result = peali_graph_teardown(g);
	if (result) {
		enlist(g);
		return result;
	}
	for (i = 0; i < g->n_nodes; i++)
		let_go(g, &g->nodes[i]);
	free_all(g);
	return 0;
}

/* ---- nodes --------------------------------------------------------------- */

static int check_capacity(const struct peal_graph *g, uint32_t have,
			  uint32_t most, const char *what, const char *call)
{
	if (g->run || g->made)
		return peali_fail(PEAL_EBUSY, call,
				  "graph '%s' has run and cannot be changed",
				  g->name);
	if (have >= most)
		return PEALI_REFUSE(
			PEAL_ENOSPC, call, .object = "graph", .name = g->name,
			.problem = PEALI_PRINT("has too many %s", what),
			.number = have + 1ULL, .most = most,
			.remedy = "create another graph");
	return 0;
}

/* Grows an array of `bytes`-byte elements if all *max elements are used. */
static int grow(void **at, uint32_t n, uint32_t *max, size_t bytes,
		const char *call)
{
	uint32_t more = *max ? 2 * *max : 16;
	void *larger;

	if (n < *max)
		return 0;
	larger = realloc(*at, more * bytes);
	if (!larger)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a graph");
	*at = larger;
	*max = more;
	return 0;
}

/*
 * Prepares the next node: zero except for rank and kind. The caller adds it to
 * the graph by g->n_nodes++.
 */
static int new_node(struct peal_graph *g, uint32_t rank, uint32_t kind,
		    const char *call, struct peali_graph_node **node_out)
{
	void *nodes;
	int result = check_capacity(g, g->n_nodes, PEAL_GRAPH_NODES_MAX,
				    "nodes", call);

	if (!result && rank >= g->n)
		result = peali_refuse_option(call, "rank", rank, 0, g->n - 1);
	nodes = g->nodes;
	if (!result)
		result = grow(&nodes, g->n_nodes, &g->max_nodes,
			      sizeof(*g->nodes), call);
	g->nodes = nodes;
	if (result)
		return result;
	*node_out = &g->nodes[g->n_nodes];
	memset(*node_out, 0, sizeof(**node_out));
	(*node_out)->rank = rank;
	(*node_out)->image.kind = kind;
	return 0;
}

static int check_task(const struct peal_graph_task *t)
{
	if (!t->count)
		return peali_refuse_option(TASK, "count", 0, 1, UINT64_MAX);
	if (t->pieces > PEAL_GRAPH_PIECES_MAX)
		return peali_refuse_option(TASK, "pieces", t->pieces, 0,
					   PEAL_GRAPH_PIECES_MAX);
	if (t->pieces > t->count)
		return PEALI_REFUSE(
			PEAL_EINVAL, TASK, .object = "option", .name = "pieces",
			.problem = "is larger than the number of elements",
			.number = t->pieces, .most = t->count);
	if (t->n_arguments > PEAL_TASK_ARGUMENTS)
		return peali_refuse_option(TASK, "n_arguments", t->n_arguments,
					   0, PEAL_TASK_ARGUMENTS);
	if (t->parameter_bytes > PEAL_TASK_PARAMETERS)
		return peali_refuse_option(TASK, "parameter_bytes",
					   t->parameter_bytes, 0,
					   PEAL_TASK_PARAMETERS);
	if ((t->n_arguments && !t->arguments) ||
	    (t->parameter_bytes && !t->parameters))
		return peali_refuse_null(TASK, t->n_arguments && !t->arguments ?
						       "arguments" :
						       "parameters");
	return 0;
}

static int find_handler(const struct peal_graph *g, const char *name,
			uint32_t *handler_out)
{
	int result;

	if (!name)
		return peali_refuse_null(TASK, "handler");
	result = peali_program_handler(g->program, name, TASK);
	if (result < 0)
		return result;
	if (!peali_is_task(&g->program->handlers[result]))
		return peali_fail(PEAL_ENOTSUP, TASK,
				  "handler '%s' does no tasks; "
				  "peal/device/task.h describes handlers "
				  "that do",
				  name);
	*handler_out = (uint32_t)result;
	return 0;
}

static int set_argument(struct peal_graph *g, struct peali_graph_node *node,
			uint32_t k, const struct peal_graph_argument *a)
{
	struct peali_place place = { g->devices[node->rank].device,
				     a->address };
	uint64_t each = a->element_bytes, count = node->image.count;
	int result;

	if ((each != 0) == (a->bytes != 0) ||
	    (each && count > UINT64_MAX / each))
		return PEALI_REFUSE(
			PEAL_EINVAL, TASK,
			.object = PEALI_PRINT("argument %u", k),
			.problem = "has both or none of element_bytes and "
				   "bytes, or is too large",
			.value = PEALI_PRINT("%llu, %llu",
					     (unsigned long long)each,
					     (unsigned long long)a->bytes),
			.allowed = "one of them",
			.remedy = "set the other to 0");
	result = peali_range_keep(g->rt->peers, place, a->bytes + each * count,
				  TASK, &node->kept[k]);
	if (result) {
		struct peal_error_info failed = *peal_last_error();

		return peali_fail(result, TASK, "argument %u on device %d: %s",
				  k, place.device, failed.text);
	}
	node->image.task.n_arguments = k + 1;
	node->image.task.argument[k] = a->address;
	node->image.element_bytes[k] = each;
	return 0;
}

int peal_graph_add_task(struct peal_graph *g,
			const struct peal_graph_task *task, uint32_t *node_out)
{
	struct peali_graph_node *node = NULL;
	struct peal_graph_task t;
	uint32_t k;
	int result;

	if (!g || !task)
		return peali_refuse_null(TASK, "graph or task");
	if (peali_foreign(&g->rt->owner, TASK))
		return PEAL_EFORKED;
	result = peali_options_copy(&t, sizeof(t), task, TASK);
	if (!result)
		result = new_node(g, t.rank, PEAL_GRAPH_TASK, TASK, &node);
	if (!result)
		result = check_task(&t);
	if (!result)
		result = find_handler(g, t.handler, &node->handler);
	if (result)
		return result;
	node->image.count = t.count;
	node->image.pieces = node->image.pieces_left = t.pieces ? t.pieces : 1;
	node->image.task.rank = (uint16_t)t.rank;
	node->image.task.parameter_bytes = t.parameter_bytes;
	if (t.parameter_bytes)
		memcpy(node->image.task.parameter, t.parameters,
		       t.parameter_bytes);
	for (k = 0; k < t.n_arguments && !result; k++)
		result = set_argument(g, node, k, &t.arguments[k]);
	if (result) {
		struct peal_error_info failed = *peal_last_error();

		let_go(g, node);
		return peali_fail(result, TASK, "%s", failed.text);
	}
	if (node_out)
		*node_out = g->n_nodes;
	g->n_nodes++;
	return 0;
}

int peal_graph_add_message(struct peal_graph *g,
			   const struct peal_graph_message *message,
			   uint32_t *node_out)
{
	struct peali_graph_node *node = NULL;
	struct peal_graph_message m;
	struct peali_link_end end;
	int result;

	if (!g || !message)
		return peali_refuse_null(MESSAGE, "graph or message");
	if (peali_foreign(&g->rt->owner, MESSAGE))
		return PEAL_EFORKED;
	result = peali_options_copy(&m, sizeof(m), message, MESSAGE);
	if (!result)
		result =
			new_node(g, m.rank, PEAL_GRAPH_MESSAGE, MESSAGE, &node);
	if (result)
		return result;
	if (m.type > UINT16_MAX || m.bytes > PEAL_TASK_PARAMETERS)
		return peali_refuse_option(
			MESSAGE, m.type > UINT16_MAX ? "type" : "bytes",
			m.type > UINT16_MAX ? m.type : m.bytes, 0,
			m.type > UINT16_MAX ? UINT16_MAX :
					      PEAL_TASK_PARAMETERS);
	if (m.bytes && !m.data)
		return peali_refuse_null(MESSAGE, "data");
	pthread_mutex_lock(&g->rt->lock);
	result = peali_link_end_resolve(
		g->rt, m.to, "to", "actor, pool or endpoint", &end, MESSAGE);
	pthread_mutex_unlock(&g->rt->lock);
	if (result)
		return result;
	node->to = m.to;
	node->image.type = m.type;
	node->image.task.parameter_bytes = m.bytes;
	if (m.bytes)
		memcpy(node->image.task.parameter, m.data, m.bytes);
	if (node_out)
		*node_out = g->n_nodes;
	g->n_nodes++;
	return 0;
}

int peal_graph_add_edge(struct peal_graph *g, uint32_t before, uint32_t after)
{
	void *edges;
	int result;

	if (!g)
		return peali_refuse_null(EDGE, "graph");
	if (peali_foreign(&g->rt->owner, EDGE))
		return PEAL_EFORKED;
	result = check_capacity(g, g->n_edges, PEAL_GRAPH_EDGES_MAX, "edges",
				EDGE);
	if (result)
		return result;
	if (before >= g->n_nodes || after >= g->n_nodes)
		return peali_refuse_index(EDGE, "graph", g->name, "node",
					  before >= g->n_nodes ? before : after,
					  g->n_nodes, "add a node first");
	if (before == after)
		return PEALI_REFUSE(
			PEAL_EINVAL, EDGE, .object = "graph", .name = g->name,
			.problem = "has no edge from a node to itself",
			.value = PEALI_PRINT("node %u", after),
			.allowed = "two nodes", .remedy = "name another node");
	edges = g->edges;
	result = grow(&edges, g->n_edges, &g->max_edges, sizeof(*g->edges),
		      EDGE);
	g->edges = edges;
	if (result)
		return result;
	g->edges[g->n_edges].before = before;
	g->edges[g->n_edges++].after = after;
	return 0;
}

/* ---- runs ---------------------------------------------------------------- */

static int check_kernels(struct peal_graph *g, const char *call)
{
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		const struct peali_graph_device *p = &g->devices[i];
		struct peal_kernel *ended =
			peali_kernel_ended(p->scheduler) ? p->scheduler :
			p->tasks && peali_kernel_ended(p->tasks) ? p->tasks :
								   NULL;

		if (!ended)
			continue;
		if (peal_kernel_info(ended, &info) || !info.result)
			info.result = PEAL_ESTOPPED;
		return peali_fail(PEAL_EABORTED, call,
				  "a kernel of graph '%s' on device %d has "
				  "ended: %s; it can only be destroyed",
				  g->name, p->device,
				  peal_error_text(info.result));
	}
	return 0;
}

static int say_lost(const struct peal_graph *g, const char *call)
{
	return peali_fail(PEAL_EABORTED, call,
			  "graph '%s' is broken: it can only be destroyed",
			  g->name);
}

/* Makes kernels, links and tables. After an error none of them is left. */
static int make(struct peal_graph *g)
{
	struct peal_error_info failed;
	int result = peali_graph_teardown(g); /* remains of a failed try */

	if (!result)
		result = peali_graph_build(g, START);
	if (!result)
		return 0;
	failed = *peal_last_error();
	peali_graph_teardown(g);
	return peali_fail(result, START, "%s", failed.text);
}

int peal_graph_start(struct peal_graph *g)
{
	struct peal_graph_step begin = { 0 };
	uint32_t i;
	int result = 0;

	if (!g)
		return peali_refuse_null(START, "graph");
	if (peali_forked(&g->rt->owner, START))
		return PEAL_EFORKED;
	if (g->lost)
		return say_lost(g, START);
	if (g->waits_for || g->to_collect)
		return peali_fail(PEAL_EBUSY, START,
				  "%u devices have not ended the previous "
				  "run; call peal_graph_wait first",
				  g->waits_for);
	if (!g->n_nodes)
		return 0;
	if (!g->made)
		result = make(g);
	if (!result)
		result = check_kernels(g, START);
	if (!result)
		result = peali_graph_reset(g);
	if (result)
		return result;
	atomic_store(&g->submission,
		     atomic_fetch_add(&g->rt->devices.submissions, 1));
	begin.run = g->run = g->run == UINT32_MAX ? 1 : g->run + 1;
	for (i = 0; i < g->n && !result; i++) {
		g->devices[i].ended = 0;
		result = peal_send(g->host, i, PEAL_GRAPH_BEGIN, &begin,
				   sizeof(begin), 0, NULL);
		g->waits_for += !result;
	}
	g->to_collect = g->waits_for != 0;
	if (!result)
		return 0;
	g->lost = g->waits_for != 0; /* some devices have begun the run */
	return check_kernels(g, START) ? PEAL_EABORTED : result;
}

/*
 * Waits up to timeout_ns until a device reports the end of the run. Returns 0,
 * PEAL_EAGAIN if no report has come, or an error.
 */
static int take(void *graph, int64_t timeout_ns)
{
	struct peal_graph *g = graph;
	struct peal_graph_step done;
	struct peal_received got;
	int result =
		peal_receive(g->host, &done, sizeof(done), &got, timeout_ns);

	if (result)
		return result == PEAL_ETIMEDOUT ? PEAL_EAGAIN : result;
	if (got.length != sizeof(done) || done.run != g->run ||
	    done.node >= g->n || g->devices[done.node].ended)
		return peali_fail(PEAL_EPROTO, WAIT,
				  "graph: unexpected completion from a device");
	if (done.result == PEAL_EABORTED)
		return peali_fail(
			PEAL_EABORTED, WAIT,
			"graph '%s': a handler reports that its kernel on "
			"device %d is aborted; the graph can only be "
			"destroyed",
			g->name, g->devices[done.node].device);
	if (done.result)
		return peali_fail(PEAL_EABORTED, WAIT,
				  "graph '%s': the scheduler on device %d "
				  "received invalid data: %s; the graph can "
				  "only be destroyed",
				  g->name, g->devices[done.node].device,
				  peal_error_text(done.result));
	g->devices[done.node].ended = 1;
	g->waits_for--;
	return 0;
}

static int say_late(void *graph, int64_t timeout_ns)
{
	const struct peal_graph *g = graph;
	char text[160] = "";
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < g->n && at < sizeof(text); i++)
		if (!g->devices[i].ended)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%d", at ? ", " : "",
					       g->devices[i].device);
	return peali_fail(PEAL_ETIMEDOUT, WAIT,
			  "graph '%s' is incomplete after %lld ns, on "
			  "devices %s",
			  g->name, (long long)timeout_ns, text);
}

static int ended(void *graph)
{
	return check_kernels(graph, WAIT);
}

/* Copies the nodes of a device to `out`, in their state after the run. */
static int read_back(struct peal_graph *g, struct peali_graph_device *p,
		     struct peal_graph_node *out)
{
	struct peali_place there = { p->device, p->memory },
			   here = { PEAL_HOST_MEMORY, (uintptr_t)out };

	return peali_copy_sync_one(g->rt->peers, here, there,
				   p->n_nodes * sizeof(*out));
}

/*
 * Returns the error of a node for a handler's result. Positive results are no
 * error codes. PEAL_ETIMEDOUT of peal_graph_wait means that the wait was too
 * short. So both become PEAL_EHANDLER.
 */
static int32_t error_of(int32_t result)
{
	return result > 0 || result == PEAL_ETIMEDOUT ? PEAL_EHANDLER : result;
}

/* Reads state, result and times of all nodes from the devices. */
static int collect(struct peal_graph *g)
{
	uint32_t i, k;
	int result = 0;

	for (i = 0; i < g->n && !result; i++) {
		struct peali_graph_device *p = &g->devices[i];
		struct peal_graph_node *all;

		if (!p->n_nodes)
			continue;
		all = calloc(p->n_nodes, sizeof(*all));
		if (!all)
			return peali_fail(PEAL_ENOMEM, WAIT,
					  "no memory for a graph");
		result = read_back(g, p, all);
		for (k = 0; k < g->n_nodes && !result; k++) {
			struct peali_graph_node *node = &g->nodes[k];
			const struct peal_graph_node *is = &all[node->number];

			if (node->rank != i)
				continue;
			node->image.state = is->state;
			node->image.result = error_of(is->result);
			node->image.began_ns = is->began_ns;
			node->image.ended_ns = is->ended_ns;
		}
		free(all);
	}
	return result;
}

/*
 * Returns the error of the failed node with the lowest number; 0: none failed.
 * The text has the number of skipped nodes.
 */
static int say_failed(const struct peal_graph *g)
{
	const struct peali_graph_node *first = NULL;
	uint32_t i, skipped = 0;

	for (i = 0; i < g->n_nodes; i++) {
		const struct peali_graph_node *node = &g->nodes[i];

		skipped += node->image.state == PEAL_GRAPH_SKIPPED;
		if (!first && node->image.state == PEAL_GRAPH_FAILED)
			first = node;
	}
	if (!first)
		return 0;
	return peali_fail(
		first->image.result, WAIT,
		"node %u of graph '%s', handler '%s' on device %d, has "
		"failed: %s; skipped nodes that depend on failed nodes: %u",
		(uint32_t)(first - g->nodes), g->name,
		g->program->handlers[first->handler].name,
		g->devices[first->rank].device,
		peal_error_text(first->image.result), skipped);
}

static int wait_for_all(struct peal_graph *g, int64_t timeout_ns,
			uint64_t began)
{
	const struct peali_reports reports = { g, &g->waits_for, take, ended,
					       say_late };
	int result = peali_reports_collect(&reports, timeout_ns, began);

	g->lost = result && result != PEAL_ETIMEDOUT;
	if (result)
		return result;
	result = collect(g);
	g->to_collect = result != 0;
	return result ? result : say_failed(g);
}

int peal_graph_wait(struct peal_graph *g, int64_t timeout_ns)
{
	uint64_t began = peal_clock_ns();
	int result;

	if (!g)
		return peali_refuse_null(WAIT, "graph");
	if (peali_forked(&g->rt->owner, WAIT))
		return PEAL_EFORKED;
	if (g->lost)
		return say_lost(g, WAIT);
	if (!g->waits_for && !g->to_collect)
		return 0;
	result = wait_for_all(g, timeout_ns, began);
	if (timeout_ns)
		peali_counters_waited(g->rt, PEAL_WAIT_GRAPH, began);
	return result;
}

int peal_graph_run(struct peal_graph *g, int64_t timeout_ns)
{
	int result = peal_graph_start(g);

	if (!result)
		result = peal_graph_wait(g, timeout_ns);
	return peali_fail_in(result, "peal_graph_run");
}

/* ---- node info ----------------------------------------------------------- */

int peal_graph_node_info(struct peal_graph *g, uint32_t i,
			 struct peal_graph_node_info *info_out)
{
	const struct peali_graph_node *node;
	uint32_t k;

	if (!g || !info_out)
		return peali_refuse_null(INFO, "graph or info_out");
	if (peali_foreign(&g->rt->owner, INFO))
		return PEAL_EFORKED;
	if (i >= g->n_nodes)
		return peali_refuse_index(INFO, "graph", g->name, "node", i,
					  g->n_nodes, "add a node first");
	if (g->lost)
		return say_lost(g, INFO);
	if (g->waits_for || g->to_collect)
		return peali_fail(PEAL_EBUSY, INFO,
				  "a run is in progress; call "
				  "peal_graph_wait first");
	node = &g->nodes[i];
	memset(info_out, 0, sizeof(*info_out));
	info_out->device = g->devices[node->rank].device;
	info_out->kind = node->image.kind;
	info_out->state = node->image.state;
	info_out->result = node->image.result;
	info_out->pieces = node->image.pieces;
	info_out->began_ns = node->image.began_ns;
	info_out->ended_ns = node->image.ended_ns;
	if (g->made)
		info_out->waits = node->waits;
	else
		for (k = 0; k < g->n_edges; k++)
			info_out->waits += g->edges[k].after == i;
	return 0;
}
