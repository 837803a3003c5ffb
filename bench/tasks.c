/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `tasks`: the time per task of a chain of tasks, by the length of
 * the tasks. An edge of a graph starts the next task, or a message does. The
 * baselines launch a kernel per task. The last rows have the break-even: the
 * shortest task that a launch starts about as well.
 */
#include <math.h>
#include <string.h>

#include <peal/graph.h>
#include <peal/memory.h>
#include <peal/peer.h>

#include "bench/baseline/gpu.h"
#include "bench/bench.h"
#include "bench/runner.h"
#include "ringkernels/jobs_program.h"

#define SECONDS 4
#define TASKS_SHORT 512 /* tasks of a round; even, for `hop` */
#define TASKS_LONG 128
#define SHORT_NS 2000 /* longest task that is short */
#define LAUNCHES 40 /* tasks of a round with a launch each */
#define EMULATED_PART 4 /* emulated devices have so many times fewer tasks */
/* At the break-even a launch takes so many times our time. */
#define EVEN 1.05

extern const struct peal_program peal_program_peal_jobs;

static const uint64_t lengths[] = { 0, 2000, 8000, 32000, 128000 };
#define LENGTHS (int)(sizeof(lengths) / sizeof(lengths[0]))

enum way { EDGE, MESSAGE, WAYS };
static const char *const ways[WAYS] = { "graph edge", "message" };
static const char *const even_ways[WAYS] = { "break-even, graph edge",
					     "break-even, message" };

enum peer { LAUNCH, REPLAY, PEERS };
static const char *const peers[PEERS] = { "launch and wait per task",
					  "graph replay of a launch per task" };

struct tasks {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns;
	int n_rows;
	/* the present row */
	enum way way;
	int length;
	uint32_t n; /* tasks of a round */
	struct peal_graph *graph;
	int port; /* port of the host that leads to the first `hop` */
	struct peali_baseline baseline;
	int loaded; /* 1: the baselines' program is loaded */
	double device_ns; /* of a task in the last round, by a device's clock */
	double ratio[WAYS][PEERS][LENGTHS];
};

/* Returns the number of baselines. Emulated devices record no launches. */
static int n_peers(const struct tasks *t)
{
	return t->fixture.on_host ? 1 : PEERS;
}

/* Returns why a baseline cannot run; NULL: it can. */
static const char *why_not(const struct tasks *t, int peer)
{
	if (peer == LAUNCH || t->baseline.recorded)
		return NULL;
	return "the driver has no graphs";
}

/* ---- tasks by a static edge ---------------------------------------------- */

static int add_task(struct tasks *t, uint32_t i)
{
	const struct peali_step step = { i, lengths[t->length] };
	const struct peal_graph_argument argument = {
		.address = t->fixture.memory.address,
		.bytes = sizeof(struct peali_chain),
	};
	const struct peal_graph_task task = {
		.size = sizeof(task),
		.handler = "step",
		.count = 1,
		.n_arguments = 1,
		.arguments = &argument,
		.parameters = &step,
		.parameter_bytes = sizeof(step),
	};

	if (peal_graph_add_task(t->graph, &task, NULL) < 0 ||
	    (i && peal_graph_add_edge(t->graph, i - 1, i) < 0))
		return -peali_say_error("add a task to a graph");
	return 0;
}

/* Runs the graph and checks the order of its tasks. */
static double run_graph(struct tasks *t)
{
	struct peal_graph_node_info first, last;
	struct peali_chain chain;
	uint64_t began = peali_bench_now_ns();
	double ns;

	if (peal_graph_run(t->graph, PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("run a graph");
	ns = (double)(peali_bench_now_ns() - began);
	if (peal_peer_copy(t->fixture.runtime, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)&chain, 0,
			   t->fixture.memory.address, sizeof(chain)) < 0 ||
	    peal_graph_node_info(t->graph, 0, &first) < 0 ||
	    peal_graph_node_info(t->graph, t->n - 1, &last) < 0)
		return -peali_say_error("read the results of a graph");
	t->device_ns = (double)(last.ended_ns - first.began_ns) / t->n;
	if (chain.next == t->n && !chain.wrong)
		return ns / t->n;
	peali_say("a chain ended with task %llu of %u, %llu were out of order",
		  (unsigned long long)chain.next, t->n,
		  (unsigned long long)chain.wrong);
	return -1;
}

static int build_graph(struct tasks *t)
{
	const struct peal_graph_options options = {
		.size = sizeof(options),
		.workers = 1,
		.lanes = t->fixture.lanes,
	};
	static const int device = 0;

	if (!peali_fixture_memory(&t->fixture, 0, sizeof(struct peali_chain)))
		return -1;
	if (peal_graph_create(t->fixture.runtime, &device, 1,
			      &peal_program_peal_jobs, &options, &t->graph) < 0)
		return -peali_say_error("create a graph");
	for (uint32_t i = 0; i < t->n; i++)
		if (add_task(t, i))
			return -1;
	/* the first run launches the kernels */
	return run_graph(t) < 0 ? -1 : 0;
}

/* ---- tasks by a message -------------------------------------------------- */

static int build_hops(struct tasks *t)
{
	const struct peal_link_options options = {
		.size = sizeof(options),
		.message_bytes = sizeof(struct peali_hop),
	};
	struct peali_fixture *fixture = &t->fixture;
	int kernel =
		peali_fixture_launch(fixture, 0, &peal_program_peal_jobs, 2);
	uint64_t a = peali_fixture_spawn(fixture, kernel, "hop", 0);
	uint64_t b = a ? peali_fixture_spawn(fixture, kernel, "hop", 1) : 0;

	if (!b || peali_fixture_connect(fixture, a, 0, b, &options) < 0 ||
	    peali_fixture_connect(fixture, b, 0, a, &options) < 0 ||
	    peali_fixture_to_host(fixture, a, 1) ||
	    peali_fixture_to_host(fixture, b, 1))
		return -1;
	t->port = peali_fixture_from_host(fixture, a, sizeof(struct peali_hop));
	return t->port < 0 ? -1 : 0;
}

static double run_hops(struct tasks *t)
{
	const struct peali_hop hop = {
		.last = t->n,
		.task_ns = lengths[t->length],
	};
	struct peali_fixture_report report;
	uint64_t began = peali_bench_now_ns();
	double ns;

	if (peal_send(t->fixture.host, (uint32_t)t->port, PEALI_BENCH_START,
		      &hop, sizeof(hop), PEALI_FIXTURE_WAIT_NS, NULL) < 0)
		return -peali_say_error("begin a round");
	if (peali_fixture_wait(&t->fixture, &report))
		return -1;
	ns = (double)(peali_bench_now_ns() - began);
	t->device_ns = (double)report.head.elapsed_ns / t->n;
	if (report.head.messages == t->n)
		return ns / t->n;
	peali_say("a chain of %u messages had %llu", t->n,
		  (unsigned long long)report.head.messages);
	return -1;
}

/* ---- rounds -------------------------------------------------------------- */

static int build(struct tasks *t)
{
	static const struct peali_fixture_worker side = { 0, 0 };

	t->n = lengths[t->length] <= SHORT_NS ? TASKS_SHORT : TASKS_LONG;
	if (t->fixture.emulated)
		t->n /= EMULATED_PART;
	peali_fixture_fit_lanes(&t->fixture, sizeof(struct peali_hop));
	if (!t->loaded && t->fixture.on_host &&
	    peali_baseline_load(t->fixture.runtime))
		return -1;
	t->loaded = 1;
	/* The baselines must be set up before our kernels are resident. */
	if (peali_baseline_open(&t->baseline, &t->fixture, &side, 1, 0, 0) ||
	    peali_baseline_open_tasks(&t->baseline, lengths[t->length], t->n))
		return -1;
	return t->way == EDGE ? build_graph(t) : build_hops(t);
}

static double run_peer(struct tasks *t, int peer)
{
	if (why_not(t, peer))
		return NAN;
	return peer == LAUNCH ?
		       peali_baseline_launch_tasks(
			       &t->baseline,
			       LAUNCHES / (t->fixture.emulated ? EMULATED_PART :
								 1)) :
		       peali_baseline_replay_tasks(&t->baseline);
}

/* Samples of a row: ours by the host's clock, by a device's, and baselines. */
struct samples {
	struct peali_samples host, device, peer[PEERS];
};

static int run_round(struct tasks *t, struct samples *s)
{
	double ns, peer[PEERS];

	for (int p = 0; p < n_peers(t); p++) {
		peer[p] = run_peer(t, p);
		if (peer[p] < 0)
			return -1;
		if (!isnan(peer[p]))
			peali_samples_add(s->peer + p, peer[p]);
	}
	ns = t->way == EDGE ? run_graph(t) : run_hops(t);
	if (ns < 0)
		return -1;
	peali_samples_add(&s->host, ns);
	peali_samples_add(&s->device, t->device_ns);
	for (int p = 0; p < n_peers(t); p++)
		peali_samples_close(s->peer + p, 0, peer[p] / ns);
	peali_samples_close(&s->host, 0, NAN);
	peali_samples_close(&s->device, 0, NAN);
	return 0;
}

static void fill(struct tasks *t, int peer, const struct samples *s)
{
	json_t *cells = peali_report_row(&t->report, ways[t->way]);
	double ns = peali_samples_spread(&s->host).median;
	const char *why = why_not(t, peer);

	peali_row_uint(cells, "task_ns", lengths[t->length]);
	peali_row_uint(cells, "tasks", t->n);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&t->fixture, 0, cells);
	peali_samples_row_rates(&s->host, cells, "per_task_ns");
	peali_row_real(cells, "device_ns",
		       peali_samples_spread(&s->device).median);
	peali_row_real(cells, "overhead_ns", ns - (double)lengths[t->length]);
	if (why)
		peali_row_null(cells, "versus_ns_p50", "%s", why);
	else
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(s->peer + peer).median);
	peali_samples_row_versus(s->peer + peer, cells,
				 why ? NULL : peers[peer], why);
	t->ratio[t->way][peer][t->length] =
		why ? NAN : peali_samples_ratio(s->peer + peer).median;
}

static int clear(struct tasks *t)
{
	int failed = 0;

	if (peal_graph_destroy(t->graph) < 0)
		failed = peali_say_error("destroy a graph");
	t->graph = NULL;
	if (peali_fixture_clear(&t->fixture))
		failed = 1;
	peali_baseline_close(&t->baseline);
	return failed ? -1 : 0;
}

static int run_row(struct tasks *t)
{
	struct samples s = { 0 };
	uint64_t until = peali_bench_now_ns() + t->row_ns;
	char label[48];
	int result = build(t);

	for (int i = 0; !result && (i < PEALI_RUNNER_ROUNDS ||
				    peali_bench_now_ns() < until);
	     i++)
		result = run_round(t, &s);
	for (int p = 0; !result && p < n_peers(t); p++)
		fill(t, p, &s);
	snprintf(label, sizeof(label), "%s-%llu",
		 t->way == EDGE ? "edge" : "message",
		 (unsigned long long)lengths[t->length]);
	if (!result)
		result = peali_samples_write(&s.host, &t->options, "tasks",
					     label, t->n_rows == 1);
	if (clear(t))
		result = -1;
	peali_samples_fini(&s.host);
	peali_samples_fini(&s.device);
	for (int p = 0; p < PEERS; p++)
		peali_samples_fini(s.peer + p);
	return result;
}

/* ---- break-even ---------------------------------------------------------- */

/*
 * Returns the length at which the ratio falls to EVEN, between two measured
 * lengths. NAN: it is above EVEN at all lengths.
 */
static double even_at(const double *ratio)
{
	double part;
	int i = 0;

	while (i < LENGTHS && ratio[i] > EVEN)
		i++;
	if (i == LENGTHS)
		return NAN;
	if (!i)
		return 0;
	part = (ratio[i - 1] - EVEN) / (ratio[i - 1] - ratio[i]);
	return (double)lengths[i - 1] +
	       part * (double)(lengths[i] - lengths[i - 1]);
}

static void fill_even(struct tasks *t, int way, int peer)
{
	static const char why[] = "the length is the result";
	json_t *cells = peali_report_row(&t->report, even_ways[way]);
	double ns = even_at(t->ratio[way][peer]);

	peali_row_text(cells, "versus", "%s", peers[peer]);
	if (isnan(t->ratio[way][peer][0]))
		peali_row_null(cells, "break_even_ns",
			       "the baseline has not run");
	else if (isnan(ns))
		peali_row_null(cells, "break_even_ns",
			       "a launch takes more than %.2f times the time "
			       "up to %llu ns",
			       EVEN, (unsigned long long)lengths[LENGTHS - 1]);
	else
		peali_row_real(cells, "break_even_ns", ns);
	peali_row_real(cells, "break_even_ratio", EVEN);
	peali_row_uint(cells, "n_samples", LENGTHS);
	peali_row_null(cells, "ratio", "%s", why);
	peali_row_null(cells, "ratio_min", "%s", why);
	peali_row_null(cells, "ratio_max", "%s", why);
}

/* ---- rows ---------------------------------------------------------------- */

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct tasks *t = context;

	if (!peali_bench_wanted(&t->options, PEAL_ROUTE_NONE,
				sizeof(struct peali_hop)))
		return 0;
	for (int i = 0; i < WAYS * LENGTHS && !count_only; i++) {
		t->way = (enum way)(i / LENGTHS);
		t->length = i % LENGTHS;
		if (run_row(t))
			return -1;
	}
	for (int i = 0; i < WAYS * n_peers(t) && !count_only; i++)
		fill_even(t, i % WAYS, i / WAYS);
	return WAYS * LENGTHS;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "task_ns", "task", PEALI_AS_NS },
	{ "per_task_ns", "per task", PEALI_AS_NS },
	{ "per_task_ns_max", "max", PEALI_AS_NS },
	{ "device_ns", "by device", PEALI_AS_NS },
	{ "overhead_ns", "overhead", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	{ "break_even_ns", "break-even", PEALI_AS_NS },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int run(int argc, char **argv, int json)
{
	struct tasks t = { 0 };
	const struct peali_runner runner = {
		.benchmark = "tasks",
		.title = "time per task of a chain; ratio above 1: faster than "
			 "the peer; break-even: task for which a launch takes "
			 "1.05 times the time",
		.columns = columns,
		.devices = 1,
		PEALI_RUNNER_STATE(t),
		.about = "Time per task of a chain of tasks, which edges of a "
			 "graph or messages start, by the length of a task.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_tasks = {
	.name = "tasks",
	.help = "time per task by an edge or a message, and break-even",
	.run = run,
};
