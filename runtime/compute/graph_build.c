/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: makes kernels, pools, links and tables on each device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/compute/graph.h"
#include "runtime/compute/task.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/launch/kernel_fit.h"
#include "runtime/link/endpoint.h"

#define TASK_SLOTS 64 /* of a pool; of a link for reports to a scheduler */
#define MAIL_SLOTS 16

extern const struct peal_program peal_program_peal_graph;

/* ---- order and numbers of nodes ------------------------------------------ */

/*
 * Returns PEAL_EINVAL if nodes wait for each other in a cycle. The algorithm is
 * topological sorting: A. B. Kahn, "Topological Sorting of Large Networks"
 * (1962). The edges are sorted by `before`. `left` and `order` have one entry
 * for each node.
 *
 * 1. left[i] is the number of nodes that node i waits for.
 * 2. `order` begins with all nodes that wait for no node.
 * 3. For each node of `order`, left[] of its successors goes down. At 0 a
 *    successor goes into `order`.
 * 4. If a node is not in `order` at the end, there is a cycle.
 */
static int check_circles(const struct peal_graph *g, const char *call,
			 uint32_t *left, uint32_t *order)
{
	uint32_t i, k, n = 0, at = 0;

	for (i = 0; i < g->n_nodes; i++) {
		left[i] = g->nodes[i].waits;
		if (!left[i])
			order[n++] = i;
	}
	for (; at < n; at++) {
		const struct peal_graph_node *node = &g->nodes[order[at]].image;

		for (k = 0; k < node->n_edges; k++) {
			uint32_t after = g->edges[node->first_edge + k].after;

			if (!--left[after])
				order[n++] = after;
		}
	}
	if (n == g->n_nodes)
		return 0;
	for (i = 0; !left[i]; i++)
		;
	return peali_fail(PEAL_EINVAL, call,
			  "node %u depends on itself through other nodes", i);
}

static int by_before(const void *a, const void *b)
{
	const struct peali_graph_edge *x = a, *y = b;

	if (x->before != y->before)
		return (x->before > y->before) - (x->before < y->before);
	return (x->after > y->after) - (x->after < y->after);
}

/*
 * Sorts the edges by `before` and removes duplicates. Sets the edges of each
 * node and the number of nodes that it waits for.
 */
static void sort_edges(struct peal_graph *g)
{
	uint32_t i, n = 0;

	if (g->n_edges)
		qsort(g->edges, g->n_edges, sizeof(*g->edges), by_before);
	for (i = 0; i < g->n_nodes; i++)
		g->nodes[i].waits = g->nodes[i].image.n_edges = 0;
	for (i = 0; i < g->n_edges; i++) {
		const struct peali_graph_edge e = g->edges[i];
		struct peal_graph_node *before = &g->nodes[e.before].image;

		if (n && !by_before(&g->edges[n - 1], &e))
			continue;
		if (!before->n_edges++)
			before->first_edge = n;
		g->nodes[e.after].waits++;
		g->edges[n++] = e;
	}
	g->n_edges = n;
}

/* Numbers the nodes of each device. Counts its nodes, edges and tasks. */
static void number_nodes(struct peal_graph *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		g->devices[i].n_nodes = g->devices[i].n_edges =
			g->devices[i].n_tasks = 0;
	for (i = 0; i < g->n_nodes; i++) {
		struct peali_graph_node *node = &g->nodes[i];
		struct peali_graph_device *p = &g->devices[node->rank];

		node->number = p->n_nodes++;
		p->n_edges += node->image.n_edges;
		if (node->image.kind == PEAL_GRAPH_TASK)
			p->n_tasks += node->image.pieces;
	}
}

static int check_tasks(const struct peal_graph *g, const char *call)
{
	uint32_t i;

	for (i = 0; i < g->n; i++)
		if (g->devices[i].n_tasks > PEAL_GRAPH_TASKS_MAX)
			return PEALI_REFUSE(
				PEAL_ENOSPC, call, .object = "graph",
				.name = g->name,
				.problem = PEALI_PRINT(
					"has too many tasks on device "
					"%d, with all pieces",
					g->devices[i].device),
				.number = g->devices[i].n_tasks,
				.most = PEAL_GRAPH_TASKS_MAX,
				.remedy = "use fewer pieces or tasks");
	return 0;
}

static int by_devices(const void *a, const void *b)
{
	const struct peali_graph_pair *x = a, *y = b;

	if (x->from != y->from)
		return (x->from > y->from) - (x->from < y->from);
	return (x->to > y->to) - (x->to < y->to);
}

/* Joins sorted pairs with equal devices. Counts those of each device. */
static void join_pairs(struct peal_graph *g, uint32_t n)
{
	uint32_t i, at = 0;

	for (i = 0; i < g->n; i++)
		g->devices[i].first_pair = g->devices[i].n_pairs = 0;
	for (i = 0; i < n; i++) {
		const struct peali_graph_pair c = g->pairs[i];
		struct peali_graph_device *p = &g->devices[c.from];

		if (at && !by_devices(&g->pairs[at - 1], &c)) {
			g->pairs[at - 1].n_edges++;
			continue;
		}
		if (!p->n_pairs++)
			p->first_pair = at;
		g->pairs[at++] = c;
	}
	g->n_pairs = at;
}

/* Finds the pairs of devices with edges. Its memory depends on the edges, not
 * on the number of all pairs. */
static int find_pairs(struct peal_graph *g, const char *call)
{
	uint32_t i, n = 0;

	free(g->pairs);
	g->n_pairs = 0;
	g->pairs = calloc((size_t)g->n_edges + 1, sizeof(*g->pairs));
	if (!g->pairs)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a graph");
	for (i = 0; i < g->n_edges; i++) {
		struct peali_graph_pair c = {
			.from = g->nodes[g->edges[i].before].rank,
			.to = g->nodes[g->edges[i].after].rank,
			.n_edges = 1,
		};

		if (c.from != c.to)
			g->pairs[n++] = c;
	}
	if (n)
		qsort(g->pairs, n, sizeof(*g->pairs), by_devices);
	join_pairs(g, n);
	return 0;
}

/* Returns the port of a device's scheduler to the device `to`; 0: it is the
 * same device. */
static uint32_t port_to(const struct peal_graph *g,
			const struct peali_graph_device *p, uint32_t to)
{
	const struct peali_graph_pair key = {
		.from = (uint32_t)(p - g->devices), .to = to
	};
	const struct peali_graph_pair *all = g->pairs + p->first_pair, *found;

	if (key.from == to)
		return 0;
	found = bsearch(&key, all, p->n_pairs, sizeof(*all), by_devices);
	return 1 + (uint32_t)(found - all);
}

static int lay_out(struct peal_graph *g, const char *call)
{
	uint32_t *scratch =
		calloc(2 * (size_t)g->n_nodes + 1, sizeof(*scratch));
	int result;

	if (!scratch)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a graph");
	sort_edges(g);
	number_nodes(g);
	result = check_tasks(g, call);
	if (!result)
		result = check_circles(g, call, scratch, scratch + g->n_nodes);
	free(scratch);
	return result ? result : find_pairs(g, call);
}

/* ---- ports --------------------------------------------------------------- */

/* Begins with port 0 to the host, and with a port for each pair. */
static void number_pairs(struct peal_graph *g)
{
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		struct peali_graph_device *p = &g->devices[i];

		memset(p->port, 0, g->program->n_handlers * sizeof(uint32_t));
		p->n_ports = 1 + p->n_pairs;
		p->n_inputs = 1;
		p->receivers = 0;
	}
	for (i = 0; i < g->n_pairs; i++)
		g->devices[g->pairs[i].to].n_inputs++;
}

static void number_task(struct peali_graph_device *p,
			struct peali_graph_node *node)
{
	uint32_t *port = &p->port[node->handler];

	if (!*port)
		*port = p->n_ports++;
	node->image.port = *port;
}

static void number_message(struct peal_graph *g, struct peali_graph_device *p,
			   struct peali_graph_node *node)
{
	struct peali_graph_node *first = NULL;
	uint32_t at = p->receivers;

	for (; at && !first; at = g->nodes[at - 1].other)
		if (g->nodes[at - 1].to == node->to)
			first = &g->nodes[at - 1];
	node->messages = 0;
	if (!first) {
		first = node;
		node->image.port = p->n_ports++;
		node->other = p->receivers;
		p->receivers = 1 + (uint32_t)(node - g->nodes);
	}
	first->messages++;
	node->image.port = first->image.port;
}

/*
 * Numbers the ports of each scheduler. Port 0 leads to the host, the next ports
 * lead to other schedulers with successors. The ports to pools and receivers
 * follow, in the order of the nodes.
 */
static int number_ports(struct peal_graph *g, const char *call)
{
	uint32_t i;

	number_pairs(g);
	for (i = 0; i < g->n_nodes; i++) {
		struct peali_graph_node *node = &g->nodes[i];
		struct peali_graph_device *p = &g->devices[node->rank];

		if (node->image.kind == PEAL_GRAPH_TASK)
			number_task(p, node);
		else
			number_message(g, p, node);
	}
	for (i = 0; i < g->n; i++) {
		struct peali_graph_device *p = &g->devices[i];

		if (p->n_ports > PEAL_GRAPH_PORTS)
			return PEALI_REFUSE(
				PEAL_ENOSPC, call, .object = "graph",
				.name = g->name,
				.problem = PEALI_PRINT(
					"needs too many ports on "
					"device %d, to the host, %u "
					"device%s and receivers",
					p->device, p->n_pairs,
					peali_s(p->n_pairs)),
				.number = p->n_ports, .most = PEAL_GRAPH_PORTS,
				.remedy = "use fewer edges between devices, "
					  "or fewer receivers");
	}
	return 0;
}

/* ---- kernels ------------------------------------------------------------- */

static int launch_tasks(struct peal_graph *g, struct peali_graph_device *p,
			const char *call)
{
	struct peali_task_kernel what = { g->program, p->device, g->workers,
					  g->lanes, g->name };
	int result = p->n_tasks ?
			     peali_task_launch(g->rt, &what, &p->tasks, call) :
			     0;

	if (result)
		return result;
	p->workers = p->n_tasks ? what.workers : 0;
	p->owner = calloc(p->workers + 1, sizeof(*p->owner));
	return p->owner ?
		       0 :
		       peali_fail(PEAL_ENOMEM, call, "no memory for a graph");
}

static int launch_scheduler(struct peal_graph *g, struct peali_graph_device *p)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .max_inputs = p->workers + p->n_inputs,
					 .max_ports = p->n_ports,
					 .max_actors = 2,
					 .mailbox.slots = MAIL_SLOTS,
					 .name = g->name };

	o.lanes = peali_kernel_lanes(g->rt, p->device, 32);
	return peal_kernel_launch(g->rt, p->device, &peal_program_peal_graph,
				  &o, &p->scheduler);
}

/* Returns the addresses of a device's tables, which lie in p->memory. */
static struct peal_graph_init tables(const struct peal_graph *g,
				     const struct peali_graph_device *p)
{
	struct peal_graph_init init = { .n_nodes = p->n_nodes,
					.rank = (uint32_t)(p - g->devices) };

	init.nodes = p->memory;
	init.edges = init.nodes + p->n_nodes * sizeof(struct peal_graph_node);
	init.ready = init.edges + p->n_edges * sizeof(struct peal_graph_edge);
	init.over = init.ready + p->n_nodes * sizeof(uint32_t);
	return init;
}

static int copy_in(const struct peal_graph *g,
		   const struct peali_graph_device *p, uint64_t to,
		   const void *from, uint64_t bytes)
{
	struct peali_place there = { p->device, to },
			   here = { PEAL_HOST_MEMORY, (uintptr_t)from };

	return bytes ? peali_copy_sync_one(g->rt->peers, there, here, bytes) :
		       0;
}

/*
 * Makes the images of a device's nodes in host memory. Writes its edges to the
 * device. peali_graph_reset writes the images to the device.
 */
static int fill_tables(struct peal_graph *g, struct peali_graph_device *p,
		       const char *call)
{
	struct peal_graph_edge *edges = calloc(p->n_edges + 1, sizeof(*edges));
	uint32_t rank = (uint32_t)(p - g->devices), i, k, at = 0;
	int result;

	p->image = calloc(p->n_nodes + 1, sizeof(*p->image));
	if (!edges || !p->image) {
		free(edges);
		return peali_fail(PEAL_ENOMEM, call, "no memory for a graph");
	}
	for (i = 0; i < g->n_nodes; i++) {
		const struct peali_graph_node *node = &g->nodes[i];
		struct peal_graph_node *image = &p->image[node->number];

		if (node->rank != rank)
			continue;
		*image = node->image;
		image->first_edge = at;
		image->left = node->waits + 1; /* 1 for the begin of the run */
		for (k = 0; k < image->n_edges; k++, at++) {
			uint32_t after =
				g->edges[node->image.first_edge + k].after;

			edges[at].port = port_to(g, p, g->nodes[after].rank);
			edges[at].node = g->nodes[after].number;
		}
	}
	result = copy_in(g, p, tables(g, p).edges, edges,
			 p->n_edges * sizeof(*edges));
	free(edges);
	return result;
}

static int make_scheduler(struct peal_graph *g, struct peali_graph_device *p,
			  const char *call)
{
	struct peal_graph_init init;
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init) };
	char handler[24];
	int result;

	p->memory_bytes = p->n_nodes * (sizeof(struct peal_graph_node) +
					2 * sizeof(uint32_t)) +
			  p->n_edges * sizeof(struct peal_graph_edge) + 64;
	result = peal_memory_alloc(g->rt, p->device, p->memory_bytes,
				   &p->memory);
	if (!result)
		result = fill_tables(g, p, call);
	if (result)
		return result;
	init = tables(g, p);
	snprintf(handler, sizeof(handler), "schedule_%u", p->n_ports);
	return peal_actor_spawn(p->scheduler, handler, &o, &p->address);
}

/* ---- links --------------------------------------------------------------- */

/*
 * Returns the capacity of a link for so many messages in a run. It has at least
 * twice as many slots, so the sender never waits. It has at least 32 slots,
 * enough for the messages of a single handler call.
 */
static uint32_t slots(uint32_t messages)
{
	return peali_power_of_two(messages < 16 ? 32 : 2 * messages);
}

static int connect_two(struct peal_graph *g, uint64_t from, uint32_t port,
		       uint64_t to, uint32_t capacity, uint64_t bytes)
{
	struct peal_link_options o = { .size = sizeof(o),
				       .capacity = capacity,
				       .message_bytes = bytes };
	int result =
		peal_connect(g->rt, from, port, to, &o, &g->links[g->n_links]);

	g->n_links += !result;
	return result;
}

static int make_pools(struct peal_graph *g, struct peali_graph_device *p)
{
	/*
	 * If a pool is full, tasks wait in the link to the pool. If a link for
	 * reports is full, the worker waits for the scheduler. The scheduler
	 * never waits for a free slot, so it always takes reports.
	 */
	uint32_t few = p->workers > TASK_SLOTS / 2 ?
			       peali_power_of_two(2 * p->workers) :
			       TASK_SLOTS;
	struct peali_task_reports reports = { p->address, TASK_SLOTS, p->owner,
					      g->links, &g->n_links };
	uint32_t h;
	int result = 0;

	for (h = 0; h < g->program->n_handlers && !result; h++) {
		if (!p->port[h])
			continue;
		result = peali_task_pool(p->tasks, g->program->handlers[h].name,
					 p->workers, few, &reports,
					 &p->pool[h]);
		if (!result)
			result = connect_two(g, p->address, p->port[h],
					     p->pool[h], slots(p->n_tasks),
					     sizeof(struct peal_task));
	}
	return result;
}

static int connect_scheduler(struct peal_graph *g, uint32_t rank)
{
	struct peali_graph_device *p = &g->devices[rank];
	const struct peali_graph_pair *c = g->pairs + p->first_pair;
	uint64_t host = peal_endpoint_address(g->host);
	uint32_t i;
	int result = connect_two(g, host, rank, p->address, 4,
				 sizeof(struct peal_graph_step));

	if (!result)
		result = connect_two(g, p->address, 0, host, 32,
				     sizeof(struct peal_graph_step));
	for (i = 0; i < p->n_pairs && !result; i++)
		result = connect_two(g, p->address, 1 + i,
				     g->devices[c[i].to].address,
				     slots(c[i].n_edges),
				     sizeof(struct peal_graph_step));
	return result ? result : make_pools(g, p);
}

static int connect_receivers(struct peal_graph *g)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n_nodes && !result; i++) {
		const struct peali_graph_node *node = &g->nodes[i];

		if (node->messages)
			result = connect_two(g, g->devices[node->rank].address,
					     node->image.port, node->to,
					     slots(node->messages),
					     PEAL_TASK_PARAMETERS);
	}
	return result;
}

/* ---- make, reset, unmake ------------------------------------------------- */

static int grow_nodes(struct peal_graph *g, const char *call)
{
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = g->n,
					   .max_inputs = g->n + 1,
					   .name = g->name };
	uint32_t links = g->n, i; /* from the host */

	for (i = 0; i < g->n; i++)
		links += g->devices[i].workers + g->devices[i].n_ports;
	g->links = calloc(links, sizeof(*g->links));
	if (!g->links)
		return peali_fail(PEAL_ENOMEM, call, "no memory for a graph");
	return peali_endpoint_create_for(g->rt, &o, PEAL_WAIT_KINDS, &g->host);
}

int peali_graph_build(struct peal_graph *g, const char *call)
{
	uint32_t i;
	int result = lay_out(g, call);

	if (!result)
		result = number_ports(g, call);
	/*
	 * Schedulers last: a device with a resident kernel cannot load another
	 * program. The first launch has already loaded the schedulers' program.
	 */
	for (i = 0; i < g->n && !result; i++)
		result = launch_tasks(g, &g->devices[i], call);
	for (i = 0; i < g->n && !result; i++)
		result = launch_scheduler(g, &g->devices[i]);
	if (!result)
		result = grow_nodes(g, call);
	for (i = 0; i < g->n && !result; i++)
		result = make_scheduler(g, &g->devices[i], call);
	for (i = 0; i < g->n && !result; i++)
		result = connect_scheduler(g, i);
	if (!result)
		result = connect_receivers(g);
	g->made = !result;
	return result;
}

int peali_graph_reset(struct peal_graph *g)
{
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n && !result; i++) {
		struct peali_graph_device *p = &g->devices[i];

		result = copy_in(g, p, p->memory, p->image,
				 p->n_nodes * sizeof(*p->image));
	}
	return result;
}

static int stop(struct peal_kernel *k, uint64_t deadline)
{
	return k ? peali_kernel_end(k, deadline) : 0;
}

static int destroy(struct peal_kernel **k)
{
	int result = peal_kernel_destroy(*k);

	if (!result)
		*k = NULL;
	return result;
}

int peali_graph_teardown(struct peal_graph *g)
{
	uint64_t deadline = peali_deadline(g->rt->stop_ns);
	uint32_t i;
	int result = 0;

	for (i = 0; i < g->n; i++) {
		struct peali_graph_device *p = &g->devices[i];

		if (p->scheduler)
			peal_kernel_stop(p->scheduler, 0);
		if (p->tasks)
			peal_kernel_stop(p->tasks, 0);
	}
	for (i = 0; i < g->n; i++)
		if (stop(g->devices[i].scheduler, deadline) ||
		    stop(g->devices[i].tasks, deadline))
			result = PEAL_EHUNG;
	if (result)
		return result;
	for (; g->n_links && !result; g->n_links -= !result)
		result = peal_link_destroy(g->links[g->n_links - 1]);
	for (i = 0; i < g->n && !result; i++) {
		struct peali_graph_device *p = &g->devices[i];

		result = destroy(&p->scheduler);
		if (!result)
			result = destroy(&p->tasks);
		if (result)
			break;
		if (p->memory)
			peal_memory_free(g->rt, p->device, p->memory);
		free(p->image);
		free(p->owner);
		p->image = NULL;
		p->owner = NULL;
		p->memory = 0;
	}
	if (result)
		return result;
	peal_endpoint_destroy(g->host);
	free(g->links);
	g->host = NULL;
	g->links = NULL;
	g->made = 0;
	return 0;
}
