/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedulers of graphs, one on each device (peal/abi/graph.h).
 *
 * 1. Two queues hold numbers of nodes: nodes that can start, and nodes that
 *    have ended. Each node enters each queue once.
 * 2. A step sends one message, or counts down one node.
 * 3. A message to the scheduler executes up to STEPS steps. If more steps
 *    remain, the scheduler tells itself to continue.
 * 4. The leader decides on a step and stores it. All lanes send it.
 */
#include <peal/device/kernel.h>

#include <peal/abi/graph.h>

#include "ringkernels/fixed_port_handlers.h"

#define SENDS 8 /* most messages sent per received message */
#define STEPS 64 /* most steps per received message */

enum { NOTHING, SEND_TASK, SEND_MESSAGE, SEND_COUNT, SEND_DONE, COUNTED };

struct scheduler {
	struct peal_graph_init init; /* written by the host */
	uint32_t run; /* number of the present run; 0: none yet */
	uint32_t n_ready, ready_taken; /* counts of this run */
	uint32_t n_over, over_taken;
	uint32_t piece; /* next piece of the node that starts */
	uint32_t edge; /* next edge of the node that has ended */
	uint32_t said; /* 1: DONE was sent to the host */
	/* the present step */
	uint32_t step, port;
	struct peal_graph_step word;
	struct peal_task task;
};

/* ---- the leader's part --------------------------------------------------- */

static PEAL_DEV struct peal_graph_node *node_at(const struct scheduler *c,
						uint32_t i)
{
	return (struct peal_graph_node *)(uintptr_t)c->init.nodes + i;
}

static PEAL_DEV uint32_t *queue(uint64_t address)
{
	return (uint32_t *)(uintptr_t)address;
}

/* Ends a node and queues it, so that its successors are counted down. */
static PEAL_DEV void end_node(struct scheduler *c, uint32_t i, uint32_t state)
{
	struct peal_graph_node *n = node_at(c, i);

	n->state = state;
	n->ended_ns = peal_clock_ns();
	queue(c->init.over)[c->n_over++] = i;
}

/* Counts down one predecessor of a node. Queues the node after the last one. */
static PEAL_DEV void count_at(struct scheduler *c, uint32_t i, int32_t result)
{
	struct peal_graph_node *n = node_at(c, i);

	if (result && !n->result)
		n->result = result;
	if (!--n->left)
		queue(c->init.ready)[c->n_ready++] = i;
}

/*
 * Resets the scheduler for a new run. The first message of the run comes from
 * the host or from another scheduler.
 */
static PEAL_DEV void enter(struct scheduler *c, uint32_t run)
{
	if (c->run == run)
		return;
	c->run = run;
	c->said = 0;
	c->n_ready = c->ready_taken = c->n_over = c->over_taken = 0;
	c->piece = c->edge = 0;
}

/* Follows the next edge of the ended node, or ends with this node. */
static PEAL_DEV uint32_t follow_edge(struct scheduler *c)
{
	uint32_t i = queue(c->init.over)[c->over_taken];
	const struct peal_graph_node *n = node_at(c, i);
	const struct peal_graph_edge *e =
		(const struct peal_graph_edge *)(uintptr_t)c->init.edges +
		n->first_edge + c->edge;
	int32_t result = n->state == PEAL_GRAPH_IS_DONE ? 0 : n->result;

	if (c->edge == n->n_edges) {
		c->over_taken++;
		c->edge = 0;
		return COUNTED;
	}
	c->edge++;
	if (!e->port) {
		count_at(c, e->node, result);
		return COUNTED;
	}
	c->port = e->port;
	c->word.run = c->run;
	c->word.node = e->node;
	c->word.result = result;
	return SEND_COUNT;
}

/* Makes the next task of a node: a piece of its elements. */
static PEAL_DEV uint32_t cut_task(struct scheduler *c, uint32_t i)
{
	const struct peal_graph_node *n = node_at(c, i);
	struct peal_task *t = &c->task;
	uint64_t small = n->count / n->pieces, more = n->count % n->pieces;
	uint32_t k;

	*t = n->task;
	t->first = c->piece * small + (c->piece < more ? c->piece : more);
	t->count = small + (c->piece < more);
	t->job = i;
	t->slot = 0;
	for (k = 0; k < t->n_arguments; k++)
		t->argument[k] += t->first * n->element_bytes[k];
	return SEND_TASK;
}

/* Starts a node, or continues with its next message. */
static PEAL_DEV uint32_t begin_node(struct scheduler *c)
{
	uint32_t i = queue(c->init.ready)[c->ready_taken];
	struct peal_graph_node *n = node_at(c, i);

	if (!c->piece) {
		n->began_ns = peal_clock_ns();
		n->state = PEAL_GRAPH_RUNS;
	}
	/* a predecessor's result, not the node's own */
	if (n->result && !c->piece) {
		c->ready_taken++;
		end_node(c, i, PEAL_GRAPH_SKIPPED);
		return COUNTED;
	}
	c->port = n->port;
	if (n->kind == PEAL_GRAPH_MESSAGE) {
		c->task = n->task;
		c->word.node = n->type;
		c->ready_taken++;
		end_node(c, i, PEAL_GRAPH_IS_DONE);
		return SEND_MESSAGE;
	}
	cut_task(c, i);
	if (++c->piece == n->pieces) {
		c->piece = 0;
		c->ready_taken++;
	}
	return SEND_TASK;
}

static PEAL_DEV uint32_t next_step(struct scheduler *c)
{
	if (c->over_taken < c->n_over)
		return follow_edge(c);
	if (c->ready_taken < c->n_ready)
		return begin_node(c);
	if (c->said || !c->run || c->over_taken < c->init.n_nodes)
		return NOTHING;
	c->said = 1;
	c->port = 0;
	c->word.run = c->run;
	c->word.node = c->init.rank;
	c->word.result = 0;
	return SEND_DONE;
}

/* Handles the report of a task. */
static PEAL_DEV int take_report(struct scheduler *c,
				const struct peal_task_done *done)
{
	struct peal_graph_node *n;

	if (done->job >= c->init.n_nodes || !c->run)
		return PEAL_EPROTO;
	n = node_at(c, done->job);
	if (!n->pieces_left)
		return PEAL_EPROTO;
	if (done->result == PEAL_EABORTED) /* the task's kernel is ending */
		return PEAL_EABORTED;
	if (done->result && !n->result)
		n->result = done->result;
	if (!--n->pieces_left)
		end_node(c, done->job,
			 n->result ? PEAL_GRAPH_FAILED : PEAL_GRAPH_IS_DONE);
	return 0;
}

/* Handles a received message. */
static PEAL_DEV int take(struct peal_worker *w, struct scheduler *c)
{
	const struct peal_graph_step *s =
		(const struct peal_graph_step *)peal_data(w);
	uint32_t i;

	switch (peal_type(w)) {
	case PEAL_GRAPH_MORE:
		return 0;
	case PEAL_GRAPH_REPORT:
		if (peal_length(w) != sizeof(struct peal_task_done))
			return PEAL_EPROTO;
		return take_report(c,
				   (const struct peal_task_done *)peal_data(w));
	case PEAL_GRAPH_BEGIN:
	case PEAL_GRAPH_COUNT:
		break;
	default:
		return PEAL_EPROTO;
	}
	if (peal_length(w) != sizeof(*s))
		return PEAL_EPROTO;
	enter(c, s->run);
	if (peal_type(w) == PEAL_GRAPH_BEGIN) {
		for (i = 0; i < c->init.n_nodes; i++)
			count_at(c, i, 0); /* BEGIN counts as a predecessor */
	} else if (s->node < c->init.n_nodes) {
		count_at(c, s->node, s->result);
	} else {
		return PEAL_EPROTO;
	}
	return 0;
}

/* ---- all lanes ----------------------------------------------------------- */

/* Sends the present step. Returns 1 for a message, 0 for none, or an error. */
static PEAL_DEV int send_step(struct peal_worker *w, struct scheduler *c)
{
	int result = 0;

	switch (c->step) {
	case SEND_TASK:
	case SEND_MESSAGE:
		result = c->step == SEND_TASK ?
				 peal_emit(w, c->port, 0, &c->task,
					   offsetof(struct peal_task,
						    parameter) +
						   c->task.parameter_bytes,
					   0) :
				 peal_emit(w, c->port, (uint16_t)c->word.node,
					   c->task.parameter,
					   c->task.parameter_bytes, 0);
		break;
	case SEND_COUNT:
	case SEND_DONE:
		result = peal_emit(w, c->port,
				   c->step == SEND_COUNT ? PEAL_GRAPH_COUNT :
							   PEAL_GRAPH_DONE,
				   &c->word, sizeof(c->word), 0);
		break;
	default:
		return 0;
	}
	return result ? result : 1;
}

/*
 * Reports to the host that the run has failed. The reason is an invalid
 * message, a failed send, or the end of the kernel that runs the tasks.
 */
static PEAL_DEV int say_broken(struct peal_worker *w, struct scheduler *c,
			       int result)
{
	struct peal_graph_step word;

	word.run = c->run;
	word.node = c->init.rank;
	word.result = result;
	word.reserved = 0;
	peal_emit(w, 0, PEAL_GRAPH_DONE, &word, sizeof(word), 0);
	return result;
}

static PEAL_DEV PEAL_NOINLINE int schedule(struct peal_worker *w)
{
	struct scheduler *c = (struct scheduler *)peal_state(w);
	uint32_t sent = 0, i;
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w)) {
		/*
		 * acquire the writes of tasks and host, and release them to
		 * later receivers
		 */
		peal_fence_acquire_sys();
		result = take(w, c);
		peal_fence_release_sys();
	}
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	for (i = 0; !result && i < STEPS && sent < SENDS; i++) {
		peal_sync(w);
		if (peal_is_leader(w))
			c->step = next_step(c);
		peal_sync(w);
		if (c->step == NOTHING)
			return 0;
		result = send_step(w, c);
		sent += result == 1;
		result = result == 1 ? 0 : result;
	}
	if (!result)
		result = peal_tell(w, c->init.self, PEAL_GRAPH_MORE, 0, 0, 0);
	return result ? say_broken(w, c, result) : 0;
}

#define CONDUCT(X, n)                                                          \
	static PEAL_DEV int schedule_##n(struct peal_worker *w)                \
	{                                                                      \
		return schedule(w);                                            \
	}
CONDUCT(, 1) /* a device without nodes */
EACH_PORT_COUNT_TO_128(CONDUCT, )

#define CONDUCTOR_OF(X, n)                                                     \
	X(schedule_##n, sizeof(struct scheduler),                              \
	  PEAL_LIMITS(n, SENDS, 1, 0, 0))
#define HANDLERS(X)                                                            \
	CONDUCTOR_OF(X, 1)                                                     \
	EACH_PORT_COUNT_TO_128(CONDUCTOR_OF, X)
PEAL_PROGRAM(peal_graph, HANDLERS);
