/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `faults`: round trips of two actors while other actors fail
 * again and again. Baseline: the same two actors alone, in the same rounds. So
 * the ratio shows how faults slow down actors that have none. It compares the
 * 99th percentiles of a round.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/dead_letter.h>
#include <peal/supervisor.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"

#define SECONDS 6
#define BYTES 64
#define BATCH 8
#define REPORTS 40 /* reports with faults in a round, and as many without */
#define HANDLER_NS 200000 /* limit for the endless handler */
#define PRODUCER_US 2000 /* lifetime of a producer */

enum fault { ENDLESS = 0, MALFORMED = 1, KILLED = 2, FAULTS = 3 };

static const char *const subjects[FAULTS] = {
	"endless handler, ended by its budget",
	"messages of another length",
	"producer, aborted and launched again",
};

struct faults {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	enum fault fault; /* fault of the current row */
	int start; /* port of the host that leads to `ping` */
	/* workers of the pair; the next worker has the fault */
	uint32_t workers;
	uint64_t victim; /* the actor that fails */
	struct peal_link *link; /* from `endpoint` to the victim */
	struct peal_endpoint *endpoint;
	pthread_t thread;
	int has_thread;
	atomic_int on, quit, failed;
	_Atomic uint64_t n; /* faults since the row began */
};

/* ---- faults -------------------------------------------------------------- */

/*
 * Sends a message that the victim's handler fails on. Counts the dead letters
 * that have arrived, one for each failure.
 */
static int fail_once(struct faults *f)
{
	uint8_t letter[256];
	struct peal_received got;
	int result = peal_send(f->endpoint, 0, PEALI_BENCH_DATA, "", 0, 1000000,
			       NULL);

	if (result && result != PEAL_EAGAIN && result != PEAL_ETIMEDOUT)
		return -peali_say_error("send the failing messages");
	while (!peal_receive(f->endpoint, letter, sizeof(letter), &got, 0))
		f->n++;
	return 0;
}

/*
 * Launches a kernel with an actor that floods the victim. Aborts the kernel
 * after PRODUCER_US and frees it.
 */
static int live_and_die(struct faults *f)
{
	struct peal_runtime *rt = f->fixture.runtime;
	uint64_t host = peal_endpoint_address(f->endpoint), spout;
	struct peal_link *links[3] = { NULL, NULL, NULL };
	struct peal_kernel *k = NULL;
	int result;

	result = peal_kernel_launch(rt, 0, &peal_program_peal_bench, NULL, &k);
	if (!result)
		result = peal_actor_spawn(k, "spout", NULL, &spout);
	if (!result)
		result = peal_connect(rt, spout, 0, f->victim, NULL, &links[0]);
	if (!result)
		result = peal_connect(rt, spout, 1, spout, NULL, &links[1]);
	if (!result)
		result = peal_connect(rt, host, 0, spout, NULL, &links[2]);
	if (!result)
		result = peal_send(f->endpoint, 0, PEALI_BENCH_START, "", 0,
				   PEALI_FIXTURE_WAIT_NS, NULL);
	if (!result)
		usleep(PRODUCER_US);
	if (k && !result)
		result = peal_kernel_abort(k, PEALI_FIXTURE_WAIT_NS);
	for (int i = 0; i < 3; i++)
		if (peal_link_destroy(links[i]) && !result)
			result = peal_last_error()->code;
	if (k && !result)
		result = peal_kernel_destroy(k);
	f->n++;
	return result ? -peali_say_error("kill a producer") : 0;
}

/* The thread that causes faults while `on` is set. */
static void *trouble(void *context)
{
	struct faults *f = context;
	int result = 0;

	if (f->fixture.on_host)
		peali_core_bind(peali_core_at(f->workers));
	while (!atomic_load(&f->quit) && !result) {
		if (!atomic_load(&f->on)) {
			usleep(500);
			continue;
		}
		result = f->fault == KILLED ? live_and_die(f) : fail_once(f);
	}
	if (result)
		atomic_store(&f->failed, 1);
	return NULL;
}

/* ---- the fixture --------------------------------------------------------- */

/* Links two actors in both directions, on one worker or on two. */
static int build_pair(struct faults *f, int kernel)
{
	struct peali_fixture *fixture = &f->fixture;
	const struct peal_link_options options = { .size = sizeof(options),
						   .message_bytes = BYTES };
	uint64_t ping = peali_fixture_spawn(fixture, kernel, "ping", 0);
	uint64_t bounce =
		peali_fixture_spawn(fixture, kernel, "bounce", f->workers - 1);

	if (!ping || !bounce ||
	    peali_fixture_connect(fixture, ping, 0, bounce, &options) < 0 ||
	    peali_fixture_connect(fixture, bounce, 0, ping, &options) < 0 ||
	    peali_fixture_to_host(fixture, ping, 1))
		return -1;
	f->start = peali_fixture_from_host(fixture, ping,
					   sizeof(struct peali_bench_start));
	return f->start < 0 ? -1 : 0;
}

/*
 * Spawns the victim on a worker of its own, with a supervisor that restarts it.
 * Then starts the thread that causes faults.
 */
static int build_fault(struct faults *f, struct peal_kernel *k)
{
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .max_restarts = 1,
					      .period_ns = 1 };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(f->workers) };
	struct peal_runtime *rt = f->fixture.runtime;
	int result;

	result = peal_endpoint_create(rt, NULL, &f->endpoint);
	if (!result)
		result = peal_supervisor_create(k, &so, &o.supervisor);
	if (!result)
		result = peal_actor_spawn(
			k, f->fault == ENDLESS ? "endless" : "exact", &o,
			&f->victim);
	if (!result && f->fault != KILLED)
		result = peal_connect(rt, peal_endpoint_address(f->endpoint), 0,
				      f->victim, NULL, &f->link);
	if (!result && f->fault != KILLED)
		result = peal_dead_letter_connect(
			k, peal_endpoint_address(f->endpoint), NULL);
	if (result)
		return -peali_say_error("create the failing actors");
	if (pthread_create(&f->thread, NULL, trouble, f)) {
		peali_say("cannot start the thread of faults");
		return -1;
	}
	f->has_thread = 1;
	return 0;
}

static int build(void *context)
{
	struct faults *f = context;
	int kernel;

	/* the fault gets a core of its own if there are enough cores */
	f->workers = f->fixture.on_host && peali_core_at(3) < 0 ? 1 : 2;
	f->fixture.max_supervisors = 1;
	f->fixture.max_handler_ns = HANDLER_NS;
	kernel = peali_fixture_launch(&f->fixture, 0, &peal_program_peal_bench,
				      f->workers + 1);
	f->fixture.max_supervisors = 0;
	f->fixture.max_handler_ns = 0;
	if (kernel < 0 || build_pair(f, kernel))
		return -1;
	return build_fault(f, f->fixture.kernels[kernel]);
}

/*
 * Ends the thread, then destroys the victim's link and the endpoint. Messages
 * of this link are dead, so the fixture's check of links leaves it out.
 */
static int close_fault(void *context)
{
	struct faults *f = context;
	int result = 0;

	atomic_store(&f->quit, 1);
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = 0;
	if (f->link && f->fault != KILLED && f->fixture.n_kernels)
		result = peal_dead_letter_connect(f->fixture.kernels[0], 0,
						  NULL);
	if (peal_link_destroy(f->link))
		result = -1;
	f->link = NULL;
	if (peal_endpoint_destroy(f->endpoint))
		result = -1;
	f->endpoint = NULL;
	return result ? -peali_say_error("destroy the faulty kernels") : 0;
}

/* ---- rounds -------------------------------------------------------------- */

static int run_pair(struct faults *f, struct peali_samples *samples)
{
	for (int i = 0; i < REPORTS; i++) {
		const struct peali_bench_start start = {
			.seed = peali_bench_seed(),
			.mask = ~UINT64_C(0),
			.bytes = BYTES,
			.batch = BATCH,
			.warm = 20,
			.samples = PEALI_BENCH_SAMPLES,
		};
		struct peali_fixture_report report;

		if (peali_fixture_start(&f->fixture, f->start, &start) ||
		    peali_fixture_wait(&f->fixture, &report))
			return -1;
		for (uint32_t j = 0; j < report.head.n_samples; j++)
			peali_samples_add(samples,
					  (double)report.samples[j] /
						  PEALI_BENCH_UNITS_PER_NS);
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the 99th percentile of the open round, or NAN without memory. */
static double open_p99(const struct peali_samples *s)
{
	size_t n = s->n_values - s->open;
	double *sorted = malloc((n + 1) * sizeof(*sorted)), p99 = NAN;

	if (sorted && n) {
		memcpy(sorted, s->values + s->open, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), ascending);
		p99 = sorted[n * 99 / 100];
	}
	free(sorted);
	return p99;
}

/* Starts the faults and waits for the first one. Returns 0 or -1. */
static int begin(struct faults *f)
{
	uint64_t before = f->n,
		 until = peali_bench_now_ns() + (uint64_t)PEALI_FIXTURE_WAIT_NS;

	atomic_store(&f->on, 1);
	while (f->n == before && !atomic_load(&f->failed)) {
		if (peali_bench_now_ns() > until) {
			peali_say("no fault occurred");
			return -1;
		}
		usleep(100);
	}
	return atomic_load(&f->failed) ? -1 : 0;
}

/* Runs the pair alone, then beside faults. */
static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct faults *f = context;
	int result;

	if (f->fixture.on_host)
		peali_core_bind(peali_core_at(f->workers));
	usleep(5000); /* the faults of the previous round have ended */
	result = run_pair(f, peer);
	if (!result)
		result = begin(f);
	if (!result)
		result = run_pair(f, ours);
	atomic_store(&f->on, 0);
	peali_core_bind(-1);
	if (result)
		return -1;
	peali_samples_close(peer, 0, open_p99(peer) / open_p99(ours));
	peali_samples_close(ours, 0, NAN);
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct faults *f = context;
	json_t *cells = peali_report_row(&f->report, subjects[f->fault]);

	peali_row_uint(cells, "message_bytes", BYTES);
	peali_row_uint(cells, "workers", f->workers);
	peali_row_text(cells, "timed_by", "the worker that begins");
	peali_row_uint(cells, "faults", f->n);
	peali_fixture_cells(&f->fixture, 0, cells);
	peali_samples_row_cores(ours, cells,
				"only rounds on the same cores are compared");
	peali_samples_row_durations(peer, cells, "alone_ns");
	peali_samples_row_durations(ours, cells, "beside_ns");
	peali_samples_row_versus(
		peer, cells, "the same two alone, by the p99 of a round", NULL);
}

static int run_row(struct faults *f, enum fault fault)
{
	static const char *const labels[] = { "endless", "malformed",
					      "killed" };
	const struct peali_runner_row runner = {
		.benchmark = "faults",
		.label = labels[fault],
		.options = &f->options,
		.fixture = &f->fixture,
		.for_ns = f->row_ns,
		.bytes = BYTES,
		.build = build,
		.round = run_round,
		.fill = fill,
		.close = close_fault,
		.context = f,
	};

	f->fault = fault;
	atomic_store(&f->on, 0);
	atomic_store(&f->quit, 0);
	atomic_store(&f->failed, 0);
	f->n = 0;
	return peali_runner_row(&runner);
}

static const struct peali_column columns[] = {
	{ "subject", "beside", 0 },
	{ "workers", "workers", 0 },
	{ "faults", "faults", 0 },
	{ "n_samples", "samples", 0 },
	{ "alone_ns_p50", "alone p50", PEALI_AS_NS },
	{ "alone_ns_p99", "p99", PEALI_AS_NS },
	PEALI_COLUMN_BREAK,
	{ "beside_ns_p50", "beside p50", PEALI_AS_NS },
	{ "beside_ns_p99", "p99", PEALI_AS_NS },
	{ "beside_ns_max", "max", PEALI_AS_NS },
	{ "ratio", "ratio", 2 },
	{ "ratio_min", "min", 2 },
	{ "ratio_max", "max", 2 },
	{ NULL, NULL, 0 },
};

static int measure_rows(void *context)
{
	struct faults *f = context;

	for (int i = 0; i < FAULTS; i++)
		if (run_row(f, (enum fault)i))
			return -1;
	return 0;
}

static int run(int argc, char **argv, int json)
{
	struct faults f = { 0 };
	const struct peali_runner runner = {
		.benchmark = "faults",
		.title = "round trips of two neighbours beside faults and "
			 "alone, by turns; ratio of the p99: 0.5 is twice as "
			 "long",
		.columns = columns,
		.fixture = &f.fixture,
		.report = &f.report,
		.rows = measure_rows,
		.context = &f,
	};

	peali_bench_parse(argc, argv,
			  "Round trips of two actors, beside others that fail "
			  "again and again.",
			  SECONDS, &f.options);
	f.row_ns = (uint64_t)(f.options.seconds * 1e9 / FAULTS);
	if (!peali_bench_wanted(&f.options, PEAL_ROUTE_LOCAL, BYTES))
		return peali_bench_refuse("faults", &f.options);
	return peali_runner_run(&runner, json);
}

const struct peali_bench peali_bench_faults = {
	.name = "faults",
	.help = "round trips of two actors, beside other actors that fail",
	.run = run,
};
