/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object of each kind on 64 devices at once. Links and memory grow by the
 * same amount with each device. Sanitizers and driver doubles have fewer
 * devices, but more than 16. The PTX machine has 8.
 */
#include <peal/collective.h>
#include <peal/communicator.h>
#include <peal/executor.h>
#include <peal/graph.h>

#include "runtime/tasks.h"
#include "runtime/topics.h"

PEAL_DECLARE_PROGRAM(tasks);

#define DEVICES_MAX 64
#define ELEMENTS 16

static struct peal_runtime *rt;
static int devices[DEVICES_MAX];

#define FEWER 20

/* The number of devices of a case; a multiple of 4, above 16 except in a quick run. */
static uint32_t many(void)
{
	uint32_t n = (uint32_t)test_part(DEVICES_MAX);
	int few = IDENTITY_SANITIZED || test_on_gpu();

	return few && n > FEWER ? FEWER : n;
}

/* Opens n devices. No pair is probed, so all links have rings in host memory. */
static void open_devices(uint32_t n)
{
	uint32_t i;

	setenv("PEAL_LOG", "0", 0); /* else a line for each slow pair */
	setenv("PEAL_PROBE", "off", 1);
	rt = harness_open((int)n, "");
	for (i = 0; i < n; i++) /* rank i is not device i */
		devices[i] = (int)((i + 1) % n);
}

static struct peal_runtime_info counts(void)
{
	struct peal_runtime_info info;

	CHECK_OK(peal_runtime_info(rt, &info));
	return info;
}

/* Returns the used bytes of all devices and of the host memory they map. */
static uint64_t used_bytes(uint32_t n)
{
	struct peal_memory_info info;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i <= n; i++) {
		CHECK_OK(peal_memory_info(rt, i < n ? (int)i : PEAL_HOST_MEMORY,
					  &info));
		sum += info.total_bytes - info.free_bytes;
	}
	return sum;
}

/* ---- graphs -------------------------------------------------------------- */

#define WORDS (DEVICES_MAX + 1)
#define FACTOR 3u
#define TERM 7u

/* Arrays of WORDS words in host memory, and a graph that works on them. */
struct fixture {
	struct peal_graph *g;
	uint64_t memory;
	uint32_t *table, *a, *b, *c, *d;
};

static void make_graph(struct fixture *s, uint32_t n)
{
	const struct peal_graph_options o = { .size = sizeof(o), .workers = 1 };
	uint64_t bytes = 5 * WORDS * sizeof(uint32_t);
	uint32_t i;

	CHECK_OK(peal_graph_create(rt, devices, n, &peal_program_tasks, &o,
				   &s->g));
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, bytes, &s->memory));
	memset((void *)(uintptr_t)s->memory, 0, bytes);
	s->table = (uint32_t *)(uintptr_t)s->memory;
	s->a = s->table + WORDS;
	s->b = s->a + WORDS;
	s->c = s->b + WORDS;
	s->d = s->c + WORDS;
	for (i = 0; i < WORDS; i++)
		s->table[i] = TERM;
}

static void free_graph(struct fixture *s)
{
	CHECK_OK(peal_graph_destroy(s->g));
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, s->memory));
}

/* Adds a node that sets to[i] = from[i] * FACTOR + TERM. */
static uint32_t add_node(struct fixture *s, uint32_t rank, uint32_t *from,
			 uint32_t *to, uint32_t count)
{
	const uint32_t factor = FACTOR;
	const struct peal_graph_argument arguments[] = {
		{ (uintptr_t)from, 4, 0 },
		{ (uintptr_t)s->table, 0, 12 },
		{ (uintptr_t)to, 4, 0 },
	};
	const struct peal_graph_task t = { .size = sizeof(t),
					   .rank = rank,
					   .handler = "combine",
					   .count = count,
					   .n_arguments = 3,
					   .arguments = arguments,
					   .parameters = &factor,
					   .parameter_bytes = 4 };
	uint32_t node = 0;

	CHECK_OK(peal_graph_add_task(s->g, &t, &node));
	return node;
}

/* Returns the value after so many nodes. */
static uint32_t after_nodes(uint32_t x, uint32_t nodes)
{
	for (; nodes; nodes--)
		x = x * FACTOR + TERM;
	return x;
}

/* Node i waits for node i - 1, on the device before, and reads its output. */
static void add_chain(struct fixture *s, uint32_t n)
{
	uint32_t i, node;

	for (i = 0; i < n; i++) {
		node = add_node(s, i, &s->a[i], &s->a[i + 1], 1);
		if (i)
			CHECK_OK(peal_graph_add_edge(s->g, node - 1, node));
	}
}

/*
 * A node on the first device precedes a node on each device. All of them
 * precede a node on the last device, which reads their outputs.
 */
PEAL_TEST(graph_spreads_to_all_devices_and_back)
{
	uint32_t n = many(), first, last, i, run;
	struct fixture s;

	open_devices(n);
	make_graph(&s, n);
	first = add_node(&s, 0, s.a, s.b, n);
	last = add_node(&s, n - 1, s.c, s.d, n);
	for (i = 0; i < n; i++) {
		uint32_t node = add_node(&s, i, &s.b[i], &s.c[i], 1);

		CHECK_OK(peal_graph_add_edge(s.g, first, node));
		CHECK_OK(peal_graph_add_edge(s.g, node, last));
	}
	for (run = 1; run < 4; run++) {
		for (i = 0; i < n; i++)
			s.a[i] = 1000 * run + i;
		CHECK_OK(peal_graph_run(s.g, MAX_WAIT));
		for (i = 0; i < n; i++)
			CHECK_EQ(s.d[i], after_nodes(1000 * run + i, 3));
	}
	/* links to and from the host, to pools, of reports, of edges */
	CHECK_EQ(counts().n_links, 4 * n + 2 * (n - 1) - 1);
	free_graph(&s);
	CHECK_OK(peal_runtime_close(rt));
}

/* A graph needs a port to each device with successors, and to no other. */
PEAL_TEST(graph_with_edges_between_all_devices_runs)
{
	uint32_t n = many() < FEWER ? many() : FEWER, i, k;
	struct fixture s;

	open_devices(n);
	make_graph(&s, n);
	for (i = 0; i < n; i++)
		add_node(&s, i, &s.a[i], &s.b[i], 1);
	for (i = 0; i < n; i++)
		add_node(&s, i, &s.b[n - 1 - i], &s.c[i], 1);
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			CHECK_OK(peal_graph_add_edge(s.g, i, n + k));
	for (i = 0; i < n; i++)
		s.a[i] = i;
	CHECK_OK(peal_graph_run(s.g, MAX_WAIT));
	for (i = 0; i < n; i++)
		CHECK_EQ(s.c[i], after_nodes(n - 1 - i, 2));
	CHECK_EQ(counts().n_links, 4 * n + n * (n - 1));
	free_graph(&s);
	CHECK_OK(peal_runtime_close(rt));
}

struct sizes {
	uint64_t links, link_bytes, used_bytes;
};

/* Runs a chain through n devices. Returns what its graph needs. */
static struct sizes run_chain(uint32_t n)
{
	struct sizes z;
	struct fixture s;
	uint64_t before;

	open_devices(n);
	before = used_bytes(n);
	make_graph(&s, n);
	add_chain(&s, n);
	s.a[0] = n;
	CHECK_OK(peal_graph_run(s.g, MAX_WAIT));
	CHECK_EQ(s.a[n], after_nodes(n, n));
	z.links = counts().n_links;
	z.link_bytes = counts().link_bytes;
	z.used_bytes = used_bytes(n) - before;
	free_graph(&s);
	if (!test_on_gpu()) /* a GPU's runtime keeps blocks of host memory */
		CHECK_EQ(used_bytes(n), before);
	CHECK_OK(peal_runtime_close(rt));
	return z;
}

/* From n / 2 to n devices, the increase is twice that from n / 4 to n / 2. */
static void grows_linearly(const char *what, uint64_t quarter, uint64_t half,
			   uint64_t whole)
{
	printf("    %s: %llu, %llu, %llu\n", what, (unsigned long long)quarter,
	       (unsigned long long)half, (unsigned long long)whole);
	CHECK_EQ(whole - half, 2 * (half - quarter));
}

PEAL_TEST(links_and_memory_of_a_chain_are_linear_in_devices)
{
	uint32_t n = many();
	struct sizes a = run_chain(n / 4), b = run_chain(n / 2);
	struct sizes c = run_chain(n);

	CHECK_EQ(c.links, 5 * n - 1);
	grows_linearly("links", a.links, b.links, c.links);
	grows_linearly("bytes of links", a.link_bytes, b.link_bytes,
		       c.link_bytes);
	if (!test_on_gpu())
		grows_linearly("used bytes", a.used_bytes, b.used_bytes,
			       c.used_bytes);
}

/* ---- executors, topics, communicators ------------------------------------ */

PEAL_TEST(executor_gives_each_device_its_part)
{
	const struct peal_executor_options o = { .size = sizeof(o),
						 .workers = 1 };
	uint32_t n = many(), count = ELEMENTS * n, i;
	struct peal_executor_report report;
	struct visit v = { .gate_at = UINT64_MAX, .fails_at = UINT64_MAX };
	uint64_t visits[DEVICES_MAX], numbers[DEVICES_MAX], memory;
	struct peal_job_argument arguments[] = { { visits, 4, 0 },
						 { numbers, 8, 0 } };
	const struct peal_job job = { .size = sizeof(job),
				      .schedule = PEAL_SCHEDULE_STATIC,
				      .handler = "visit",
				      .count = count,
				      .n_arguments = 2,
				      .parameter_bytes = sizeof(v),
				      .arguments = arguments,
				      .parameters = &v };
	struct peal_executor *e = NULL;

	open_devices(n);
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 12 * count, &memory));
	memset((void *)(uintptr_t)memory, 0, 12 * count);
	for (i = 0; i < n; i++) {
		numbers[i] = memory;
		visits[i] = memory + 8 * count;
	}
	CHECK_OK(peal_executor_create(rt, devices, n, &peal_program_tasks, &o,
				      &e));
	CHECK_OK(peal_executor_run(e, &job, MAX_WAIT));
	CHECK_OK(peal_executor_report(e, &report));
	CHECK_EQ(report.n_active, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(report.part[i].elements, ELEMENTS);
	for (i = 0; i < count; i++) {
		CHECK_EQ(((uint64_t *)(uintptr_t)numbers[0])[i], i);
		CHECK_EQ(((uint32_t *)(uintptr_t)visits[0])[i], 1);
	}
	CHECK_EQ(counts().n_links, 2 * n);
	CHECK_OK(peal_executor_destroy(e));
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, memory));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(topic_reaches_subscribers_on_all_devices)
{
	enum { MESSAGES = 40 };
	struct peal_topic_options o = { .capacity = 16,
					.max_subscribers = 2 * DEVICES_MAX };
	struct peal_link_options link = { .capacity = 16 };
	struct peal_kernel *source, *sinks[DEVICES_MAX];
	uint64_t topic, echo, sink[DEVICES_MAX];
	struct peal_endpoint *e;
	struct relay_sink seen;
	uint32_t n = many(), i;

	open_devices(n);
	e = harness_endpoint(rt);
	source = harness_launch(rt, 0);
	topic = topic_create(rt, 0, o);
	echo = harness_spawn(source, "echo", 0);
	CHECK_OK(peal_publish(rt, echo, 0, topic));
	for (i = 0; i < n; i++) {
		sinks[i] = harness_launch(rt, (int)i);
		sink[i] = harness_spawn(sinks[i], "sink", 0);
		CHECK_OK(peal_subscribe(rt, topic, sink[i], 0));
	}
	CHECK_EQ(topic_info(rt, topic).far_subscribers, n - 1);
	harness_from(rt, e, 0, echo, link);
	harness_send(e, 0, 1, 0, MESSAGES);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	for (i = 0; i < n; i++) {
		CHECK_OK(peal_kernel_wait(sinks[i], MAX_WAIT));
		seen = topic_sink(rt, sink[i]);
		CHECK_EQ(seen.received, MESSAGES);
		CHECK_EQ(seen.misordered, 0);
	}
	CHECK_EQ(counts().n_links, n); /* one to each other device */
	CHECK_OK(peal_runtime_shutdown(rt));
}

static void all_reduce(struct peal_comm *g, uint32_t n, uint32_t algorithm,
		       uint64_t *in, uint64_t *out, uint64_t count)
{
	struct peal_collective c = { .size = sizeof(c),
				     .kind = PEAL_ALL_REDUCE,
				     .element = PEAL_I64,
				     .reduction = PEAL_SUM,
				     .count = count,
				     .algorithm = algorithm,
				     .in = in,
				     .out = out };
	int64_t *data;
	uint64_t k;
	uint32_t i;

	for (i = 0; i < n; i++) {
		data = (int64_t *)(uintptr_t)in[i];
		for (k = 0; k < count; k++)
			data[k] = (int64_t)(i * 1000 + k) - 7;
		memset((void *)(uintptr_t)out[i], 0, 8 * count);
	}
	CHECK_OK(peal_collective_run(g, &c, MAX_WAIT));
	for (i = 0; i < n; i++)
		for (k = 0; k < count; k++)
			CHECK_EQ(((int64_t *)(uintptr_t)out[i])[k],
				 500 * n * (n - 1) + n * k - 7 * n);
}

/* Makes a group of n devices and reduces. Returns what the group needs. */
static struct sizes run_group(uint32_t n)
{
	enum { COUNT = 200 };
	struct peal_comm_options o = { .size = sizeof(o), .slice_bytes = 256 };
	struct peal_collective barrier = { .size = sizeof(barrier),
					   .kind = PEAL_COMM_BARRIER };
	uint64_t in[DEVICES_MAX], out[DEVICES_MAX], memory;
	struct peal_comm *g = NULL;
	struct sizes z;
	uint32_t i;

	open_devices(n);
	CHECK_OK(peal_comm_create(rt, devices, n, &o, &g));
	CHECK_OK(peal_memory_alloc(rt, PEAL_HOST_MEMORY, 16 * COUNT * n,
				   &memory));
	for (i = 0; i < n; i++) {
		in[i] = memory + (uint64_t)16 * COUNT * i;
		out[i] = in[i] + 8 * COUNT;
	}
	all_reduce(g, n, PEAL_ALGORITHM_RING, in, out, COUNT);
	all_reduce(g, n, PEAL_ALGORITHM_EXCHANGE, in, out, 4);
	all_reduce(g, n, PEAL_ALGORITHM_TREE, in, out, 4);
	CHECK_OK(peal_collective_run(g, &barrier, MAX_WAIT));
	z.links = counts().n_links;
	z.link_bytes = counts().link_bytes;
	CHECK_OK(peal_comm_destroy(g));
	CHECK_OK(peal_memory_free(rt, PEAL_HOST_MEMORY, memory));
	CHECK_OK(peal_runtime_close(rt));
	return z;
}

/*
 * A group has a link from each member to each other member. Apart from these,
 * it has 5 links for each member. The memory of both kinds is proportional to
 * their number.
 */
PEAL_TEST(memory_of_a_group_is_linear_in_its_links)
{
	uint64_t n = many(), pairs = n * (n - 1), q = n / 4;
	struct sizes a = run_group((uint32_t)q),
		     b = run_group((uint32_t)(2 * q));
	struct sizes c = run_group((uint32_t)n);
	uint64_t each, fixed; /* bytes of a link to a member, of a member */

	CHECK_EQ(a.links, q * (q - 1) + 5 * q);
	CHECK_EQ(b.links, 2 * q * (2 * q - 1) + 10 * q);
	CHECK_EQ(c.links, pairs + 5 * n);
	each = (b.link_bytes - 2 * a.link_bytes) /
	       (2 * q * (2 * q - 1) - 2 * q * (q - 1));
	fixed = (a.link_bytes - each * q * (q - 1)) / q;
	CHECK_EQ(a.link_bytes, each * q * (q - 1) + fixed * q);
	CHECK_EQ(b.link_bytes, each * 2 * q * (2 * q - 1) + fixed * 2 * q);
	CHECK_EQ(c.link_bytes, each * pairs + fixed * n);
	printf("    %llu links, %llu bytes\n", (unsigned long long)c.links,
	       (unsigned long long)c.link_bytes);
}

PEAL_TEST_MAIN(RUN(graph_spreads_to_all_devices_and_back);
	       RUN(graph_with_edges_between_all_devices_runs);
	       RUN(links_and_memory_of_a_chain_are_linear_in_devices);
	       RUN(executor_gives_each_device_its_part);
	       RUN(topic_reaches_subscribers_on_all_devices);
	       RUN(memory_of_a_group_is_linear_in_its_links);)
