/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each node of a graph runs once, after all nodes that it waits for, and sees
 * their writes. After a failure, its successors do not run. The error text
 * names the node.
 */
#include <peal/graph.h>

#include "runtime/both_lanes.h"
#include "runtime/compute/graph.h"
#include "runtime/tasks.h"

PEAL_DECLARE_PROGRAM(tasks);

#define ELEMENTS 64
#define NODES 60

static struct peal_runtime *rt;
static struct peal_graph *g;
static uint64_t memory; /* host memory that all devices map */

static void open_graph(uint32_t n, uint32_t workers, uint64_t bytes)
{
	const struct peal_graph_options o = { .size = sizeof(o),
					      .workers = workers,
					      .lanes = lanes };
	int devices[PEAL_GRAPH_DEVICES_MAX];
	uint32_t i;

	for (i = 0; i < n; i++) /* rank i is not device i */
		devices[i] = (int)((i + 1) % n);
	rt = harness_open((int)n, "");
	CHECK_OK(
		peal_graph_create(rt, devices, n, &peal_program_tasks, &o, &g));
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, bytes, &memory));
	memset((void *)(uintptr_t)memory, 0, bytes);
}

static void close_graph(void)
{
	CHECK_OK(peal_graph_destroy(g));
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, memory));
	CHECK_OK(peal_runtime_close(rt));
}

static struct peal_graph_node_info info_of(uint32_t node)
{
	struct peal_graph_node_info info;

	CHECK_OK(peal_graph_node_info(g, node, &info));
	return info;
}

/* ---- random graphs ------------------------------------------------------- */

/* A node's output is `a * factor + table`. Earlier nodes write a and table. */
struct plan {
	uint32_t a, table, factor, rank;
};

static uint32_t *words(uint32_t i)
{
	return (uint32_t *)(uintptr_t)memory + (uint64_t)i * ELEMENTS;
}

static uint32_t add_combine(const struct plan *p, uint32_t i, uint32_t pieces)
{
	const struct peal_graph_argument arguments[] = {
		{ (uintptr_t)words(p->a), 4, 0 },
		{ (uintptr_t)words(p->table), 0, 12 },
		{ (uintptr_t)words(i), 4, 0 },
	};
	const struct peal_graph_task t = { .size = sizeof(t),
					   .rank = p->rank,
					   .handler = "combine",
					   .count = ELEMENTS,
					   .pieces = pieces,
					   .n_arguments = 3,
					   .arguments = arguments,
					   .parameters = &p->factor,
					   .parameter_bytes = 4 };
	uint32_t node = 0;

	CHECK_OK(peal_graph_add_task(g, &t, &node));
	return node;
}

/* Runs a random graph on n devices. Node i writes words(i + 2). words(0) and
 * words(1) are inputs. */
static void any_graph(uint32_t n, uint64_t seed)
{
	unsigned long long random = seed;
	static uint32_t due[NODES + 2][ELEMENTS];
	struct plan plan[NODES];
	uint32_t i, k, run;

	open_graph(n, 2, (NODES + 2) * ELEMENTS * 4);
	for (i = 0; i < NODES; i++) {
		struct plan *p = &plan[i];

		p->a = (uint32_t)(test_random(&random) % (i + 2));
		p->table = (uint32_t)(test_random(&random) % (i + 2));
		p->factor = (uint32_t)test_random(&random) | 1;
		p->rank = (uint32_t)(test_random(&random) % n);
		CHECK_EQ(add_combine(p, i + 2,
				     (uint32_t)(test_random(&random) % 5)),
			 i);
		if (p->a > 1)
			CHECK_OK(peal_graph_add_edge(g, p->a - 2, i));
		if (p->table > 1) /* may be the same edge */
			CHECK_OK(peal_graph_add_edge(g, p->table - 2, i));
		if (i % 7 == 6) /* an edge without data */
			CHECK_OK(peal_graph_add_edge(
				g, (uint32_t)(test_random(&random) % i), i));
	}
	for (run = 0; run < (IDENTITY_SANITIZED ? 5u : 20u); run++) {
		for (i = 0; i < NODES + 2; i++)
			for (k = 0; k < ELEMENTS; k++)
				words(i)[k] = due[i][k] =
					i < 2 ? (uint32_t)test_random(&random) :
						0;
		for (i = 0; i < NODES; i++)
			for (k = 0; k < ELEMENTS; k++)
				due[i + 2][k] =
					due[plan[i].a][k] * plan[i].factor +
					due[plan[i].table][k % 3];
		CHECK_OK(peal_graph_run(g, MAX_WAIT));
		for (i = 0; i < NODES + 2; i++)
			CHECK(!memcmp(words(i), due[i], sizeof(due[i])));
	}
	for (i = 0; i < NODES; i++) {
		CHECK_EQ(info_of(i).state, PEAL_GRAPH_IS_DONE);
		CHECK_EQ(info_of(i).result, 0);
		CHECK(info_of(i).began_ns <= info_of(i).ended_ns);
		CHECK_EQ(info_of(i).device, (int)((plan[i].rank + 1) % n));
	}
	close_graph();
}

PEAL_TEST(random_graph_equals_sequential_result)
{
	any_graph(1, 1);
	any_graph(3, 2);
	any_graph(4, 3);
}

/* ---- edges --------------------------------------------------------------- */

/* Adds a task that waits for the gate, the first word of `memory`. */
static uint32_t add_gated(uint32_t rank, int64_t error)
{
	const struct visit v = { .gate = memory,
				 .gate_at = UINT64_MAX,
				 .fails_at = error ? 0 : UINT64_MAX,
				 .error = error };
	const struct peal_graph_argument arguments[] = {
		{ memory + 8, 4, 0 },
		{ memory + 16, 8, 0 },
	};
	const struct peal_graph_task t = { .size = sizeof(t),
					   .rank = rank,
					   .handler = "visit",
					   .count = 1,
					   .n_arguments = 2,
					   .arguments = arguments,
					   .parameters = &v,
					   .parameter_bytes = sizeof(v) };
	uint32_t node = 0;

	CHECK_OK(peal_graph_add_task(g, &t, &node));
	return node;
}

static void gate(int is_open)
{
	peal_store_release_sys((uint64_t *)(uintptr_t)memory,
			       (uint64_t)is_open);
}

static uint32_t add_message(uint32_t rank, struct peal_endpoint *to,
			    uint64_t number)
{
	const struct peal_graph_message m = { .size = sizeof(m),
					      .rank = rank,
					      .to = peal_endpoint_address(to),
					      .type = 77,
					      .bytes = sizeof(number),
					      .data = &number };
	uint32_t node = 0;

	CHECK_OK(peal_graph_add_message(g, &m, &node));
	return node;
}

static void expect(struct peal_endpoint *from, uint64_t number)
{
	struct peal_received r;
	uint64_t got = 0;

	CHECK_OK(peal_receive(from, &got, sizeof(got), &r, MAX_WAIT));
	CHECK_EQ(r.length, 8);
	CHECK_EQ(r.type, 77);
	CHECK_EQ(got, number);
}

/* Messages with an edge wait for the task, others do not, on both devices. */
PEAL_TEST(edge_delays_only_its_successor)
{
	struct peal_endpoint *before, *after;
	struct peal_received r;
	uint64_t none;
	uint32_t task, i, run;

	open_graph(2, 1, 4096);
	before = harness_endpoint(rt);
	after = harness_endpoint(rt);
	task = add_gated(0, 0);
	add_message(0, before, 1);
	add_message(1, before, 1);
	for (i = 0; i < 2; i++)
		CHECK_OK(
			peal_graph_add_edge(g, task, add_message(i, after, 2)));
	for (run = 0; run < 3; run++) {
		gate(0);
		CHECK_OK(peal_graph_start(g));
		expect(before, 1);
		expect(before, 1);
		CHECK_FAILS(peal_graph_wait(g, 20 * MS), PEAL_ETIMEDOUT,
			    ", on devices 1, 0");
		CHECK_EQ(peal_receive(after, &none, 8, &r, 0), PEAL_EAGAIN);
		CHECK_FAILS(peal_graph_start(g), PEAL_EBUSY, "peal_graph_wait");
		CHECK_EQ(peal_graph_node_info(
				 g, 0, &(struct peal_graph_node_info){ 0 }),
			 PEAL_EBUSY);
		gate(1);
		expect(after, 2);
		expect(after, 2);
		CHECK_OK(peal_graph_wait(g, MAX_WAIT));
		CHECK_OK(peal_graph_wait(g, MAX_WAIT)); /* no run */
	}
	CHECK_EQ(info_of(task).waits, 0);
	CHECK_EQ(info_of(3).waits, 1);
	CHECK_EQ(*(uint32_t *)(uintptr_t)(memory + 8), 3);
	CHECK_OK(peal_graph_destroy(g));
	g = NULL;
	CHECK_OK(peal_endpoint_destroy(before));
	CHECK_OK(peal_endpoint_destroy(after));
	close_graph();
}

/* One node has more successors than a scheduler handles per message. Another
 * node waits for all of them. */
PEAL_TEST(node_with_many_successors_runs_them_all)
{
	const uint32_t n = IDENTITY_SANITIZED ? 300 : 2000;
	struct plan p = { 0, 1, 3, 0 };
	uint32_t first, last, i;

	open_graph(2, 2, (uint64_t)(n + 4) * ELEMENTS * 4);
	words(0)[5] = 2;
	first = add_combine(&p, 2, 1);
	p.a = 2;
	for (i = 0; i < n; i++) {
		p.rank = i % 2;
		CHECK_OK(peal_graph_add_edge(g, first,
					     add_combine(&p, 3 + i, 1)));
	}
	p.a = 2 + n;
	last = add_combine(&p, 3 + n, 1);
	for (i = 0; i < n; i++)
		CHECK_OK(peal_graph_add_edge(g, 1 + i, last));
	CHECK_OK(peal_graph_run(g, MAX_WAIT));
	for (i = 0; i < n; i++)
		CHECK_EQ(words(3 + i)[5], 18);
	CHECK_EQ(words(3 + n)[5], 54);
	CHECK_EQ(info_of(last).waits, n);
	close_graph();
}

/* ---- failures ------------------------------------------------------------ */

PEAL_TEST(successors_of_failed_node_do_not_run)
{
	struct plan p = { 2, 3, 5, 1 };
	uint32_t fails, behind, further, other, run;

	open_graph(2, 1, 16 * ELEMENTS * 4);
	gate(1);
	words(2)[0] = 7;
	fails = add_gated(0, -1234);
	behind = add_combine(&p, 4, 2);
	p.rank = 0;
	further = add_combine(&p, 5, 1);
	other = add_combine(&p, 6, 1);
	CHECK_OK(peal_graph_add_edge(g, fails, behind));
	CHECK_OK(peal_graph_add_edge(g, behind, further));
	for (run = 0; run < 2; run++) {
		CHECK_FAILS(peal_graph_run(g, MAX_WAIT), -1234,
			    "node 0 of graph 'graph', handler 'visit' on "
			    "device 1, has failed");
		CHECK_CONTAINS(peal_last_error()->text,
			       "skipped nodes that depend on failed nodes: 2");
		CHECK_EQ(info_of(fails).state, PEAL_GRAPH_FAILED);
		CHECK_EQ(info_of(behind).state, PEAL_GRAPH_SKIPPED);
		CHECK_EQ(info_of(behind).result, -1234);
		CHECK_EQ(info_of(further).state, PEAL_GRAPH_SKIPPED);
		CHECK_EQ(info_of(other).state, PEAL_GRAPH_IS_DONE);
		CHECK_EQ(words(4)[0], 0);
		CHECK_EQ(words(5)[0], 0);
		CHECK_EQ(words(6)[0], 35);
	}
	close_graph();
}

/* The first of many pieces fails. All pieces and all other nodes are over
 * before the run ends. The next run is complete. */
PEAL_TEST(failed_node_ends_all_pieces_before_run_ends)
{
	enum { PIECES = 1000 };
	const struct visit v = { .gate_at = UINT64_MAX,
				 .fails_at = 0,
				 .error = -1234 };
	struct peal_graph_argument arguments[2];
	struct peal_graph_task t = { .size = sizeof(t),
				     .handler = "visit",
				     .count = PIECES,
				     .pieces = PIECES,
				     .n_arguments = 2,
				     .arguments = arguments,
				     .parameters = &v,
				     .parameter_bytes = sizeof(v) };
	struct plan p = { 0, 1, 3, 0 };
	uint32_t node, run, i;

	open_graph(1, 1, 400 * ELEMENTS * 4);
	arguments[0] =
		(struct peal_graph_argument){ (uintptr_t)words(2), 4, 0 };
	arguments[1] =
		(struct peal_graph_argument){ (uintptr_t)words(40), 8, 0 };
	CHECK_OK(peal_graph_add_task(g, &t, &node));
	for (i = 0; i < 4; i++)
		add_combine(&p, 300 + i, 2 + i);
	for (run = 1; run < (IDENTITY_SANITIZED ? 5u : 30u); run++) {
		words(0)[1] = run;
		CHECK_FAILS(peal_graph_run(g, MAX_WAIT), -1234, "node 0");
		for (i = 0; i < PIECES; i++)
			CHECK_EQ(words(2)[i], run);
		for (i = 0; i < 4; i++)
			CHECK_EQ(words(300 + i)[1], 3 * run);
		CHECK_EQ(info_of(node).state, PEAL_GRAPH_FAILED);
		CHECK_EQ(info_of(4).state, PEAL_GRAPH_IS_DONE);
	}
	close_graph();
}

/* The host receives all messages only after the run. */
PEAL_TEST(run_buffers_all_its_messages)
{
	struct peal_endpoint *e;
	uint32_t run, i;

	open_graph(1, 1, 4096);
	e = harness_endpoint(rt);
	for (i = 0; i < 100; i++)
		add_message(0, e, 5);
	for (run = 0; run < 3; run++) {
		CHECK_OK(peal_graph_run(g, MAX_WAIT));
		for (i = 0; i < 100; i++)
			expect(e, 5);
	}
	CHECK_OK(peal_graph_destroy(g));
	g = NULL;
	CHECK_OK(peal_endpoint_destroy(e));
	close_graph();
}

PEAL_TEST(graph_error_names_the_ended_kernel)
{
	struct peal_runtime_info info;

	open_graph(2, 1, 4096);
	gate(0);
	add_gated(1, 0);
	CHECK_OK(peal_graph_start(g));
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_kernels, 3); /* none for tasks of rank 0 */
	CHECK_OK(peal_kernel_abort(g->devices[1].tasks, MAX_WAIT));
	CHECK_FAILS(peal_graph_wait(g, MAX_WAIT), PEAL_EABORTED,
		    "on device 0 has ended");
	close_graph();
}

/* PEAL_EABORTED of a task means that its kernel is being aborted. It is not the
 * error of the node, even if the host has not seen the kernel end. */
PEAL_TEST(aborted_task_breaks_the_graph)
{
	struct peal_graph_node_info info;
	uint32_t fails;

	open_graph(2, 1, 4096);
	gate(1);
	fails = add_gated(0, PEAL_EABORTED);
	CHECK_FAILS(peal_graph_run(g, MAX_WAIT), PEAL_EABORTED,
		    "kernel on device 1 is aborted");
	CHECK_FAILS(peal_graph_wait(g, MAX_WAIT), PEAL_EABORTED, "is broken");
	CHECK_EQ(peal_graph_node_info(g, fails, &info), PEAL_EABORTED);
	close_graph();
}

PEAL_TEST(graph_can_be_destroyed_during_a_run)
{
	int i;

	for (i = 0; i < 6; i++) {
		open_graph(2, 1, 4096);
		gate(0);
		add_gated(0, 0);
		if (i)
			CHECK_OK(peal_graph_start(g));
		if (i % 2)
			gate(1);
		if (i < 4) {
			close_graph();
			continue;
		}
		CHECK_OK(peal_runtime_shutdown(rt));
	}
}

/* ---- refused calls ------------------------------------------------------- */

static void refused(struct peal_graph_task t, int error, const char *text)
{
	uint32_t node;

	t.size = sizeof(t);
	CHECK_FAILS(peal_graph_add_task(g, &t, &node), error, text);
}

PEAL_TEST(invalid_tasks_and_messages_are_refused)
{
	const struct peal_graph_argument both[] = { { 64, 4, 4 } },
					 nowhere[] = { { 64, 4, 0 } };
	struct peal_graph_task t = { .handler = "combine", .count = 1 };
	struct peal_graph_message m = { .size = sizeof(m) };
	struct peal_endpoint *e;

	open_graph(2, 1, 4096);
	e = harness_endpoint(rt);
#define REFUSED(change, error, text)                                           \
	do {                                                                   \
		struct peal_graph_task t_ = t;                                 \
		t_.change;                                                     \
		refused(t_, error, text);                                      \
	} while (0)
	REFUSED(rank = 2, PEAL_EINVAL,
		"'rank': is out of range (2, allowed "
		"0..1)");
	REFUSED(count = 0, PEAL_EINVAL,
		"'count': is out of range (0, allowed "
		"1 or more)");
	REFUSED(pieces = 2, PEAL_EINVAL,
		"'pieces': is larger than the number of elements (2, allowed "
		"0..1)");
	REFUSED(pieces = 2000, PEAL_EINVAL,
		"'pieces': is out of range (2000, "
		"allowed 0..1024)");
	REFUSED(handler = NULL, PEAL_EINVAL,
		"'handler': is NULL (NULL, "
		"allowed an address)");
	REFUSED(handler = "nobody", PEAL_ENOENT,
		"'tasks': has no such handler "
		"(nobody, allowed combine, visit, other, cover)");
	REFUSED(handler = "other", PEAL_ENOTSUP, "'other' does no tasks");
	REFUSED(n_arguments = 9, PEAL_EINVAL,
		"'n_arguments': is out of range "
		"(9, allowed 0..8)");
	REFUSED(n_arguments = 1, PEAL_EINVAL,
		"'arguments': is NULL (NULL, "
		"allowed an address)");
	REFUSED(parameter_bytes = 97, PEAL_EINVAL,
		"'parameter_bytes': is out "
		"of range (97, allowed 0..96)");
	REFUSED(parameter_bytes = 9, PEAL_EINVAL,
		"'parameters': is NULL "
		"(NULL, allowed an address)");
	t.n_arguments = 1;
	REFUSED(arguments = both, PEAL_EINVAL,
		"argument 0: has both or none "
		"of element_bytes and bytes, or is too large (4, 4, allowed "
		"one of them)");
	REFUSED(arguments = nowhere, PEAL_EFAULT, "argument 0 on device 1");
	m.to = peal_endpoint_address(e);
	m.type = 65536;
	CHECK_FAILS(peal_graph_add_message(g, &m, NULL), PEAL_EINVAL,
		    "'type': is out of range (65536, allowed 0..65535)");
	m.type = 1;
	m.bytes = 97;
	CHECK_FAILS(peal_graph_add_message(g, &m, NULL), PEAL_EINVAL,
		    "'bytes': is out of range (97, allowed 0..96)");
	m.bytes = 8;
	CHECK_FAILS(peal_graph_add_message(g, &m, NULL), PEAL_EINVAL,
		    "'data': is NULL (NULL, allowed an address)");
	m.bytes = 0;
	m.to = 12345;
	CHECK_EQ(peal_graph_add_message(g, &m, NULL), PEAL_ENOENT);
	CHECK_OK(peal_graph_run(g, MAX_WAIT)); /* an empty graph */
	CHECK_OK(peal_endpoint_destroy(e));
	close_graph();
}

PEAL_TEST(invalid_graphs_are_refused)
{
	static const int twice[] = { 1, 1 }, none[] = { 9 };
	struct peal_endpoint *e[PEAL_GRAPH_PORTS];
	struct peal_graph *other;
	uint32_t i;

	open_graph(2, 1, 4096);
	CHECK_FAILS(peal_graph_create(rt, twice, 2, &peal_program_tasks, NULL,
				      &other),
		    PEAL_EINVAL,
		    "device 1: is in a graph twice (ranks 0 and 1");
	CHECK_EQ(peal_graph_create(rt, none, 1, &peal_program_tasks, NULL,
				   &other),
		 PEAL_ENODEV);
	CHECK_EQ(peal_graph_create(rt, twice, 0, &peal_program_tasks, NULL,
				   &other),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_graph_create(rt, twice, PEAL_GRAPH_DEVICES_MAX + 1,
				      &peal_program_tasks, NULL, &other),
		    PEAL_EINVAL, "'n': is out of range (257, allowed 1..256)");
	CHECK_FAILS(peal_graph_create(rt, twice, 1, &peal_program_relay, NULL,
				      &other),
		    PEAL_ENOTSUP, "no handler of 'relay' does tasks");
	gate(1);
	for (i = 0; i < 3; i++)
		add_gated(i % 2, 0);
	CHECK_FAILS(peal_graph_add_edge(g, 1, 1), PEAL_EINVAL,
		    "'graph': has no edge from a node to itself (node 1, "
		    "allowed two nodes)");
	CHECK_FAILS(peal_graph_add_edge(g, 1, 3), PEAL_ENOENT,
		    "'graph': has "
		    "no such node (3, allowed 0..2)");
	CHECK_OK(peal_graph_add_edge(g, 0, 1));
	CHECK_OK(peal_graph_add_edge(g, 1, 2));
	CHECK_OK(peal_graph_add_edge(g, 2, 1));
	CHECK_FAILS(peal_graph_run(g, MAX_WAIT), PEAL_EINVAL,
		    "node 1 depends on itself through other nodes");
	CHECK_OK(peal_graph_destroy(g));
	g = NULL;
	close_graph();
	open_graph(2, 1, 4096);
	for (i = 0; i < PEAL_GRAPH_PORTS; i++) {
		e[i] = harness_endpoint(rt);
		add_message(0, e[i], i);
	}
	CHECK_FAILS(peal_graph_run(g, MAX_WAIT), PEAL_ENOSPC,
		    "'graph': needs too many ports on device 1, to the host, 0 "
		    "devices and receivers (129, allowed 0..128)");
	CHECK_OK(peal_graph_destroy(g));
	g = NULL;
	for (i = 0; i < PEAL_GRAPH_PORTS; i++)
		CHECK_OK(peal_endpoint_destroy(e[i]));
	close_graph();
}

PEAL_TEST(graph_is_immutable_after_its_first_run)
{
	struct peal_runtime_info info;

	open_graph(1, 1, 4096);
	gate(1);
	add_gated(0, 0);
	CHECK_OK(peal_graph_run(g, MAX_WAIT));
	CHECK_FAILS(peal_graph_add_edge(g, 0, 0), PEAL_EBUSY, "has run");
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK_EQ(info.n_graphs, 1);
	CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "1 graph");
	close_graph();
}

PEAL_TEST_MAIN(RUN_LANES(random_graph_equals_sequential_result);
	       RUN_LANES(edge_delays_only_its_successor);
	       RUN(node_with_many_successors_runs_them_all);
	       RUN_LANES(successors_of_failed_node_do_not_run);
	       RUN_LANES(failed_node_ends_all_pieces_before_run_ends);
	       RUN(run_buffers_all_its_messages);
	       RUN(graph_error_names_the_ended_kernel);
	       RUN(aborted_task_breaks_the_graph);
	       RUN(graph_can_be_destroyed_during_a_run);
	       RUN(invalid_tasks_and_messages_are_refused);
	       RUN(invalid_graphs_are_refused);
	       RUN(graph_is_immutable_after_its_first_run);)
