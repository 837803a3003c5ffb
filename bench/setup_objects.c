/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of `setup` for objects of many devices. They are an executor, a
 * graph with a chain of tasks, and a communicator. Each row compares the time
 * per link with the time per link of 16 devices.
 */
#include <stdlib.h>
#include <string.h>

#include <peal/communicator.h>
#include <peal/executor.h>
#include <peal/graph.h>
#include <peal/memory.h>

#include "bench/fixture.h"
#include "bench/samples.h"
#include "bench/setup.h"
#include "ringkernels/jobs_program.h"

#define DEVICES_MOST 64
#define ROUNDS_MOST 64
/* of a round of all rows, on two cores */
#define ROUND_SECONDS 5.0
#define WAIT_NS PEALI_FIXTURE_WAIT_NS

extern const struct peal_program peal_program_peal_jobs;

static const uint32_t sizes[] = { 16, 32, 64 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/** A new runtime, the devices 0 .. n - 1, and an object on them. */
struct place {
	struct peali_fixture fixture;
	int device[DEVICES_MOST];
	uint32_t n;
	uint64_t memory; /* host memory: a struct peali_chain per device */
	struct peal_executor *executor;
	struct peal_graph *graph;
	struct peal_comm *communicator;
};

/* ---- objects ------------------------------------------------------------- */

/* The first job of an executor connects its links: an element per device. */
static int run_job(struct place *p)
{
	const struct peali_step step = { 0, 0 };
	uint64_t chain[DEVICES_MOST], i;
	const struct peal_job_argument argument = {
		chain, 0, sizeof(struct peali_chain)
	};
	const struct peal_job job = { .size = sizeof(job),
				      .schedule = PEAL_SCHEDULE_STATIC,
				      .handler = "step",
				      .count = p->n,
				      .n_arguments = 1,
				      .arguments = &argument,
				      .parameters = &step,
				      .parameter_bytes = sizeof(step) };

	for (i = 0; i < p->n; i++)
		chain[i] = p->memory + i * sizeof(struct peali_chain);
	return peal_executor_run(p->executor, &job, WAIT_NS);
}

static int make_executor(struct place *p)
{
	const struct peal_executor_options o = { .size = sizeof(o),
						 .workers = 1 };
	int r = peal_executor_create(p->fixture.runtime, p->device, p->n,
				     &peal_program_peal_jobs, &o, &p->executor);

	return r ? r : run_job(p);
}

static int end_executor(struct place *p)
{
	return peal_executor_destroy(p->executor);
}

/* Adds a task to each device. A task follows the task of the device before. */
static int add_chain(struct peal_graph *graph, uint32_t n,
		     const struct peal_graph_argument *chain)
{
	struct peali_step step = { 0, 0 };
	struct peal_graph_task task = { .size = sizeof(task),
					.handler = "step",
					.count = 1,
					.n_arguments = 1,
					.arguments = chain,
					.parameters = &step,
					.parameter_bytes = sizeof(step) };
	uint32_t node, last = 0, i;
	int r = 0;

	for (i = 0; i < n && !r; i++, last = node) {
		task.rank = i;
		step.number = i;
		r = peal_graph_add_task(graph, &task, &node);
		if (!r && i)
			r = peal_graph_add_edge(graph, last, node);
	}
	return r;
}

/* The first run of a graph connects its links. */
static int make_graph(struct place *p)
{
	const struct peal_graph_options o = { .size = sizeof(o), .workers = 1 };
	const struct peal_graph_argument argument = {
		p->memory, 0, sizeof(struct peali_chain)
	};
	const struct peali_chain *chain =
		(const struct peali_chain *)(uintptr_t)p->memory;
	int r = peal_graph_create(p->fixture.runtime, p->device, p->n,
				  &peal_program_peal_jobs, &o, &p->graph);

	if (!r)
		r = add_chain(p->graph, p->n, &argument);
	if (!r)
		r = peal_graph_run(p->graph, WAIT_NS);
	if (!r && (chain->next != p->n || chain->wrong)) {
		peali_say("a graph of %u devices has run %llu tasks", p->n,
			  (unsigned long long)chain->next);
		return -1;
	}
	return r;
}

static int end_graph(struct place *p)
{
	return peal_graph_destroy(p->graph);
}

static int make_communicator(struct place *p)
{
	return peal_comm_create(p->fixture.runtime, p->device, p->n, NULL,
				&p->communicator);
}

static int end_communicator(struct place *p)
{
	return peal_comm_destroy(p->communicator);
}

static const struct kind {
	const char *name, *doing;
	int (*make)(struct place *p);
	int (*end)(struct place *p);
} kinds[] = {
	{ "executor", "make an executor", make_executor, end_executor },
	{ "graph, a chain", "run a graph", make_graph, end_graph },
	{ "communicator", "make a communicator", make_communicator,
	  end_communicator },
};

/* ---- rows ---------------------------------------------------------------- */

/** What the rounds of a row have in common. */
struct many {
	uint64_t links, link_bytes;
	double ms[ROUNDS_MOST], us_per_link[ROUNDS_MOST];
};

static int open_place(struct place *p, uint32_t n)
{
	uint64_t bytes = n * sizeof(struct peali_chain);
	uint32_t i;

	memset(p, 0, sizeof(*p));
	if (peali_fixture_open(&p->fixture, n))
		return -1;
	p->n = n;
	for (i = 0; i < n; i++)
		p->device[i] = (int)i;
	if (peal_memory_alloc(p->fixture.runtime, PEAL_HOST_MEMORY, bytes,
			      &p->memory) < 0) {
		peali_say_error("allocate host memory");
		peali_fixture_close(&p->fixture);
		return -1;
	}
	memset((void *)(uintptr_t)p->memory, 0, bytes);
	return 0;
}

static int close_place(struct place *p)
{
	int failed = peal_memory_free(p->fixture.runtime, PEAL_HOST_MEMORY,
				      p->memory) < 0;

	if (failed)
		peali_say_error("free host memory");
	return peali_fixture_close(&p->fixture) || failed ? -1 : 0;
}

/* Makes an object on the devices, and notes its time and links. */
static int time_object(struct place *p, const struct kind *kind, int round,
		       struct many *m)
{
	uint64_t began = peali_bench_now_ns();
	struct peal_runtime_info info;
	int failed = kind->make(p) < 0;

	m->ms[round] = (double)(peali_bench_now_ns() - began) / 1e6;
	if (failed || peal_runtime_info(p->fixture.runtime, &info) < 0)
		return -peali_say_error(kind->doing);
	m->links = info.n_links;
	m->link_bytes = info.link_bytes;
	m->us_per_link[round] = m->ms[round] * 1000 / (double)m->links;
	return 0;
}

/* Makes an object on n devices of a new runtime. Returns 0 or -1. */
static int make_once(const struct kind *kind, uint32_t n, int round,
		     struct many *m)
{
	struct place p;
	int failed;

	if (open_place(&p, n))
		return -1;
	failed = time_object(&p, kind, round, m);
	if (!failed && kind->end(&p) < 0)
		failed = peali_say_error("end an object of many devices");
	return close_place(&p) || failed ? -1 : 0;
}

static void fill_row(json_t *row, size_t size, const struct many *of,
		     int rounds)
{
	struct many m = of[size];
	double ratio[ROUNDS_MOST];
	int i;

	for (i = 0; i < rounds; i++)
		ratio[i] = of[0].us_per_link[i] / m.us_per_link[i];
	peali_row_uint(row, "devices", sizes[size]);
	peali_row_uint(row, "links", m.links);
	peali_row_text(row, "proofs", "%s", getenv("PEAL_PROBE"));
	peali_row_real(row, "setup_ms", peali_median(m.ms, (size_t)rounds));
	peali_row_real(row, "microseconds_per_link",
		       peali_median(m.us_per_link, (size_t)rounds));
	peali_row_uint(row, "link_bytes", m.link_bytes);
	peali_row_real(row, "bytes_per_link",
		       (double)m.link_bytes / (double)m.links);
	peali_row_uint(row, "n_samples", (uint64_t)rounds);
	peali_row_text(row, "versus", "a link of %u devices", sizes[0]);
	peali_row_real(row, "ratio", peali_median(ratio, (size_t)rounds));
	peali_row_real(row, "ratio_min", ratio[0]); /* sorted by now */
	peali_row_real(row, "ratio_max", ratio[rounds - 1]);
}

/* Measures one kind of object. A round makes it once for each size. */
static int measure_kind(struct peali_report *report, const struct kind *kind,
			int rounds)
{
	struct many of[SIZES];
	size_t i;
	int round;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < SIZES; i++)
			if (make_once(kind, sizes[i], round, &of[i]))
				return -1;
	for (i = 0; i < SIZES; i++)
		fill_row(peali_report_row(report, kind->name), i, of, rounds);
	return 0;
}

int peali_setup_objects(struct peali_report *report, double seconds)
{
	size_t i;
	int failed = 0, rounds = 1;

	if (seconds > ROUND_SECONDS)
		rounds = (int)(seconds / ROUND_SECONDS);
	if (seconds > ROUNDS_MOST * ROUND_SECONDS)
		rounds = ROUNDS_MOST;
	setenv("PEAL_LOG", "0", 0); /* else a line for each pair */
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		failed |= measure_kind(report, &kinds[i], rounds);
	return failed;
}
